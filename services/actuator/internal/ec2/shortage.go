package ec2

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/core/model"
)

// launch is a request and what is known of the types that it asks for.
type launch struct {
	cloud.Request
	types map[string]catalog.Type
}

// shortages are the offerings that the errors of a fleet say there are none of, each once; nil when they are about all that
// were asked for.
func (l launch) shortages(errs []types.CreateFleetError) []model.Shortage {
	var out []model.Shortage
	add := func(s model.Shortage) {
		same := func(x model.Shortage) bool {
			return x.InstanceType == s.InstanceType && x.Zone == s.Zone && x.CapacityType == s.CapacityType
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, s)
		}
	}
	for _, e := range errs {
		k := kindOfFleet(e)
		s := l.shortage(e)
		switch {
		case !isShortage(k):
		case k == awserror.Market:
			return nil
		case k == awserror.Quota:
			for _, o := range l.Offerings {
				if l.sharesQuota(s.InstanceType, o.InstanceType) {
					s.InstanceType, s.Zone = o.InstanceType, o.Zone
					add(s)
				}
			}
		default:
			add(s)
		}
	}
	return out
}

// shortage reads which offering an error is about; EC2 may leave any part of the answer out.
func (l launch) shortage(e types.CreateFleetError) model.Shortage {
	s := model.Shortage{CapacityType: l.Offerings[0].CapacityType, Message: said(e)}
	if e.LaunchTemplateAndOverrides == nil || e.LaunchTemplateAndOverrides.Overrides == nil {
		return s
	}
	o := e.LaunchTemplateAndOverrides.Overrides
	s.InstanceType, s.Zone = model.TypeName(o.InstanceType), aws.ToString(o.AvailabilityZone)
	return s
}

// sharesQuota says that what keeps one type from being launched keeps the other too: they count towards the same quota of
// vCPUs, and the other needs no fewer.
func (l launch) sharesQuota(short, other model.TypeName) bool {
	return short == other ||
		quotaOf(short) == quotaOf(other) && l.types[string(other)].VCPU >= l.types[string(short)].VCPU
}

// quotaOf names the quota of vCPUs that a type counts towards, by the letters that its name begins with.
func quotaOf(t model.TypeName) string {
	family := string(t)[:len(t)-len(strings.TrimLeft(string(t), "abcdefghijklmnopqrstuvwxyz"))]
	switch family {
	case "g", "gr", "vt":
		return "g"
	case "f", "p", "x", "u", "inf", "trn", "dl", "hpc", "mac":
		return family
	default:
		return "standard"
	}
}
