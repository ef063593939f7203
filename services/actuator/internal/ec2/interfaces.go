package ec2

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

// efa is the elastic fabric adapters that an instance gets: one on each network card from the first on. The zero efa is none.
type efa struct{ first, count int64 }

type networkInterface = types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest

// networkInterfaces are the node's own interface, which is an adapter itself where the first card takes one, and an adapter on
// each card behind it. EC2 gives a public address to instances with one interface alone.
func networkInterfaces(adapters efa, groups []string, publicIP *bool) ([]networkInterface, error) {
	primary := networkInterface{DeviceIndex: aws.Int32(0), Groups: groups, AssociatePublicIpAddress: publicIP}
	if adapters.count == 0 {
		return []networkInterface{primary}, nil
	}
	primary.NetworkCardIndex = aws.Int32(0)
	if adapters.first == 0 {
		primary.InterfaceType = aws.String("efa")
	}
	out := []networkInterface{primary}
	for card := max(adapters.first, 1); card < adapters.first+adapters.count; card++ {
		out = append(out, networkInterface{
			NetworkCardIndex: aws.Int32(int32(card)), DeviceIndex: aws.Int32(1), InterfaceType: aws.String("efa"), Groups: groups,
		})
	}
	if len(out) == 1 {
		return out, nil
	}
	if aws.ToBool(publicIP) {
		return nil, fmt.Errorf("%w: spec.associatePublicIPAddress: EC2 gives no public address to an instance with several network "+
			"interfaces, which pods that ask for elastic fabric adapters need", cloud.ErrInvalid)
	}
	out[0].AssociatePublicIpAddress = nil // EC2 refuses even "false"
	return out, nil
}
