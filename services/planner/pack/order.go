package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// few is how many pods are packed in several orders, of which the best counts. With more of them one order is about as
// good as another, and each costs a whole assignment. Where some that are tied to others have no place, up to several
// pods begin in up to mostBegins domains instead. Up to mostFewer, of up to mostItems classes and segments, are packed once
// more as if nodes cost more, and any number where that may lose up to longShot times what there is to win.
const (
	few        = 32
	several    = 128
	mostBegins = 8
	mostFewer  = 4096
	mostItems  = 1024
	longShot   = 20 // of 180 loads that were drawn, this paid for 25, up to 15 times
)

// order is how an assignment goes through its pods. The zero order is that for any number of them: large ones first, those
// without pod rules before all others, and all that needs a new node bought for at once.
type order struct {
	// tiedFirst has pods with pod rules come first, smallestFirst turns the order around.
	tiedFirst, smallestFirst bool
	// mixed has pods without pod rules take their turn among the others. roomy has pods with a turn go to the emptiest
	// host.
	mixed, roomy bool
	// stepwise has each pod, one after the other, go onto a host, onto a claim that there is by then, or onto a new
	// one: the cheapest of these.
	stepwise bool
	// begin is where pods with pod rules go first: those that must be near one another are all where the first one is.
	begin model.Label
	// overhead is what one more node is taken to cost beside its price, where that is more than by the policy.
	overhead int64
	// outline is where pods with pod rules go first, as long as they are allowed there; nil for none.
	outline *purchase.Outline
}

// sorted are items in the order.
func (o order) sorted(items []market.Item, tied func(*view.Class) bool) []market.Item {
	items = slices.Clone(items)
	if o.smallestFirst {
		slices.Reverse(items)
	}
	if o.tiedFirst {
		first := slices.DeleteFunc(slices.Clone(items), func(it market.Item) bool { return !tied(it.Class) })
		items = append(first, slices.DeleteFunc(items, func(it market.Item) bool { return tied(it.Class) })...)
	}
	return items
}

// outcome is what an assignment comes to.
type outcome struct {
	order order
	// left are the priorities of pods without a place, the highest first; light is how many are bought for in each tier
	// of pools but the heaviest, the lightest first; cost what is bought, with the preferences about nodes that are not
	// met. Those about other pods have no price here: where pods have some, only those left count.
	left  []int32
	light []int
	cost  int64
}

// compare orders outcomes, the better one first.
func (x *outcome) compare(y *outcome) int {
	return cmp.Or(slices.Compare(x.left, y.left), slices.Compare(x.light, y.light), cmp.Compare(x.cost, y.cost))
}

func outcomeOf(a *attempt) *outcome {
	tiers, price := len(a.s.market.Tiers), market.PreferencePrice(&a.s.v.Policy)
	out := &outcome{order: a.order, light: make([]int, tiers)}
	for _, it := range a.unplaced {
		out.left = append(out.left, slices.Repeat([]int32{it.Class.Priority}, len(it.Pods))...)
	}
	slices.SortFunc(out.left, func(x, y int32) int { return cmp.Compare(y, x) })
	if a.prefers() {
		return out
	}
	for _, b := range a.claims {
		out.cost += b.Best().Price + a.s.v.Policy.PerNodeOverhead
		tier := a.s.market.TierOf(b.Base.Pool)
		if tier > 0 {
			out.light[tiers-1-tier] += b.Hosted() - b.Guests
		}
		for _, it := range b.Items {
			out.cost += price * int64(fit.PreferencePenalty(it.Class.Profile, &b.Best().Place)) * int64(len(it.Pods))
		}
	}
	for _, x := range a.assignments {
		if x.Claim == nil {
			h := a.s.v.Hosts[x.Host]
			out.cost += price * int64(fit.PreferencePenalty(a.s.v.Pods[x.Pod].Class.Profile, &fit.Place{Labels: h.LabelSets[0], Taints: h.Taints}))
		}
	}
	return out
}

// task is what an assignment is to do: items to hosts that usable allows and to new claims, after some pods were placed
// on hosts since begin.
type task struct {
	begin  view.Mark
	before []Assignment
	items  []market.Item
	usable func(host int) bool
}

// inOrder does a task in an order.
func (t *task) inOrder(s *Scheduler, o order) *attempt {
	defer s.buyer.Take(o.overhead)()
	a := s.newAttempt(o.sorted(t.items, s.rules.Constrained), t.usable, true)
	a.order, a.begin, a.assignments = o, t.begin, slices.Clone(t.before)
	a.run()
	s.rankAll(a.claims)
	if len(s.rules.Universes) > 0 {
		a.countClaims() // those without a site, too, are domains for all that is assigned later
	}
	return a
}

// inBestOrder does a task in the order in which it comes out best, of all orders where that may be of use.
func (t *task) inBestOrder(s *Scheduler) *attempt {
	limits := s.limits.Clone()
	a := t.inOrder(s, order{})
	others := otherOrders(a)
	if s.Stopped() || len(others) == 0 {
		return a
	}
	proof := s.proof
	again := func(o order) *attempt {
		*s.limits = *limits.Clone()
		s.Revert(t.begin)
		for _, x := range t.before {
			s.v.Place(x.Host, s.v.Pods[x.Pod].Class, 1)
		}
		return t.inOrder(s, o)
	}
	best := outcomeOf(a)
	for len(others) > 0 && (len(best.left) > 0 || !proof.Known() || best.cost > proof.Price) {
		o := others[0]
		if a = again(o); s.Stopped() {
			return a
		}
		if others = others[1:]; o == (order{overhead: o.overhead}) {
			others = append(others, otherOrders(a)...)
		}
		if x := outcomeOf(a); x.compare(best) < 0 {
			best = x
		}
	}
	if a.order != best.order {
		a = again(best.order)
	}
	if !s.proof.Known() {
		s.proof = proof // whatever the order, the pods cost so much at least
	}
	return a
}

// otherOrders are the orders in which an attempt may come out better. Those of one that takes nodes to cost more do so too.
func otherOrders(a *attempt) []order {
	defer a.s.buyer.Take(a.order.overhead)()
	pods, left := 0, len(a.unplaced) > 0
	for _, it := range a.items {
		pods += len(it.Pods)
	}
	tied := slices.ContainsFunc(a.items, func(it market.Item) bool { return a.s.rules.Constrained(it.Class) })
	if len(a.claims) == 0 && !left || a.prefers() && !left {
		return nil
	}
	var out []order
	if pods <= several {
		out = begins(a)
	}
	onHost := slices.ContainsFunc(a.assignments, func(x Assignment) bool { return x.Claim == nil })
	if !onHost {
		segment := func(c *view.Class, o *market.Option) *market.Segment { return a.s.segments.Of(a.s.rules.Keys(c), o) }
		if x := a.s.buyer.Outline(a.claims, a.s.tally, segment); x != nil {
			out = append(out, order{outline: x})
		}
	}
	if pods <= few && (tied || len(a.items) > 1 && onHost) {
		out = append([]order{
			{stepwise: true, tiedFirst: true}, {stepwise: true, smallestFirst: true}, {mixed: true, tiedFirst: true}, {mixed: true, roomy: true},
		}, out...)
	}
	for i := range out {
		out[i].overhead = a.order.overhead
	}
	fewer, proof := order{overhead: model.DefaultPerNodeOverhead}, a.s.proof
	// That may lose the overhead of all nodes, and win what they cost over what is proven to be needed.
	pays := proof.Known() && fewer.overhead*int64(len(a.claims)) <= longShot*(outcomeOf(a).cost-proof.Price)
	if a.s.buyer.Overhead < fewer.overhead && (pays || pods <= mostFewer && len(a.wantedItems) <= mostItems) {
		out = append(out, fewer)
	}
	return out
}

// prefers says whether any of the pods prefer to be near others, or not to be.
func (a *attempt) prefers() bool {
	return slices.ContainsFunc(a.items, func(it market.Item) bool { return a.s.rules.Soft(it.Class) && a.hasPodRules(it.Class) })
}

// begins are the orders that begin in one domain each of those that matter to pods without a place.
func begins(a *attempt) []order {
	var out []order
	for _, it := range a.unplaced {
		g := a.s.segments.Partition(a.s.rules.Keys(it.Class))
		for _, key := range g.Keys {
			for _, segment := range g.Segments {
				value, ok := segment.Labels.Get(key)
				o := order{begin: model.Label{Key: key, Value: value}}
				if ok && len(out) < mostBegins && !slices.Contains(out, o) {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// first are the candidates where the next pod of a class goes first, if it may.
func first(a *attempt, c *view.Class, candidates []*candidate) []*candidate {
	var out []*candidate
	for _, b := range candidates {
		v, ok := b.labels.Get(a.order.begin.Key)
		lacks := a.order.outline.Pods(c, b.segment)
		if i, some := a.wantedIndex[wantedKey{c, b.segment}]; some {
			lacks -= len(a.wantedItems[i].Pods)
		}
		if ok && v == a.order.begin.Value || lacks > 0 {
			out = append(out, b)
		}
	}
	return out
}
