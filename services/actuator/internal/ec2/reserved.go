package ec2

import (
	"cmp"
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/reservations"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// buyAs says which market the fleet buys in. On-demand follows the plan's order; spot leaves EC2 to weigh price against
// the risk of an interruption among what the plan ranked. An ordinary reservation is filled by on-demand launches that
// name it.
func buyAs(in *sdk.CreateFleetInput, c cloud.Class, first model.RankedOffering) {
	target := in.TargetCapacitySpecification
	target.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeOnDemand
	reservation, _ := c.Reservation(first.ReservationID)
	switch {
	case first.CapacityType == model.Spot:
		target.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeSpot
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
	case reservation.Block:
		target.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeCapacityBlock
	case reservation.Interruptible:
		target.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeReservedCapacity
		in.ReservedCapacityOptions = &types.ReservedCapacityOptionsRequest{
			ReservationTypes: []types.FleetReservationType{types.FleetReservationTypeInterruptibleCapacityReservation},
		}
	default:
		in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyPrioritized}
	}
}

// reserved finds the class's capacity reservations and its placement group. Where the class names none, EC2 is not asked.
func (a *Adapter) reserved(ctx context.Context, s cloud.ClassSpec, out *cloud.Class) error {
	f := reservations.Finder{EC2: a.ec2, Family: s.AMIFamily, Now: a.now}
	if len(s.Reservations) > 0 {
		found, err := f.Find(ctx, s.Reservations)
		if err != nil {
			return classify(err)
		}
		out.Reservations = found
	}
	if s.PlacementGroup == (cloud.PlacementGroupTerm{}) {
		return nil
	}
	group, ok, err := f.PlacementGroup(ctx, s.PlacementGroup)
	if err != nil {
		return classify(err)
	}
	if !ok {
		out.Found(cloud.Finding{
			Condition: awsv1.ConditionPlacementGroupReady, Reason: awsv1.ReasonPlacementGroupNotFound, Field: "placementGroupSelector",
			Message: "no available placement group is named " + cmp.Or(s.PlacementGroup.ID, s.PlacementGroup.Name),
		})
	}
	out.PlacementGroup = group
	return nil
}
