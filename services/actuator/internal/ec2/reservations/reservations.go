// Package reservations finds the capacity reservations and the placement group that a node class selects. It asks EC2 and
// changes nothing. Start reading at Finder.
package reservations

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/filter"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// EC2 is what a Finder asks.
type EC2 interface {
	sdk.DescribeCapacityReservationsAPIClient
	DescribePlacementGroups(ctx context.Context, in *sdk.DescribePlacementGroupsInput, o ...func(*sdk.Options)) (*sdk.DescribePlacementGroupsOutput, error)
}

// Finder finds what is reserved.
type Finder struct {
	EC2 EC2
	// Family is the AMI family of what is launched.
	Family string
	Now    func() time.Time
}

// Find returns the active reservations that any of the terms selects, by id. One that was not found by its id is left
// out, and so is what no instance fits: EC2 would say of each launch that there is no room, and there is nothing
// cheaper than a reservation.
func (f Finder) Find(ctx context.Context, terms []cloud.ReservationTerm) ([]cloud.Reservation, error) {
	found := map[string]cloud.Reservation{}
	for _, t := range terms {
		in := &sdk.DescribeCapacityReservationsInput{Filters: filters(t)}
		if t.ID != "" { // there is no filter for it
			in.CapacityReservationIds = []string{t.ID}
		}
		pages := sdk.NewDescribeCapacityReservationsPaginator(f.EC2, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if awserror.Of(err) == awserror.NotFound {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("describe capacity reservations: %w", err)
			}
			for i := range page.CapacityReservations {
				r := &page.CapacityReservations[i]
				if !f.fits(r) {
					continue
				}
				found[aws.ToString(r.CapacityReservationId)] = reservation(r, f.Now())
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(x, y cloud.Reservation) int { return cmp.Compare(x.ID, y.ID) }), nil
}

// fits says that instances of the family can go into a reservation: they are on shared hardware, and a reservation is
// of an operating system, of which that of images of one's own is not known.
func (f Finder) fits(r *types.CapacityReservation) bool {
	if r.Tenancy == types.CapacityReservationTenancyDedicated {
		return false
	}
	const windows = "Windows"
	known := r.InstancePlatform != "" && f.Family != string(awsv1.FamilyCustom)
	return !known || strings.HasPrefix(string(r.InstancePlatform), windows) == strings.HasPrefix(f.Family, windows)
}

func filters(t cloud.ReservationTerm) []types.Filter {
	out := append(filter.Tags(t.Tags), filter.Of("state", string(types.CapacityReservationStateActive)))
	if t.OwnerID != "" {
		out = append(out, filter.Of("owner-id", t.OwnerID))
	}
	if t.MatchesLaunches != "" {
		out = append(out, filter.Of("instance-match-criteria", t.MatchesLaunches))
	}
	return out
}

func reservation(r *types.CapacityReservation, now time.Time) cloud.Reservation {
	out := cloud.Reservation{
		ID: aws.ToString(r.CapacityReservationId), OwnerID: aws.ToString(r.OwnerId),
		InstanceType: model.TypeName(aws.ToString(r.InstanceType)), Zone: aws.ToString(r.AvailabilityZone),
		MatchesLaunches: string(r.InstanceMatchCriteria), Block: r.ReservationType == types.CapacityReservationTypeCapacityBlock,
		Interruptible: aws.ToBool(r.Interruptible), EndTime: aws.ToTime(r.EndDate), Free: int64(aws.ToInt32(r.AvailableInstanceCount)),
	}
	out.Expiring = out.Ending(now)
	return out
}

// PlacementGroup returns the group that the term names; false where there is none.
func (f Finder) PlacementGroup(ctx context.Context, t cloud.PlacementGroupTerm) (cloud.PlacementGroup, bool, error) {
	in := &sdk.DescribePlacementGroupsInput{Filters: []types.Filter{filter.Of("state", string(types.PlacementGroupStateAvailable))}}
	if t.Name != "" {
		in.Filters = append(in.Filters, filter.Of("group-name", t.Name))
	}
	out, err := f.EC2.DescribePlacementGroups(ctx, in)
	if err != nil {
		return cloud.PlacementGroup{}, false, fmt.Errorf("describe placement groups: %w", err)
	}
	for _, g := range out.PlacementGroups {
		if t.ID != "" && aws.ToString(g.GroupId) != t.ID {
			continue
		}
		return cloud.PlacementGroup{ID: aws.ToString(g.GroupId), Strategy: string(g.Strategy)}, true, nil
	}
	return cloud.PlacementGroup{}, false, nil
}
