package pack

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/offer"
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
	m       *Market
	v       *view.View
	matcher *fit.Matcher
	rules   *topology.Rules
	tally   *topology.Tally
	lim     *Limits
	grids   map[string]*grid
	// keys are all labels that matter to any pod that minds others, sorted.
	keys []string
	// only is the pool to buy from; nil for all.
	only *view.Pool
	// cells counts the cells made.
	cells int
	// devices is nil where no class claims any; numbers counts the claims that have places there.
	devices *devices.Allocator
	numbers int
	// ranks say when each host's turn comes to be filled; room is memory for those that have some.
	ranks []int8
	room  []fillHost
	// listings are those that claims have been given, by a hash of their options.
	listings map[uint64][]*Listing
	// proof is what the search that bought last has proven.
	proof Proof
	// units are what was left of reservations before anything was bought.
	units *offer.ReservationUnits
	stop  func() bool
}

// StopWhen makes the desk give up once stop says so, which must not go back on its word: from then on it seats nothing and
// proves nothing. What it said before is not to be relied on either. nil never stops.
func (d *Scheduler) StopWhen(stop func() bool) { d.stop = stop }

// Stopped says that the desk has given up.
func (d *Scheduler) Stopped() bool { return d.stop != nil && d.stop() }

// Assignment is a pod's place: a host, or a claim to buy.
type Assignment struct {
	Pod int
	// Host is a place in View.Hosts where Bought is nil.
	Host  int
	Claim *NewClaim
}

// TrackDevices makes the desk give out devices too. The same must follow the view.
func (d *Scheduler) TrackDevices(t *devices.Allocator) { d.devices = t }

// NewScheduler seats pods in a view, buying from a market within limits. The tally follows the view, and the matcher asks it.
func NewScheduler(m *Market, v *view.View, matcher *fit.Matcher, tally *topology.Tally, lim *Limits) *Scheduler {
	rules := tally.Rules()
	return &Scheduler{
		m: m, v: v, matcher: matcher, rules: rules, tally: tally, lim: lim, grids: make(map[string]*grid),
		keys: mattering(v.World, rules), listings: make(map[uint64][]*Listing), units: lim.units.Clone(),
		ranks: ranks(v),
	}
}

// Prefer lets pods go to some hosts before others that can be relied on as much.
func (d *Scheduler) Prefer(host func(int) bool) {
	for i, r := range d.ranks {
		if r != closed {
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
		return s.Claim.site
	}
	return d.tally.Host(s.Host)
}

// OnHosts seats pods on hosts that usable allows, and on nothing else.
func (d *Scheduler) OnHosts(items []Item, usable func(host int) bool) (seats []Assignment, left []Item) {
	s := d.newSeating(items, usable, false)
	s.run()
	if d.Stopped() {
		return nil, items
	}
	return s.seats, s.left()
}

// Assign places pods on hosts that usable allows, and on claims to buy, which it takes off the limits.
func (d *Scheduler) Assign(items []Item, usable func(host int) bool) (seats []Assignment, bought []*NewClaim, left []Item) {
	s := d.newSeating(items, usable, true)
	s.run()
	d.rankAll(s.bought)
	if d.Stopped() {
		return nil, nil, items
	}
	return s.seats, s.bought, s.left()
}

// seating is one call's state.
type seating struct {
	*Scheduler
	items  []Item
	usable func(host int) bool
	buys   bool

	// chosen are the seats of pods that mind others, in order, as long as claims are not packed: wanted has the cell where
	// a pod is to get a new node.
	chosen []choice
	// wants is what is to be packed, one item for each class and cell.
	wants []Item
	want  map[wantKey]int

	seats  []Assignment
	bought []*NewClaim
	// open are pods without a seat, by class, in the order of the items.
	open []Item
	// last is the claim of which places were listed last, and lastPlaces are they.
	last       *NewClaim
	lastPlaces []*fit.Place
}

type choice struct {
	pod  int
	host int
	// fresh says that the pod is to get a new node, in some cell.
	fresh bool
}

type wantKey struct {
	class *view.Class
	cell  *Segment
}

func (d *Scheduler) newSeating(items []Item, usable func(host int) bool, buys bool) *seating {
	return &seating{Scheduler: d, items: items, usable: usable, buys: buys, want: make(map[wantKey]int)}
}

func (s *seating) run() {
	var tied []Item
	for _, it := range s.items {
		if s.buys && s.shares(it.Class) {
			s.keepOpen(it.Class, it.Pods) // who shares a claim must be together
			continue
		}
		if s.minds(it.Class) {
			tied = append(tied, it)
			continue
		}
		s.free(it)
	}
	mark := s.Mark()
	s.seatTied(tied)
	if !s.buys {
		for _, ch := range s.chosen {
			s.seats = append(s.seats, Assignment{Pod: ch.pod, Host: ch.host})
		}
		return
	}
	if s.Stopped() {
		return
	}
	on := s.buy()
	s.Revert(mark)
	s.settle(on)
	s.seatLast()
}

// podsPerStop is after how many pods, or claims, to ask whether to stop.
const podsPerStop = 16

// minds says whether it matters to a pod, or to others, which pods it runs with.
func (s *seating) minds(c *view.Class) bool {
	return s.rules.Constrained(c) || (s.rules.Soft(c) && s.v.Policy.Preferences != model.PreferencesIgnored)
}

// free puts pods that mind nobody on hosts; what is left is wanted anywhere.
func (s *seating) free(it Item) {
	rest := it.Pods
	if s.Stopped() {
		return
	}
	hosts := newFilling(s.v, it.Class, s.usable, s.ranks, s.room[:0]).by(s.matcher)
	s.room = hosts.heap // to be used again
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
			s.seats = append(s.seats, Assignment{Pod: p, Host: h})
		}
		rest = rest[n:]
	}
	s.wanted(it.Class, nil, rest)
}

func (s *seating) wanted(c *view.Class, cell *Segment, pods []int) {
	if len(pods) == 0 {
		return
	}
	if !s.buys {
		s.keepOpen(c, pods)
		return
	}
	key := wantKey{c, cell}
	i, ok := s.want[key]
	if !ok {
		i = len(s.wants)
		s.want[key] = i
		s.wants = append(s.wants, Item{Class: c, Segment: cell})
	}
	s.wants[i].Pods = append(s.wants[i].Pods, pods...)
}

func (s *seating) keepOpen(c *view.Class, pods []int) {
	if len(pods) == 0 {
		return
	}
	if n := len(s.open); n > 0 && s.open[n-1].Class == c {
		s.open[n-1].Pods = append(s.open[n-1].Pods, pods...)
		return
	}
	s.open = append(s.open, Item{Class: c, Pods: slices.Clone(pods)})
}

// buy packs what is wanted, and says which claim each pod is on.
func (s *seating) buy() map[int]*NewClaim {
	for i := range s.wants {
		slices.Sort(s.wants[i].Pods)
	}
	tiers, before := s.tiersOf(s.keysOfWants()), s.lim.Clone()
	bought, left, proof := s.fill(tiers, s.wants, s.nodeRules(s.wants), s.lim)
	if bands := byPriority(s.wants); len(left) > 0 && len(bands) > 1 {
		*s.lim = *before
		bought, left = s.buyByPriority(tiers, bands)
	}
	s.bought, s.proof = bought, proof
	if slices.ContainsFunc(s.wants, func(it Item) bool { return it.Segment != nil || s.minds(it.Class) }) {
		s.proof = Proof{} // it is of more rules than every plan must keep
	}
	if s.tally.Frozen() {
		s.bought = slices.DeleteFunc(s.bought, s.opensFrozen)
	}
	on := make(map[int]*NewClaim)
	for _, b := range s.bought {
		for _, it := range b.Items {
			for _, p := range it.Pods {
				on[p] = b
			}
		}
	}
	for _, it := range left {
		if it.Segment == nil && !s.minds(it.Class) {
			s.keepOpen(it.Class, it.Pods)
		}
	}
	return on
}

// opensFrozen says whether a claim might be the first node of a domain that others rely on not to be there, and gives it up.
func (s *seating) opensFrozen(b *NewClaim) bool {
	if !s.tally.Opens(s.tally.Probe(nil, s.places(b)...)) {
		return false
	}
	if b.Options != nil {
		s.lim.unstretch(b)
	}
	s.lim.give(b.base)
	for _, it := range b.Items {
		if it.Segment == nil && !s.minds(it.Class) {
			s.keepOpen(it.Class, it.Pods)
		}
	}
	return true
}

// buyByPriority packs the important pods first, where not all can be had: what limits leave is theirs.
func (s *seating) buyByPriority(tiers [][]*Option, bands [][]Item) (bought []*NewClaim, left []Item) {
	for _, band := range bands {
		some, rest, _ := s.fill(tiers, band, s.nodeRules(band), s.lim)
		bought, left = append(bought, some...), append(left, rest...)
	}
	return bought, left
}

// byPriority parts items by the priority of their pods, the highest first.
func byPriority(items []Item) [][]Item {
	by := make(map[int32][]Item)
	for _, it := range items {
		by[it.Class.Priority] = append(by[it.Class.Priority], it)
	}
	var out [][]Item
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(by))) {
		out = append(out, by[p])
	}
	return out
}

// keysOfWants are the labels whose values matter to what is wanted.
func (s *seating) keysOfWants() []string {
	var keys []string
	for _, g := range s.grids {
		if slices.ContainsFunc(s.wants, func(it Item) bool { return it.Segment != nil && slices.Contains(g.cells, it.Segment) }) {
			keys = append(keys, g.keys...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// nodeRules are the rules about what may share a node, on some of what is wanted.
func (s *seating) nodeRules(items []Item) []topology.NodeRule {
	classes := make([]*view.Class, len(items))
	for i, it := range items {
		classes[i] = it.Class
	}
	return append(s.rules.NodeRules(classes), workloadCaps(items, s.v.Policy.MaxPodsOfWorkloadPerNode)...)
}

// workloadCaps keeps too many pods of one owner from sharing a new node, so that losing it does not hurt the owner much.
func workloadCaps(items []Item, most int) []topology.NodeRule {
	if most <= 0 {
		return nil
	}
	type owner struct{ namespace, kind, name string }
	by := make(map[owner][]int)
	var order []owner
	for i, it := range items {
		if it.Class.OwnerKind == "" {
			continue
		}
		o := owner{it.Class.Namespace, it.Class.OwnerKind, it.Class.OwnerName}
		if by[o] == nil {
			order = append(order, o)
		}
		by[o] = append(by[o], i)
	}
	var out []topology.NodeRule
	for _, o := range order {
		out = append(out, topology.NodeRule{Trigger: by[o], Counted: by[o], Most: most})
	}
	return out
}

// settle goes through the seating again, with claims in the place of cells; a pod whose turn fails now stays open.
func (s *seating) settle(on map[int]*NewClaim) {
	for _, it := range s.wants {
		if it.Segment != nil || s.minds(it.Class) || s.Stopped() {
			continue
		}
		for _, p := range it.Pods {
			b := on[p]
			switch {
			case b == nil:
			case s.handOut(b, it.Class):
				s.seats = append(s.seats, Assignment{Pod: p, Claim: b})
			default:
				b.drop(p)
				s.keepOpen(it.Class, []int{p})
			}
		}
	}
	for i, ch := range s.chosen {
		if i%podsPerStop == 0 && s.Stopped() {
			return
		}
		c := s.v.Pods[ch.pod].Class
		b := on[ch.pod]
		switch {
		case !ch.fresh && s.matcher.Capacity(c, ch.host, 1) == 1:
			s.v.Place(ch.host, c, 1)
			s.seats = append(s.seats, Assignment{Pod: ch.pod, Host: ch.host})
		case b != nil && s.tally.Allows(c, s.site(b)) && s.handOut(b, c):
			s.tally.Add(c, s.site(b), 1)
			s.seats = append(s.seats, Assignment{Pod: ch.pod, Claim: b})
		default:
			if b != nil {
				b.drop(ch.pod)
			}
			s.keepOpen(c, []int{ch.pod})
		}
	}
	s.bought = slices.DeleteFunc(s.bought, func(b *NewClaim) bool {
		if len(b.Items) == 0 {
			if b.Options != nil {
				s.lim.unstretch(b)
			}
			s.lim.give(b.base)
		}
		return len(b.Items) == 0
	})
}

// drop takes a pod off a claim.
func (b *NewClaim) drop(pod int) {
	for i, it := range b.Items {
		k, ok := slices.BinarySearch(it.Pods, pod)
		if !ok {
			continue
		}
		b.Items = slices.Clone(b.Items)
		b.Items[i].Pods = slices.Delete(slices.Clone(it.Pods), k, k+1)
		if len(b.Items[i].Pods) == 0 {
			b.Items = slices.Delete(b.Items, i, i+1)
		}
		return
	}
}

// site is the claim's node in the eyes of the rules about other pods.
func (s *seating) site(b *NewClaim) *topology.Site {
	if b.site == nil {
		s.steer(b)
		b.site = s.tally.Claim(nil, s.places(b)...)
	}
	return b.site
}

// places are what a claim may become: everything that holds its pods, as far as claims list it.
func (s *seating) places(b *NewClaim) []*fit.Place {
	if s.last != nil && s.last != b && b.Options == nil && alike(s.last, b) {
		b.shown = s.last.shown
		return s.lastPlaces
	}
	options := b.Options
	if options == nil {
		options, _ = s.m.rank(b.base, b.Items, nil)
	}
	if !slices.Contains(options, b.base) { // a list that is cut short may be of others
		options = append(slices.Clone(options), b.base)
	}
	b.shown = options
	out := make([]*fit.Place, len(options))
	for i, o := range options {
		out[i] = &o.place
	}
	s.last, s.lastPlaces = b, out
	return out
}

// left are the pods without a seat, one item for each class.
func (s *seating) left() []Item {
	by := make(map[*view.Class][]int)
	for _, it := range s.open {
		by[it.Class] = append(by[it.Class], it.Pods...)
	}
	var out []Item
	for _, it := range s.items {
		if pods := by[it.Class]; len(pods) > 0 {
			slices.Sort(pods)
			out = append(out, Item{Class: it.Class, Pods: pods})
			delete(by, it.Class)
		}
	}
	return out
}
