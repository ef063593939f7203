package template

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

// Adapters are the elastic fabric adapters that an instance gets: one on each network card from the first on. The zero
// value is none.
type Adapters struct{ First, Count int64 }

type networkInterface = types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest

// The kinds of interfaces that are not EC2's usual one.
const (
	kindEFA     = "efa"
	kindEFAOnly = "efa-only"
)

// interfaces are those that the class lists, or else the node's own with the adapters that pods ask for.
func interfaces(l Launch, groups []string) ([]networkInterface, error) {
	out := listed(l.Spec.NetworkInterfaces)
	if len(out) == 0 {
		out = withAdapters(l.Adapters)
	}
	if len(out) > 1 && aws.ToBool(l.Spec.AssociatePublicIP) {
		return nil, fmt.Errorf("%w: spec.associatePublicIPAddress: EC2 gives no public address to an instance with several network "+
			"interfaces, which spec.networkInterfaces and pods that ask for elastic fabric adapters need", cloud.ErrInvalid)
	}
	for i := range out {
		n := &out[i]
		n.Groups = groups
		if aws.ToString(n.InterfaceType) == kindEFAOnly {
			continue // has no addresses
		}
		n.ConnectionTrackingSpecification = tracking(l.Spec.ConnectionTracking)
		if !primary(n) {
			continue
		}
		addresses(n, l)
		if len(out) == 1 { // EC2 refuses even "false" beside others
			n.AssociatePublicIpAddress = l.Spec.AssociatePublicIP
		}
	}
	return out, nil
}

func primary(n *networkInterface) bool {
	return aws.ToInt32(n.NetworkCardIndex) == 0 && aws.ToInt32(n.DeviceIndex) == 0
}

// addresses are what the node's own interface has beside the one that EC2 gives it.
func addresses(n *networkInterface, l Launch) {
	if l.IPv6 {
		n.PrimaryIpv6, n.Ipv6AddressCount, n.Ipv6PrefixCount = aws.Bool(true), aws.Int32(1), l.Spec.IPPrefixCount
		return
	}
	n.Ipv4PrefixCount = l.Spec.IPPrefixCount
}

func listed(all []cloud.NetworkInterface) []networkInterface {
	out := make([]networkInterface, 0, len(all))
	for _, n := range all {
		i := networkInterface{NetworkCardIndex: aws.Int32(n.Card), DeviceIndex: aws.Int32(n.Device)}
		if n.EFAOnly {
			i.InterfaceType = aws.String(kindEFAOnly)
		}
		out = append(out, i)
	}
	return out
}

// withAdapters are the node's own interface, which is an adapter itself where the first card takes one, and an adapter
// on each card behind it.
func withAdapters(a Adapters) []networkInterface {
	own := networkInterface{DeviceIndex: aws.Int32(0)}
	if a.Count == 0 {
		return []networkInterface{own}
	}
	own.NetworkCardIndex = aws.Int32(0)
	if a.First == 0 {
		own.InterfaceType = aws.String(kindEFA)
	}
	out := []networkInterface{own}
	for card := max(a.First, 1); card < a.First+a.Count; card++ {
		out = append(out, networkInterface{
			NetworkCardIndex: aws.Int32(int32(card)), DeviceIndex: aws.Int32(1), InterfaceType: aws.String(kindEFA),
		})
	}
	return out
}

func tracking(c cloud.ConnectionTracking) *types.ConnectionTrackingSpecificationRequest {
	if c == (cloud.ConnectionTracking{}) {
		return nil
	}
	seconds := func(d time.Duration) *int32 {
		if d == 0 {
			return nil
		}
		return aws.Int32(int32(d / time.Second))
	}
	return &types.ConnectionTrackingSpecificationRequest{
		TcpEstablishedTimeout: seconds(c.TCPEstablished), UdpStreamTimeout: seconds(c.UDPStream), UdpTimeout: seconds(c.UDP),
	}
}
