package verify

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// limits checks how much pools and reservations may have.
type limits struct {
	f *facts.Facts
	r *facts.Report
}

// pools checks, for each pool that the plan buys for, that everything together stays within the pool's limits even if
// each claim becomes the largest that it lists. Nodes that are going away count for as long as they are there.
func (l *limits) pools() {
	adds := make(map[model.PoolName]map[model.Resource]int64)
	for i := range l.f.Plan.NodeClaims {
		claim := &l.f.Plan.NodeClaims[i]
		if pool := l.f.Cluster.Pools[claim.NodePool]; pool == nil || len(pool.Limits) == 0 {
			continue
		}
		if adds[claim.NodePool] == nil {
			adds[claim.NodePool] = make(map[model.Resource]int64)
		}
		l.add(adds[claim.NodePool], nil, claim.NodePool, claim.NodeClass, claim.Offerings)
	}
	for _, name := range slices.Sorted(maps.Keys(adds)) {
		used := make(map[model.Resource]int64)
		for _, claim := range l.f.Cluster.Live {
			if claim.NodePool == name {
				l.add(used, claim.Capacity, name, claim.NodeClass, facts.Becomes(claim))
			}
		}
		for _, limit := range l.f.Cluster.Pools[name].Limits {
			more := adds[name][limit.Resource]
			if n := used[limit.Resource] + more; more > 0 && n > limit.Value {
				l.r.Fail("node pool "+string(name), "with this plan it may have %d of %s, its limit is %d", n, limit.Resource, limit.Value)
			}
		}
	}
}

// add adds one node: what it has, or of each resource the most that it may have.
func (l *limits) add(sum map[model.Resource]int64, has model.Amounts, pool model.PoolName, class model.NodeClassName, may []model.RankedOffering) {
	sum[model.Nodes]++
	most := make(map[model.Resource]int64)
	for i := range may {
		capacity := has
		if len(has) == 0 {
			if t := l.f.Market.Type(class, may[i].InstanceType); t != nil {
				capacity = t.Capacity
			}
		}
		for _, a := range l.f.Market.With(capacity, pool, &may[i]) {
			most[a.Resource] = max(most[a.Resource], a.Value)
		}
	}
	for r, v := range most {
		sum[r] += v
	}
}

// units checks that no more claims are planned into a capacity reservation than it has instances left, and that none is
// for several.
func (l *limits) units() {
	units := offer.NewReservationUnits(l.f.Cluster.Snapshot)
	for _, claim := range l.f.Plan.NodeClaims {
		for i, id := range offer.Reservations(claim.Offerings) {
			if i > 0 || slices.ContainsFunc(claim.Offerings, func(o model.RankedOffering) bool { return o.ReservationID != id }) {
				l.r.Fail("claim "+string(claim.ID), "it lists reservation %s and something else", id)
			}
			if units.Left(id) == 0 {
				l.r.Fail("claim "+string(claim.ID), "nothing is left of reservation %s", id)
			}
			units.Take(1, id)
		}
	}
}

// replicas checks that a static pool neither gets more nodes than its replicas, nor is left with fewer by what is taken
// away because they are too many.
func (l *limits) replicas() {
	for _, name := range slices.Sorted(maps.Keys(l.f.Cluster.Pools)) {
		if !l.f.Cluster.Static(name) {
			continue
		}
		stay, more, less := l.sizes(name)
		want := *l.f.Cluster.Pools[name].Replicas
		if more > 0 && stay+more > want {
			l.r.Fail("node pool "+string(name), "it is to have %d nodes; it has %d, and gets %d", want, stay, more)
		}
		if less > 0 && stay-less < want {
			l.r.Fail("node pool "+string(name), "it is to have %d nodes; of %d the plan takes %d", want, stay, less)
		}
	}
}

// sizes counts the nodes that a static pool has and keeps unless they are too many, those that the plan gives it, and those
// that it takes as too many.
func (l *limits) sizes(name model.PoolName) (stay, more, less int64) {
	for id, claim := range l.f.Cluster.Live {
		why := l.f.Decisions.ReasonFor(id)
		if claim.NodePool != name || l.f.Cluster.Leaving(claim) || why == model.ReasonUnhealthy {
			continue // an unhealthy node goes whatever happens
		}
		stay++
		if why == model.ReasonSurplus {
			less++
		}
	}
	for i := range l.f.Plan.NodeClaims {
		if claim := &l.f.Plan.NodeClaims[i]; claim.NodePool == name && bare(claim) {
			more++
		}
	}
	return stay, more, less
}
