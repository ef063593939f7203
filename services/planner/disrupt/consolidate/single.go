package consolidate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

// singles tries every node that is still there by itself. Where there are more than may be tried, they take turns.
func (t *trials) singles(hosts []int) {
	hosts = slices.DeleteFunc(slices.Clone(hosts), t.v.Removed)
	if int64(len(hosts)) > t.left {
		t.fromLast(hosts)
	} else {
		t.byWaste(hosts)
	}
	for i, h := range hosts {
		if why := t.mayGo(h); !why.OK() {
			t.draft.Verdicts[h] = why
			continue
		}
		if t.left <= 0 {
			if t.summary.ResumeAfter == "" && i > 0 {
				t.summary.ResumeAfter = t.v.Hosts[hosts[i-1]].Claim.ID
			}
			t.draft.Verdicts[h] = model.Reason{
				Code: model.CodeNotTried, Subject: t.v.Hosts[h].Name(),
				Message: "as many sets of nodes were tried as one plan tries; the next plan goes on here",
				Remedy:  "wait for the next plan, or raise policy.disruption_trials",
			}
			continue
		}
		if why := t.single(h); !t.v.Removed(h) {
			t.draft.Verdicts[h] = why
		}
	}
}

// fromLast puts nodes in the order of their claims, beginning after the one where the last search ended.
func (t *trials) fromLast(hosts []int) {
	id := func(h int) model.ClaimID { return t.v.Hosts[h].Claim.ID }
	later := func(h int) int {
		if id(h) > t.resumeAfter {
			return 0
		}
		return 1
	}
	slices.SortFunc(hosts, func(a, b int) int { return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(id(a), id(b))) })
}

// single removes a node by itself, or says why not.
func (t *trials) single(h int) model.Reason {
	if t.stuck(h) && !t.couldSave(h, slices.Concat(t.draft.Moving[h], t.draft.Buffered[h])) {
		return t.tooExpensive(h)
	}
	t.try()
	mark := t.draft.Scheduler.Mark()
	d, left, why := t.draft.Move([]int{h}, t.usable)
	if why.OK() {
		why = t.tryOneNode(d, left)
	}
	if !why.OK() {
		t.draft.Scheduler.Revert(mark)
		t.noteFull(h, d.Destinations, left)
	}
	return why
}

// tryOneNode accepts a decision about one node: with one claim for what is left, or several.
func (t *trials) tryOneNode(d draft.Decision, left []market.Item) model.Reason {
	if len(left) == 0 {
		return t.accept([]draft.Decision{d})
	}
	h := d.Hosts[0]
	var pods []int
	for _, it := range left {
		pods = append(pods, it.Pods...)
	}
	if !t.couldSave(h, pods) {
		return t.tooExpensive(h)
	}
	price, weighed := t.draft.Price(d.Hosts)
	least := t.draft.Churn.Least(t.draft.Churn.Sum(d.Evicted), byReplace)
	mark := t.draft.Scheduler.Mark()
	if b, found := t.draft.Scheduler.One(left, purchase.PriceCeiling{Weighed: weighed - least, List: price - least}); found {
		one := d
		one.Replacements = []*purchase.NewClaim{b}
		return t.accept([]draft.Decision{one})
	}
	t.draft.Scheduler.Revert(mark)
	_, bought, unplaced := t.draft.Scheduler.Buy(left, t.draft.Limits.Clone())
	if len(unplaced) == 0 && len(bought) > 1 {
		d.Replacements = bought
		if t.accept([]draft.Decision{d}).OK() {
			return model.Reason{}
		}
	}
	t.draft.Scheduler.Revert(mark)
	return t.noCheaper(h, left, bought, unplaced)
}

// couldSave says whether new nodes for some pods of a host could cost so little that it pays: they cost at least what
// the pods are worth.
func (t *trials) couldSave(host int, pods []int) bool {
	worth, known := t.appraisal.of(pods)
	if !known {
		return true
	}
	least := t.draft.Churn.Least(t.draft.Churn.Sum(t.draft.Moving[host]), byReplace)
	return float64(t.appraisal.cost(host)+t.v.Policy.PerNodeOverhead-least) >= worth*(1-exact)
}

// tooExpensive says that no replacement can pay for itself.
func (t *trials) tooExpensive(host int) model.Reason {
	price := t.draft.Churn.Sum(t.draft.Moving[host])
	least := t.draft.Churn.Least(price, byReplace)
	with := ""
	if t.v.Policy.PerNodeOverhead > 0 {
		with = "with the overhead per node "
	}
	r := model.Reason{
		Code: model.CodeNoCheaper, Subject: t.v.Hosts[host].Name(),
		Message: fmt.Sprintf("its pods fit on no other nodes, and %snew ones for them cost at least %s an hour; it costs %s", with,
			fit.Money(t.appraisal.cost(host)-t.appraisal.Waste[host]), fit.Price(t.appraisal.cost(host), t.v.Estimated(t.v.Hosts[host].Claim))),
		Remedy: "allow cheaper instance types in the pool, or lower what its pods request",
	}
	if w := t.appraisal.Waste[host]; w >= max(1, t.v.Policy.MinSaving) && w < least {
		r.Code = model.CodePayback
		r.Message += fmt.Sprintf("; the eviction cost of its pods is %s, and must pay back within %s", fit.Money(price), t.draft.Churn.Payback)
		r.Remedy = "lower policy.eviction_price, or raise policy.payback"
	}
	return r
}

// noCheaper says why no replacement was found, or none that is worth it.
func (t *trials) noCheaper(host int, left []market.Item, bought []*purchase.NewClaim, unplaced []market.Item) model.Reason {
	name, what := t.v.Hosts[host].Name(), t.countLeft(left)
	if len(unplaced) > 0 {
		r := t.draft.NoDestination(host, unplaced[0])
		r.Message = what + " fit on no other node, and no new node holds them: " + r.Message
		return r
	}
	var cost int64
	for _, b := range bought {
		cost += b.Best().Price
	}
	_, weighed := t.draft.Price([]int{host})
	d := draft.Decision{Hosts: []int{host}, Evicted: t.draft.Moving[host], Replacements: bought}
	if cost < weighed {
		price := t.draft.Churn.Sum(t.draft.Moving[host])
		if saving := weighed - cost; saving < t.judge.bar(&d).least {
			return t.judge.notWorth(host, saving, price, t.judge.bar(&d))
		}
		if r := t.judge.spotForSpot(&d); !r.OK() {
			return r
		}
	}
	cheapest := fit.Count(len(bought), "new node")
	if len(bought) == 1 {
		cheapest = string(bought[0].Best().Type.Name)
	}
	return model.Reason{
		Code: model.CodeNoCheaper, Subject: name,
		Message: fmt.Sprintf("%s fit on no other node; the cheapest that holds them is %s at %s, and it costs %s",
			what, cheapest, fit.Price(cost, d.Estimated(t.v)), fit.Price(weighed, t.v.Estimated(t.v.Hosts[host].Claim))),
		Remedy: "allow cheaper instance types in the pool, or lower what its pods request",
	}
}

// countLeft says in words what found no place: pods, and those of buffers.
func (t *trials) countLeft(left []market.Item) string {
	pods, buffers := 0, 0
	for _, it := range left {
		for _, p := range it.Pods {
			if t.v.Pods[p].ID.Virtual() {
				buffers++
			} else {
				pods++
			}
		}
	}
	if buffers == 0 {
		return fmt.Sprintf("%d of its pods", pods)
	}
	return fmt.Sprintf("%d of its pods and %d of capacity buffers", pods, buffers)
}
