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
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Tags that say whose an instance is. They are written by the launch itself, never after it.
const (
	tagClaim   = labels.TagClaim
	tagCluster = labels.TagCluster
	tagPool    = labels.NodePool
	tagClass   = labels.NodeClass
)

// Instances lists the cluster's instances, or those of some claims, sorted by id.
func (a *Adapter) Instances(ctx context.Context, claims ...model.ClaimID) ([]cloud.Instance, error) {
	filters := []types.Filter{filter("tag:"+tagCluster, a.cluster)}
	if len(claims) > 0 {
		values := make([]string, len(claims))
		for i, id := range claims {
			values[i] = string(id)
		}
		filters = append(filters, filter("tag:"+tagClaim, values...))
	}
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

func instance(i *types.Instance) cloud.Instance {
	out := cloud.Instance{
		ID:           aws.ToString(i.InstanceId),
		InstanceType: model.TypeName(i.InstanceType),
		ImageID:      aws.ToString(i.ImageId),
		PrivateDNS:   aws.ToString(i.PrivateDnsName),
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
	if i.State != nil {
		out.State = cloud.InstanceState(i.State.Name)
	}
	if i.Placement != nil {
		out.Zone = aws.ToString(i.Placement.AvailabilityZone)
	}
	out.ProviderID = providerID(out.Zone, out.ID)
	for _, t := range i.Tags {
		switch aws.ToString(t.Key) {
		case tagClaim:
			out.Claim = model.ClaimID(aws.ToString(t.Value))
		case tagPool:
			out.NodePool = model.PoolName(aws.ToString(t.Value))
		case tagClass:
			out.Class = model.NodeClassName(aws.ToString(t.Value))
		}
	}
	return out
}

func providerID(zone, id string) string { return "aws:///" + zone + "/" + id }

// Terminate ends the instances. Those that EC2 no longer knows are skipped: when a batch holds one, EC2 refuses it whole
// and names none, so the batch is then ended one by one.
func (a *Adapter) Terminate(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := a.ec2.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: ids})
	if err == nil {
		return nil
	}
	if !isNotFound(err) {
		return fmt.Errorf("terminate instances: %w", classify(err))
	}
	if len(ids) == 1 {
		return nil
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, a.Terminate(ctx, id))
	}
	return errors.Join(errs...)
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}
