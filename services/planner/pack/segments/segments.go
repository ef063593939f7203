// Package segments splits hosts, and what could be bought, by the values of labels that matter to some pods: all that
// is in one segment is alike to those pods. Start reading with Segments.
package segments

import (
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Segments makes partitions, and keeps them. It belongs to one goroutine.
type Segments struct {
	market *market.Market
	v      *view.View
	tally  *topology.Tally
	// only is the pool to buy from; nil for all.
	only *view.Pool
	made map[string]*Partition
	// from are those of what is sold of one pool, as far as they were asked for.
	from map[*view.Pool]*Segments
	// count is how many segments were made.
	count int
}

// New is the segments of the hosts of a view, and of what a market sells of one pool, or of all where that is nil.
func New(m *market.Market, v *view.View, tally *topology.Tally, only *view.Pool) *Segments {
	return &Segments{market: m, v: v, tally: tally, only: only, made: make(map[string]*Partition), from: make(map[*view.Pool]*Segments)}
}

// From are the segments of the same hosts, and of what is sold of one pool.
func (s *Segments) From(pool *view.Pool) *Segments {
	if s.from[pool] == nil {
		s.from[pool] = New(s.market, s.v, s.tally, pool)
	}
	return s.from[pool]
}

// Partition splits hosts and options into the segments of some labels. It does not change.
type Partition struct {
	Keys []string
	// Segments are sorted by name; OfHost says which one each host is in, -1 where that is not decided.
	Segments []*market.Segment
	Sites    []*topology.Site
	OfHost   []int
	// Tiers are the options worth considering in each segment, by pool weight.
	Tiers [][][]*market.Option
}

// Partition finds or makes the partition by some labels, which are sorted.
func (s *Segments) Partition(keys []string) *Partition {
	name := strings.Join(keys, ",")
	if g := s.made[name]; g != nil {
		return g
	}
	g := &Partition{Keys: keys, OfHost: make([]int, len(s.v.Hosts))}
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
		s.count++
		c.ID = s.count
		place[c] = len(g.Segments)
		g.Segments = append(g.Segments, c)
	}
	for i, c := range hosts {
		g.OfHost[i] = -1
		if c != nil {
			g.OfHost[i] = place[c]
		}
	}
	tiers := s.market.TiersOf(keys, s.only)
	for _, c := range g.Segments {
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
		g.Tiers = append(g.Tiers, in)
		g.Sites = append(g.Sites, s.tally.Segment(c.Labels, places...))
	}
	s.made[name] = g
	return g
}

// Of is the segment of an option on some labels; nil where there are none.
func (s *Segments) Of(keys []string, o *market.Option) *market.Segment {
	if len(keys) == 0 {
		return nil
	}
	g := s.Partition(keys)
	return g.Segments[slices.IndexFunc(g.Segments, o.In)]
}

// Keys are the labels of the partitions that have a segment which is wanted.
func (s *Segments) Keys(wanted func(*market.Segment) bool) []string {
	var keys []string
	for _, g := range s.made {
		if slices.ContainsFunc(g.Segments, wanted) {
			keys = append(keys, g.Keys...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
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
