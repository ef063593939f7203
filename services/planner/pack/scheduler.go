// Package pack decides where pods go: on hosts that exist, and on NodeClaims that it buys, at the lowest price.
//
// A Scheduler assigns pods: Assign for any number of them, One for a single claim that holds everything, OnHosts for
// hosts alone; Bound proves what no plan can undercut, and Explain says why a pod fits nothing. What can be bought is in
// package market, how claims are bought in package purchase. The package never decides that a node goes. Start reading with
// Scheduler.
package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/pack/queue"
	"github.com/kerf-dev/kerf/services/planner/pack/segments"
	"github.com/kerf-dev/kerf/services/planner/pack/settled"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Scheduler assigns pods to hosts that exist and to claims that it buys. Assignments are kept in the order in which
// they were made, because pods with rules about other pods meet them only in some orders.
//
// An assignment has two passes. The first one (place) gives each pod a host, or a segment where a node can be bought: pods
// without pod rules first, wherever capacity is free, then the others one after the other, each where kube-scheduler would
// allow it after those before it. All that needs a new node is then bought at once. The second one (repair) repeats the
// first with claims in the place of segments, and puts what does not fit there any more, and pods that need one certain
// node, one at a time onto anything that there is by then. A Scheduler belongs to one goroutine.
type Scheduler struct {
	market   *market.Market
	v        *view.View
	matcher  *fit.Matcher
	rules    *podrules.Rules
	tally    *topology.Tally
	limits   *market.Limits
	segments *segments.Segments
	// newNodes remembers, by partition and shape of pod, the best new node in each segment.
	newNodes map[newNodeKey][]newNode
	// keys are all labels that matter to any pod with pod rules, sorted.
	keys []string
	// onlyPool is the pool to buy from; nil for all.
	onlyPool *view.Pool
	// devices is nil where no class claims any; deviceNumbers is how many claims have places there.
	devices       *devices.Allocator
	deviceNumbers int
	// ranks say when each host's turn comes to be filled; hostMemory is reused by queues.
	ranks      []int8
	hostMemory []queue.Entry
	listings   purchase.Listings
	// proof is what the last purchase that bought something has proven.
	proof purchase.Proof
	buyer *purchase.Buyer
	stop  func() bool
	// Rough lets Buy pack with the least search: for what won't be bought.
	Rough bool
}

// StopWhen makes the scheduler stop once stop is true, which must then stay true: from then on it assigns nothing and
// proves nothing. Do not rely on its earlier answers either. nil never stops.
func (s *Scheduler) StopWhen(stop func() bool) { s.stop, s.buyer.Stop = stop, stop }

// Stopped says that the scheduler has stopped.
func (s *Scheduler) Stopped() bool { return s.stop != nil && s.stop() }

// Assignment is a pod's place: a host, or a claim to buy.
type Assignment struct {
	Pod int
	// Host is an index into View.Hosts where Claim is nil.
	Host  int
	Claim *purchase.NewClaim
}

// TrackDevices makes the scheduler allocate devices too. The allocator must follow the view.
func (s *Scheduler) TrackDevices(t *devices.Allocator) { s.devices = t }

// NewScheduler assigns pods in a view, buying from a market within limits. The matcher asks the tally, which follows it.
func NewScheduler(m *market.Market, v *view.View, matcher *fit.Matcher, tally *topology.Tally, lim *market.Limits) *Scheduler {
	rules := tally.Rules()
	return &Scheduler{
		market: m, v: v, matcher: matcher, rules: rules, tally: tally, limits: lim, segments: segments.New(m, v, tally, nil), newNodes: make(map[newNodeKey][]newNode),
		keys: market.PodRuleKeys(v.World, rules), buyer: purchase.NewBuyer(m, rules, lim.Units.Clone()), ranks: queue.Ranks(v),
	}
}

// Prefer lets pods without pod rules go to some hosts before others of the same rank. It replaces what was preferred.
func (s *Scheduler) Prefer(host func(int) bool) {
	for i, r := range queue.Ranks(s.v) {
		if s.ranks[i] = r; r != queue.Closed {
			s.ranks[i] = 2 * r
			if !host(i) {
				s.ranks[i]++
			}
		}
	}
}

// Judge lets a matcher judge hosts from now on.
func (s *Scheduler) Judge(by *fit.Matcher) { s.matcher = by }

// Mark marks the present state of the view and the counts; limits are not part of it.
func (s *Scheduler) Mark() view.Mark { return s.v.Fork() }

// Revert takes back everything since the mark.
func (s *Scheduler) Revert(m view.Mark) { s.v.Revert(m) }

// Count counts a pod n times for pod rules where it is bound or assigned: -1 takes it off; its capacity stays taken.
func (s *Scheduler) Count(a Assignment, n int) {
	if site := s.siteOf(a); site != nil { // a claim has none where no rule counts its pods
		s.tally.Add(s.v.Pods[a.Pod].Class, site, n)
	}
}

// CountHost counts all pods of a host n times for pod rules, those that move and those that end with it: -1 times since
// it goes, and once more for what happens before that.
func (s *Scheduler) CountHost(host int, movable []int, n int) {
	for _, p := range movable {
		s.Count(Assignment{Pod: p, Host: host}, n)
	}
	topology.CountStaying(s.tally, s.v, host, int32(n))
}

// Tally is what counts the pods.
func (s *Scheduler) Tally() *topology.Tally { return s.tally }

// PlacedAs is a pod that was assigned, for pod rules; its site is nil on a claim whose pods no rule counts.
func PlacedAs(s *Scheduler, a Assignment) settled.Placed {
	return settled.Placed{Class: s.v.Pods[a.Pod].Class, Site: s.siteOf(a)}
}

// siteOf is the site of an assignment for pod rules; nil for a claim whose pods no rule counts.
func (s *Scheduler) siteOf(a Assignment) *topology.Site {
	if a.Claim != nil {
		return a.Claim.Site
	}
	return s.tally.Host(a.Host)
}

// OnHosts assigns pods to hosts that usable allows, and to nothing else.
func (s *Scheduler) OnHosts(items []market.Item, usable func(host int) bool) (assignments []Assignment, left []market.Item) {
	a := s.newAttempt(items, usable, false)
	a.run()
	if s.Stopped() {
		return nil, items
	}
	return a.assignments, a.left()
}

// OnLast is OnHosts for pods that nothing more will be bought for, with claims of this plan, which may grow for them. A
// domain that no node is in keeps none of them out.
func (s *Scheduler) OnLast(claims []*purchase.NewClaim, items []market.Item, usable func(host int) bool) (assignments []Assignment, left []market.Item) {
	a := s.newAttempt(items, usable, false)
	a.claims, a.unplaced = claims, items
	for _, b := range claims { // what it may become would count against what it grows into
		if b.Options != nil && !market.HasMinValues(b.Base.Pool) {
			b.CountBase(s.limits)
			b.Options = nil
		}
	}
	a.placeLeft()
	s.rankAll(claims)
	return a.assignments, a.left()
}

// Assign assigns pods to hosts that usable allows, and to claims to buy, which it takes off the limits.
func (s *Scheduler) Assign(items []market.Item, usable func(host int) bool) (assignments []Assignment, claims []*purchase.NewClaim, left []market.Item) {
	proof := s.proof
	a := (&task{s.Mark(), nil, items, usable}).inOrder(s, order{})
	if len(a.claims) == 0 { // what was proven before is true still
		s.proof = proof
	}
	return done(a)
}

// AssignAfter is Assign after some pods were placed on hosts since begin: what it returns is theirs too. Where new
// nodes come with pods of DaemonSets that others count, those that may not be where they are any more go elsewhere. It
// tries harder than Assign, see few.
func (s *Scheduler) AssignAfter(begin view.Mark, before []Assignment, items []market.Item, usable func(host int) bool) (assignments []Assignment, claims []*purchase.NewClaim, left []market.Item) {
	return done((&task{begin, before, items, usable}).inBestOrder(s))
}

func done(a *attempt) ([]Assignment, []*purchase.NewClaim, []market.Item) {
	if a.s.Stopped() {
		return nil, nil, a.items
	}
	return a.assignments, a.claims, a.left()
}

// attempt is the state of one assignment: one call of Assign or OnHosts.
type attempt struct {
	s         *Scheduler
	items     []market.Item
	usable    func(host int) bool
	buysNodes bool
	quiet     bool // buys nothing that DaemonSets' pods come with which pod rules look at
	careful   bool // buys nothing beside which placed pods might not be where they are
	order     order

	// intended are the places of pods with pod rules, in order, until claims are bought; wantedItems has the segment
	// where a pod is to get a new node.
	intended []intent
	// wantedItems is what is to be packed, one item for each class and segment.
	wantedItems []market.Item
	wantedIndex map[wantedKey]int
	// begin is the state before the first of the assignments.
	begin       view.Mark
	assignments []Assignment
	claims      []*purchase.NewClaim
	// unplaced are pods without a place, by class, in the order of the items.
	unplaced []market.Item
	// lastListed is the claim of which places were listed last, and lastPlaces are they.
	lastListed *purchase.NewClaim
	lastPlaces []*fit.Place
}

type intent struct {
	pod, host int
	// newNode says that the pod is to get a new node, in some segment.
	newNode bool
}

type wantedKey struct {
	class   *view.Class
	segment *market.Segment
}

func (s *Scheduler) newAttempt(items []market.Item, usable func(host int) bool, buys bool) *attempt {
	return &attempt{s: s, items: items, usable: usable, buysNodes: buys, wantedIndex: make(map[wantedKey]int)}
}

// run makes both passes, or the first one where nothing may be bought.
func (a *attempt) run() {
	mark := a.place()
	if !a.buysNodes {
		for _, ch := range a.intended {
			a.assignments = append(a.assignments, Assignment{Pod: ch.pod, Host: ch.host})
		}
		return
	}
	if a.s.Stopped() {
		return
	}
	a.purchase()
	a.s.Revert(mark)
	if a.s.tally.Frozen() {
		a.claims = slices.DeleteFunc(a.claims, a.opensFrozen)
	}
	a.repair()
}

// place is the first pass. The mark is before the pods with pod rules, which the second pass places again.
func (a *attempt) place() view.Mark {
	var constrained []market.Item
	for _, it := range a.items {
		switch {
		case a.order.stepwise, a.buysNodes && a.s.sharesClaims(it.Class):
			a.leaveUnplaced(it.Class, it.Pods)
		case a.s.sharesClaims(it.Class): // pods that share a resource claim must be together
			n := a.repairClass(it.Class, it.Pods, &round{})
			a.leaveUnplaced(it.Class, it.Pods[n:])
		case a.hasPodRules(it.Class) || a.order.mixed:
			constrained = append(constrained, it)
		default:
			a.placeUnconstrained(it)
		}
	}
	mark := a.s.Mark()
	a.placeConstrained(constrained)
	return mark
}

// podsPerStop is after how many pods, or claims, to ask whether to stop.
const podsPerStop = 16

// hasPodRules says whether it matters to a pod, or to others, which pods it runs with.
func (a *attempt) hasPodRules(c *view.Class) bool {
	return a.s.rules.Constrained(c) || (a.s.rules.Soft(c) && a.s.v.Policy.Preferences != model.PreferencesIgnored)
}

// placeUnconstrained puts pods without pod rules on hosts; the others want a new node anywhere.
func (a *attempt) placeUnconstrained(it market.Item) {
	rest := it.Pods
	if a.s.Stopped() {
		return
	}
	hosts := queue.New(a.s.v, it.Class, a.usable, a.s.ranks, a.s.hostMemory[:0]).JudgedBy(a.s.matcher)
	a.s.hostMemory = hosts.Memory() // to be used again
	for len(rest) > 0 {
		h, ok := hosts.Next()
		if !ok {
			break
		}
		n := a.s.matcher.Capacity(it.Class, h, len(rest))
		if n == 0 {
			continue
		}
		a.s.v.Place(h, it.Class, n)
		for _, p := range rest[:n] {
			a.assignments = append(a.assignments, Assignment{Pod: p, Host: h})
		}
		rest = rest[n:]
	}
	a.want(it.Class, nil, rest)
}

func (a *attempt) want(c *view.Class, segment *market.Segment, pods []int) {
	if len(pods) == 0 {
		return
	}
	if !a.buysNodes {
		a.leaveUnplaced(c, pods)
		return
	}
	key := wantedKey{c, segment}
	i, ok := a.wantedIndex[key]
	if !ok {
		i = len(a.wantedItems)
		a.wantedIndex[key] = i
		a.wantedItems = append(a.wantedItems, market.Item{Class: c, Segment: segment})
	}
	a.wantedItems[i].Pods = append(a.wantedItems[i].Pods, pods...)
}

func (a *attempt) leaveUnplaced(c *view.Class, pods []int) {
	if len(pods) == 0 {
		return
	}
	if n := len(a.unplaced); n > 0 && a.unplaced[n-1].Class == c {
		a.unplaced[n-1].Pods = append(a.unplaced[n-1].Pods, pods...)
		return
	}
	a.unplaced = append(a.unplaced, market.Item{Class: c, Pods: slices.Clone(pods)})
}

// purchase packs what is wanted.
func (a *attempt) purchase() {
	for i := range a.wantedItems {
		slices.Sort(a.wantedItems[i].Pods)
	}
	wanted := func(x *market.Segment) bool {
		return slices.ContainsFunc(a.wantedItems, func(it market.Item) bool { return it.Segment == x })
	}
	tiers, before := a.s.market.TiersOf(a.s.segments.Keys(wanted), a.s.onlyPool), a.s.limits.Clone()
	claims, left, proof := a.s.buyer.Fill(tiers, a.wantedItems, a.s.limits)
	if bands := market.ByPriority(a.wantedItems); len(left) > 0 && len(bands) > 1 {
		*a.s.limits = *before
		claims, left = a.buyByPriority(tiers, bands)
	}
	a.claims, a.s.proof = claims, proof
	more := slices.ContainsFunc(a.wantedItems, func(it market.Item) bool { return it.Segment != nil || a.hasPodRules(it.Class) })
	if more || a.s.buyer.Overhead != a.s.v.Policy.PerNodeOverhead {
		a.s.proof = purchase.Proof{} // it is of more rules than every plan must keep, or of nodes that cost more
	}
	for _, it := range left {
		if it.Segment == nil && !a.hasPodRules(it.Class) {
			a.leaveUnplaced(it.Class, it.Pods)
		}
	}
}

// opensFrozen says whether a claim might break what placed pods rely on, see topology.Tally.Freeze, and drops it. Its
// own pods do not count: they come later than the node.
func (a *attempt) opensFrozen(b *purchase.NewClaim) bool {
	if !a.s.tally.Opens(a.s.tally.Probe(nil, a.places(b)...)) {
		return false
	}
	if b.Options != nil {
		b.CountBase(a.s.limits)
	}
	a.s.limits.Return(b.Base)
	for _, it := range b.Items {
		if it.Segment == nil && !a.hasPodRules(it.Class) {
			a.leaveUnplaced(it.Class, it.Pods)
		}
	}
	return true
}

// buyByPriority buys for pods of higher priority first, where limits do not leave enough for all.
func (a *attempt) buyByPriority(tiers [][]*market.Option, bands [][]market.Item) (claims []*purchase.NewClaim, left []market.Item) {
	for _, band := range bands {
		some, rest, _ := a.s.buyer.Fill(tiers, band, a.s.limits)
		claims, left = append(claims, some...), append(left, rest...)
	}
	return claims, left
}

// site is the claim's node as pod rules see it.
func (a *attempt) site(b *purchase.NewClaim) *topology.Site {
	if b.Site == nil {
		a.choosePreferred(b)
		b.Site = a.s.tally.Claim(nil, a.places(b)...)
	}
	return b.Site
}

// places are what a claim may become: everything that holds its pods within limits, as far as claims list it.
func (a *attempt) places(b *purchase.NewClaim) []*fit.Place {
	if a.lastListed != nil && b.Site == nil && slices.Equal(a.lastListed.Options, b.Options) && purchase.Alike(a.lastListed, b) {
		b.Shown = a.lastListed.Shown
		return a.lastPlaces
	}
	options := b.Options
	if options == nil {
		options, _ = a.s.market.Rank(b.Base, b.Items, func(o *market.Option) bool {
			return a.s.harmless(o) && b.IsLikeShown(o, a.s.tally) && a.s.limits.AllowInstead(o, b.Base) // what limits forbid opens no domain
		})
	}
	options = withBase(options, b.Base)
	b.Shown = options
	out := market.Places(options)
	if a.lastListed, a.lastPlaces = b, out; b.Site != nil {
		a.lastListed = nil // another claim like it may become more
	}
	return out
}

// left are the pods without a place, one item for each class.
func (a *attempt) left() []market.Item {
	by := make(map[*view.Class][]int)
	for _, it := range a.unplaced {
		by[it.Class] = append(by[it.Class], it.Pods...)
	}
	var out []market.Item
	for _, it := range slices.Concat(a.items, a.unplaced) { // what was placed before is not among the items, and may have lost its place
		if pods := by[it.Class]; len(pods) > 0 {
			slices.Sort(pods)
			out = append(out, market.Item{Class: it.Class, Pods: pods})
			delete(by, it.Class)
		}
	}
	return out
}

// Explain says why nothing can be bought for pods of a class: the nearest miss of all, and that of each pool by name.
func (s *Scheduler) Explain(it market.Item) (model.Reason, []model.PoolMiss) {
	c, verdicts := it.Class, make(map[string]model.Reason)
	return s.market.Explain(it, s.limits, func(o *market.Option) model.Reason {
		if r := s.whyDevices(c, o); !r.OK() {
			return r
		}
		place := o.Key(s.keys)
		r, known := verdicts[place]
		if !known {
			r = s.tally.Why(c, s.tally.Probe(nil, &o.Place))
			verdicts[place] = r
		}
		return r
	})
}

// whyDevices is the rule about devices that keeps a pod off a new node of an option, or the zero Reason.
func (s *Scheduler) whyDevices(c *view.Class, o *market.Option) model.Reason {
	if s.devices == nil || !devices.ClaimsDevices(c.PodClass) {
		return model.Reason{}
	}
	s.devices.Add(probeNumber, "", o.Devices.Stock())
	return s.devices.Why(probeNumber, c.PodClass, "a new "+string(o.Type.Name))
}
