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
	// mostTogether is how many nodes are given up as one set: the optimiser packs many pods better than few, and a
	// decision that holds fewer nodes is easier to carry out.
	mostTogether = 24
	// mostMoved is how many pods one set moves.
	mostMoved = 1000
	// smallest is the size down to which a set that a rule forbids is halved; what is left goes singly.
	smallest = 6
)

// consolidate gives back nodes whose pods can live for less elsewhere.
//
// First each node that is to be given up goes if its pods fit on those that are kept; then the rest go in sets, for new
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
	s.trials = model.Or(s.v.Policy.DisruptionTrials, 64+4*int64(len(open)))
	t := &tries{search: s, full: make([]int, len(s.v.Classes)), giving: make([]bool, len(s.v.Hosts))}
	t.welcome = make([]bool, len(s.v.Hosts))
	for h := range s.v.Hosts {
		t.welcome[h] = s.reliable(h) && s.calm(h)
	}
	t.filler = s.newFiller(open)
	give := s.divide(open)
	// Nodes that stay in any case are filled before those that could still go.
	s.fixed = make([]bool, len(s.v.Hosts))
	for h := range s.fixed {
		s.fixed[h] = true
	}
	for _, h := range open {
		s.fixed[h] = false
	}
	s.Scheduler.Prefer(func(h int) bool { return s.fixed[h] })
	for _, h := range give {
		t.giving[h] = true
	}
	if each := int64(len(open)); s.trials >= 2*each { // else nodes take turns, one by one
		s.trials -= each // these stay for each of them by itself
		t.sets(give)
		t.deletes(give)
		s.trials += each
	}
	clear(t.giving)
	t.singles(open)
	for _, h := range open {
		if !s.verdicts[h].OK() {
			s.summary.Judged++
		}
	}
}

// tries is the search of one consolidation.
type tries struct {
	*search
	// giving are nodes that are to be given up: no destinations. welcome are hosts that may be destinations at all.
	giving, welcome []bool
	filler          *filler
	// held says that some node that is to be given up has to wait, loose that the last set of all is being tried.
	held, loose bool
	// full says of a class, by index, that no host has room for one of its pods, but for the one whose place plus one is
	// there; 0 where nothing is known. Rooms only get smaller while decisions are made.
	full []int
}

// usable says whether pods may be sent to a host to save money.
func (t *tries) usable(host int) bool { return t.welcome[host] && !t.giving[host] }

// mayGo says whether what this plan decided already still lets a node go.
func (s *search) mayGo(host int) model.Reason {
	if r := s.taken(host); !r.OK() {
		return r
	}
	if r := s.budgets.reason(s.v.Hosts[host].Pool, model.ReasonUnderutilized, 1); !r.OK() {
		return r
	}
	return s.pdbs.reason(s.moving[host])
}

// try counts a try; false when there are none left.
func (t *tries) try() bool {
	if t.trials <= 0 || t.Scheduler.Stopped() {
		return false
	}
	t.trials--
	t.summary.Tried++
	return true
}

// deletes gives back each node whose pods fit on those that are kept.
func (t *tries) deletes(hosts []int) {
	for _, h := range hosts {
		if !t.mayGo(h).OK() || t.stuck(h) || !t.try() {
			continue
		}
		mark := t.Scheduler.Mark()
		d, left, waits := t.move([]int{h}, t.usable)
		if waits.OK() && len(left) == 0 && t.accept([]Decision{d}).OK() {
			continue
		}
		t.Scheduler.Revert(mark)
		t.remember(h, d.Spots, left)
	}
	clear(t.full)
}

// stuck says that some pod of a host has no room anywhere, by what was seen of others.
func (t *tries) stuck(host int) bool {
	for _, p := range t.moving[host] {
		c := t.v.Pods[p].Class
		if but := t.full[c.Index] - 1; but >= 0 && (but == host || !t.usable(but) || t.Matcher.Capacity(c, but, 1) == 0) {
			return true
		}
	}
	return false
}

// remember notes for which pods of a host there is no room elsewhere, where that can't change. A try that was taken back
// left some pods; where it had put others, there may be room for those again.
func (t *tries) remember(host int, spots []pack.Assignment, left []market.Item) {
	for _, it := range left {
		again := func(s pack.Assignment) bool { return t.Matcher.Capacity(it.Class, s.Host, 1) > 0 }
		if !t.Scheduler.HasPodRules(it.Class) && !slices.ContainsFunc(spots, again) {
			t.full[it.Class.Index] = host + 1
		}
	}
}

// accept makes decisions part of the plan if each of them is worth it; else it says what is against the first that is not,
// and the caller reverts.
func (t *tries) accept(parts []Decision) model.Reason {
	for i := range parts {
		if why := t.judge(&parts[i]); !why.OK() {
			return why
		}
	}
	for i := range parts {
		if !t.trim(&parts[i]) {
			return t.notWorth(parts[i].Hosts[0], 0, t.churn.sum(parts[i].Evicted), t.leastOf(&parts[i]))
		}
		if why := t.spotForSpot(&parts[i]); !why.OK() { // of what is left
			return why
		}
		if why := t.kept(parts[i].Evicted); !why.OK() {
			return t.about(parts[i].Hosts[0], why)
		}
		if why := t.wishes(&parts[i]); !why.OK() {
			return why
		}
	}
	for i := range parts {
		t.keep(parts[i])
	}
	return model.Reason{}
}

// wishes keeps pods whose wishes are enforced from being moved to where fewer of them are met.
func (t *tries) wishes(d *Decision) model.Reason {
	if t.v.Policy.Preferences != model.PreferencesEnforced {
		return model.Reason{}
	}
	at := func(h int) *fit.Place {
		return &fit.Place{Labels: t.v.Hosts[h].LabelSets[0], Taints: t.v.Hosts[h].Taints}
	}
	home := t.homes(d.Hosts)
	for _, spot := range d.Spots {
		p := t.v.Pods[spot.Pod]
		if fit.PreferencePenalty(p.Class.Profile, at(spot.Host)) > fit.PreferencePenalty(p.Class.Profile, at(home[spot.Pod])) {
			return model.Reason{
				Code: model.CodeNoDestination, Subject: "pod/" + string(p.ID),
				Message: fmt.Sprintf("pod %s would have fewer of its wishes met elsewhere, and wishes are enforced", p.ID),
				Remedy:  "let policy.preferences be priced",
			}
		}
	}
	return model.Reason{}
}

// judge says whether a decision is worth it, and fills in what it saves and why.
func (t *tries) judge(d *Decision) model.Reason {
	price, weighed := t.price(d.Hosts)
	var list, cost int64
	for _, b := range d.Replacements {
		list, cost = list+b.Best().Offering.Price, cost+b.Best().Price
	}
	saving, least := min(price-list, weighed-cost), t.leastOf(d)
	if saving < least {
		return t.notWorth(d.Hosts[0], saving, t.churn.sum(d.Evicted), least)
	}
	if why := t.spotForSpot(d); !why.OK() {
		return why
	}
	if why := t.balance.approve(d.Hosts, weighed-cost); !why.OK() {
		return why
	}
	d.Reason, d.Saving = model.ReasonUnderutilized, price-list
	d.Explanation = t.explain(d, price, list)
	return model.Reason{}
}

// leastOf is what a decision must save at least.
func (t *tries) leastOf(d *Decision) int64 {
	factor := float64(byDelete)
	if len(d.Replacements) > 0 {
		factor = byReplace
	}
	if t.allSpot(d.Hosts) && slices.ContainsFunc(d.Replacements, maySpot) {
		factor = bySpot
	}
	return t.churn.least(t.churn.sum(d.Evicted), factor)
}

func (t *tries) allSpot(hosts []int) bool {
	return !slices.ContainsFunc(hosts, func(h int) bool { return t.v.Hosts[h].Claim.CapacityType != model.Spot })
}

func maySpot(b *purchase.NewClaim) bool {
	return slices.ContainsFunc(b.Options, func(o *market.Option) bool { return o.Offering.CapacityType == model.Spot })
}

// trim leaves out of what replacements may become what would cost so much that the decision would not be worth it, should
// all of them become the dearest that they list; false where too little is left.
func (t *tries) trim(d *Decision) bool {
	if len(d.Replacements) == 0 {
		return true
	}
	price, weighed := t.price(d.Hosts)
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

func (t *tries) explain(d *Decision, price, list int64) model.Reason {
	name := t.v.Hosts[d.Hosts[0]].Name()
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
func (t *tries) singles(hosts []int) {
	hosts = slices.DeleteFunc(slices.Clone(hosts), t.v.Removed)
	if int64(len(hosts)) > t.trials {
		t.fromLast(hosts)
	} else {
		t.byWaste(hosts)
	}
	for i, h := range hosts {
		if why := t.mayGo(h); !why.OK() {
			t.verdicts[h] = why
			continue
		}
		if t.trials <= 0 {
			if t.summary.ResumeAfter == "" && i > 0 {
				t.summary.ResumeAfter = t.v.Hosts[hosts[i-1]].Claim.ID
			}
			t.verdicts[h] = model.Reason{
				Code: model.CodeNotTried, Subject: t.v.Hosts[h].Name(),
				Message: "as many sets of nodes were tried as one plan tries; the next plan goes on here",
				Remedy:  "wait for the next plan, or raise policy.disruption_trials",
			}
			continue
		}
		if why := t.single(h); !t.v.Removed(h) {
			t.verdicts[h] = why
		}
	}
}

// fromLast puts nodes in the order of their claims, beginning after the one where the last search ended.
func (t *tries) fromLast(hosts []int) {
	id := func(h int) model.ClaimID { return t.v.Hosts[h].Claim.ID }
	later := func(h int) int {
		if id(h) > t.ResumeAfter {
			return 0
		}
		return 1
	}
	slices.SortFunc(hosts, func(a, b int) int { return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(id(a), id(b))) })
}

// single gives a node back by itself, or says why not.
func (t *tries) single(h int) model.Reason {
	if t.stuck(h) && !t.mayWin(h, slices.Concat(t.moving[h], t.room[h])) {
		return t.dear(h)
	}
	t.try()
	mark := t.Scheduler.Mark()
	d, left, why := t.move([]int{h}, t.usable)
	if why.OK() {
		why = t.alone(d, left)
	}
	if !why.OK() {
		t.Scheduler.Revert(mark)
		t.remember(h, d.Spots, left)
	}
	return why
}

// alone accepts a decision about one node: with one claim for what is left, or several.
func (t *tries) alone(d Decision, left []market.Item) model.Reason {
	if len(left) == 0 {
		return t.accept([]Decision{d})
	}
	h := d.Hosts[0]
	var pods []int
	for _, it := range left {
		pods = append(pods, it.Pods...)
	}
	if !t.mayWin(h, pods) {
		return t.dear(h)
	}
	price, weighed := t.price(d.Hosts)
	least := t.churn.least(t.churn.sum(d.Evicted), byReplace)
	mark := t.Scheduler.Mark()
	if b, found := t.Scheduler.One(left, purchase.PriceCeiling{Weighed: weighed - least, List: price - least}); found {
		one := d
		one.Replacements = []*purchase.NewClaim{b}
		return t.accept([]Decision{one})
	}
	t.Scheduler.Revert(mark)
	_, bought, homeless := t.Scheduler.Buy(left, t.Limits.Clone())
	if len(homeless) == 0 && len(bought) > 1 {
		d.Replacements = bought
		if t.accept([]Decision{d}).OK() {
			return model.Reason{}
		}
	}
	t.Scheduler.Revert(mark)
	return t.noCheaper(h, left, bought, homeless)
}

// mayWin says whether new nodes for some pods of a host could cost so little that it pays: they cost at least what the pods
// are worth.
func (t *tries) mayWin(host int, pods []int) bool {
	worth, known := t.worthOf(pods)
	if !known {
		return true
	}
	least := t.churn.least(t.churn.sum(t.moving[host]), byReplace)
	return float64(t.cost(host)+t.v.Policy.PerNodeOverhead-least) >= worth*(1-exact)
}

// dear says that no replacement can pay for itself.
func (t *tries) dear(host int) model.Reason {
	price := t.churn.sum(t.moving[host])
	least := t.churn.least(price, byReplace)
	r := model.Reason{
		Code: model.CodeNoCheaper, Subject: t.v.Hosts[host].Name(),
		Message: fmt.Sprintf("its pods fit on no other nodes, and new ones for them cost at least %s an hour; it costs %s",
			fit.Money(t.cost(host)-t.waste[host]), fit.Money(t.cost(host))),
		Remedy: "allow cheaper instance types in the pool, or lower what its pods request",
	}
	if w := t.waste[host]; w >= max(1, t.v.Policy.MinSaving) && w < least {
		r.Code = model.CodePayback
		r.Message += fmt.Sprintf("; moving its pods weighs %s, and must pay back within %s", fit.Money(price), t.churn.payback)
		r.Remedy = "lower policy.eviction_price, or raise policy.payback"
	}
	return r
}

// noCheaper says why no replacement was found, or none that is worth it.
func (t *tries) noCheaper(host int, left []market.Item, bought []*purchase.NewClaim, homeless []market.Item) model.Reason {
	name, what := t.v.Hosts[host].Name(), t.whatStays(left)
	if len(homeless) > 0 {
		r := t.noDestination(host, homeless[0])
		r.Message = what + " fit on no other node, and no new node holds them: " + r.Message
		return r
	}
	var cost int64
	for _, b := range bought {
		cost += b.Best().Price
	}
	_, weighed := t.price([]int{host})
	if cost < weighed {
		price := t.churn.sum(t.moving[host])
		d := Decision{Hosts: []int{host}, Evicted: t.moving[host], Replacements: bought}
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
