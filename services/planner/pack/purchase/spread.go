package purchase

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// sharing is what required spread does to the pods that a bound is of.
type sharing struct {
	m *market.Market
	// tally counts all pods but those that the bound is of; nil where no spread is kept. pods is how many it is of, by class.
	tally *topology.Tally
	pods  map[*view.Class]int
	// counted is, by counter of spread, how many of these classes it counts.
	counted map[int32]int
	// keys are the labels by which pods are shared out, segments those of their values.
	keys     []string
	segments map[string]*market.Segment
}

func newSharing(m *market.Market) *sharing {
	return &sharing{m: m, pods: make(map[*view.Class]int), counted: make(map[int32]int), segments: make(map[string]*market.Segment)}
}

// uncount makes the bound one of the pods of some claims, and takes these off a tally.
func (s *sharing) uncount(tally *topology.Tally, claims []*NewClaim) {
	s.tally = tally
	for _, b := range claims {
		for _, it := range b.Items {
			if s.pods[it.Class] == 0 {
				for _, x := range topology.SpreadCounters(tally, it.Class) {
					s.counted[x]++
				}
			}
			s.pods[it.Class] += len(it.Pods)
			if b.Site != nil {
				tally.Add(it.Class, b.Site, -len(it.Pods))
			}
		}
	}
}

// shareOut splits items into what each domain has of them in every plan, and the rest, which may be anywhere.
func (s *sharing) shareOut(items []market.Item) []market.Item {
	out := make([]market.Item, 0, len(items))
	for _, it := range items {
		if n := len(it.Pods); s.tally != nil && n == s.pods[it.Class] { // else some are bounded elsewhere
			key, values, each := topology.LeastShares(s.tally, it.Class, n, s.counted)
			for _, v := range values {
				out = append(out, market.Item{Class: it.Class, Pods: it.Pods[:each], Segment: s.segment(key, v)})
				it.Pods = it.Pods[each:]
			}
		}
		if len(it.Pods) > 0 {
			out = append(out, it)
		}
	}
	return out
}

// segment is that of a label's value.
func (s *sharing) segment(key, value string) *market.Segment {
	name := key + "=" + value
	if s.segments[name] == nil {
		if !slices.Contains(s.keys, key) {
			s.keys = append(s.keys, key)
		}
		made := s.m.NewSegment([]string{key}, func(string) (string, bool) { return value, true })
		made.ID = len(s.segments) + 1
		s.m.EachOption(func(o *market.Option) {
			if v, ok := o.Label(key); ok && v == value {
				made.Add(o)
			}
		})
		s.segments[name] = made
	}
	return s.segments[name]
}

// lasting are those rules about what shares a node that every plan keeps. Spread over hosts is one of pods that have it themselves, as long
// as nodes that may come count as empty ones: pods that only count may be added later.
func (s *sharing) lasting(rules []podrules.NodeRule) []podrules.NodeRule {
	var out []podrules.NodeRule
	for _, r := range rules {
		if r.Skew {
			both := slices.DeleteFunc(slices.Clone(r.Counted), func(i int) bool { return !contains(r.Trigger, i) })
			if len(both) == 0 || s.tally == nil || !topology.OffersCount(s.tally) {
				continue
			}
			r.Trigger, r.Counted = both, both
		}
		out = append(out, r)
	}
	return out
}
