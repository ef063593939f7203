package purchase

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// sharing is what required spread does to the pods that a bound is of.
type sharing struct {
	m *market.Market
	// tally counts all pods but those that the bound is of; nil where no spread is kept. pods is how many it is of, by
	// class.
	tally *topology.Tally
	pods  map[*view.Class]int
	// counted is, by counter of spread, how many of these classes it counts.
	counted map[int32]int
	// keys are the labels by which pods are shared out, segments those of their values.
	keys     []string
	segments map[string]*market.Segment
	// nests says that no domain is to have more than it may, and not just what it has at least.
	nests bool
	// known is where the pods are in a solution that is known; tooFull had more than they may in one that was.
	known   []located
	tooFull map[domain]bool
	// rules are about what one domain has at most, and so one node, of the items that were shared out last.
	rules []podrules.NodeRule
}

func newSharing(m *market.Market) *sharing {
	return &sharing{m: m, pods: make(map[*view.Class]int), counted: make(map[int32]int), segments: make(map[string]*market.Segment), tooFull: make(map[domain]bool)}
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
			s.known = append(s.known, located{it.Class, b.Base, len(it.Pods)})
			if b.Site != nil {
				tally.Add(it.Class, b.Site, -len(it.Pods))
			}
		}
	}
}

// shareOut splits items into what each domain has of them in every plan, and the rest, which may be anywhere within
// what one domain has at most.
func (s *sharing) shareOut(items []market.Item) []market.Item {
	out := make([]market.Item, 0, len(items))
	s.rules = nil
	for _, it := range items {
		if n := len(it.Pods); s.tally != nil && n == s.pods[it.Class] { // else some are bounded elsewhere
			share := topology.ShareOf(s.tally, it.Class, n, s.counted)
			for _, v := range share.Values {
				if share.Least > 0 {
					out = append(out, market.Item{Class: it.Class, Pods: it.Pods[:share.Least], Segment: s.segment(share.Key, v)})
					it.Pods = it.Pods[share.Least:]
				}
			}
			if free := share.Most - share.Least; s.nests && share.Most > 0 && free < len(it.Pods) {
				out = s.nest(out, it, &share, free)
				continue
			}
		}
		if len(it.Pods) > 0 {
			out = append(out, it)
		}
	}
	return out
}

// nest splits pods of which each domain has so many at most: so many of them may be anywhere, as many again outside the
// domain that is known to have most, as many outside the two that have, and so on. In every plan there are pods for
// that, whatever the order. What is beyond the first part is outside all domains that are known to be too full: that is
// one plan of several.
func (s *sharing) nest(out []market.Item, it market.Item, share *topology.Share, most int) []market.Item {
	full, tooFull := s.fullestFirst(it.Class, share)
	var parts []int
	for i := 0; len(it.Pods) > 0; i++ {
		n, not := min(most, len(it.Pods)), 0
		if i > 0 {
			not = max(i, min(tooFull, len(full)-1))
		}
		parts = append(parts, len(out))
		out = append(out, market.Item{Class: it.Class, Pods: it.Pods[:n], Segment: s.outside(share.Key, full[:not])})
		it.Pods = it.Pods[n:]
	}
	s.rules = append(s.rules, podrules.NodeRule{Trigger: parts, Counted: parts, Most: most})
	return out
}

// domain is a value of the label that a class is spread by.
type domain struct {
	class *view.Class
	value string
}

// fullestFirst are the values of a label by how many pods of a class are known to be there, those first that were too full.
func (s *sharing) fullestFirst(c *view.Class, share *topology.Share) (values []string, tooFull int) {
	held := make(map[string]int)
	for _, x := range s.known {
		if v, ok := x.option.Label(share.Key); ok && x.class == c {
			held[v] += x.pods
		}
	}
	for _, v := range share.Values {
		if s.tooFull[domain{c, v}] {
			held[v] += s.pods[c]
			tooFull++
		}
	}
	return slices.SortedStableFunc(slices.Values(share.Values), func(a, b string) int { return cmp.Compare(held[b], held[a]) }), tooFull
}

// follow makes a solution the one that is known, and says whether no domain has more pods there than it may.
func (s *sharing) follow(known []located) bool {
	s.known = known
	held, keeps := make(map[domain]int), true
	for _, x := range known {
		share := topology.ShareOf(s.tally, x.class, s.pods[x.class], s.counted)
		if v, ok := x.option.Label(share.Key); ok && share.Most > 0 {
			d := domain{x.class, v}
			if held[d] += x.pods; held[d] > share.Most {
				s.tooFull[d], keeps = true, false
			}
		}
	}
	return keeps
}

// segment is that of a label's value.
func (s *sharing) segment(key, value string) *market.Segment {
	return s.made(key+"="+value, key, func(v string) bool { return v == value })
}

// outside is the segment of all but some values of a label; nil for none.
func (s *sharing) outside(key string, values []string) *market.Segment {
	if len(values) == 0 {
		return nil
	}
	return s.made(key+"!="+strings.Join(values, ","), key, func(v string) bool { return !slices.Contains(values, v) })
}

// made makes a segment of those values of a label that are in it, once.
func (s *sharing) made(name, key string, in func(value string) bool) *market.Segment {
	if s.segments[name] == nil {
		if !slices.Contains(s.keys, key) {
			s.keys = append(s.keys, key)
		}
		made := s.m.NewSegment(nil, nil)
		made.ID = len(s.segments) + 1
		s.m.EachOption(func(o *market.Option) {
			if v, ok := o.Label(key); ok && in(v) {
				made.Add(o)
			}
		})
		s.segments[name] = made
	}
	return s.segments[name]
}

// lasting are those rules about what shares a node that every plan keeps. Spread over hosts is one of pods that have it
// themselves, as long as nodes that may come count as empty ones: pods that only count may be added later.
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
	return append(out, s.rules...)
}
