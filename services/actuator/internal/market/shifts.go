package market

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
)

// shiftsEvery is how often it is asked which zones the cluster is shifted away from.
const shiftsEvery = 30 * time.Second

// refreshShifts asks for them when it is due. What was told last holds while AWS can't be asked.
func (m *Market) refreshShifts(ctx context.Context) {
	if m.cfg.Shifts == nil || (!m.shiftsAt.IsZero() && !m.cfg.Agenda.Due(m.shiftsAt.Add(shiftsEvery))) {
		return
	}
	var zones []string
	m.cfg.Jobs.Do(ctx, jobs.Job{
		Key: keyShifts, First: time.Second, Most: time.Minute,
		Run: func(ctx context.Context) (err error) {
			zones, err = m.cfg.Shifts.ShiftedZones(ctx)
			return err
		},
		Done: func(err error) {
			m.askedShifts = true
			what := "ask for zonal shifts"
			if errors.Is(err, cloud.ErrUnauthorized) && awserror.LacksRight(err) {
				what += ", which are not looked at: allow arc-zonal-shift:GetManagedResource"
			}
			if m.failed(ctx, keyShifts, what)(err); err != nil {
				return
			}
			m.shiftsAt = time.Now()
			shifted := map[string]bool{}
			for _, id := range zones {
				shifted[id] = true
			}
			if !maps.Equal(shifted, m.shifted) {
				m.cfg.Log.InfoContext(ctx, "zones that the cluster is shifted away from", "zones", zones)
				m.shifted, m.repriced = shifted, true
			}
		},
	})
}

// Shifted says that the cluster is shifted away from a zone, as far as the zone's id is known.
func (m *Market) Shifted(zone string) bool {
	id := m.zoneIDs[zone]
	return id != "" && m.shifted[id]
}

// ShiftedZones are the names of those zones.
func (m *Market) ShiftedZones() map[string]bool {
	out := map[string]bool{}
	for zone := range m.zoneIDs {
		if m.Shifted(zone) {
			out[zone] = true
		}
	}
	return out
}
