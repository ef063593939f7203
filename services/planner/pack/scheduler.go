// Package pack decides where pods go: on hosts that exist, and on NodeClaims that it buys, at the lowest price.
//
// A Scheduler assigns pods: Assign for any number of them, One for a single claim that holds everything, OnHosts for
// hosts alone; Bound proves what no plan can undercut, and Explain says why a pod fits nothing. What can be bought is in
// package market, how claims are bought in package purchase. The package never decides that a node goes. Start reading with
// Scheduler.
package pack

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Scheduler is where pods are given their places: on hosts that there are, and on claims to buy. It keeps the order in which it
// did so, because pods that mind other pods keep their constraints only in some order.
//
// Pods that mind nobody go first, wherever there is room. The others are seated one after the other, each where the
// scheduler's own rules allow it after those before it: on a host, or in a Segment where a node can be bought. What is to be
// bought is then packed all at once, and the seating is gone through again with the claims in the cells' place. What fails,
// and what hangs on a single node, is seated last, one pod at a time, on anything that there is by then. A Scheduler belongs to
// one goroutine.
type Scheduler struct {
	market     *market.Market
	v          *view.View
	matcher    *fit.Matcher
	rules      *topology.Rules
	tally      *topology.Tally
	limits     *market.Limits
	partitions map[string]*partition
	// keys are all labels that matter to any pod that minds others, sorted.
	keys []string
	// onlyPool is the pool to buy from; nil for all.
	onlyPool *view.Pool
	// segmentCount counts the cells made.
	segmentCount int
	// devices is nil where no class claims any; numbers counts the claims that have places there.
	devices       *devices.Allocator
	deviceNumbers int
	// ranks say when each host's turn comes to be filled; room is memory for those that have some.
	ranks      []int8
	hostMemory []queuedHost
	listings   purchase.Listings
	// proof is what the search that bought last has proven.
	proof purchase.Proof
	buyer *purchase.Buyer
	stop  func() bool
}

// StopWhen makes the desk give up once stop says so, which must not go back on its word: from then on it seats nothing and
// proves nothing. What it said before is not to be relied on either. nil never stops.
func (d *Scheduler) StopWhen(stop func() bool) { d.stop, d.buyer.Stop = stop, stop }

// Stopped says that the desk has given up.
func (d *Scheduler) Stopped() bool { return d.stop != nil && d.stop() }

// Assignment is a pod's place: a host, or a claim to buy.
type Assignment struct {
	Pod int
	// Host is a place in View.Hosts where Bought is nil.
	Host  int
	Claim *purchase.NewClaim
}

// TrackDevices makes the desk give out devices too. The same must follow the view.
func (d *Scheduler) TrackDevices(t *devices.Allocator) { d.devices = t }

// NewScheduler seats pods in a view, buying from a market within limits. The tally follows the view, and the matcher asks it.
func NewScheduler(m *market.Market, v *view.View, matcher *fit.Matcher, tally *topology.Tally, lim *market.Limits) *Scheduler {
	rules := tally.Rules()
	return &Scheduler{
		market: m, v: v, matcher: matcher, rules: rules, tally: tally, limits: lim, partitions: make(map[string]*partition),
		keys: market.PodRuleKeys(v.World, rules), buyer: purchase.NewBuyer(m, rules, lim.Units.Clone()),
		ranks: ranks(v),
	}
}

// Prefer lets pods go to some hosts before others that can be relied on as much.
func (d *Scheduler) Prefer(host func(int) bool) {
	for i, r := range d.ranks {
		if r != rankClosed {
			d.ranks[i] = 2 * r
			if !host(i) {
				d.ranks[i]++
			}
		}
	}
}

// Mark marks the present state of the view and the counts; limits are not part of it.
func (d *Scheduler) Mark() view.Mark { return d.v.Fork() }

// Revert takes back everything since the mark.
func (d *Scheduler) Revert(m view.Mark) { d.v.Revert(m) }

// UncountBound takes a pod off the host that it is bound to, as far as other pods mind it: it will be seated anew.
func (d *Scheduler) UncountBound(pod, host int) {
	d.tally.Add(d.v.Pods[pod].Class, d.tally.Host(host), -1)
}

// UncountAssigned takes a pod that was seated off the counts that other pods go by; its room stays taken.
func (d *Scheduler) UncountAssigned(s Assignment) {
	site := d.siteOf(s)
	if site != nil { // a claim has none where nobody counts its pods
		d.tally.Add(d.v.Pods[s.Pod].Class, site, -1)
	}
}

// DependsOn and CountedBy say which counts of other pods a class relies on, and which it is part of; see topology.Rules.
func (d *Scheduler) DependsOn(c *view.Class) []int32 { return d.rules.DependsOn(c) }

// CountedBy is described beside DependsOn.
func (d *Scheduler) CountedBy(c *view.Class) []int32 { return d.rules.CountedBy(c) }

// StillAllowed says whether a pod that was seated could be seated there still, after what changed since.
func (d *Scheduler) StillAllowed(s Assignment) bool {
	c, site := d.v.Pods[s.Pod].Class, d.siteOf(s)
	if site == nil {
		return true
	}
	mark := d.tally.Mark()
	defer d.tally.Revert(mark)
	d.tally.Add(c, site, -1)
	return d.tally.Allows(c, site)
}

// siteOf is where a seat is in the eyes of the rules about other pods; nil for a claim where nobody counts its pods.
func (d *Scheduler) siteOf(s Assignment) *topology.Site {
	if s.Claim != nil {
		return s.Claim.Site
	}
	return d.tally.Host(s.Host)
}

// OnHosts seats pods on hosts that usable allows, and on nothing else.
func (d *Scheduler) OnHosts(items []market.Item, usable func(host int) bool) (assignments []Assignment, left []market.Item) {
	s := d.newAttempt(items, usable, false)
	s.run()
	if d.Stopped() {
		return nil, items
	}
	return s.assignments, s.left()
}

// Assign places pods on hosts that usable allows, and on claims to buy, which it takes off the limits.
func (d *Scheduler) Assign(items []market.Item, usable func(host int) bool) (assignments []Assignment, claims []*purchase.NewClaim, left []market.Item) {
	s := d.newAttempt(items, usable, true)
	s.run()
	d.rankAll(s.claims)
	if d.Stopped() {
		return nil, nil, items
	}
	return s.assignments, s.claims, s.left()
}

// attempt is one call's state.
type attempt struct {
	*Scheduler
	items     []market.Item
	usable    func(host int) bool
	buysNodes bool

	// intended are the seats of pods that mind others, in order, as long as claims are not packed: wanted has the cell where
	// a pod is to get a new node.
	intended []intent
	// wantedItems is what is to be packed, one item for each class and cell.
	wantedItems []market.Item
	wantedIndex map[wantedKey]int

	assignments []Assignment
	claims      []*purchase.NewClaim
	// unplaced are pods without a seat, by class, in the order of the items.
	unplaced []market.Item
	// lastListed is the claim of which places were listed last, and lastPlaces are they.
	lastListed *purchase.NewClaim
	lastPlaces []*fit.Place
}

type intent struct {
	pod  int
	host int
	// newNode says that the pod is to get a new node, in some cell.
	newNode bool
}

type wantedKey struct {
	class   *view.Class
	segment *market.Segment
}

func (d *Scheduler) newAttempt(items []market.Item, usable func(host int) bool, buys bool) *attempt {
	return &attempt{Scheduler: d, items: items, usable: usable, buysNodes: buys, wantedIndex: make(map[wantedKey]int)}
}

func (s *attempt) run() {
	var tied []market.Item
	for _, it := range s.items {
		if s.buysNodes && s.sharesClaims(it.Class) {
			s.leaveUnplaced(it.Class, it.Pods) // who shares a claim must be together
			continue
		}
		if s.hasPodRules(it.Class) {
			tied = append(tied, it)
			continue
		}
		s.placeUnconstrained(it)
	}
	mark := s.Mark()
	s.placeConstrained(tied)
	if !s.buysNodes {
		for _, ch := range s.intended {
			s.assignments = append(s.assignments, Assignment{Pod: ch.pod, Host: ch.host})
		}
		return
	}
	if s.Stopped() {
		return
	}
	on := s.purchase()
	s.Revert(mark)
	s.replay(on)
	s.repair()
}

// podsPerStop is after how many pods, or claims, to ask whether to stop.
const podsPerStop = 16

// hasPodRules says whether it matters to a pod, or to others, which pods it runs with.
func (s *attempt) hasPodRules(c *view.Class) bool {
	return s.rules.Constrained(c) || (s.rules.Soft(c) && s.v.Policy.Preferences != model.PreferencesIgnored)
}

// placeUnconstrained puts pods that mind nobody on hosts; what is left is wanted anywhere.
func (s *attempt) placeUnconstrained(it market.Item) {
	rest := it.Pods
	if s.Stopped() {
		return
	}
	hosts := newHostQueue(s.v, it.Class, s.usable, s.ranks, s.hostMemory[:0]).judgedBy(s.matcher)
	s.hostMemory = hosts.heap // to be used again
	for len(rest) > 0 {
		h, ok := hosts.next()
		if !ok {
			break
		}
		n := s.matcher.Capacity(it.Class, h, len(rest))
		if n == 0 {
			continue
		}
		s.v.Place(h, it.Class, n)
		for _, p := range rest[:n] {
			s.assignments = append(s.assignments, Assignment{Pod: p, Host: h})
		}
		rest = rest[n:]
	}
	s.want(it.Class, nil, rest)
}

func (s *attempt) want(c *view.Class, segment *market.Segment, pods []int) {
	if len(pods) == 0 {
		return
	}
	if !s.buysNodes {
		s.leaveUnplaced(c, pods)
		return
	}
	key := wantedKey{c, segment}
	i, ok := s.wantedIndex[key]
	if !ok {
		i = len(s.wantedItems)
		s.wantedIndex[key] = i
		s.wantedItems = append(s.wantedItems, market.Item{Class: c, Segment: segment})
	}
	s.wantedItems[i].Pods = append(s.wantedItems[i].Pods, pods...)
}

func (s *attempt) leaveUnplaced(c *view.Class, pods []int) {
	if len(pods) == 0 {
		return
	}
	if n := len(s.unplaced); n > 0 && s.unplaced[n-1].Class == c {
		s.unplaced[n-1].Pods = append(s.unplaced[n-1].Pods, pods...)
		return
	}
	s.unplaced = append(s.unplaced, market.Item{Class: c, Pods: slices.Clone(pods)})
}

// purchase packs what is wanted, and says which claim each pod is on.
func (s *attempt) purchase() map[int]*purchase.NewClaim {
	for i := range s.wantedItems {
		slices.Sort(s.wantedItems[i].Pods)
	}
	tiers, before := s.market.TiersOf(s.wantedKeys(), s.onlyPool), s.limits.Clone()
	claims, left, proof := s.buyer.Fill(tiers, s.wantedItems, s.buyer.NodeRules(s.wantedItems), s.limits)
	if bands := byPriority(s.wantedItems); len(left) > 0 && len(bands) > 1 {
		*s.limits = *before
		claims, left = s.buyByPriority(tiers, bands)
	}
	s.claims, s.proof = claims, proof
	if slices.ContainsFunc(s.wantedItems, func(it market.Item) bool { return it.Segment != nil || s.hasPodRules(it.Class) }) {
		s.proof = purchase.Proof{} // it is of more rules than every plan must keep
	}
	if s.tally.Frozen() {
		s.claims = slices.DeleteFunc(s.claims, s.opensFrozen)
	}
	on := make(map[int]*purchase.NewClaim)
	for _, b := range s.claims {
		for _, it := range b.Items {
			for _, p := range it.Pods {
				on[p] = b
			}
		}
	}
	for _, it := range left {
		if it.Segment == nil && !s.hasPodRules(it.Class) {
			s.leaveUnplaced(it.Class, it.Pods)
		}
	}
	return on
}

// opensFrozen says whether a claim might be the first node of a domain that others rely on not to be there, and gives it up.
func (s *attempt) opensFrozen(b *purchase.NewClaim) bool {
	if !s.tally.Opens(s.tally.Probe(nil, s.places(b)...)) {
		return false
	}
	if b.Options != nil {
		b.CountBase(s.limits)
	}
	s.limits.Return(b.Base)
	for _, it := range b.Items {
		if it.Segment == nil && !s.hasPodRules(it.Class) {
			s.leaveUnplaced(it.Class, it.Pods)
		}
	}
	return true
}

// buyByPriority packs the important pods first, where not all can be had: what limits leave is theirs.
func (s *attempt) buyByPriority(tiers [][]*market.Option, bands [][]market.Item) (claims []*purchase.NewClaim, left []market.Item) {
	for _, band := range bands {
		some, rest, _ := s.buyer.Fill(tiers, band, s.buyer.NodeRules(band), s.limits)
		claims, left = append(claims, some...), append(left, rest...)
	}
	return claims, left
}

// byPriority parts items by the priority of their pods, the highest first.
func byPriority(items []market.Item) [][]market.Item {
	by := make(map[int32][]market.Item)
	for _, it := range items {
		by[it.Class.Priority] = append(by[it.Class.Priority], it)
	}
	var out [][]market.Item
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(by))) {
		out = append(out, by[p])
	}
	return out
}

// wantedKeys are the labels whose values matter to what is wanted.
func (s *attempt) wantedKeys() []string {
	var keys []string
	for _, g := range s.partitions {
		if slices.ContainsFunc(s.wantedItems, func(it market.Item) bool { return it.Segment != nil && slices.Contains(g.segments, it.Segment) }) {
			keys = append(keys, g.keys...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// replay goes through the seating again, with claims in the place of cells; a pod whose turn fails now stays open.
func (s *attempt) replay(on map[int]*purchase.NewClaim) {
	for _, it := range s.wantedItems {
		if it.Segment != nil || s.hasPodRules(it.Class) || s.Stopped() {
			continue
		}
		for _, p := range it.Pods {
			b := on[p]
			switch {
			case b == nil:
			case s.takeDevices(b, it.Class):
				s.assignments = append(s.assignments, Assignment{Pod: p, Claim: b})
			default:
				b.Drop(p)
				s.leaveUnplaced(it.Class, []int{p})
			}
		}
	}
	for i, ch := range s.intended {
		if i%podsPerStop == 0 && s.Stopped() {
			return
		}
		c := s.v.Pods[ch.pod].Class
		b := on[ch.pod]
		switch {
		case !ch.newNode && s.matcher.Capacity(c, ch.host, 1) == 1:
			s.v.Place(ch.host, c, 1)
			s.assignments = append(s.assignments, Assignment{Pod: ch.pod, Host: ch.host})
		case b != nil && s.tally.Allows(c, s.site(b)) && s.takeDevices(b, c):
			s.tally.Add(c, s.site(b), 1)
			s.assignments = append(s.assignments, Assignment{Pod: ch.pod, Claim: b})
		default:
			if b != nil {
				b.Drop(ch.pod)
			}
			s.leaveUnplaced(c, []int{ch.pod})
		}
	}
	s.claims = slices.DeleteFunc(s.claims, func(b *purchase.NewClaim) bool {
		if len(b.Items) == 0 {
			if b.Options != nil {
				b.CountBase(s.limits)
			}
			s.limits.Return(b.Base)
		}
		return len(b.Items) == 0
	})
}

// site is the claim's node in the eyes of the rules about other pods.
func (s *attempt) site(b *purchase.NewClaim) *topology.Site {
	if b.Site == nil {
		s.choosePreferred(b)
		b.Site = s.tally.Claim(nil, s.places(b)...)
	}
	return b.Site
}

// places are what a claim may become: everything that holds its pods, as far as claims list it.
func (s *attempt) places(b *purchase.NewClaim) []*fit.Place {
	if s.lastListed != nil && s.lastListed != b && b.Options == nil && purchase.Alike(s.lastListed, b) {
		b.Shown = s.lastListed.Shown
		return s.lastPlaces
	}
	options := b.Options
	if options == nil {
		options, _ = s.market.Rank(b.Base, b.Items, nil)
	}
	if !slices.Contains(options, b.Base) { // a list that is cut short may be of others
		options = append(slices.Clone(options), b.Base)
	}
	b.Shown = options
	out := make([]*fit.Place, len(options))
	for i, o := range options {
		out[i] = &o.Place
	}
	s.lastListed, s.lastPlaces = b, out
	return out
}

// left are the pods without a seat, one item for each class.
func (s *attempt) left() []market.Item {
	by := make(map[*view.Class][]int)
	for _, it := range s.unplaced {
		by[it.Class] = append(by[it.Class], it.Pods...)
	}
	var out []market.Item
	for _, it := range s.items {
		if pods := by[it.Class]; len(pods) > 0 {
			slices.Sort(pods)
			out = append(out, market.Item{Class: it.Class, Pods: pods})
			delete(by, it.Class)
		}
	}
	return out
}
