package pack

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/queue"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// partition splits hosts and options into the segments of some labels. It does not change while a Scheduler is used.
type partition struct {
	keys []string
	// segments are sorted by name; ofHost says which one each host is in, -1 where that is not decided.
	segments []*market.Segment
	sites    []*topology.Site
	ofHost   []int
	// tiers are the options worth considering in each segment, by pool weight.
	tiers [][][]*market.Option
	// newNodes remembers, by shape of pod, the best new node in each segment.
	newNodes map[newNodeKey][]newNode
}

type newNodeKey struct {
	profile int
	request string
}

// newNode is the tier of the pools of highest weight that offer something for a pod, and the lowest price of its share
// there; the tier is -1 where nothing can be bought.
type newNode struct {
	tier int
	cost int64
}

// partition finds or makes the partition by some labels, which are sorted.
func (s *Scheduler) partition(keys []string) *partition {
	name := strings.Join(keys, ",")
	if g := s.partitions[name]; g != nil {
		return g
	}
	g := &partition{keys: keys, ofHost: make([]int, len(s.v.Hosts)), newNodes: make(map[newNodeKey][]newNode)}
	index := make(map[string]*market.Segment)
	find := func(label func(string) (string, bool)) *market.Segment {
		name := market.SegmentName(keys, label)
		if index[name] == nil {
			index[name] = s.market.NewSegment(keys, label)
		}
		return index[name]
	}
	hosts := make([]*market.Segment, len(s.v.Hosts))
	for i, h := range s.v.Hosts {
		if decided(h, keys) {
			hosts[i] = find(h.LabelSets[0].Get)
		}
	}
	s.market.EachOption(func(o *market.Option) { find(o.Label).Add(o) })
	place := make(map[*market.Segment]int, len(index))
	for _, name := range slices.Sorted(maps.Keys(index)) {
		c := index[name]
		s.segmentCount++
		c.ID = s.segmentCount
		place[c] = len(g.segments)
		g.segments = append(g.segments, c)
	}
	for i, c := range hosts {
		g.ofHost[i] = -1
		if c != nil {
			g.ofHost[i] = place[c]
		}
	}
	tiers := s.market.TiersOf(keys, s.onlyPool)
	for _, c := range g.segments {
		in := make([][]*market.Option, len(tiers))
		var places []*fit.Place
		for t, tier := range tiers {
			for _, o := range tier {
				if o.In(c) {
					in[t] = append(in[t], o)
					places = append(places, &o.Place)
				}
			}
		}
		g.tiers = append(g.tiers, in)
		g.sites = append(g.sites, s.tally.Segment(c.Labels, places...))
	}
	s.partitions[name] = g
	return g
}

// segmentOf is where an option is; nil where the partition has no labels.
func (g *partition) segmentOf(o *market.Option) *market.Segment {
	if len(g.keys) == 0 {
		return nil
	}
	return g.segments[slices.IndexFunc(g.segments, o.In)]
}

// decided says whether it is known which values some labels have on a host.
func decided(h *view.Host, keys []string) bool {
	for _, k := range keys {
		v, ok := h.LabelSets[0].Get(k)
		for _, ls := range h.LabelSets[1:] {
			if w, has := ls.Get(k); has != ok || w != v {
				return false
			}
		}
		if _, open := h.Open.Get(k); open && !ok {
			return false
		}
	}
	return true
}

// candidate is where pods of a class may go: the hosts of a segment, and new nodes there.
type candidate struct {
	segment *market.Segment
	site    *topology.Site
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
	g := a.s.partition(a.keysOf(c))
	out := make([]*candidate, len(g.segments))
	for i := range g.segments {
		out[i] = &candidate{site: g.sites[i], newNode: newNode{tier: -1}}
	}
	for _, h := range queue.Order(a.s.v, a.s.matcher, c, a.usable) {
		if k := g.ofHost[h]; k >= 0 {
			out[k].hosts = append(out[k].hosts, h)
		}
	}
	if a.buysNodes && !a.s.rules.OneNode(c) {
		out = append(out, a.newNodeCandidates(c)...)
	}
	return slices.DeleteFunc(out, func(b *candidate) bool { return b.tier < 0 && len(b.hosts) == 0 })
}

// newNodeCandidates are the segments where a pod could get a new node. Preferences make no segments: else a preference would
// buy a node for itself, when all that it may do is to choose among nodes that are bought anyway. Where the policy enforces
// preferences, they do.
func (a *attempt) newNodeCandidates(c *view.Class) []*candidate {
	keys := a.s.rules.Keys(c)
	if enforces(&a.s.v.Policy) {
		keys = a.keysOf(c)
	}
	g := a.s.partition(keys)
	out := make([]*candidate, len(g.segments))
	for i, f := range a.newNodes(c, g) {
		out[i] = &candidate{segment: g.segments[i], site: g.sites[i], newNode: f}
		if len(g.keys) == 0 {
			out[i].segment = nil
		}
	}
	return out
}

func enforces(p *model.Policy) bool { return p.Preferences == model.PreferencesEnforced }

// newNodes are the best new nodes for a pod in each segment of a partition.
func (a *attempt) newNodes(c *view.Class, g *partition) []newNode {
	var request []byte
	for _, q := range c.Requested {
		request = binary.AppendVarint(request, q)
	}
	key := newNodeKey{c.Profile.Index, string(request)}
	out, known := g.newNodes[key]
	special := len(c.HostPorts) > 0 || devices.ClaimsDevices(c.PodClass) || len(c.Shared) > 0
	if known && !special {
		return out
	}
	out = make([]newNode, len(g.segments))
	for i, tiers := range g.tiers {
		out[i] = a.bestNewNode(c, tiers)
	}
	if !special {
		g.newNodes[key] = out
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
			v := int64(float64(o.Price+a.s.v.Policy.PerNodeOverhead)*market.Share(c.Requested, o.Free)) + preferencePenalty(&a.s.v.Policy, c, o)
			if out.tier < 0 || v < out.cost {
				out = newNode{t, v}
			}
		}
		if out.tier >= 0 {
			return out
		}
	}
	return newNode{tier: -1}
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
	for n, p := range pods {
		if n%podsPerStop == 0 && a.s.Stopped() || !a.placeOne(c, p, candidates) {
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
		a.intended = append(a.intended, intent{pod: pod, newNode: true})
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

// preferencePenalty is the price of a pod's preferences about nodes that an option does not meet.
func preferencePenalty(p *model.Policy, c *view.Class, o *market.Option) int64 {
	return market.PreferencePrice(p) * int64(fit.PreferencePenalty(c.Profile, &o.Place))
}
