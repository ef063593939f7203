package pack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// grid cuts hosts and options into the cells of some labels. It does not change while a Desk is used.
type grid struct {
	keys []string
	// cells are sorted by name; of says which cell each host is in, -1 where that is not decided.
	cells []*Cell
	sites []*topology.Site
	of    []int
	// tiers are the options in each cell, by pool weight.
	tiers [][][]*Option
}

// grid finds or makes the grid of some labels, which are sorted.
func (d *Desk) grid(keys []string) *grid {
	name := strings.Join(keys, ",")
	if g := d.grids[name]; g != nil {
		return g
	}
	g := &grid{keys: keys, of: make([]int, len(d.v.Hosts))}
	index := make(map[string]*Cell)
	find := func(label func(string) (string, bool)) *Cell {
		c := newCell(keys, label)
		if old := index[c.name()]; old != nil {
			return old
		}
		index[c.name()] = c
		g.cells = append(g.cells, c)
		return c
	}
	hosts := make([]*Cell, len(d.v.Hosts))
	for i, h := range d.v.Hosts {
		if decided(h, keys) {
			hosts[i] = find(h.LabelSets[0].Get)
		}
	}
	tiers := tiers(d.m.variants, keys)
	options := make([][]*Cell, len(tiers))
	for t, tier := range tiers {
		for _, o := range tier {
			var c *Cell
			if !slices.ContainsFunc(keys, o.leavesOpen) {
				c = find(o.Label)
			}
			options[t] = append(options[t], c)
		}
	}
	slices.SortFunc(g.cells, func(a, b *Cell) int { return cmp.Compare(a.name(), b.name()) })
	place := make(map[*Cell]int, len(g.cells))
	g.tiers = make([][][]*Option, len(g.cells))
	for i, c := range g.cells {
		place[c] = i
		g.tiers[i] = make([][]*Option, len(tiers))
	}
	for i, c := range hosts {
		g.of[i] = -1
		if c != nil {
			g.of[i] = place[c]
		}
	}
	for t, tier := range tiers {
		for i, o := range tier {
			if options[t][i] == nil {
				continue
			}
			k := place[options[t][i]]
			g.tiers[k][t] = append(g.tiers[k][t], o)
		}
	}
	for i, c := range g.cells {
		var places []*fit.Place
		for _, tier := range g.tiers[i] {
			for _, o := range tier {
				places = append(places, &o.place)
			}
		}
		g.sites = append(g.sites, d.tally.Cell(c.labels, places...))
	}
	d.grids[name] = g
	return g
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
	cell *Cell
	site *topology.Site
	// hosts are those with room, in the order in which to fill them; the first next of them are of no more use.
	hosts []int
	next  int
	// tier and cost are the pool weight's rank and the price of a pod on the best new node; tier is -1 where none can be had.
	tier int
	cost int64
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
	for i, cell := range g.cells {
		b := &berth{cell: cell, site: g.sites[i], tier: -1}
		if len(g.keys) == 0 {
			b.cell = nil
		}
		if s.buys && !s.rules.OneNode(c) {
			b.tier, b.cost = s.newNode(c, g.tiers[i])
		}
		out[i] = b
	}
	for _, h := range fillOrder(s.v, s.matcher, c, s.usable) {
		if k := g.of[h]; k >= 0 {
			out[k].hosts = append(out[k].hosts, h)
		}
	}
	return slices.DeleteFunc(out, func(b *berth) bool { return b.tier < 0 && len(b.hosts) == 0 })
}

// newNode is the rank of the heaviest pools, and the lowest price of a pod's share there, among some options.
func (s *seating) newNode(c *view.Class, tiers [][]*Option) (tier int, cost int64) {
	it := Item{Class: c}
	for t, options := range tiers {
		cost = -1
		for _, o := range options {
			if !o.takes(&it, false) || s.lim.Room(o, 1) == 0 {
				continue
			}
			v := int64(float64(o.Offering.Price+s.v.Policy.PerNodeOverhead)*share(c.Requested, o.Free)) + s.penalty(c, o)
			if cost < 0 || v < cost {
				cost = v
			}
		}
		if cost >= 0 {
			return t, cost
		}
	}
	return -1, 0
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
		if !s.seatOne(c, p, berths) {
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
	var onWish int32
	var freshCost int64
	for _, b := range berths {
		if !s.tally.Allows(c, b.site) {
			continue
		}
		if h := s.nextHost(c, b); h >= 0 {
			if w := s.tally.Wish(c, s.tally.Host(h)); on == nil || w < onWish {
				on, host, onWish = b, h, w
			}
		}
		if on != nil || b.tier < 0 {
			continue
		}
		cost := b.cost + wishPrice*int64(s.tally.Wish(c, b.site))
		if fresh == nil || b.tier < fresh.tier || (b.tier == fresh.tier && cost < freshCost) {
			fresh, freshCost = b, cost
		}
	}
	switch {
	case on != nil:
		s.v.Place(host, c, 1)
		s.chosen = append(s.chosen, choice{pod: pod, host: host})
	case fresh != nil:
		s.tally.Add(c, fresh.site, 1)
		s.chosen = append(s.chosen, choice{pod: pod, cell: orAnywhere(fresh.cell)})
		s.wanted(c, fresh.cell, []int{pod})
	default:
		return false
	}
	return true
}

// anywhere marks a choice of a new node that may be in any cell.
var anywhere = &Cell{}

func orAnywhere(c *Cell) *Cell {
	if c == nil {
		return anywhere
	}
	return c
}

// nextHost is the first host of a berth that takes a pod; -1 when there is none. A host that does not is not asked again.
func (s *seating) nextHost(c *view.Class, b *berth) int {
	for ; b.next < len(b.hosts); b.next++ {
		h := b.hosts[b.next]
		if s.matcher.Room(c, h, 1) == 1 {
			return h
		}
	}
	return -1
}

// penalty is what a pod's wishes about nodes are worth that an option does not meet.
func (s *seating) penalty(c *view.Class, o *Option) int64 {
	return wishPrice(&s.v.Policy) * int64(fit.Wish(c.Profile, &o.place))
}
