package apply

import (
	"maps"

	"github.com/kerf-dev/kerf/services/core/model"
)

// tally is what counts against limits, budgets and the rule of one claim per pod; accepted decisions add to it.
type tally struct {
	used       map[model.PoolName]amounts // by pool and resource
	disrupting map[model.ClaimID]bool
	// leaving are those of them that are being taken away; the others are not ready.
	leaving map[model.ClaimID]bool
	// down are those of them that budgets count, and nodes all that they count, by pool.
	down, nodes map[model.PoolName]int
	served      map[model.PodID]model.ClaimID // pods of claims that this plan was granted
	// staying are the claims of each pool that nothing takes away, those that this plan was granted included.
	staying map[model.PoolName]int64
	// tried are offerings that were short lately, and how many claims try each now that may be nothing else.
	tried map[OfferingKey]int
}

// amounts are quantities by resource.
type amounts map[model.Resource]int64

func newTally(s State) tally {
	t := tally{
		used:       map[model.PoolName]amounts{},
		disrupting: map[model.ClaimID]bool{},
		leaving:    map[model.ClaimID]bool{},
		down:       map[model.PoolName]int{},
		nodes:      map[model.PoolName]int{},
		served:     map[model.PodID]model.ClaimID{},
		staying:    map[model.PoolName]int64{},
		tried:      map[OfferingKey]int{},
	}
	for id, c := range s.Claims {
		if c.State.Ended() {
			continue
		}
		if c.State <= model.ClaimLaunching {
			t.try(s, c.Offerings)
		}
		t.use(c.NodePool, claimCapacity(c, s.Classes[c.NodeClass]))
		if serves(c) && c.Disruption == "" {
			t.staying[c.NodePool]++
		}
		n, there := s.Nodes[id]
		if !there || !Counted(c) {
			continue // budgets are about nodes, here as in planners: what one counts alone, the other may never decide
		}
		t.nodes[c.NodePool]++
		t.leaving[id] = c.Disruption != "" || c.State == model.ClaimDraining
		if t.leaving[id] || !n.Ready {
			t.disrupt(id, c)
		}
	}
	return t
}

// probes says that all of the offerings were short lately.
func probes(s State, offerings []model.RankedOffering) bool {
	for _, o := range offerings {
		if now, _ := sold(s.Market, KeyOf(o)); now.Tries == 0 {
			return false
		}
	}
	return len(offerings) > 0
}

// try notes what a claim tries that can be launched as nothing else.
func (t tally) try(s State, offerings []model.RankedOffering) {
	if !probes(s, offerings) {
		return
	}
	for _, o := range offerings {
		t.tried[KeyOf(o)]++
	}
}

// disrupt counts a claim that is being taken away, once.
func (t tally) disrupt(id model.ClaimID, c model.Claim) {
	if t.disrupting[id] {
		return
	}
	t.disrupting[id] = true
	if Counted(c) {
		t.down[c.NodePool]++
	}
}

func (t tally) clone() tally {
	used := make(map[model.PoolName]amounts, len(t.used))
	for pool, m := range t.used {
		used[pool] = maps.Clone(m)
	}
	return tally{
		used: used, disrupting: maps.Clone(t.disrupting), leaving: maps.Clone(t.leaving), down: maps.Clone(t.down), nodes: t.nodes, served: maps.Clone(t.served),
		staying: maps.Clone(t.staying), tried: maps.Clone(t.tried),
	}
}

func (t tally) use(pool model.PoolName, capacity amounts) {
	m := t.used[pool]
	if m == nil {
		m = amounts{}
		t.used[pool] = m
	}
	for r, v := range capacity {
		m[r] += v
	}
	m[model.Nodes]++
}

// over returns the first limit that one more node of the capacity would exceed; false when there is none.
func (t tally) over(pool model.PoolName, limits model.Amounts, capacity amounts) (model.Amount, int64, bool) {
	for _, l := range limits {
		more := capacity[l.Resource]
		if l.Resource == model.Nodes {
			more = 1
		}
		if sum := t.used[pool][l.Resource] + more; more > 0 && sum > l.Value {
			return l, sum, true
		}
	}
	return model.Amount{}, 0, false
}

// claimCapacity is what a claim counts: what its node has, or before the launch the most that it may become.
func claimCapacity(c model.Claim, class Class) amounts {
	out := amounts{}
	if c.InstanceID != "" || len(c.Offerings) == 0 {
		most(out, c.Capacity)
		return out
	}
	for _, o := range c.Offerings {
		most(out, class.Shapes[o.InstanceType].Capacity)
	}
	if len(out) == 0 { // the class is not resolved now
		most(out, c.Capacity)
	}
	return out
}

func most(into amounts, from model.Amounts) {
	for _, a := range from {
		into[a.Resource] = max(into[a.Resource], a.Value)
	}
}

// Counted says that the claim is one of the nodes that a budget's share is of.
func Counted(c model.Claim) bool {
	return c.State == model.ClaimInitialized || (c.State == model.ClaimDraining && c.Reached == model.ClaimInitialized)
}
