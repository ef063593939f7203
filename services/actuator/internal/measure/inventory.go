package measure

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/metrics"
)

// Follow counts at each collection what shown returns: the newest inventory, nil where there is none, how many watchers
// follow it, and whether this actuator leads.
func (m *Measure) Follow(shown func() (inv *inventory.Inventory, watchers int, leads bool)) error {
	if m == nil {
		return nil
	}
	return m.recorder.Observe(func(o metrics.Observation) {
		inv, watchers, leads := shown()
		if !leads {
			o.Set(metrics.Leader, 0)
			return
		}
		o.Set(metrics.Leader, 1)
		o.Set(metrics.Watchers, float64(watchers))
		m.failing.observe(o, func(object string) bool {
			return inv == nil || slices.ContainsFunc(inv.Classes, func(c *model.NodeClass) bool { return classObject(c.Name) == object })
		}, time.Now())
		if inv != nil {
			observe(o, inv, time.Now())
		}
	})
}

// stateKey is what claims are told apart by that are to go on to another state.
type stateKey struct {
	pool  model.PoolName
	state model.ClaimState
}

type claimKey struct {
	pool     model.PoolName
	capacity model.CapacityType
	state    model.ClaimState // zero where it does not matter
}

func observe(o metrics.Observation, inv *inventory.Inventory, now time.Time) {
	claims, cost, saved := map[claimKey]int{}, map[claimKey]int64{}, map[claimKey]int64{}
	oldest := map[stateKey]time.Duration{}
	for _, c := range inv.Claims {
		if c.State.Ended() {
			continue
		}
		in := stateKey{c.NodePool, c.State}
		oldest[in] = max(oldest[in], now.Sub(c.StateTime))
		key := claimKey{pool: c.NodePool, capacity: c.CapacityType}
		if c.InstanceID != "" {
			present := price(inv, c, c.CapacityType, c.ReservationID, c.Price)
			cost[key] += present
			saved[key] += price(inv, c, model.OnDemand, "", present) - present
		}
		key.state = c.State
		claims[key]++
	}
	for k, n := range claims {
		o.Set(metrics.ClaimCount, float64(n), metrics.ClaimState.String(k.state.String()), metrics.Pool.String(string(k.pool)),
			metrics.CapacityType.String(k.capacity.String()))
	}
	for k, age := range oldest {
		o.Set(metrics.ClaimAge, age.Seconds(), metrics.ClaimState.String(k.state.String()), metrics.Pool.String(string(k.pool)))
	}
	for k := range cost {
		pool, capacity := metrics.Pool.String(string(k.pool)), metrics.CapacityType.String(k.capacity.String())
		o.Set(metrics.NodeCost, dollars(cost[k]), pool, capacity)
		o.Set(metrics.NodeCostSaved, dollars(saved[k]), pool, capacity)
	}
	short := map[model.CapacityType]int{model.OnDemand: 0, model.Spot: 0, model.Reserved: 0}
	for i := range inv.Offerings {
		if inv.Offerings[i].UnavailableUntil.After(now) {
			short[inv.Offerings[i].CapacityType]++
		}
	}
	for k, n := range short {
		o.Set(metrics.ShortOfferings, float64(n), metrics.CapacityType.String(k.String()))
	}
	ongoing := map[model.DisruptionReason]int{}
	for r := model.ReasonEmpty; r <= model.ReasonSurplus; r++ {
		ongoing[r] = 0
	}
	for _, d := range inv.Disruptions {
		if d.EndTime.IsZero() {
			ongoing[d.Reason]++
		}
	}
	for r, n := range ongoing {
		o.Set(metrics.DisruptionsOngoing, float64(n), metrics.Disruption.String(r.String()))
	}
}

// price is that of a claim's instance under a capacity type, or the given one where it is not known.
func price(inv *inventory.Inventory, c *model.Claim, capacity model.CapacityType, reservation string, otherwise int64) int64 {
	key := model.Offering{InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: capacity, ReservationID: reservation}
	if i, ok := slices.BinarySearchFunc(inv.Offerings, key, model.Offering.Compare); ok {
		return inv.Offerings[i].Price
	}
	return otherwise
}
