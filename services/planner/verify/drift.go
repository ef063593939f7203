package verify

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// newType is how young a claim is whose type may not be known everywhere yet.
	newType = time.Hour
	// firstHold is how long a pool's drift is held after a failure; it doubles with each in a row, up to longestHold.
	firstHold, longestHold = 15 * time.Minute, 4 * time.Hour
)

// drift says how a claim no longer is what its pool and class ask for; "" when it still is. Without a pool nobody asks.
func (c *checker) drift(claim *model.Claim) string {
	pool, class := c.pools[claim.NodePool], c.nodeClasses[claim.NodeClass]
	switch {
	case pool == nil:
		return ""
	case claim.Drifted != nil:
		return claim.Drifted.Message
	case differ(claim.PoolHash, pool.Hash):
		return "its pool is another"
	case class != nil && differ(claim.ClassHash, class.Hash):
		return "its node class is another"
	}
	for _, r := range pool.Requirements {
		if !holds(r, c.labelOf(claim, r.Key)) {
			return "its labels do not meet the pool's requirement on " + r.Key
		}
	}
	if c.in.Now.Sub(claim.CreateTime) >= newType && !c.sold(pool, claim) {
		return fmt.Sprintf("type %s is not sold to its pool any more", claim.InstanceType)
	}
	if c.launchesNoMore(class, claim.ImageID) {
		return "its node class does not launch image " + claim.ImageID + " any more"
	}
	return ""
}

// differ says whether two hashes that are both known are not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// labelOf is a label of a claim or, where the claim does not say, of its node.
func (c *checker) labelOf(claim *model.Claim, key string) state {
	find := func(labels model.Labels) (state, bool) {
		for _, l := range labels {
			if normalKey(l.Key) == normalKey(key) {
				return state{l.Value, true}, true
			}
		}
		return state{}, false
	}
	if st, ok := find(claim.Labels); ok {
		return st
	}
	if n := c.nodeOf[claim.ID]; n != nil {
		st, _ := find(n.Labels)
		return st
	}
	return state{}
}

// sold says whether what a claim is can be bought for the pool at all, be it available or not; what is in a reservation may
// as well be on demand. Of a class that is not ready, or whose catalog is not there, nobody knows.
func (c *checker) sold(pool *model.NodePool, claim *model.Claim) bool {
	class, name := c.nodeClasses[pool.NodeClass], claim.InstanceType
	if name == "" || class == nil || class.NotReady != nil || !c.hasCatalog(class.Catalog) {
		return true
	}
	if c.types[typeKey{class.Catalog, name}] == nil {
		return false
	}
	_, same := c.offerings[offeringKey{name, claim.Zone, claim.CapacityType}]
	_, onDemand := c.offerings[offeringKey{name, claim.Zone, model.OnDemand}]
	return same || (claim.CapacityType == model.Reserved && onDemand) || len(c.offerings) == 0
}

// launchesNoMore says whether a class launches other images than one. A class that is not ready may be about to say.
func (c *checker) launchesNoMore(class *model.NodeClass, image string) bool {
	if class == nil || class.NotReady != nil || image == "" || len(class.Images) == 0 {
		return false
	}
	return !slices.ContainsFunc(class.Images, func(m model.MachineImage) bool { return m.ID == image })
}

func (c *checker) hasCatalog(id model.CatalogID) bool {
	return slices.ContainsFunc(c.snap.Catalogs, func(cat model.Catalog) bool { return cat.ID == id })
}

// canaries checks that a pool's drifted nodes go one at a time until one has proven what comes after them, and not at all
// for a while after that failed.
func (c *checker) canaries() {
	taken := make(map[model.PoolName]int)
	for _, d := range c.plan.Disruptions {
		for _, id := range d.Candidates {
			if claim := c.live[id]; claim != nil && d.Reason == model.ReasonDrifted {
				taken[claim.NodePool]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		subject := "node pool " + string(name)
		if until := c.heldUntil(name); c.in.Now.Before(until) {
			c.fail(subject, "the plan takes %d drifted nodes; after failures they stay until %s", taken[name], until)
		}
		going := 0
		for _, claim := range c.live {
			if claim.NodePool == name && claim.Disruption != "" && claim.DisruptionReason == model.ReasonDrifted {
				going++
			}
		}
		if going+taken[name] > 1 && !c.proven(name) {
			c.fail(subject, "%d drifted nodes are going, the plan takes %d more, and no node has proven what comes after them",
				going, taken[name])
		}
	}
}

// proven says whether a node of the pool, made from what the pool and its class are now, works.
func (c *checker) proven(name model.PoolName) bool {
	pool := c.pools[name]
	for id, claim := range c.live {
		node, class := c.nodeOf[id], c.nodeClasses[claim.NodeClass]
		if pool == nil || class == nil || node == nil || claim.NodePool != name || claim.State != model.ClaimInitialized {
			continue
		}
		present := claim.PoolHash == pool.Hash && claim.ClassHash == class.Hash && claim.NodeClass == pool.NodeClass
		if present && node.Ready && !c.leaving(claim) && c.drift(claim) == "" {
			return true
		}
	}
	return false
}

// heldUntil is until when no drifted node of a pool may go because the last replacements failed.
func (c *checker) heldUntil(name model.PoolName) time.Time {
	var success, last time.Time
	ofPool := c.driftOf(name)
	for _, r := range ofPool {
		if !r.RolledBack && r.EndTime.After(success) {
			success = r.EndTime
		}
	}
	hold := firstHold / 2
	for _, r := range ofPool {
		if !r.RolledBack || !r.EndTime.After(success) || !c.unready(r.Replacements) {
			continue
		}
		hold = min(2*hold, longestHold)
		if r.EndTime.After(last) {
			last = r.EndTime
		}
	}
	if last.IsZero() {
		return time.Time{}
	}
	return last.Add(hold)
}

// driftOf lists what became of drifted nodes of a pool.
func (c *checker) driftOf(name model.PoolName) []model.DisruptionRecord {
	pools := make(map[model.ClaimID]model.PoolName)
	for _, claim := range c.snap.Claims {
		pools[claim.ID] = claim.NodePool
	}
	var out []model.DisruptionRecord
	for _, r := range c.snap.Disruptions {
		if r.Reason == model.ReasonDrifted && slices.ContainsFunc(r.Candidates, func(id model.ClaimID) bool { return pools[id] == name }) {
			out = append(out, r)
		}
	}
	return out
}

// unready says whether not all of some claims are known to have got as far as being initialized.
func (c *checker) unready(claims []model.ClaimID) bool {
	for _, id := range claims {
		ready := false
		for i := range c.snap.Claims {
			if x := &c.snap.Claims[i]; x.ID == id {
				ready = x.State == model.ClaimInitialized || x.Reached >= model.ClaimInitialized
			}
		}
		if !ready {
			return true
		}
	}
	return len(claims) == 0
}
