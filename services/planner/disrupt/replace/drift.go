package replace

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Drift says how a node no longer is what its pool or class asks for, or the zero Reason, and when time alone changes that.
func Drift(facts *rules.Drifting, h *view.Host) (model.Reason, time.Time) {
	if h.Claim == nil || h.Node == nil {
		return model.Reason{}, time.Time{}
	}
	r, until := facts.Drifted(h.Claim, h.Node)
	if !r.OK() {
		r.Subject = h.Name()
	}
	return r, until
}

// replaceDrifted replaces nodes that are not what they should be.
func (x *replacer) replaceDrifted() {
	var hosts []int
	for _, h := range x.draft.Candidates {
		if !x.draft.Drift[h].OK() && !x.v.Removed(h) && x.draft.Verdicts[h].OK() {
			hosts = append(hosts, h)
		}
	}
	x.oldestFirst(hosts)
	slices.SortStableFunc(hosts, func(a, b int) int { return cmp.Compare(x.v.Hosts[a].Pool.Index, x.v.Hosts[b].Pool.Index) })
	x.replaceAll(hosts, model.ReasonDrifted, func(h int) model.Reason { return x.draft.Drift[h] }, func(h int) model.Reason {
		return x.canary(x.v.Hosts[h].Pool)
	})
}

// canary says whether one more drifted node of a pool may go.
func (x *replacer) canary(pool *view.Pool) model.Reason {
	pause, known := x.pauses[pool]
	if !known {
		pause, _ = DriftPause(x.v, pool)
		x.pauses[pool] = pause
	}
	if !pause.OK() {
		return pause
	}
	leaving := x.canaries[pool.Index]
	return rules.Canary(pool.Name, leaving, leaving > 0 && x.proven(pool))
}

// DriftPause says that drift of a pool is paused after failed replacements, and until when.
func DriftPause(v *view.View, pool *view.Pool) (model.Reason, time.Time) {
	claim := func(id model.ClaimID) *model.Claim { return v.ClaimIndex[id] }
	return rules.DriftPause(pool.Name, v.Snapshot.Disruptions, claim, v.Now)
}

// proven says whether a node that was launched as the pool asks for now is well.
func (x *replacer) proven(pool *view.Pool) bool {
	for i, h := range x.v.Hosts {
		if h.Node == nil || h.Claim == nil || h.Pool != pool || h.Leaving || x.v.Removed(i) {
			continue
		}
		if h.Node.Ready && x.draft.Drift[i].OK() && rules.Proves(h.Claim, pool.NodePool, pool.Class) {
			return true
		}
	}
	return false
}
