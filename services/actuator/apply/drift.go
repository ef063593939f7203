package apply

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Present is what a claim is compared with to see whether it has drifted. From what is not known nothing drifts: a nil
// pointer, an empty list.
type Present struct {
	Now      time.Time
	Pool     *cluster.Pool
	Class    *Class
	Node     *cluster.Node
	Instance *rules.Placement
	// Market is what EC2 sells; MarketKnown says that it has all, so that what is not in it is not sold.
	Market      Market
	MarketKnown bool
}

// Drift says how a claim is no longer what its pool and class ask for; the zero Reason when it still is.
func Drift(c model.Claim, p Present) model.Reason {
	f := rules.DriftFacts{Claim: &c, Label: func(key string) (string, bool) { return label(c, p, key) }}
	if p.Pool != nil {
		f.Pool = &p.Pool.NodePool
	}
	if p.Class != nil {
		f.Class = &p.Class.NodeClass
		f.Wanted = rules.Placement{Subnets: p.Class.Subnets, SecurityGroups: p.Class.SecurityGroups}
	}
	if p.Instance != nil {
		f.Instance = *p.Instance
	}
	if p.MarketKnown && p.Class != nil && len(p.Class.Shapes) > 0 {
		f.HasType = func(t model.TypeName) bool {
			_, ok := p.Class.Shapes[t]
			return ok
		}
		f.Sold = func(t model.TypeName, zone string, capacity model.CapacityType) bool {
			_, ok := sold(p.Market, OfferingKey{t, zone, capacity, ""})
			return ok
		}
	}
	why, _ := rules.Drifted(f, p.Now)
	return why
}

// label looks a label up: as the claim's requirements say, as the node has it, or as this version of Kerf knows the
// type, for keys that the version that launched it did not.
func label(c model.Claim, p Present, key string) (string, bool) {
	if v, ok := c.Labels.Get(key); ok {
		return v, true
	}
	if p.Node != nil {
		if v, ok := p.Node.Labels[key]; ok {
			return v, true
		}
	}
	if p.Class == nil {
		return "", false
	}
	return p.Class.Shapes[c.InstanceType].Labels.Get(key)
}

// drift is what the state says of the claim.
func (v *verifier) drift(c model.Claim) model.Reason {
	p := Present{Now: v.state.Now, Market: v.state.Market, MarketKnown: v.state.MarketKnown}
	if pool, ok := v.state.Pools[c.NodePool]; ok {
		p.Pool = &pool
	}
	if class, ok := v.state.Classes[c.NodeClass]; ok {
		p.Class = &class
	}
	if node, ok := v.state.Nodes[c.ID]; ok {
		p.Node = &node
	}
	if instance, ok := v.state.Instances[c.ID]; ok {
		p.Instance = &instance
	}
	return Drift(c, p)
}

// drifted says that the claim has drifted: it was found so before and nothing has cleared it, or it is so now.
func (v *verifier) drifted(c model.Claim) bool {
	return !c.Drifted.OK() || !v.drift(c).OK()
}

// canary lets the drifted nodes of a pool go one at a time until one that was launched as the pool and its class are now
// has proven itself, and none for a while after a replacement failed. Pools do not wait for each other.
func (v *verifier) canary(d model.Disruption) model.Reason {
	count := map[model.PoolName]int{}
	var pools []model.PoolName
	for _, id := range d.Candidates {
		pool := v.state.Claims[id].NodePool
		if count[pool] == 0 {
			pools = append(pools, pool)
		}
		count[pool]++
	}
	slices.Sort(pools)
	for _, pool := range pools {
		if why := v.paused(pool); !why.OK() {
			return why
		}
		if why := rules.Canary(pool, v.drifting(pool)+count[pool]-1, v.proven(pool)); !why.OK() {
			return why
		}
	}
	return model.Reason{}
}

// paused is why drifted nodes of a pool may not go because replacements failed.
func (v *verifier) paused(pool model.PoolName) model.Reason {
	why, known := v.pauses[pool]
	if !known {
		why, _ = rules.DriftPause(pool, v.records(), func(id model.ClaimID) *model.Claim {
			if c, ok := v.state.Claims[id]; ok {
				return &c
			}
			return nil
		}, v.state.Now)
		v.pauses[pool] = why
	}
	return why
}

func (v *verifier) records() []model.DisruptionRecord {
	if v.drifts == nil {
		v.drifts = make([]model.DisruptionRecord, 0, len(v.state.Disruptions))
		for _, d := range v.state.Disruptions {
			if d.Reason == model.ReasonDrifted {
				v.drifts = append(v.drifts, d)
			}
		}
	}
	return v.drifts
}

// proven says that a node of the pool that was launched as the pool and its class are now is Initialized.
func (v *verifier) proven(pool model.PoolName) bool {
	if known, ok := v.proof[pool]; ok {
		return known
	}
	now := v.state.Pools[pool].NodePool
	var class *model.NodeClass
	if c, ok := v.state.Classes[now.NodeClass]; ok {
		class = &c.NodeClass
	}
	proof := false
	for id, c := range v.state.Claims {
		if c.NodePool == pool && rules.Proves(&c, &now, class) && v.state.Nodes[id].Ready && !v.drifted(c) {
			proof = true
			break
		}
	}
	v.proof[pool] = proof
	return proof
}

// drifting counts the drifted nodes of the pool that are being taken away: by disruptions that go on, and by those that
// this plan was granted.
func (v *verifier) drifting(pool model.PoolName) int {
	n := 0
	count := func(d model.DisruptionRecord) {
		for _, id := range d.Candidates {
			if c, ok := v.state.Claims[id]; ok && c.NodePool == pool && !c.State.Ended() {
				n++
			}
		}
	}
	for _, d := range v.records() {
		if d.EndTime.IsZero() {
			count(d)
		}
	}
	for _, g := range v.groups {
		if g.Disruption != nil && g.Disruption.Reason == model.ReasonDrifted {
			count(*g.Disruption)
		}
	}
	return n
}
