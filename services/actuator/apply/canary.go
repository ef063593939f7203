package apply

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/model"
)

// How long a pool's drift is held after a replacement failed: doubled for each failure in a row.
const (
	driftHoldFirst = 15 * time.Minute
	driftHoldMost  = 4 * time.Hour
)

// canary lets the drifted nodes of a pool go one at a time until one that was launched as the pool and its class are now
// has proven itself, and none for a while after a replacement failed. Pools do not wait for each other.
func (v *verifier) canary(d Disruption) model.Reason {
	count := map[string]int{}
	var pools []string
	for _, id := range d.Candidates {
		pool := v.state.Claims[id].NodePool
		if count[pool] == 0 {
			pools = append(pools, pool)
		}
		count[pool]++
	}
	slices.Sort(pools)
	for _, pool := range pools {
		fail := func(remedy, format string, args ...any) model.Reason {
			return model.Reason{
				Code: model.ReasonCanary, Subject: "nodepool/" + pool, Message: fmt.Sprintf(format, args...), Remedy: remedy,
			}
		}
		if h := v.hold(pool); v.state.Now.Before(h.until) {
			return fail("see why the replacement failed", "drift of node pool %s is held until %s: %d replacements in a row have failed",
				pool, h.until.UTC().Format(time.RFC3339), h.failures)
		}
		if v.proven(pool) {
			continue
		}
		if n := v.drifting(pool) + count[pool]; n > 1 {
			return fail("", "drifted nodes of node pool %s go one at a time until a node of its present template is ready; this would be %d",
				pool, n)
		}
	}

	return model.Reason{}
}

// hold is until when a pool's drift is held, and after how many failures.
type hold struct {
	until    time.Time
	failures int
}

func (v *verifier) hold(pool string) hold {
	h, known := v.holds[pool]
	if !known {
		h.until, h.failures = DriftHold(pool, v.records(), func(id model.ClaimID) (model.Claim, bool) {
			c, ok := v.state.Claims[id]

			return c, ok
		})
		v.holds[pool] = h
	}

	return h
}

func (v *verifier) records() []model.Disruption {
	if v.drifts == nil {
		v.drifts = make([]model.Disruption, 0, len(v.state.Disruptions))
		for _, d := range v.state.Disruptions {
			if d.Reason == model.DisruptionDrifted {
				v.drifts = append(v.drifts, d)
			}
		}
	}

	return v.drifts
}

// DriftHold is until when the drift of a pool is held because replacements of drifted nodes failed, and how many failed
// in a row; the zero time when none did. A disruption that was rolled back though its replacements came up, because its
// node was needed again, says nothing.
func DriftHold(pool string, records []model.Disruption, claim func(model.ClaimID) (model.Claim, bool)) (time.Time, int) {
	of := func(ids []model.ClaimID) bool {
		return slices.ContainsFunc(ids, func(id model.ClaimID) bool {
			c, ok := claim(id)

			return ok && c.NodePool == pool
		})
	}
	var ended []model.Disruption
	for _, d := range records {
		if d.Reason == model.DisruptionDrifted && !d.EndTime.IsZero() && (of(d.Candidates) || of(d.Replacements)) {
			ended = append(ended, d)
		}
	}
	slices.SortFunc(ended, func(a, b model.Disruption) int {
		return cmp.Or(b.EndTime.Compare(a.EndTime), cmp.Compare(a.ID, b.ID))
	})
	var last time.Time
	failures := 0
	for _, d := range ended {
		if !d.RolledBack {
			break
		}
		if !slices.ContainsFunc(d.Replacements, func(id model.ClaimID) bool { return failed(claim(id)) }) {
			continue
		}
		if failures == 0 {
			last = d.EndTime
		}
		failures++
	}
	if failures == 0 {
		return time.Time{}, 0
	}
	hold := driftHoldMost
	if failures < 6 { // 15 min, 30 min, 1 h, 2 h, 4 h
		hold = min(hold, driftHoldFirst<<(failures-1))
	}

	return last.Add(hold), failures
}

// failed says that a replacement did not become a node to rely on, by itself: one that somebody took away before it could
// has proven nothing.
func failed(c model.Claim, there bool) bool {
	switch {
	case !there:
		return true
	case c.Reached >= model.StateInitialized:
		return false
	}
	switch c.DisruptionReason {
	case model.DisruptionDeleted, model.DisruptionSurplus, model.DisruptionInterrupted:
		return false
	default:
		return true
	}
}

// proven says that a node of the pool that was launched as the pool and its class are now can be relied on.
func (v *verifier) proven(pool string) bool {
	if known, ok := v.proof[pool]; ok {
		return known
	}
	now := v.state.Pools[pool]
	class := v.state.Classes[now.Class]
	proof := false
	for id, c := range v.state.Claims {
		if c.NodePool == pool && c.State == model.StateInitialized && c.Disruption == "" && v.state.Nodes[id].Ready &&
			c.NodeClass == now.Class && c.PoolHash == now.Hash && c.ClassHash == class.Hash && !v.drifted(c) {
			proof = true

			break
		}
	}
	v.proof[pool] = proof

	return proof
}

// drifting counts the drifted nodes of the pool that are being taken away: by disruptions that go on, and by those that
// this plan was granted.
func (v *verifier) drifting(pool string) int {
	n := 0
	count := func(d model.Disruption) {
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
		if g.Disruption != nil && g.Disruption.Reason == model.DisruptionDrifted {
			count(*g.Disruption)
		}
	}

	return n
}
