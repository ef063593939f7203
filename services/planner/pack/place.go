package pack

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/queue"
	"github.com/kerf-dev/kerf/services/planner/pack/segments"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

type newNodeKey struct {
	partition *segments.Partition
	profile   int
	request   string
	overhead  int64
}

// newNode is the tier of the pools of highest weight that offer something for a pod, and the lowest price of its share
// there; the tier is -1 where nothing can be bought.
type newNode struct {
	tier int
	cost int64
	// site is a node of the segment that takes the pod, where spread may look at some nodes of the segment and not at
	// others; else nil.
	site *topology.Site
}

// candidate is where pods of a class may go: the hosts of a segment, and new nodes there.
type candidate struct {
	segment *market.Segment
	site    *topology.Site
	labels  model.Labels
	// hosts are those with free capacity, in the order in which to fill them; those before next are full.
	hosts []int
	next  int
	newNode
}

// keysOf are the labels that matter to a class, those of preferences included.
func (a *attempt) keysOf(c *view.Class) []string {
	keys := a.s.rules.Keys(c)
	if a.s.v.Policy.Preferences != model.PreferencesIgnored {
		keys = append(slices.Clone(keys), a.s.rules.SoftKeys(c)...)
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	return keys
}

func (a *attempt) candidates(c *view.Class) []*candidate {
	g := a.s.segments.Partition(a.keysOf(c))
	out := make([]*candidate, len(g.Segments))
	for i := range g.Segments {
		out[i] = &candidate{site: g.Sites[i], labels: g.Segments[i].Labels, newNode: newNode{tier: -1}}
	}
	hosts := queue.Order(a.s.v, a.s.matcher, c, a.usable)
	if a.order.roomy {
		slices.Reverse(hosts)
	}
	for _, h := range hosts {
		if k := g.OfHost[h]; k >= 0 {
			out[k].hosts = append(out[k].hosts, h)
		}
	}
	if a.buysNodes && !a.s.rules.OneNode(c) {
		out = append(out, a.newNodeCandidates(c)...)
	}
	return slices.DeleteFunc(out, func(b *candidate) bool { return b.tier < 0 && len(b.hosts) == 0 })
}

// newNodeCandidates are the segments where a pod could get a new node. Preferences make no segments: else a preference
// would buy a node for itself, when all that it may do is to choose among nodes that are bought anyway. Where the
// policy enforces preferences, they do.
func (a *attempt) newNodeCandidates(c *view.Class) []*candidate {
	keys := a.s.rules.Keys(c)
	if enforces(&a.s.v.Policy) {
		keys = a.keysOf(c)
	}
	g := a.s.segments.Partition(keys)
	out := make([]*candidate, len(g.Segments))
	for i, f := range a.newNodes(c, g) {
		out[i] = &candidate{segment: g.Segments[i], site: cmp.Or(f.site, g.Sites[i]), labels: g.Segments[i].Labels, newNode: f}
		if len(g.Keys) == 0 {
			out[i].segment = nil
		}
	}
	return out
}

func enforces(p *model.Policy) bool { return p.Preferences == model.PreferencesEnforced }

// newNodes are the best new nodes for a pod in each segment of a partition.
func (a *attempt) newNodes(c *view.Class, g *segments.Partition) []newNode {
	var request []byte
	for _, q := range c.Requested {
		request = binary.AppendVarint(request, q)
	}
	key := newNodeKey{g, c.Profile.Index, string(request), a.s.buyer.Overhead}
	out, known := a.s.newNodes[key]
	special := len(c.HostPorts) > 0 || devices.ClaimsDevices(c.PodClass) || len(c.Shared) > 0
	if known && !special {
		return out
	}
	out = make([]newNode, len(g.Segments))
	for i, tiers := range g.Tiers {
		out[i] = a.bestNewNode(c, tiers)
		if out[i].tier >= 0 && topology.Unsure(a.s.tally, c, g.Sites[i]) {
			out[i].site = a.siteFor(c, g.Segments[i], tiers)
		}
	}
	if !special {
		a.s.newNodes[key] = out
	}
	return out
}

func (a *attempt) bestNewNode(c *view.Class, tiers [][]*market.Option) newNode {
	it := market.Item{Class: c}
	for t, options := range tiers {
		out := newNode{tier: -1}
		for _, o := range options {
			if !o.Takes(&it, false) || a.s.limits.Remaining(o, 1) == 0 {
				continue
			}
			unmet := market.PreferencePrice(&a.s.v.Policy) * int64(fit.PreferencePenalty(c.Profile, &o.Place))
			v := int64(float64(o.Price+a.s.buyer.Overhead)*market.Share(c.Requested, o.Free)) + unmet
			if out.tier < 0 || v < out.cost {
				out = newNode{tier: t, cost: v}
			}
		}
		if out.tier >= 0 {
			return out
		}
	}
	return newNode{tier: -1}
}

// siteFor is a node of a segment that takes a pod.
func (a *attempt) siteFor(c *view.Class, in *market.Segment, tiers [][]*market.Option) *topology.Site {
	it := market.Item{Class: c}
	var places []*fit.Place
	for _, o := range slices.Concat(tiers...) {
		if o.Takes(&it, false) {
			places = append(places, &o.Place)
		}
	}
	return a.s.tally.Segment(in.Labels, places...)
}

// placeConstrained places pods with pod rules, in rounds, because some must wait for others; it ends when a round places
// none.
func (a *attempt) placeConstrained(items []market.Item) {
	rest := make([][]int, len(items))
	for i, it := range items {
		rest[i] = it.Pods
	}
	for progress := true; progress; {
		progress = false
		for i, it := range items {
			if len(rest[i]) == 0 {
				continue
			}
			n := a.placeClass(it.Class, rest[i])
			rest[i] = rest[i][n:]
			progress = progress || n > 0
		}
	}
	for i, it := range items {
		a.leaveUnplaced(it.Class, rest[i])
	}
}

// placeClass places as many pods of a class as it can, one after the other, and says how many.
func (a *attempt) placeClass(c *view.Class, pods []int) int {
	candidates := a.candidates(c)
	begin := first(a, c, candidates)
	for n, p := range pods {
		if a.order.outline != nil && n > 0 {
			begin = first(a, c, candidates)
		}
		if n%podsPerStop == 0 && a.s.Stopped() || !a.placeOne(c, p, begin) && !a.placeOne(c, p, candidates) {
			return n
		}
	}
	return len(pods)
}

// placeOne finds a pod's best place: a host before a new node, preferences before prices.
func (a *attempt) placeOne(c *view.Class, pod int, candidates []*candidate) bool {
	unitPrice := market.PreferencePrice(&a.s.v.Policy)
	var on, fresh *candidate
	var host int
	var onPenalty, newPenalty int32
	var newCost int64
	for _, b := range candidates {
		if !a.s.tally.Allows(c, b.site) {
			continue
		}
		if h := b.bestHost(a.s, c); h >= 0 {
			if w := a.s.tally.PreferencePenalty(c, a.s.tally.Host(h)); on == nil || w < onPenalty {
				on, host, onPenalty = b, h, w
			}
		}
		if b.tier < 0 || (on != nil && !enforces(&a.s.v.Policy)) {
			continue
		}
		penalty := a.s.tally.PreferencePenalty(c, b.site)
		cost := b.cost + unitPrice*int64(penalty)
		if fresh == nil || b.tier < fresh.tier || (b.tier == fresh.tier && cost < newCost) {
			fresh, newPenalty, newCost = b, penalty, cost
		}
	}
	switch {
	case on != nil && (fresh == nil || !enforces(&a.s.v.Policy) || onPenalty <= newPenalty):
		a.s.v.Place(host, c, 1)
		a.intended = append(a.intended, intent{pod: pod, host: host})
	case fresh != nil:
		a.s.tally.Add(c, fresh.site, 1)
		if a.hasPodRules(c) {
			a.intended = append(a.intended, intent{pod: pod, newNode: true})
		}
		a.want(c, fresh.segment, []int{pod})
	default:
		return false
	}
	return true
}

// bestHost is the next host or, for pods that prefer to share a node with some pods or not to, the one of those of its rank
// that goes least against that; -1 when there is none.
func (b *candidate) bestHost(s *Scheduler, c *view.Class) int {
	best := b.nextHost(s.matcher, c)
	if best < 0 || !s.rules.SoftOnNodes(c) {
		return best
	}
	least := s.tally.PreferencePenalty(c, s.tally.Host(best))
	for _, h := range b.hosts[b.next+1:] {
		if least == 0 {
			break
		}
		w := s.tally.PreferencePenalty(c, s.tally.Host(h))
		if w < least && s.ranks[h] <= s.ranks[best] && s.matcher.Capacity(c, h, 1) == 1 {
			best, least = h, w
		}
	}
	return best
}

// nextHost is the first of the hosts that takes a pod; -1 when there is none. A host that does not is not asked again.
func (b *candidate) nextHost(m *fit.Matcher, c *view.Class) int {
	for ; b.next < len(b.hosts); b.next++ {
		h := b.hosts[b.next]
		if m.Capacity(c, h, 1) == 1 {
			return h
		}
	}
	return -1
}
