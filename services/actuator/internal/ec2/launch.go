package ec2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Launch starts the request's instances by an instant fleet over its offerings.
func (a *Adapter) Launch(ctx context.Context, r cloud.Request) ([]cloud.Instance, error) {
	if len(r.Offerings) == 0 {
		return nil, fmt.Errorf("launch %s: %w: it lists no offering", about(r), cloud.ErrInvalid)
	}
	if err := a.Known(ctx); err != nil {
		return nil, fmt.Errorf("launch %s: %w", about(r), err)
	}
	byName, err := a.typesByName(ctx)
	if err != nil {
		return nil, err
	}
	ipv6 := a.plane.API().IPv6()
	groups, err := group(r, byName, func(zone string) (string, bool) {
		return a.addresses.Pick(r.Token, r.Class.Subnets, zone, leastTaken(r, zone, ipv6)*int64(r.Asked()))
	})
	if err != nil {
		return nil, fmt.Errorf("launch %s: %w", about(r), err)
	}

	out, err := a.createFleet(ctx, r, groups)
	if awserror.Of(err) == awserror.Template { // a launch template was deleted behind our back: make it again, once
		a.forgetTemplates(groups)
		out, err = a.createFleet(ctx, r, groups)
	}
	if r.Spec.InstanceProfile != "" && unknownProfile(out, err) {
		a.profiles.Unknown(r.Spec.InstanceProfile)
	}
	if err != nil {
		return nil, fmt.Errorf("launch %s: %w", about(r), launchError(err, r))
	}
	if slices.ContainsFunc(out.Errors, func(e types.CreateFleetError) bool { return kindOfFleet(e) == awserror.Template }) {
		a.forgetTemplates(groups) // the next attempt makes it again: this one's token gives the same answer
	}
	a.noteSubnets(r, out, ipv6)
	l := launch{r, byName, func(zone string) bool { return a.addresses.Open(r.Class.Subnets, zone) }}
	return l.launched(out, groups)
}

// about names what a launch is for.
func about(r cloud.Request) string {
	if n := r.Asked(); n > 1 {
		return fmt.Sprintf("%d claims of pool %s", n, r.NodePool)
	}
	return fmt.Sprintf("claim %s", r.Claim)
}

// noteSubnets notes in which subnets the instances are, and which had no address for one.
func (a *Adapter) noteSubnets(r cloud.Request, out *sdk.CreateFleetOutput, ipv6 bool) {
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
	taken := map[string]int64{}
	for _, i := range out.Instances {
		taken[subnet(i.LaunchTemplateAndOverrides)] += takes(r, model.TypeName(i.InstanceType), ipv6) * int64(len(i.InstanceIds))
	}
	a.addresses.Launched(r.Token, taken)
}

// leastTaken is how many addresses an instance in the zone will take at least.
func leastTaken(r cloud.Request, zone string, ipv6 bool) int64 {
	var least int64
	for _, o := range r.Offerings {
		if n := takes(r, o.InstanceType, ipv6); o.Zone == zone && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// prefix is how many addresses of a subnet a prefix takes, however few of them pods have.
const prefix = 16

// takes is how many of its subnet's IPv4 addresses an instance of the type will take: one for each pod that it has room
// for, or its own and those of the prefixes that it begins with. Where pods have IPv6 it takes its own alone.
func takes(r cloud.Request, t model.TypeName, ipv6 bool) int64 {
	if ipv6 {
		return 1
	}
	prefixes := int64(aws.ToInt32(r.Spec.IPPrefixCount))
	return max(r.MaxPods[t], 1+prefixes*prefix)
}

// createFleet leaves out the groups that can't be as the class says: what they ask for may be right for the others.
func (a *Adapter) createFleet(ctx context.Context, r cloud.Request, groups []templateGroup) (*sdk.CreateFleetOutput, error) {
	var usable []templateGroup
	var refused error
	for i := range groups {
		name, err := a.ensureTemplate(ctx, r, groups[i])
		if errors.Is(classify(err), cloud.ErrInvalid) {
			refused = cmp.Or(refused, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		groups[i].template = name
		usable = append(usable, groups[i])
	}
	if len(usable) == 0 {
		return nil, refused
	}
	return a.ec2.CreateFleet(ctx, fleet(r, usable, a.instanceTags(r)))
}

// launched reads the fleet's answer. What EC2 had none of is said of a launch that came to something too, and why there are
// fewer instances than were asked for.
func (l launch) launched(out *sdk.CreateFleetOutput, groups []templateGroup) ([]cloud.Instance, error) {
	var made []cloud.Instance
	for _, f := range out.Instances {
		i := l.instance(f, groups)
		for _, id := range f.InstanceIds {
			if i.Zone == "" {
				return nil, fmt.Errorf("launch %s: EC2 made %s and did not say in which zone", about(l.Request), id)
			}
			i.ID, i.ProviderID = id, providerID(i.Zone, id)
			made = append(made, i)
		}
	}
	slices.SortFunc(made, func(x, y cloud.Instance) int { return cmp.Compare(x.ID, y.ID) })
	if len(made) > 0 {
		made[0].Short, _ = l.shortages(out.Errors)
	}
	if len(made) < l.Asked() {
		return made, fmt.Errorf("launch %s: %w", about(l.Request), l.fleetError(out.Errors))
	}
	return made, nil
}

// instance is what the instances of one offering have in common.
func (l launch) instance(f types.CreateFleetInstance, groups []templateGroup) cloud.Instance {
	i := cloud.Instance{
		State: cloud.Pending, Launch: l.Token, InstanceType: model.TypeName(f.InstanceType), CapacityType: l.Offerings[0].CapacityType,
	}
	if l.Asked() == 1 {
		i.Claim = l.Claim
	}
	if f.Lifecycle == types.InstanceLifecycleSpot {
		i.CapacityType = model.Spot
	}
	from := f.LaunchTemplateAndOverrides
	if from == nil || from.Overrides == nil {
		return i
	}
	i.InstanceType = cmp.Or(i.InstanceType, model.TypeName(from.Overrides.InstanceType))
	i.Zone = cmp.Or(aws.ToString(from.Overrides.AvailabilityZone), zoneOf(l.Class, aws.ToString(from.Overrides.SubnetId)))
	i.ImageID = aws.ToString(from.Overrides.ImageId)
	for _, o := range l.Offerings {
		if o.InstanceType == i.InstanceType && o.Zone == i.Zone {
			i.ReservationID = cmp.Or(i.ReservationID, o.ReservationID)
		}
	}
	var used string
	if from.LaunchTemplateSpecification != nil {
		used = aws.ToString(from.LaunchTemplateSpecification.LaunchTemplateName)
	}
	for _, g := range groups { // EC2 says only what overrides the template's
		if g.template != "" && g.template == used { // one that was left out has none
			i.ImageID = cmp.Or(i.ImageID, g.image.ID)
		}
	}
	return i
}

func zoneOf(c cloud.Class, subnet string) string {
	for _, s := range c.Subnets {
		if s.ID == subnet {
			return s.Zone
		}
	}
	return ""
}
