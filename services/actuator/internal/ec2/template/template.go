// Package template writes the content of a launch template: all that a node class says of an instance, but for where it is
// launched and as which type. It is a function of values and must never call EC2. Start reading at Data.
package template

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

// Launch is what a template's instances have in common.
type Launch struct {
	Spec  cloud.ClassSpec
	Class cloud.Class
	// Region decides which options EC2 knows.
	Region string
	// IPv6 says that nodes and pods have IPv6 addresses.
	IPv6 bool
	// ImageID and UserData are what the instances boot; the latter is base64.
	ImageID, UserData string
	Tags              []types.LaunchTemplateTagSpecificationRequest
	// Adapters are the elastic fabric adapters that pods ask for.
	Adapters Adapters
	// Enclaves says that pods ask for Nitro Enclaves.
	Enclaves bool
	// ReservationID is the capacity reservation to launch into; "" for none.
	ReservationID string
}

// Data is the template's content. The error names the field of the class that can't be as it is.
func Data(l Launch) (*types.RequestLaunchTemplateData, error) {
	groups := make([]string, 0, len(l.Class.SecurityGroups))
	for _, s := range l.Class.SecurityGroups {
		groups = append(groups, s.ID)
	}
	slices.Sort(groups)
	interfaces, err := interfaces(l, groups)
	if err != nil {
		return nil, err
	}
	reservation, market := capacity(l)
	return &types.RequestLaunchTemplateData{
		ImageId:             aws.String(l.ImageID),
		IamInstanceProfile:  &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(l.Class.InstanceProfile)},
		BlockDeviceMappings: blockDevices(l.Spec),
		Monitoring:          &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(l.Spec.DetailedMonitoring)},
		UserData:            aws.String(l.UserData),
		TagSpecifications:   l.Tags,
		MetadataOptions:     metadata(l.Spec.Metadata, l.Region),
		NetworkInterfaces:   interfaces,
		CpuOptions:          processor(l.Spec),
		EnclaveOptions:      enclaves(l),
		Placement:           placement(l.Class.PlacementGroup),

		CapacityReservationSpecification: reservation, InstanceMarketOptions: market,
	}, nil
}

// noIPv6Metadata are the regions whose EC2 refuses the option of an IPv6 endpoint, even "disabled".
func noIPv6Metadata() []string {
	return []string{"us-iso-east-1", "us-iso-west-1", "us-isob-east-1", "us-isob-west-1", "us-isof-east-1", "us-isof-south-1"}
}

func metadata(m cloud.MetadataOptions, region string) *types.LaunchTemplateInstanceMetadataOptionsRequest {
	out := &types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint:            types.LaunchTemplateInstanceMetadataEndpointState(m.HTTPEndpoint),
		HttpPutResponseHopLimit: aws.Int32(m.HopLimit),
		HttpTokens:              types.LaunchTemplateHttpTokensState(m.HTTPTokens),
		// Tag keys hold slashes; an account whose default is "enabled" would refuse them.
		InstanceMetadataTags: types.LaunchTemplateInstanceMetadataTagsStateDisabled,
	}
	if !slices.Contains(noIPv6Metadata(), region) {
		out.HttpProtocolIpv6 = types.LaunchTemplateInstanceMetadataProtocolIpv6(m.HTTPProtocolIPv6)
	}
	return out
}

func processor(s cloud.ClassSpec) *types.LaunchTemplateCpuOptionsRequest {
	if s.NestedVirtualization == "" {
		return nil
	}
	return &types.LaunchTemplateCpuOptionsRequest{
		NestedVirtualization: types.NestedVirtualizationSpecification(s.NestedVirtualization),
	}
}

// enclaves is nil where no pod asks for them, which is EC2's default and leaves the names of templates as they are.
func enclaves(l Launch) *types.LaunchTemplateEnclaveOptionsRequest {
	if !l.Enclaves {
		return nil
	}
	return &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)}
}

func placement(g cloud.PlacementGroup) *types.LaunchTemplatePlacementRequest {
	if g.ID == "" {
		return nil
	}
	return &types.LaunchTemplatePlacementRequest{GroupId: aws.String(g.ID)}
}

// capacity is the reservation that instances go into, and the market that they are of where that is another than EC2's
// usual ones. What has no reservation stays out of open ones: they are for launches that are planned into them.
func capacity(l Launch) (*types.LaunchTemplateCapacityReservationSpecificationRequest, *types.LaunchTemplateInstanceMarketOptionsRequest) {
	if l.ReservationID == "" {
		return &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceNone,
		}, nil
	}
	target := &types.LaunchTemplateCapacityReservationSpecificationRequest{
		CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
		CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationId: aws.String(l.ReservationID)},
	}
	r, _ := l.Class.Reservation(l.ReservationID)
	switch {
	case r.Block:
		return target, &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
	case r.Interruptible:
		return target, &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketTypeInterruptibleCapacityReservation}
	}
	return target, nil
}
