// Package consolidate removes nodes whose pods can live for less elsewhere: on nodes that stay, or on new ones that
// cost less. It searches over sets of nodes, tries each on the view, and keeps those of which the saving makes up for
// the evictions.
//
// It must never disrupt a node for its own state, such as age or drift: those have gone before. Start reading with Run;
// what a decision must save is in judge.go, and which nodes to fill rather than remove in worth.go.
package consolidate

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

const (
	// maxSetNodes is how many nodes are removed as one set: the optimiser packs many pods better than few, and a
	// decision that holds fewer nodes is easier to carry out.
	maxSetNodes = 48
	// maxSetPods is how many pods one set moves.
	maxSetPods = 1000
	// minSetNodes is the size down to which a set that a rule forbids is halved; what is left goes singly.
	minSetNodes = 6
	// mostFew is of how many nodes all sets are tried.
	mostFew = 6
	// mostStages is how many times as many nodes one set may remove as budgets let go at once. The others wait, and
	// take no pods meanwhile.
	mostStages = 8
)

// Result is what the search found beside the decisions, which the draft has.
type Result struct {
	Summary model.DisruptionSummary
	// Deferred are hosts that are to go as soon as budgets let them: later plans remove them. Known says that all of them
	// were looked for; else nothing is said of any.
	Deferred []int
	Known    bool
	// Settled is when pods have settled that keep nodes for now; zero where there are none.
	Settled time.Time
}

// Run removes nodes whose pods can run for less elsewhere.
//
// It first looks for all that are to go, as if budgets let them go at once. Where budgets let only some go now, it then
// looks which of those do so first, and none of them is a destination: a pod that moves has not to move again. The next
// plans go on with what was deferred, as long as that is as much as budgets let go. A search that ended early goes on
// after the claim resumeAfter; "" begins anew.
//
// The first look is rough where more nodes waste money than budgets let go: what it would buy is not bought, so that
// new nodes are packed with the least search. If it finds no more than budgets let go after all, it is made again with
// all of it.
//
// At last, those of old that are still there, nodes that are to be replaced and can't be for now, are merged.
func Run(dr *draft.Draft, appraisal *Appraisal, old []int, resumeAfter model.ClaimID) Result {
	c := consolidation{draft: dr, appraisal: appraisal, resumeAfter: resumeAfter, open: candidates(dr)}
	c.Summary = model.DisruptionSummary{Floor: appraisal.worth.Floor.Price, Candidates: len(c.open)}
	dr.BuffersLost = draft.BuffersLose(dr, func(int) bool { return false }) // to what goes for other reasons
	switch {
	case len(c.open) == 0:
		c.Known = true
	case c.spent(): // the next plan that may remove some looks where they could go
		c.explainSpent()
	default:
		if !c.goOn() {
			c.anew()
		}
	}
	for _, h := range c.open {
		if !dr.Verdicts[h].OK() {
			c.Summary.Judged++
		}
	}
	c.merge(old)
	return c.Result
}

// merge removes those of some nodes, which are to be replaced and can't be for now, whose pods fit on others of them, too.
// Those are destinations for no other node's pods, as they are to go. Meanwhile fewer of them cost money, and a limit that
// they use up lets new ones be bought again.
func (c *consolidation) merge(old []int) {
	dr := c.draft
	if old = slices.DeleteFunc(slices.Clone(old), dr.View.Removed); len(old) < 2 || len(c.Deferred) > 0 {
		return
	}
	t := newTrials(dr, c.appraisal, old, nil)
	for _, h := range old {
		t.receivers[h] = t.receivers[h] || mayReceive(dr, h) && dr.Unhealthy[h].OK()
	}
	open := slices.DeleteFunc(old, func(h int) bool { return !dr.Ask(forMoney(), h).OK() })
	t.byWaste(open)
	t.deletes(open)
	c.Summary.Tried, c.Settled = c.Summary.Tried+t.summary.Tried, rules.Earliest(c.Settled, t.settledAt)
}

// consolidation is one run.
type consolidation struct {
	Result
	draft       *draft.Draft
	appraisal   *Appraisal
	resumeAfter model.ClaimID
	// open are the candidates.
	open []int
}

// spent says that budgets let none of the candidates go that are still there.
func (c *consolidation) spent() bool {
	return !slices.ContainsFunc(c.open, func(h int) bool { return !c.draft.View.Removed(h) && nodeBudget(c.draft, h).OK() })
}

// explainSpent says of those that are still there that budgets let none of them go.
func (c *consolidation) explainSpent() {
	dr := c.draft
	for _, h := range c.open {
		if dr.View.Removed(h) || !dr.Verdicts[h].OK() {
			continue
		}
		if dr.Verdicts[h] = dr.Taken(h); dr.Verdicts[h].OK() {
			dr.Verdicts[h] = nodeBudget(dr, h)
		}
	}
}

// goOn removes hosts whose removal an earlier plan deferred. It says false, and has done nothing, where budgets let more go
// than these: then it is time to look at all anew.
func (c *consolidation) goOn() bool {
	dr := c.draft
	var marked []int
	for _, h := range c.open {
		if dr.View.Hosts[h].Claim.RemovalDeferred {
			marked = append(marked, h)
		}
	}
	if len(marked) == 0 {
		return false
	}
	before := dr.Mark()
	c.inSteps(marked)
	if c.spent() {
		c.explainSpent()
		c.Known = true
		return true
	}
	dr.Revert(before)
	for _, h := range marked {
		dr.Verdicts[h] = model.Reason{}
	}
	c.Deferred, c.Settled = nil, time.Time{}
	return false
}

// anew looks for all candidates that are to go, and removes as many of them as budgets let go.
func (c *consolidation) anew() {
	going, beyond := c.target(true)
	if !beyond {
		going, beyond = c.target(false)
	}
	if beyond {
		c.inSteps(going)
	}
}

// target looks for all candidates that are to go, as if budgets let them go at once. It says true, and takes all back,
// where that is beyond budgets. Else they are part of the plan now; after a rough look nothing is, and nothing is
// known.
func (c *consolidation) target(rough bool) (going []int, beyond bool) {
	dr := c.draft
	if rough && newTrials(dr, c.appraisal, c.open, nil).withinBudgets() {
		return nil, false
	}
	l := c.look(manner{}, rough)
	l = c.lookAgain(l, rough)
	c.Summary.Tried, c.Summary.ResumeAfter = c.Summary.Tried+l.summary.Tried, l.summary.ResumeAfter
	c.Known = c.Summary.ResumeAfter == "" && !dr.Scheduler.Stopped()
	left, within := dr.WithinBudgets(l.before)
	for _, d := range dr.Since(l.before) {
		within = within && (&judge{draft: dr, v: dr.View}).settled(&d).OK()
	}
	if within && !rough {
		dr.NodeBudgets = left
		return nil, false
	}
	for _, d := range dr.Revert(l.before) {
		for _, h := range d.Hosts {
			going = append(going, h)
			dr.Verdicts[h] = model.Reason{}
		}
	}
	return going, !within
}

// inSteps removes those of some hosts that budgets let go now. Neither they nor the others, which are deferred, are
// destinations.
func (c *consolidation) inSteps(going []int) {
	dr := c.draft
	all := make([]bool, len(dr.View.Hosts))
	for _, h := range going {
		all[h] = true
	}
	first := newTrials(dr, c.appraisal, going, all) // which to keep was weighed when it was looked for what is to go
	first.deferred, first.staged = all, true
	dr.BuffersLost = draft.BuffersLose(dr, first.avoided) // to the same decisions, with fewer nodes for their pods
	first.search(going)
	c.Summary.Tried, c.Settled = c.Summary.Tried+first.summary.Tried, first.settledAt
	c.Deferred = slices.DeleteFunc(slices.Clone(going), dr.View.Removed)
}

func nodeBudget(dr *draft.Draft, host int) model.Reason {
	return dr.NodeBudgets.Reason(dr.View.Hosts[host].Pool, model.ReasonUnderutilized, 1)
}

// search tries hosts: first the nodes that are best removed go in sets, for new nodes that are bought together; then each
// that is left goes if its pods fit on those that are kept; then every node that is still there is tried by itself,
// with all others as destinations, and where these are few, in all sets.
func (t *trials) search(open []int) {
	each := int64(len(open)) // these many are kept for trying every node by itself
	t.left -= each
	if t.setsFirst {
		t.few(open)
	}
	for _, h := range t.best {
		t.leaving[h] = true
	}
	t.draft.Scheduler.Rough = t.rough
	t.sets(t.best)
	t.draft.Scheduler.Rough = false
	t.deletes(t.best)
	t.left += each
	clear(t.leaving)
	t.singles(open)
	t.few(open)
}

// candidates are the hosts that may be removed for money, as far as the checks of each by itself go.
func candidates(dr *draft.Draft) (open []int) {
	for _, h := range dr.Candidates {
		if dr.View.Removed(h) || !dr.Verdicts[h].OK() {
			continue
		}
		if dr.Verdicts[h] = dr.Ask(forMoney(), h); dr.Verdicts[h].OK() {
			open = append(open, h)
		}
	}
	return open
}

// trials is the search of one consolidation: nodes are tried alone and in sets, on the view, which is reverted where the
// result is not worth it.
type trials struct {
	draft     *draft.Draft
	v         *view.View
	appraisal *Appraisal
	judge     *judge
	// resumeAfter is where the last search ended, summary how far this one got.
	resumeAfter model.ClaimID
	summary     model.DisruptionSummary
	// left is how many more sets may be tried.
	left int64
	// best are the nodes that are best removed, in sets; none where nodes take turns, one by one. Rough says that the
	// sets are packed with the least search.
	best  []int
	rough bool
	// setsFirst says that all sets of few nodes are compared before anything else is tried.
	setsFirst bool
	// leaving are hosts that are to go, and no destinations: some of the candidates, by host.
	leaving []bool
	// deferred are hosts that go with this plan or a later one, by host, and are no destinations; nil where there are none.
	deferred []bool
	// staged says that one set may be more than budgets let go at once: pods of many nodes fill new ones better than
	// those of a few.
	staged bool
	// target says that all is looked for that is to go, whatever pods weigh now for having just started. In other
	// searches young are the hosts that wait for that, and why: they are to go soon, and are no destinations; settledAt
	// is when the first of them wait no more.
	target    bool
	young     map[int]model.Reason
	settledAt time.Time
	// receivers are hosts that may be destinations, by what was known at the start; what this plan decides later is asked
	// of the draft. fixed are hosts that consolidation can't remove, whatever it finds: all but the candidates. Neither
	// changes.
	receivers, fixed []bool
	filler           *filler
	// waiting says that some node that is to go has to wait for another plan; lastSet that the last set of all is being
	// tried, so that no better pods will come for nodes that are half full.
	waiting, lastSet bool
	// full says of a class, by index, that no host has capacity for one of its pods, but for the one whose place plus
	// one is there; 0 where nothing is known. That stays true: free capacity only shrinks while decisions are made.
	full []int
}

// newTrials prepares to try some nodes. The others stay in any case, and are filled first. Those of notKept, by host,
// are not kept to be filled up; nil for none.
func newTrials(dr *draft.Draft, appraisal *Appraisal, open []int, notKept []bool) *trials {
	n := len(dr.View.Hosts)
	t := &trials{
		draft: dr, v: dr.View, appraisal: appraisal, judge: &judge{draft: dr, v: dr.View, balance: newBalance(dr)},
		left: model.Or(dr.View.Policy.DisruptionTrials, 64+4*int64(len(open))), full: make([]int, len(dr.View.Classes)),
		young: make(map[int]model.Reason), leaving: make([]bool, n), receivers: make([]bool, n), fixed: make([]bool, n),
	}
	for h := range t.fixed {
		t.fixed[h] = true
		t.receivers[h] = dr.Reliable(h) && mayReceive(dr, h)
	}
	for _, h := range open {
		t.fixed[h] = false
	}
	t.filler = t.newFiller(open)
	if t.left >= 2*int64(len(open)) {
		t.best = t.divide(open, notKept)
	}
	dr.Scheduler.Prefer(func(h int) bool { return t.fixed[h] })
	return t
}

// withinBudgets says that budgets let all nodes go now that are best removed.
func (t *trials) withinBudgets() bool {
	left := t.draft.NodeBudgets.Clone(false)
	for _, h := range t.best {
		pool := t.v.Hosts[h].Pool
		if !left.Reason(pool, model.ReasonUnderutilized, 1).OK() {
			return false
		}
		left.Take(h, pool)
	}
	return true
}

// mayReceive says whether a node may be given pods to save money: its own time to be left alone must be over. Pools
// that never consolidate have none.
func mayReceive(dr *draft.Draft, host int) bool {
	h := dr.View.Hosts[host]
	if h.Node == nil || h.Claim == nil || h.Pool == nil || h.Pool.ConsolidateAfter == nil {
		return true
	}
	return dr.ConsolidateAfter(host).OK()
}

// usable says whether pods may be sent to a host to save money.
func (t *trials) usable(host int) bool {
	return t.receivers[host] && !t.leaving[host] && (t.deferred == nil || !t.deferred[host]) && t.young[host].OK()
}

// mayGo says whether what this plan decided already still lets a node go.
func (t *trials) mayGo(host int) model.Reason {
	if r := t.draft.Taken(host); !r.OK() {
		return r
	}
	if r := t.young[host]; !r.OK() {
		return r
	}
	if r := nodeBudget(t.draft, host); !r.OK() {
		return r
	}
	return t.draft.PodBudgets.Reason(t.draft.Moving[host])
}

// try counts a try; false when there are none left.
func (t *trials) try() bool {
	if t.left <= 0 || t.draft.Scheduler.Stopped() {
		return false
	}
	t.left--
	t.summary.Tried++
	return true
}

// deletes removes each node whose pods fit on those that are kept.
func (t *trials) deletes(hosts []int) {
	for _, h := range hosts {
		if !t.mayGo(h).OK() || t.stuck(h) || !t.try() {
			continue
		}
		mark := t.draft.Scheduler.Mark()
		d, left, waits := t.draft.Move([]int{h}, t.usable)
		if waits.OK() && len(left) == 0 && t.accept([]draft.Decision{d}).OK() {
			continue
		}
		t.draft.Scheduler.Revert(mark)
		t.noteFull(h, d.Destinations, left)
	}
	clear(t.full)
}

// stuck says that some pod of a host fits nowhere, by what was seen of others.
func (t *trials) stuck(host int) bool {
	for _, p := range t.draft.Moving[host] {
		c := t.v.Pods[p].Class
		if but := t.full[c.Index] - 1; but >= 0 && (but == host || !t.usable(but) || t.draft.Matcher.Capacity(c, but, 1) == 0) {
			return true
		}
	}
	return false
}

// noteFull notes which pods of a host fit nowhere else, where that can't change. A try that was reverted
// left some pods; where it had put others, there may be capacity for those again.
func (t *trials) noteFull(host int, destinations []pack.Assignment, left []market.Item) {
	for _, it := range left {
		again := func(s pack.Assignment) bool { return t.draft.Matcher.Capacity(it.Class, s.Host, 1) > 0 }
		if !t.draft.Scheduler.Tally().Rules().Constrained(it.Class) && !slices.ContainsFunc(destinations, again) {
			t.full[it.Class.Index] = host + 1
		}
	}
}

// accept makes decisions part of the plan if each of them is worth it; else it says what is against the first that is not,
// and the caller reverts.
func (t *trials) accept(parts []draft.Decision) model.Reason {
	for i := range parts {
		if why := t.judge.seen(&parts[i]); !why.OK() {
			return why
		}
		if why := t.judge.approve(&parts[i]); !why.OK() {
			return why
		}
	}
	for i := range parts {
		if !t.judge.trim(&parts[i]) {
			return t.judge.notWorth(parts[i].Hosts[0], 0, t.draft.Churn.Sum(parts[i].Evicted), t.judge.bar(&parts[i]))
		}
		if why := t.judge.spotForSpot(&parts[i]); !why.OK() { // of what is left
			return why
		}
		if why := t.judge.preferencesKept(&parts[i]); !why.OK() {
			return why
		}
	}
	if why := t.draft.DependentsStay(parts...); !why.OK() {
		return t.draft.About(parts[0].Hosts[0], why)
	}
	if why := t.draft.BuffersKeep(parts...); !why.OK() {
		return t.draft.About(parts[0].Hosts[0], why)
	}
	lost := draft.BuffersLose(t.draft, t.avoided, parts...)
	if why := t.judge.outweigh(parts, lost); !why.OK() {
		return why
	}
	if why := t.settled(parts); !why.OK() {
		return why
	}
	for i := range parts {
		t.draft.Keep(parts[i])
	}
	t.draft.BuffersLost = lost
	return model.Reason{}
}

// avoided says that Kerf's taint keeps pods from a host as long as they find another, since it is to go.
func (t *trials) avoided(host int) bool { return t.deferred != nil && t.deferred[host] }

// settled says whether decisions that are worth it are so already now, or what is against the first that is not: its
// pods have just started, and its hosts wait.
func (t *trials) settled(parts []draft.Decision) (first model.Reason) {
	if t.target {
		return first
	}
	for i := range parts {
		if why := t.judge.settled(&parts[i]); !why.OK() {
			t.settledAt = rules.Earliest(t.settledAt, t.draft.Churn.Settled(parts[i].Evicted))
			for _, h := range parts[i].Hosts {
				t.young[h] = t.draft.About(h, why)
			}
			if first.OK() {
				first = why
			}
		}
	}
	return first
}
