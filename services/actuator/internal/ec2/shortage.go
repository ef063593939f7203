package ec2

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/core/model"
)

// launch is a request, what is known of the types that it asks for, and whether the class has a subnet in a zone that
// is not full.
type launch struct {
	cloud.Request
	types map[string]catalog.Type
	open  func(zone string) bool
}

// shortages are the offerings that the errors of a fleet say there are none of, each once. all says that they are about
// everything that was asked for.
func (l launch) shortages(errs []types.CreateFleetError) (short []model.Shortage, all bool) {
	for _, e := range errs {
		named := l.shortage(e)
		about := func(o model.RankedOffering) bool { return o.InstanceType == named.InstanceType && o.Zone == named.Zone }
		switch kindOfFleet(e) {
		case awserror.Market:
			named.InstanceType, named.Zone = shortage.Everything, ""
			short = append(short, named)
			continue
		case awserror.Capacity:
		case awserror.Quota:
			if named.InstanceType != "" {
				named.InstanceType, named.Zone = shortage.OfQuota(named.InstanceType, l.types[string(named.InstanceType)].VCPU), ""
				short = append(short, named)
				continue
			}
		case awserror.Addresses:
			if l.open(named.Zone) {
				continue
			}
			about = func(o model.RankedOffering) bool { return o.Zone == named.Zone }
		default:
			continue
		}
		if named.InstanceType == "" || named.Zone == "" {
			return nil, true // EC2 may leave out what an error is about
		}
		for _, o := range l.Offerings {
			same := func(x model.Shortage) bool { return x.InstanceType == o.InstanceType && x.Zone == o.Zone }
			if about(o) && !slices.ContainsFunc(short, same) {
				s := named
				s.InstanceType, s.Zone = o.InstanceType, o.Zone
				short = append(short, s)
			}
		}
	}
	return short, false
}

// shortage reads which offering an error is about; EC2 may leave any part of the answer out.
func (l launch) shortage(e types.CreateFleetError) model.Shortage {
	s := model.Shortage{CapacityType: l.Offerings[0].CapacityType, Message: said(e)}
	if e.LaunchTemplateAndOverrides == nil || e.LaunchTemplateAndOverrides.Overrides == nil {
		return s
	}
	o := e.LaunchTemplateAndOverrides.Overrides
	s.InstanceType = model.TypeName(o.InstanceType)
	s.Zone = cmp.Or(aws.ToString(o.AvailabilityZone), zoneOf(l.Class, aws.ToString(o.SubnetId)))
	return s
}
