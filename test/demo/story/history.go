package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
)

// history is what was seen of claims and plans, oldest first, a moment for each change. It is for what can't be seen from
// how things ended: who went when, and after whom.
type history []moment

// moment is one look that differs from the one before.
type moment struct {
	at     time.Time
	claims []sight
	plan   string
	// pending are the pods that the plan leaves without a place, by id.
	pending []string
}

// sight is what a moment keeps of a claim.
type sight struct {
	id, pool, node, image string
	state                 clusterpb.ClaimState
	disruption, replaces  string
	reason                clusterpb.DisruptionReason
	expire                time.Time // zero: never
}

// seen adds a look. One at which the actuator did not answer adds nothing. Pods that are excused are not called pending.
func (h history) seen(w World, at time.Time, excused func(*plannerpb.PendingPod) bool) history {
	if w.NoClaims != nil {
		return h
	}
	m := moment{at: at, plan: w.Plan.GetId()}
	for _, c := range w.Claims {
		s := sight{
			id: c.GetId(), pool: c.GetNodePool(), node: c.GetNode(), image: c.GetImageId(), state: c.GetState(),
			disruption: c.GetDisruption(), replaces: c.GetReplaces(), reason: c.GetDisruptionReason(),
		}
		if t := c.GetExpireTime(); t != nil {
			s.expire = t.AsTime()
		}
		m.claims = append(m.claims, s)
	}
	for _, p := range w.Plan.GetPending() {
		if !excused(p) {
			m.pending = append(m.pending, p.GetPod())
		}
	}
	if n := len(h); n > 0 && slices.Equal(h[n-1].claims, m.claims) && h[n-1].plan == m.plan {
		return h
	}
	return append(h, m)
}

// failedOn says that a plan leaves out a pod, or a pool, because the planner failed on it.
func failedOn(p *plannerpb.PendingPod) bool {
	says := func(r *clusterpb.Reason) bool { return strings.Contains(r.GetMessage(), "the planner fails on") }
	return says(p.GetReason()) || slices.ContainsFunc(p.GetPools(), func(m *plannerpb.PoolMiss) bool { return says(m.GetReason()) })
}

// leaves says that the claim is on its way out, or was.
func (s sight) leaves() bool {
	return s.state >= clusterpb.ClaimState_CLAIM_STATE_DRAINING && s.state != clusterpb.ClaimState_CLAIM_STATE_FAILED
}

// departure is how a claim went.
type departure struct {
	sight
	chosen, drained time.Time // when it was seen first with a disruption, and when on its way out
	// replacements are the claims that were bought in its place, as they were when it was seen first on its way out.
	replacements []sight
}

// departures are how claims of the pool went that a plan removed, in the order in which they were chosen.
func (h history) departures(pool string) []departure {
	var out []departure
	find := func(id string) *departure {
		for i := range out {
			if out[i].id == id {
				return &out[i]
			}
		}
		return nil
	}
	for _, m := range h {
		for _, c := range m.claims {
			if c.pool != pool || c.disruption == "" {
				continue
			}
			d := find(c.id)
			if d == nil {
				out = append(out, departure{chosen: m.at})
				d = &out[len(out)-1]
			}
			d.sight = c
			if c.leaves() && d.drained.IsZero() {
				d.drained, d.replacements = m.at, m.replacing(c.disruption)
			}
		}
	}
	return out
}

func (m moment) replacing(disruption string) []sight {
	return slices.DeleteFunc(slices.Clone(m.claims), func(c sight) bool { return c.replaces != disruption })
}

// afterItsReplacement is an error when the drain began before a node that can be relied on was there instead.
func (d departure) afterItsReplacement() error {
	if len(d.replacements) == 0 {
		return fmt.Errorf("expected that claim %s is replaced; it was drained without", d.id)
	}
	for _, r := range d.replacements {
		if r.state < clusterpb.ClaimState_CLAIM_STATE_INITIALIZED {
			return fmt.Errorf("expected claim %s to stay until its replacement %s is initialized; it was drained when that was %s",
				d.id, r.id, word(r.state))
		}
	}
	return nil
}

// rollout is an error when more nodes of the pool with an image other than fresh were being removed at once than
// allowed: one as long as no node with a fresh image was there, and then budget. It returns the most that were. A node
// whose pods have left counts no more, as in Karpenter.
func (h history) rollout(pool string, fresh func(image string) bool, budget int) (most int, err error) {
	for _, m := range h {
		going, proven := 0, false
		for _, c := range m.claims {
			switch {
			case c.pool != pool || c.image == "" || c.state >= clusterpb.ClaimState_CLAIM_STATE_TERMINATING:
			case fresh(c.image):
				proven = proven || c.state == clusterpb.ClaimState_CLAIM_STATE_INITIALIZED
			case c.disruption != "":
				going++
			}
		}
		allowed := budget
		if !proven {
			allowed = 1
		}
		if going > allowed {
			return going, fmt.Errorf("expected at most %d nodes of pool %s to go at once, as it is %t that a new one is there; %d did",
				allowed, pool, proven, going)
		}
		most = max(most, going)
	}
	return most, nil
}

// since is what was seen from a time on, by plans that came after it.
func (h history) since(at time.Time) history {
	i := slices.IndexFunc(h, func(m moment) bool { return m.at.After(at) })
	if i < 0 {
		return nil
	}
	return h[i:]
}

// leftPending is an error when a plan after the first moment left a pod of the workload pending.
func (h history) leftPending(workload string) error {
	for _, m := range h {
		for _, pod := range m.pending {
			if m.plan != h[0].plan && strings.HasPrefix(pod, namespace+"/"+workload+"-") {
				return fmt.Errorf("expected a place for every pod of %s; plan %s leaves %s pending", workload, m.plan, pod)
			}
		}
	}
	return nil
}
