package verify

import (
	"fmt"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// newType is how young a claim is whose type may not be known everywhere yet.
	newType = time.Hour
	// firstHold is how long a pool's drift is held after a failure; it doubles with each in a row, up to longestHold.
	firstHold, longestHold = 15 * time.Minute, 4 * time.Hour
)

// drift says how a claim no longer is what its pool and class ask for; "" when it still is. Without a pool nobody asks.
func (d *disruptions) drift(claim *model.Claim) string {
	pool, class := d.f.Cluster.Pools[claim.NodePool], d.f.Cluster.NodeClasses[claim.NodeClass]
	switch {
	case pool == nil:
		return ""
	case !claim.Drifted.OK():
		return claim.Drifted.Message
	case differ(claim.PoolHash, pool.Hash):
		return "its pool is another"
	case class != nil && differ(claim.ClassHash, class.Hash):
		return "its node class is another"
	}
	for _, r := range pool.Requirements {
		if value, present := d.labelOf(claim, r.Key); !require.New(r).Matches(value, present) {
			return "its labels do not meet the pool's requirement on " + r.Key
		}
	}
	if d.f.Input.Now.Sub(claim.CreateTime) >= newType && !d.sold(pool, claim) {
		return fmt.Sprintf("type %s is not sold to its pool any more", claim.InstanceType)
	}
	if d.launchesNoMore(class, claim.ImageID) {
		return "its node class does not launch image " + claim.ImageID + " any more"
	}
	return ""
}

// differ says whether two hashes that are both known are not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// labelOf is a label of a claim or, where the claim does not say, of its node.
func (d *disruptions) labelOf(claim *model.Claim, key string) (string, bool) {
	lists := []model.Labels{claim.Labels}
	if n := d.f.Cluster.NodeOf[claim.ID]; n != nil {
		lists = append(lists, n.Labels)
	}
	for _, l := range slices.Concat(lists...) {
		if labels.Normal(l.Key) == labels.Normal(key) {
			return l.Value, true
		}
	}
	return "", false
}

// sold says whether what a claim is can be bought for the pool at all, be it available or not; what is in a reservation may
// as well be on demand. Of a class that is not ready, or whose catalog is not there, nothing is known.
func (d *disruptions) sold(pool *model.NodePool, claim *model.Claim) bool {
	class, name := d.f.Cluster.NodeClasses[pool.NodeClass], claim.InstanceType
	if name == "" || class == nil || !class.NotReady.OK() || !d.hasCatalog(class.Catalog) {
		return true
	}
	if d.f.Market.Type(pool.NodeClass, name) == nil {
		return false
	}
	_, same := d.f.Market.Offering(facts.OfferingKey{InstanceType: name, Zone: claim.Zone, CapacityType: claim.CapacityType})
	_, onDemand := d.f.Market.Offering(facts.OfferingKey{InstanceType: name, Zone: claim.Zone, CapacityType: model.OnDemand})
	return same || (claim.CapacityType == model.Reserved && onDemand) || len(d.f.Cluster.Snapshot.Offerings) == 0
}

// launchesNoMore says whether a class launches other images than one. A class that is not ready may be about to say.
func (d *disruptions) launchesNoMore(class *model.NodeClass, image string) bool {
	if class == nil || !class.NotReady.OK() || image == "" || len(class.Images) == 0 {
		return false
	}
	return !slices.ContainsFunc(class.Images, func(m model.MachineImage) bool { return m.ID == image })
}

func (d *disruptions) hasCatalog(id model.CatalogID) bool {
	return slices.ContainsFunc(d.f.Cluster.Snapshot.Catalogs, func(cat model.Catalog) bool { return cat.ID == id })
}

// canaries checks that a pool's drifted nodes go one at a time until one has proven what comes after them, and not at all
// for a while after that failed.
func (d *disruptions) canaries() {
	taken := make(map[model.PoolName]int)
	for _, x := range d.f.Plan.Disruptions {
		for _, id := range x.Candidates {
			if claim := d.f.Cluster.Live[id]; claim != nil && x.Reason == model.ReasonDrifted {
				taken[claim.NodePool]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		subject := "node pool " + string(name)
		if until := d.heldUntil(name); d.f.Input.Now.Before(until) {
			d.r.Fail(subject, "the plan takes %d drifted nodes; after failures they stay until %s", taken[name], until)
		}
		going := 0
		for _, claim := range d.f.Cluster.Live {
			if claim.NodePool == name && claim.Disruption != "" && claim.DisruptionReason == model.ReasonDrifted {
				going++
			}
		}
		if going+taken[name] > 1 && !d.proven(name) {
			d.r.Fail(subject, "%d drifted nodes are going, the plan takes %d more, and no node has proven what comes after them",
				going, taken[name])
		}
	}
}

// proven says whether a node of the pool, made from what the pool and its class are now, works.
func (d *disruptions) proven(name model.PoolName) bool {
	pool := d.f.Cluster.Pools[name]
	for id, claim := range d.f.Cluster.Live {
		node, class := d.f.Cluster.NodeOf[id], d.f.Cluster.NodeClasses[claim.NodeClass]
		if pool == nil || class == nil || node == nil || claim.NodePool != name || claim.State != model.ClaimInitialized {
			continue
		}
		present := claim.PoolHash == pool.Hash && claim.ClassHash == class.Hash && claim.NodeClass == pool.NodeClass
		if present && node.Ready && !d.f.Cluster.Leaving(claim) && d.drift(claim) == "" {
			return true
		}
	}
	return false
}

// heldUntil is until when no drifted node of a pool may go because the last replacements failed.
func (d *disruptions) heldUntil(name model.PoolName) time.Time {
	var success, last time.Time
	ofPool := d.driftOf(name)
	for _, r := range ofPool {
		if !r.RolledBack && r.EndTime.After(success) {
			success = r.EndTime
		}
	}
	hold := firstHold / 2
	for _, r := range ofPool {
		if !r.RolledBack || !r.EndTime.After(success) || !d.unready(r.Replacements) {
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
func (d *disruptions) driftOf(name model.PoolName) []model.DisruptionRecord {
	pools := make(map[model.ClaimID]model.PoolName)
	for _, claim := range d.f.Cluster.Snapshot.Claims {
		pools[claim.ID] = claim.NodePool
	}
	var out []model.DisruptionRecord
	for _, r := range d.f.Cluster.Snapshot.Disruptions {
		if r.Reason == model.ReasonDrifted && slices.ContainsFunc(r.Candidates, func(id model.ClaimID) bool { return pools[id] == name }) {
			out = append(out, r)
		}
	}
	return out
}

// unready says whether not all of some claims are known to have got as far as being initialized.
func (d *disruptions) unready(claims []model.ClaimID) bool {
	for _, id := range claims {
		ready := false
		for i := range d.f.Cluster.Snapshot.Claims {
			if x := &d.f.Cluster.Snapshot.Claims[i]; x.ID == id {
				ready = x.State == model.ClaimInitialized || x.Reached >= model.ClaimInitialized
			}
		}
		if !ready {
			return true
		}
	}
	return len(claims) == 0
}
