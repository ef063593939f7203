package ec2

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/filter"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Instances lists the cluster's instances, or some of them, sorted by id. EC2 takes what is named by one kind in one call.
func (a *Adapter) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	named := map[string][]string{}
	for _, x := range some {
		switch {
		case x.Instance != "":
			named["instance-id"] = append(named["instance-id"], x.Instance)
		case x.Launch != "":
			named["tag:"+labels.TagLaunch] = append(named["tag:"+labels.TagLaunch], x.Launch)
		default:
			named["tag:"+labels.TagClaim] = append(named["tag:"+labels.TagClaim], string(x.Claim))
		}
	}
	own := filter.Of("tag:"+labels.TagCluster, a.cluster)
	if len(named) == 0 {
		return a.instances(ctx, own)
	}
	var out []cloud.Instance
	for _, name := range slices.Sorted(maps.Keys(named)) {
		list, err := a.instances(ctx, own, filter.Of(name, named[name]...))
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	byID := func(x, y cloud.Instance) int { return cmp.Compare(x.ID, y.ID) }
	slices.SortFunc(out, byID)
	return slices.CompactFunc(out, func(x, y cloud.Instance) bool { return x.ID == y.ID }), nil
}

func (a *Adapter) instances(ctx context.Context, filters ...types.Filter) ([]cloud.Instance, error) {
	pages := sdk.NewDescribeInstancesPaginator(a.ec2, &sdk.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(1000)})
	var out []cloud.Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe instances: %w", classify(err))
		}
		for _, r := range page.Reservations {
			for i := range r.Instances {
				out = append(out, instance(&r.Instances[i]))
			}
		}
	}
	slices.SortFunc(out, func(x, y cloud.Instance) int { return cmp.Compare(x.ID, y.ID) })
	return out, nil
}

// Tag gives an instance its claim's tag. It is of a launch of several, which could not say whose each is.
func (a *Adapter) Tag(ctx context.Context, i cloud.Instance) error {
	tags := map[string]string{labels.TagClaim: string(i.Claim)}
	if i.Name == "" {
		tags["Name"] = string(i.Claim)
	}
	_, err := a.ec2.CreateTags(ctx, &sdk.CreateTagsInput{Resources: []string{i.ID}, Tags: sortedTags(tags)})
	if err != nil { // EC2 may not have heard of it yet
		return fmt.Errorf("tag instance %s: %w", i.ID, classify(err))
	}
	return nil
}

func instance(i *types.Instance) cloud.Instance {
	out := cloud.Instance{
		ID:           aws.ToString(i.InstanceId),
		InstanceType: model.TypeName(i.InstanceType),
		ImageID:      aws.ToString(i.ImageId),
		LaunchTime:   aws.ToTime(i.LaunchTime),
		CapacityType: model.OnDemand,
		SubnetID:     aws.ToString(i.SubnetId),
	}
	for _, g := range i.SecurityGroups {
		out.SecurityGroups = append(out.SecurityGroups, aws.ToString(g.GroupId))
	}
	slices.Sort(out.SecurityGroups)
	if i.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		out.CapacityType = model.Spot
	}
	if id := aws.ToString(i.CapacityReservationId); id != "" {
		out.CapacityType, out.ReservationID = model.Reserved, id
	}
	if i.State != nil {
		out.State = cloud.InstanceState(i.State.Name)
	}
	if why := i.StateReason; why != nil && !out.State.Alive() {
		code := aws.ToString(why.Code)
		out.Why = cmp.Or(aws.ToString(why.Message), code)
		out.Unfilled = awserror.OfCode(strings.TrimPrefix(code, "Server."), "") == awserror.Capacity
	}
	if i.Placement != nil {
		out.Zone = aws.ToString(i.Placement.AvailabilityZone)
	}
	out.ProviderID = providerID(out.Zone, out.ID)
	for _, t := range i.Tags {
		switch aws.ToString(t.Key) {
		case labels.TagClaim:
			out.Claim = model.ClaimID(aws.ToString(t.Value))
		case labels.TagLaunch:
			out.Launch = aws.ToString(t.Value)
		case "Name":
			out.Name = aws.ToString(t.Value)
		}
	}
	return out
}

func providerID(zone, id string) string { return "aws:///" + zone + "/" + id }

// Terminate ends the instances, in one call with others that are to end. Those that EC2 no longer knows are skipped.
func (a *Adapter) Terminate(ctx context.Context, ids ...string) error {
	if err := a.ending.End(ctx, ids); err != nil {
		return fmt.Errorf("terminate instances: %w", classify(err))
	}
	return nil
}
