package ec2

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/template"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// templateGroup is the offerings that one launch template serves: they share an image, a pod limit and network interfaces.
type templateGroup struct {
	image    cloud.Image
	maxPods  int64 // 0: the kubelet's own
	adapters template.Adapters
	// reservation is the id of the capacity reservation that it launches into; "" for none.
	reservation string
	ranked      []ranked
	template    string // the launch template's name, once it is there
}

// ranked is an offering, its place in the plan's order, and the subnet it would be launched into.
type ranked struct {
	model.RankedOffering
	rank   int
	subnet string
}

// The limits of one fleet.
const (
	maxTemplates = 50
	maxOverrides = 300
)

// group sorts the request's offerings by the launch template that they need. Offerings without a subnet or an image are
// left out, and those of the lowest rank where they are more than a fleet takes; none left is an error, because the class
// changed under the plan.
func group(r cloud.Request, byName map[string]catalog.Type, subnetIn func(zone string) (string, bool)) ([]templateGroup, error) {
	var groups []templateGroup
	overrides := 0
	for rank, o := range r.Offerings {
		if overrides == maxOverrides {
			break
		}
		t, ok := byName[string(o.InstanceType)]
		if !ok {
			continue
		}
		subnet, ok := subnetIn(o.Zone)
		if !ok {
			continue
		}
		image, ok := r.Class.ImageFor(t)
		if !ok {
			continue
		}
		var adapters template.Adapters
		if r.EFA {
			adapters = template.Adapters{First: t.EFAFirstCard, Count: t.EFAInterfaces}
		}
		i := slices.IndexFunc(groups, func(g templateGroup) bool {
			return g.image.ID == image.ID && g.maxPods == r.MaxPods[o.InstanceType] && g.adapters == adapters && g.reservation == o.ReservationID
		})
		if i < 0 && len(groups) == maxTemplates {
			continue
		}
		if i < 0 {
			groups = append(groups, templateGroup{
				image: image, maxPods: r.MaxPods[o.InstanceType], adapters: adapters, reservation: o.ReservationID,
			})
			i = len(groups) - 1
		}
		overrides++
		groups[i].ranked = append(groups[i].ranked, ranked{RankedOffering: o, rank: rank, subnet: subnet})
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("%w: class %s has no subnet or no image for any of %d offerings",
			cloud.ErrClassNotReady, r.Class.Name, len(r.Offerings))
	}
	return groups, nil
}

// fleet builds the request.
func fleet(r cloud.Request, groups []templateGroup, tags []types.Tag) *sdk.CreateFleetInput {
	in := &sdk.CreateFleetInput{
		Type:        types.FleetTypeInstant,
		ClientToken: aws.String(r.Token),
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(int32(r.Asked())), // at most launches.Most
		},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tags},
			{ResourceType: types.ResourceTypeVolume, Tags: tags},
			{ResourceType: types.ResourceTypeFleet, Tags: tags},
		},
	}
	if r.Spec.Context != "" {
		in.Context = aws.String(r.Spec.Context)
	}
	buyAs(in, r.Class, r.Offerings[0])
	for _, g := range groups {
		config := types.FleetLaunchTemplateConfigRequest{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: aws.String(g.template), Version: aws.String("$Latest"),
			},
		}
		for _, o := range g.ranked {
			config.Overrides = append(config.Overrides, types.FleetLaunchTemplateOverridesRequest{
				InstanceType:     types.InstanceType(o.InstanceType),
				AvailabilityZone: aws.String(o.Zone),
				SubnetId:         aws.String(o.subnet),
				Priority:         aws.Float64(float64(o.rank)),
			})
		}
		in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, config)
	}
	return in
}

// instanceTags are written by the launch itself, so that no instance is ever without the name of its claim, or, where a
// launch is for several, of the launch, which the claims are stored with.
func (a *Adapter) instanceTags(r cloud.Request) []types.Tag {
	set := map[string]string{}
	if r.Asked() == 1 {
		set["Name"] = string(r.Claim) // where the class has no other
	}
	maps.Copy(set, a.launchTags(r))
	set[labels.TagLaunch] = r.Token
	delete(set, labels.TagClaim) // a class's can name a claim only by mistake, or to take its instance's place
	if r.Asked() == 1 {
		set[labels.TagClaim] = string(r.Claim)
	}
	return sortedTags(set)
}

// launchTags are the class's and Kerf's own that launches have in common.
func (a *Adapter) launchTags(r cloud.Request) map[string]string {
	set := map[string]string{}
	for _, t := range r.Spec.Tags {
		set[t.Key] = t.Value
	}
	maps.Copy(set, a.ownTags())
	set[labels.NodePool] = string(r.NodePool)
	set[labels.NodeClass] = string(r.Class.Name)
	return set
}

// ownTags mark everything that Kerf makes for the cluster.
func (a *Adapter) ownTags() map[string]string {
	return map[string]string{
		labels.TagCluster: a.cluster, labels.TagClusterPrefix + a.cluster: "owned", "eks:eks-cluster-name": a.cluster,
	}
}

func sortedTags(set map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(set))
	for k, v := range set {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	slices.SortFunc(out, func(x, y types.Tag) int { return cmp.Compare(*x.Key, *y.Key) })
	return out
}
