package ec2

import (
	"context"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/shifts"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/statuses"
)

var (
	_ cloud.Checks = (*Adapter)(nil)
	_ cloud.Shifts = (*Adapter)(nil)
)

// Statuses implements cloud.Checks.
func (a *Adapter) Statuses(ctx context.Context) ([]cloud.Status, error) {
	list, err := statuses.Find(ctx, a.ec2)
	if err != nil {
		return nil, classify(err)
	}
	return list, nil
}

// Known is an error while it is not known how nodes reach the API server, as EKS has not said yet: nothing is launched
// then.
func (a *Adapter) Known(ctx context.Context) error { return classify(a.plane.Known(ctx)) }

// ShiftedZones implements cloud.Shifts; there are none where they are not asked for.
func (a *Adapter) ShiftedZones(ctx context.Context) ([]string, error) {
	if a.arc == nil {
		return nil, nil
	}
	if err := a.Known(ctx); err != nil {
		return nil, err
	}
	zones, err := shifts.Find(ctx, a.arc, a.plane.ARN())
	if err != nil {
		return nil, classify(err)
	}
	return zones, nil
}
