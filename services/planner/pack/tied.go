package pack

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// grid cuts hosts and options into the cells of some labels. It does not change while a Scheduler is used.
type grid struct {
	keys []string
	// cells are sorted by name; of says which cell each host is in, -1 where that is not decided.
	cells []*Segment
	sites []*topology.Site
	of    []int
	// tiers are the options worth weighing in each cell, by pool weight.
	tiers [][][]*Option
	// fresh remembers, by shape of pod, the best new node in each cell.
	fresh map[freshKey][]freshNode
}

type freshKey struct {
	profile int
	request string
}

// freshNode is the rank of the heaviest pools that sell something for a pod, and the lowest price of its share there; the
// rank is -1 where nothing can be had.
type freshNode struct {
	tier int
	cost int64
}

// grid finds or makes the grid of some labels, which are sorted.
func (d *Scheduler) grid(keys []string) *grid {
	name := strings.Join(keys, ",")
	if g := d.grids[name]; g != nil {
		return g
	}
	g := &grid{keys: keys, of: make([]int, len(d.v.Hosts)), fresh: make(map[freshKey][]freshNode)}
	index := make(map[string]*Segment)
	find := func(label func(string) (string, bool)) *Segment {
		name := cellName(keys, label)
		if index[name] == nil {
			index[name] = &Segment{labels: labelsOf(keys, label), options: newBits(d.m.count)}
		}
		return index[name]
	}
	hosts := make([]*Segment, len(d.v.Hosts))
	for i, h := range d.v.Hosts {
		if decided(h, keys) {
			hosts[i] = find(h.LabelSets[0].Get)
		}
	}
	for _, v := range d.m.variants {
		for _, o := range v.options {
			find(o.Label).options.set(o.id, true)
		}
	}
	place := make(map[*Segment]int, len(index))
	for _, name := range slices.Sorted(maps.Keys(index)) {
		c := index[name]
		d.cells++
		c.id = d.cells
		place[c] = len(g.cells)
		g.cells = append(g.cells, c)
	}
	for i, c := range hosts {
		g.of[i] = -1
		if c != nil {
			g.of[i] = place[c]
		}
	}
	tiers := d.tiersOf(keys)
	for _, c := range g.cells {
		in := make([][]*Option, len(tiers))
		var places []*fit.Place
		for t, tier := range tiers {
			for _, o := range tier {
				if o.in(c) {
					in[t] = append(in[t], o)
					places = append(places, &o.place)
				}
			}
		}
		g.tiers = append(g.tiers, in)
		g.sites = append(g.sites, d.tally.Segment(c.labels, places...))
	}
	d.grids[name] = g
	return g
}

// cell is where an option is; nil where the grid has no labels.
func (g *grid) cell(o *Option) *Segment {
	if len(g.keys) == 0 {
		return nil
	}
	return g.cells[slices.IndexFunc(g.cells, o.in)]
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

// berth is where pods of a class may go: the hosts of a cell, and new nodes there.
type berth struct {
	cell *Segment
	site *topology.Site
	// hosts are those with room, in the order in which to fill them; the first next of them are of no more use.
	hosts []int
	next  int
	// freshNode is the best new node.
	freshNode
}

// keysOf are the labels that matter to a class, wishes included.
func (s *seating) keysOf(c *view.Class) []string {
	keys := s.rules.Keys(c)
	if s.v.Policy.Preferences != model.PreferencesIgnored {
		keys = append(slices.Clone(keys), s.rules.SoftKeys(c)...)
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	return keys
}

func (s *seating) berths(c *view.Class) []*berth {
	g := s.grid(s.keysOf(c))
	out := make([]*berth, len(g.cells))
	for i := range g.cells {
		out[i] = &berth{site: g.sites[i], freshNode: freshNode{tier: -1}}
	}
	for _, h := range fillOrder(s.v, s.matcher, c, s.usable) {
		if k := g.of[h]; k >= 0 {
			out[k].hosts = append(out[k].hosts, h)
		}
	}
	if s.buys && !s.rules.OneNode(c) {
		out = append(out, s.freshBerths(c)...)
	}
	return slices.DeleteFunc(out, func(b *berth) bool { return b.tier < 0 && len(b.hosts) == 0 })
}

// freshBerths are the cells where a pod could get a new node. Wishes cut no cells: else a wish would buy a node for itself,
// when all that it is worth is to choose among nodes that are bought anyway. Only where wishes are enforced they do.
func (s *seating) freshBerths(c *view.Class) []*berth {
	keys := s.rules.Keys(c)
	if s.enforces() {
		keys = s.keysOf(c)
	}
	g := s.grid(keys)
	out := make([]*berth, len(g.cells))
	for i, f := range s.freshNodes(c, g) {
		out[i] = &berth{cell: g.cells[i], site: g.sites[i], freshNode: f}
		if len(g.keys) == 0 {
			out[i].cell = nil
		}
	}
	return out
}

func (s *seating) enforces() bool { return s.v.Policy.Preferences == model.PreferencesEnforced }

// freshNodes are the best new nodes for a pod in each cell of a grid.
func (s *seating) freshNodes(c *view.Class, g *grid) []freshNode {
	var request []byte
	for _, q := range c.Requested {
		request = binary.AppendVarint(request, q)
	}
	key := freshKey{c.Profile.Index, string(request)}
	out, known := g.fresh[key]
	special := len(c.HostPorts) > 0 || devices.ClaimsDevices(c.PodClass)
	if known && !special {
		return out
	}
	out = make([]freshNode, len(g.cells))
	for i, tiers := range g.tiers {
		out[i] = s.freshNode(c, tiers)
	}
	if !special {
		g.fresh[key] = out
	}
	return out
}

func (s *seating) freshNode(c *view.Class, tiers [][]*Option) freshNode {
	it := Item{Class: c}
	for t, options := range tiers {
		out := freshNode{tier: -1}
		for _, o := range options {
			if !o.takes(&it, false) || s.lim.Remaining(o, 1) == 0 {
				continue
			}
			v := int64(float64(o.Price+s.v.Policy.PerNodeOverhead)*share(c.Requested, o.Free)) + s.penalty(c, o)
			if out.tier < 0 || v < out.cost {
				out = freshNode{t, v}
			}
		}
		if out.tier >= 0 {
			return out
		}
	}
	return freshNode{tier: -1}
}

// seatTied seats pods that mind others, in rounds, because some must wait for others; it ends when a round seats nobody.
func (s *seating) seatTied(items []Item) {
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
			n := s.seatClass(it.Class, rest[i])
			rest[i] = rest[i][n:]
			progress = progress || n > 0
		}
	}
	for i, it := range items {
		s.keepOpen(it.Class, rest[i])
	}
}

// seatClass seats as many pods of a class as it can, one after the other, and says how many.
func (s *seating) seatClass(c *view.Class, pods []int) int {
	berths := s.berths(c)
	for n, p := range pods {
		if n%podsPerStop == 0 && s.Stopped() || !s.seatOne(c, p, berths) {
			return n
		}
	}
	return len(pods)
}

// seatOne finds a pod's best seat: a host before a new node, wishes before prices.
func (s *seating) seatOne(c *view.Class, pod int, berths []*berth) bool {
	wishPrice := wishPrice(&s.v.Policy)
	var on, fresh *berth
	var host int
	var onWish, freshWish int32
	var freshCost int64
	for _, b := range berths {
		if !s.tally.Allows(c, b.site) {
			continue
		}
		if h := s.nextHost(c, b); h >= 0 {
			if w := s.tally.PreferencePenalty(c, s.tally.Host(h)); on == nil || w < onWish {
				on, host, onWish = b, h, w
			}
		}
		if b.tier < 0 || (on != nil && !s.enforces()) {
			continue
		}
		wish := s.tally.PreferencePenalty(c, b.site)
		cost := b.cost + wishPrice*int64(wish)
		if fresh == nil || b.tier < fresh.tier || (b.tier == fresh.tier && cost < freshCost) {
			fresh, freshWish, freshCost = b, wish, cost
		}
	}
	switch {
	case on != nil && (fresh == nil || !s.enforces() || onWish <= freshWish):
		s.v.Place(host, c, 1)
		s.chosen = append(s.chosen, choice{pod: pod, host: host})
	case fresh != nil:
		s.tally.Add(c, fresh.site, 1)
		s.chosen = append(s.chosen, choice{pod: pod, fresh: true})
		s.wanted(c, fresh.cell, []int{pod})
	default:
		return false
	}
	return true
}

// nextHost is the first host of a berth that takes a pod; -1 when there is none. A host that does not is not asked again.
func (s *seating) nextHost(c *view.Class, b *berth) int {
	for ; b.next < len(b.hosts); b.next++ {
		h := b.hosts[b.next]
		if s.matcher.Capacity(c, h, 1) == 1 {
			return h
		}
	}
	return -1
}

// penalty is what a pod's wishes about nodes are worth that an option does not meet.
func (s *seating) penalty(c *view.Class, o *Option) int64 {
	return wishPrice(&s.v.Policy) * int64(fit.PreferencePenalty(c.Profile, &o.place))
}
