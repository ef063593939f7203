package disrupt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

const (
	// maxSetNodes is how many nodes are removed as one set: the optimiser packs many pods better than few, and a
	// decision that holds fewer nodes is easier to carry out.
	maxSetNodes = 24
	// maxSetPods is how many pods one set moves.
	maxSetPods = 1000
	// minSetNodes is the size down to which a set that a rule forbids is halved; what is left goes singly.
	minSetNodes = 6
)

// consolidate removes nodes whose pods can run for less elsewhere.
//
// First each node that is to go does so if its pods fit on those that are kept; then the rest go in sets, for new
// nodes that are bought together; in the end every node that is still there is tried by itself, with all others as
// destinations.
func (s *search) consolidate() {
	var open []int
	chain := slices.Concat(settled(), underused())
	for _, h := range s.candidates {
		if s.v.Removed(h) || !s.verdicts[h].OK() {
			continue
		}
		if s.verdicts[h] = s.ask(chain, h); s.verdicts[h].OK() {
			open = append(open, h)
		}
	}
	s.summary.Candidates = len(open)
	if len(open) == 0 {
		return
	}
	t := newTrials(s, open)
	each := int64(len(open)) // these many are kept for trying every node by itself
	if t.left >= 2*each {    // else nodes take turns, one by one
		leaving := t.divide(open)
		for _, h := range leaving {
			t.leaving[h] = true
		}
		t.left -= each
		t.sets(leaving)
		t.deletes(leaving)
		t.left += each
	}
	clear(t.leaving)
	t.singles(open)
	for _, h := range open {
		if !s.verdicts[h].OK() {
			s.summary.Judged++
		}
	}
}

// trials is the search of one consolidation: nodes are tried alone and in sets, on the view, which is reverted where the
// result is not worth it.
type trials struct {
	s *search
	// left is how many more sets may be tried.
	left int64
	// leaving are hosts that are to go, and no destinations: some of the candidates, by host.
	leaving []bool
	// receivers are hosts that may be destinations, by what was known at the start; what this plan decides later is asked
	// of the search. fixed are hosts that consolidation can't remove, whatever it finds: all but the candidates. Neither
	// changes.
	receivers, fixed []bool
	filler           *filler
	// waiting says that some node that is to go has to wait for another plan; lastSet that the last set of all is being
	// tried, so that no better pods will come for nodes that are half full.
	waiting, lastSet bool
	// full says of a class, by index, that no host has capacity for one of its pods, but for the one whose place plus one is
	// there; 0 where nothing is known. That stays true: free capacity only shrinks while decisions are made.
	full []int
}

// newTrials prepares to try some nodes. The others stay in any case, and are filled first.
func newTrials(s *search, open []int) *trials {
	n := len(s.v.Hosts)
	t := &trials{
		s: s, left: model.Or(s.v.Policy.DisruptionTrials, 64+4*int64(len(open))), full: make([]int, len(s.v.Classes)),
		leaving: make([]bool, n), receivers: make([]bool, n), fixed: make([]bool, n),
	}
	for h := range t.fixed {
		t.fixed[h] = true
		t.receivers[h] = s.reliable(h) && s.mayReceive(h)
	}
	for _, h := range open {
		t.fixed[h] = false
	}
	t.filler = t.newFiller(open)
	s.Scheduler.Prefer(func(h int) bool { return t.fixed[h] })
	return t
}

// usable says whether pods may be sent to a host to save money.
func (t *trials) usable(host int) bool { return t.receivers[host] && !t.leaving[host] }

// mayGo says whether what this plan decided already still lets a node go.
func (t *trials) mayGo(host int) model.Reason {
	if r := t.s.taken(host); !r.OK() {
		return r
	}
	if r := t.s.budgets.reason(t.s.v.Hosts[host].Pool, model.ReasonUnderutilized, 1); !r.OK() {
		return r
	}
	return t.s.pdbs.reason(t.s.moving[host])
}

// try counts a try; false when there are none left.
func (t *trials) try() bool {
	if t.left <= 0 || t.s.Scheduler.Stopped() {
		return false
	}
	t.left--
	t.s.summary.Tried++
	return true
}

// deletes removes each node whose pods fit on those that are kept.
func (t *trials) deletes(hosts []int) {
	for _, h := range hosts {
		if !t.mayGo(h).OK() || t.stuck(h) || !t.try() {
			continue
		}
		mark := t.s.Scheduler.Mark()
		d, left, waits := t.s.move([]int{h}, t.usable)
		if waits.OK() && len(left) == 0 && t.accept([]Decision{d}).OK() {
			continue
		}
		t.s.Scheduler.Revert(mark)
		t.noteFull(h, d.Destinations, left)
	}
	clear(t.full)
}

// stuck says that some pod of a host fits nowhere, by what was seen of others.
func (t *trials) stuck(host int) bool {
	for _, p := range t.s.moving[host] {
		c := t.s.v.Pods[p].Class
		if but := t.full[c.Index] - 1; but >= 0 && (but == host || !t.usable(but) || t.s.Matcher.Capacity(c, but, 1) == 0) {
			return true
		}
	}
	return false
}

// noteFull notes which pods of a host fit nowhere else, where that can't change. A try that was reverted
// left some pods; where it had put others, there may be capacity for those again.
func (t *trials) noteFull(host int, destinations []pack.Assignment, left []market.Item) {
	for _, it := range left {
		again := func(s pack.Assignment) bool { return t.s.Matcher.Capacity(it.Class, s.Host, 1) > 0 }
		if !t.s.Scheduler.HasPodRules(it.Class) && !slices.ContainsFunc(destinations, again) {
			t.full[it.Class.Index] = host + 1
		}
	}
}

// accept makes decisions part of the plan if each of them is worth it; else it says what is against the first that is not,
// and the caller reverts.
func (t *trials) accept(parts []Decision) model.Reason {
	for i := range parts {
		if why := t.judge(&parts[i]); !why.OK() {
			return why
		}
	}
	for i := range parts {
		if !t.trim(&parts[i]) {
			return t.notWorth(parts[i].Hosts[0], 0, t.s.churn.sum(parts[i].Evicted), t.leastOf(&parts[i]))
		}
		if why := t.spotForSpot(&parts[i]); !why.OK() { // of what is left
			return why
		}
		if why := t.s.dependentsStay(parts[i].Evicted); !why.OK() {
			return t.s.about(parts[i].Hosts[0], why)
		}
		if why := t.preferencesKept(&parts[i]); !why.OK() {
			return why
		}
	}
	for i := range parts {
		t.s.keep(parts[i])
	}
	return model.Reason{}
}

// preferencesKept keeps pods whose preferences are enforced from being moved to where fewer of them are met.
func (t *trials) preferencesKept(d *Decision) model.Reason {
	if t.s.v.Policy.Preferences != model.PreferencesEnforced {
		return model.Reason{}
	}
	at := func(h int) *fit.Place {
		return &fit.Place{Labels: t.s.v.Hosts[h].LabelSets[0], Taints: t.s.v.Hosts[h].Taints}
	}
	home := t.s.homes(d.Hosts)
	for _, a := range d.Destinations {
		p := t.s.v.Pods[a.Pod]
		if fit.PreferencePenalty(p.Class.Profile, at(a.Host)) > fit.PreferencePenalty(p.Class.Profile, at(home[a.Pod])) {
			return model.Reason{
				Code: model.CodeNoDestination, Subject: "pod/" + string(p.ID),
				Message: fmt.Sprintf("pod %s would have fewer of its preferences met elsewhere, and preferences are enforced", p.ID),
				Remedy:  "let policy.preferences be priced",
			}
		}
	}
	return model.Reason{}
}

// judge says whether a decision is worth it, and fills in what it saves and why.
func (t *trials) judge(d *Decision) model.Reason {
	price, weighed := t.s.price(d.Hosts)
	var list, cost int64
	for _, b := range d.Replacements {
		list, cost = list+b.Best().Offering.Price, cost+b.Best().Price
	}
	saving, least := min(price-list, weighed-cost), t.leastOf(d)
	if saving < least {
		return t.notWorth(d.Hosts[0], saving, t.s.churn.sum(d.Evicted), least)
	}
	if why := t.spotForSpot(d); !why.OK() {
		return why
	}
	if why := t.s.balance.approve(d.Hosts, weighed-cost); !why.OK() {
		return why
	}
	d.Reason, d.Saving = model.ReasonUnderutilized, price-list
	d.Explanation = t.explain(d, price, list)
	return model.Reason{}
}

// leastOf is what a decision must save at least.
func (t *trials) leastOf(d *Decision) int64 {
	factor := float64(byDelete)
	if len(d.Replacements) > 0 {
		factor = byReplace
	}
	if t.allSpot(d.Hosts) && slices.ContainsFunc(d.Replacements, maySpot) {
		factor = bySpot
	}
	return t.s.churn.least(t.s.churn.sum(d.Evicted), factor)
}

func (t *trials) allSpot(hosts []int) bool {
	return !slices.ContainsFunc(hosts, func(h int) bool { return t.s.v.Hosts[h].Claim.CapacityType != model.Spot })
}

func maySpot(b *purchase.NewClaim) bool {
	return slices.ContainsFunc(b.Options, func(o *market.Option) bool { return o.Offering.CapacityType == model.Spot })
}

// trim leaves out of what replacements may become what would cost so much that the decision would not be worth it, should
// all of them become the highest that they list; false where too little is left.
func (t *trials) trim(d *Decision) bool {
	if len(d.Replacements) == 0 {
		return true
	}
	price, weighed := t.s.price(d.Hosts)
	least := t.leastOf(d)
	var list, cost int64
	for _, b := range d.Replacements {
		list, cost = list+b.Best().Offering.Price, cost+b.Best().Price
	}
	for _, b := range d.Replacements {
		most := purchase.PriceCeiling{
			Weighed: part(weighed-least, b.Best().Price, cost), List: part(price-least, b.Best().Offering.Price, list),
		}
		if !b.Trim(most) {
			return false
		}
	}
	return true
}

// part is the share of whole that one has of all, rounded down.
func part(whole, one, all int64) int64 {
	if all == 0 {
		return whole
	}
	return int64(float64(whole) * (float64(one) / float64(all)))
}

func (t *trials) explain(d *Decision, price, list int64) model.Reason {
	name := t.s.v.Hosts[d.Hosts[0]].Name()
	if len(d.Replacements) == 0 {
		return model.Reason{
			Code: model.CodePodsFitElsewhere, Subject: name,
			Message: fmt.Sprintf("its pods (%d) fit on other nodes; removing it saves %s an hour", len(d.Evicted), fit.Money(price)),
		}
	}
	what := fmt.Sprintf("one %s", d.Replacements[0].Best().Type.Name)
	if n := len(d.Replacements); n > 1 {
		what = fit.Count(n, "new node")
	}
	return model.Reason{
		Code: model.CodeCheaperReplacement, Subject: name,
		Message: fmt.Sprintf("%s at %s instead of %s at %s saves %s an hour", what, fit.Money(list),
			fit.Count(len(d.Hosts), "node"), fit.Money(price), fit.Money(price-list)),
	}
}

// singles tries every node that is still there by itself. Where there are more than may be tried, they take turns.
func (t *trials) singles(hosts []int) {
	hosts = slices.DeleteFunc(slices.Clone(hosts), t.s.v.Removed)
	if int64(len(hosts)) > t.left {
		t.fromLast(hosts)
	} else {
		t.byWaste(hosts)
	}
	for i, h := range hosts {
		if why := t.mayGo(h); !why.OK() {
			t.s.verdicts[h] = why
			continue
		}
		if t.left <= 0 {
			if t.s.summary.ResumeAfter == "" && i > 0 {
				t.s.summary.ResumeAfter = t.s.v.Hosts[hosts[i-1]].Claim.ID
			}
			t.s.verdicts[h] = model.Reason{
				Code: model.CodeNotTried, Subject: t.s.v.Hosts[h].Name(),
				Message: "as many sets of nodes were tried as one plan tries; the next plan goes on here",
				Remedy:  "wait for the next plan, or raise policy.disruption_trials",
			}
			continue
		}
		if why := t.single(h); !t.s.v.Removed(h) {
			t.s.verdicts[h] = why
		}
	}
}

// fromLast puts nodes in the order of their claims, beginning after the one where the last search ended.
func (t *trials) fromLast(hosts []int) {
	id := func(h int) model.ClaimID { return t.s.v.Hosts[h].Claim.ID }
	later := func(h int) int {
		if id(h) > t.s.ResumeAfter {
			return 0
		}
		return 1
	}
	slices.SortFunc(hosts, func(a, b int) int { return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(id(a), id(b))) })
}

// single removes a node by itself, or says why not.
func (t *trials) single(h int) model.Reason {
	if t.stuck(h) && !t.mayWin(h, slices.Concat(t.s.moving[h], t.s.bufferPods[h])) {
		return t.tooExpensive(h)
	}
	t.try()
	mark := t.s.Scheduler.Mark()
	d, left, why := t.s.move([]int{h}, t.usable)
	if why.OK() {
		why = t.alone(d, left)
	}
	if !why.OK() {
		t.s.Scheduler.Revert(mark)
		t.noteFull(h, d.Destinations, left)
	}
	return why
}

// alone accepts a decision about one node: with one claim for what is left, or several.
func (t *trials) alone(d Decision, left []market.Item) model.Reason {
	if len(left) == 0 {
		return t.accept([]Decision{d})
	}
	h := d.Hosts[0]
	var pods []int
	for _, it := range left {
		pods = append(pods, it.Pods...)
	}
	if !t.mayWin(h, pods) {
		return t.tooExpensive(h)
	}
	price, weighed := t.s.price(d.Hosts)
	least := t.s.churn.least(t.s.churn.sum(d.Evicted), byReplace)
	mark := t.s.Scheduler.Mark()
	if b, found := t.s.Scheduler.One(left, purchase.PriceCeiling{Weighed: weighed - least, List: price - least}); found {
		one := d
		one.Replacements = []*purchase.NewClaim{b}
		return t.accept([]Decision{one})
	}
	t.s.Scheduler.Revert(mark)
	_, bought, unplaced := t.s.Scheduler.Buy(left, t.s.Limits.Clone())
	if len(unplaced) == 0 && len(bought) > 1 {
		d.Replacements = bought
		if t.accept([]Decision{d}).OK() {
			return model.Reason{}
		}
	}
	t.s.Scheduler.Revert(mark)
	return t.noCheaper(h, left, bought, unplaced)
}

// mayWin says whether new nodes for some pods of a host could cost so little that it pays: they cost at least what the pods
// are worth.
func (t *trials) mayWin(host int, pods []int) bool {
	worth, known := t.worthOf(pods)
	if !known {
		return true
	}
	least := t.s.churn.least(t.s.churn.sum(t.s.moving[host]), byReplace)
	return float64(t.s.cost(host)+t.s.v.Policy.PerNodeOverhead-least) >= worth*(1-exact)
}

// tooExpensive says that no replacement can pay for itself.
func (t *trials) tooExpensive(host int) model.Reason {
	price := t.s.churn.sum(t.s.moving[host])
	least := t.s.churn.least(price, byReplace)
	r := model.Reason{
		Code: model.CodeNoCheaper, Subject: t.s.v.Hosts[host].Name(),
		Message: fmt.Sprintf("its pods fit on no other nodes, and new ones for them cost at least %s an hour; it costs %s",
			fit.Money(t.s.cost(host)-t.s.waste[host]), fit.Money(t.s.cost(host))),
		Remedy: "allow cheaper instance types in the pool, or lower what its pods request",
	}
	if w := t.s.waste[host]; w >= max(1, t.s.v.Policy.MinSaving) && w < least {
		r.Code = model.CodePayback
		r.Message += fmt.Sprintf("; moving its pods weighs %s, and must pay back within %s", fit.Money(price), t.s.churn.payback)
		r.Remedy = "lower policy.eviction_price, or raise policy.payback"
	}
	return r
}

// noCheaper says why no replacement was found, or none that is worth it.
func (t *trials) noCheaper(host int, left []market.Item, bought []*purchase.NewClaim, unplaced []market.Item) model.Reason {
	name, what := t.s.v.Hosts[host].Name(), t.s.countLeft(left)
	if len(unplaced) > 0 {
		r := t.s.noDestination(host, unplaced[0])
		r.Message = what + " fit on no other node, and no new node holds them: " + r.Message
		return r
	}
	var cost int64
	for _, b := range bought {
		cost += b.Best().Price
	}
	_, weighed := t.s.price([]int{host})
	if cost < weighed {
		price := t.s.churn.sum(t.s.moving[host])
		d := Decision{Hosts: []int{host}, Evicted: t.s.moving[host], Replacements: bought}
		if saving := weighed - cost; saving < t.leastOf(&d) {
			return t.notWorth(host, saving, price, t.leastOf(&d))
		}
		if r := t.spotForSpot(&d); !r.OK() {
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
			what, cheapest, fit.Money(cost), fit.Money(weighed)),
		Remedy: "allow cheaper instance types in the pool, or lower what its pods request",
	}
}
