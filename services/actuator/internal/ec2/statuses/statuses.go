// Package statuses asks EC2 which instances its status checks fail for, and what it has scheduled for which.
//
// EC2 is asked for what is wrong alone, of the whole region: that is three short lists however many instances there
// are. Start reading at Find. What becomes of a node for it is lifecycle's to say.
package statuses

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/filter"
)

// Find returns the instances that something is wrong with, by id.
func Find(ctx context.Context, client sdk.DescribeInstanceStatusAPIClient) ([]cloud.Status, error) {
	found := map[string]cloud.Status{}
	for _, f := range []types.Filter{
		filter.Of("instance-status.status", string(types.SummaryStatusImpaired)),
		filter.Of("system-status.status", string(types.SummaryStatusImpaired)),
		filter.Of("event.code", codes()...),
	} {
		pages := sdk.NewDescribeInstanceStatusPaginator(client, &sdk.DescribeInstanceStatusInput{Filters: []types.Filter{f}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describe instance status: %w", err)
			}
			for i := range page.InstanceStatuses {
				s := status(&page.InstanceStatuses[i])
				found[s.InstanceID] = s
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(x, y cloud.Status) int { return cmp.Compare(x.InstanceID, y.InstanceID) }), nil
}

func codes() []string {
	var out []string
	for _, c := range types.EventCode("").Values() {
		out = append(out, string(c))
	}
	return out
}

func status(s *types.InstanceStatus) cloud.Status {
	out := cloud.Status{InstanceID: aws.ToString(s.InstanceId)}
	for _, check := range []*types.InstanceStatusSummary{s.InstanceStatus, s.SystemStatus} {
		if check == nil || check.Status != types.SummaryStatusImpaired {
			continue
		}
		out.Impaired = true
		for _, d := range check.Details {
			if at := aws.ToTime(d.ImpairedSince); !at.IsZero() {
				out.ImpairedSince = earliest(out.ImpairedSince, at)
			}
		}
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, cloud.ScheduledEvent{
			ID:   cmp.Or(aws.ToString(e.InstanceEventId), string(e.Code)),
			Code: string(e.Code), Description: aws.ToString(e.Description), NotBefore: aws.ToTime(e.NotBefore),
		})
	}
	return out
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
