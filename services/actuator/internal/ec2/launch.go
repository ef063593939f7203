package ec2

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Launch starts one instance by an instant fleet over the request's offerings.
func (a *Adapter) Launch(ctx context.Context, r cloud.Request) (cloud.Instance, error) {
	if len(r.Offerings) == 0 {
		return cloud.Instance{}, fmt.Errorf("launch claim %s: %w: it lists no offering", r.Claim, cloud.ErrInvalid)
	}
	byName, err := a.typesByName(ctx)
	if err != nil {
		return cloud.Instance{}, err
	}
	groups, err := group(r, byName, func(zone string) (string, bool) {
		return a.addresses.Pick(r.Token, r.Class.Subnets, zone, addresses(r, zone))
	})
	if err != nil {
		return cloud.Instance{}, fmt.Errorf("launch claim %s: %w", r.Claim, err)
	}

	out, err := a.createFleet(ctx, r, groups)
	if awserror.Of(err) == awserror.Template { // a launch template was deleted behind our back: make it again, once
		a.forgetTemplates(groups)
		out, err = a.createFleet(ctx, r, groups)
	}
	if err != nil {
		return cloud.Instance{}, fmt.Errorf("launch claim %s: %w", r.Claim, launchError(err))
	}
	a.noteSubnets(r, out)
	l := launch{r, byName, func(zone string) bool { return a.addresses.Open(r.Class.Subnets, zone) }}
	return l.launched(out)
}

// noteSubnets notes in which subnet the instance is, and which had no address for one.
func (a *Adapter) noteSubnets(r cloud.Request, out *sdk.CreateFleetOutput) {
	subnet := func(l *types.LaunchTemplateAndOverridesResponse) string {
		if l == nil || l.Overrides == nil {
			return ""
		}
		return aws.ToString(l.Overrides.SubnetId)
	}
	for _, e := range out.Errors {
		if id := subnet(e.LaunchTemplateAndOverrides); id != "" && kindOfFleet(e) == awserror.Addresses {
			a.addresses.Full(id)
		}
	}
	used := ""
	for _, i := range out.Instances {
		used = cmp.Or(used, subnet(i.LaunchTemplateAndOverrides))
	}
	a.addresses.Launched(r.Token, used)
}

// addresses is how many an instance in the zone will take at least: one for each pod that it has room for.
func addresses(r cloud.Request, zone string) int64 {
	var least int64
	for _, o := range r.Offerings {
		if n := r.MaxPods[o.InstanceType]; o.Zone == zone && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

func (a *Adapter) createFleet(ctx context.Context, r cloud.Request, groups []templateGroup) (*sdk.CreateFleetOutput, error) {
	for i := range groups {
		name, err := a.ensureTemplate(ctx, r, groups[i])
		if err != nil {
			return nil, err
		}
		groups[i].template = name
	}
	return a.ec2.CreateFleet(ctx, fleet(r, groups, a.instanceTags(r)))
}

// launched reads the fleet's answer. What EC2 had none of is said of a launch that came to something too.
func (l launch) launched(out *sdk.CreateFleetOutput) (cloud.Instance, error) {
	for _, f := range out.Instances {
		if len(f.InstanceIds) == 0 {
			continue
		}
		i := cloud.Instance{
			ID: f.InstanceIds[0], State: cloud.Pending, Claim: l.Claim, NodePool: l.NodePool, Class: l.Class.Name,
			InstanceType: model.TypeName(f.InstanceType), CapacityType: l.Offerings[0].CapacityType,
		}
		i.Short, _ = l.shortages(out.Errors)
		if f.Lifecycle == types.InstanceLifecycleSpot {
			i.CapacityType = model.Spot
		}
		if o := f.LaunchTemplateAndOverrides; o != nil && o.Overrides != nil {
			i.Zone = aws.ToString(o.Overrides.AvailabilityZone)
			i.ImageID = aws.ToString(o.Overrides.ImageId)
			if i.InstanceType == "" {
				i.InstanceType = model.TypeName(o.Overrides.InstanceType)
			}
			if i.Zone == "" {
				i.Zone = zoneOf(l.Class, aws.ToString(o.Overrides.SubnetId))
			}
		}
		if i.Zone == "" {
			return cloud.Instance{}, fmt.Errorf("launch claim %s: EC2 made %s and did not say in which zone", l.Claim, i.ID)
		}
		i.ProviderID = providerID(i.Zone, i.ID)
		return i, nil
	}
	return cloud.Instance{}, fmt.Errorf("launch claim %s: %w", l.Claim, l.fleetError(out.Errors))
}

func zoneOf(c cloud.Class, subnet string) string {
	for _, s := range c.Subnets {
		if s.ID == subnet {
			return s.Zone
		}
	}
	return ""
}
