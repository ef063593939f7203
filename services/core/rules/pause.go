package rules

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// How long the drift of a pool is paused after a replacement failed: doubled with each failure in a row.
const (
	firstPause   = 15 * time.Minute
	longestPause = 4 * time.Hour
)

// DriftPause says that no drifted node of a pool may go for a while because the last replacements of drifted nodes failed.
// A success ends the row. Claims that are not known any more are nil: a replacement among them counts as failed.
func DriftPause(pool model.PoolName, records []model.DisruptionRecord, claim func(model.ClaimID) *model.Claim, now time.Time) (model.Reason, time.Time) {
	var ended []*model.DisruptionRecord
	for i := range records {
		r := &records[i]
		if r.Reason == model.ReasonDrifted && !r.EndTime.IsZero() && ofPool(r, pool, claim) {
			ended = append(ended, r)
		}
	}
	slices.SortFunc(ended, func(a, b *model.DisruptionRecord) int { // of one instant, a success is the later
		return cmp.Or(b.EndTime.Compare(a.EndTime), cmp.Compare(rolledBack(a), rolledBack(b)), cmp.Compare(a.ID, b.ID))
	})
	failures, last := 0, time.Time{}
	for _, r := range ended {
		if !r.RolledBack {
			break
		}
		if slices.ContainsFunc(r.Replacements, func(id model.ClaimID) bool { return failed(claim(id)) }) {
			if failures == 0 {
				last = r.EndTime
			}
			failures++
		}
	}
	pause := firstPause
	for range min(failures-1, 8) {
		pause = min(2*pause, longestPause)
	}
	until := last.Add(pause)
	if failures == 0 || !until.After(now) {
		return model.Reason{}, time.Time{}
	}
	return model.Reason{
		Code: model.CodeCanary, Subject: "nodepool/" + string(pool),
		Message: fmt.Sprintf("the last replacement for a drifted node of the pool failed (%s in a row); the next try is at %s",
			count(failures, "failure"), timeOfDay(until)),
		Remedy: "see why new nodes of the pool do not become ready",
	}, until
}

func rolledBack(r *model.DisruptionRecord) int {
	if r.RolledBack {
		return 1
	}
	return 0
}

// ofPool says whether a disruption was of a pool's nodes. Where those are forgotten, their replacements tell.
func ofPool(r *model.DisruptionRecord, pool model.PoolName, claim func(model.ClaimID) *model.Claim) bool {
	for _, ids := range [][]model.ClaimID{r.Candidates, r.Replacements} {
		for _, id := range ids {
			if c := claim(id); c != nil {
				return c.NodePool == pool
			}
		}
	}
	return false
}

// failed says that a replacement did not become ready through its own fault. One that was ready once is no failure: the
// disruption was given up for another reason. Nor is one that was deleted, was one too many, or was reclaimed by AWS before
// it could become ready.
func failed(c *model.Claim) bool {
	switch {
	case c == nil:
		return true
	case c.State == model.ClaimInitialized || c.Reached >= model.ClaimInitialized:
		return false
	}
	switch c.DisruptionReason {
	case model.ReasonDeleted, model.ReasonSurplus, model.ReasonInterrupted:
		return false
	default:
		return true
	}
}

// Canary says that a drifted node of a pool has to wait for the first: while one is on its way out, the others stay until
// a node of the present template is proven.
func Canary(pool model.PoolName, leaving int, proven bool) model.Reason {
	if leaving == 0 || proven {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeCanary, Subject: "nodepool/" + string(pool),
		Message: "one drifted node of the pool goes first; the others follow once its replacement is ready",
		Remedy:  "wait for the replacement",
	}
}

// Proves says whether a claim shows that its pool's present template works: it was launched from that, is Initialized,
// and stays. The caller adds that its node is ready and has not drifted. A class that is not known is nil and proves
// nothing wrong.
func Proves(c *model.Claim, pool *model.NodePool, class *model.NodeClass) bool {
	return c.NodePool == pool.Name && c.NodeClass == pool.NodeClass && c.State == model.ClaimInitialized && c.Disruption == "" &&
		c.PoolHash == pool.Hash && (class == nil || c.ClassHash == class.Hash)
}
