package place

import (
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// counts says how many pods there are by the domain that they are in: by the value of one label of their node.
//
// What a claim becomes is not decided. Its pods are counted in most for each domain that they may be in, in least for the
// one that they are in for sure: a rule that wants few pods around asks most, one that wants some asks least, and so the
// answer holds whatever the claim becomes.
type counts struct {
	key string
	// most and least are by domain; least[d] is at most most[d].
	most, least map[string]int
	// anywhere are pods that may be in a domain that nothing lists, all those that may be in some domain, and outside
	// those that may be in none.
	anywhere, all, outside int
	// on are the pods on each place that is not decided: those are in one domain with whatever else is on it.
	on map[*Place]int
	// lone says that no two places share a domain: one that may be there or not has the pods of its place if it is there.
	lone bool
	// where says where a place lies; places that do not count lie nowhere.
	where func(*Place) domain
	// counted is how certain it is that a place counts which turns out to be a variant.
	counted func(*kind, *Variant) certainty
	// grew is called with each domain whose least count grew, and by how much.
	grew func(value string, n int)
}

func newCounts(key string) *counts {
	return &counts{
		key: key, most: make(map[string]int), least: make(map[string]int), on: make(map[*Place]int),
		where:   func(p *Place) domain { return p.domain(key) },
		counted: func(*kind, *Variant) certainty { return surely },
		grew:    func(string, int) {},
	}
}

// add counts pods that are on a place.
func (c *counts) add(p *Place, n int) {
	d := c.where(p)
	d.absent = d.absent && !(c.lone && len(d.values) == 1)
	if v, ok := d.decided(); ok && n != 0 {
		c.all += n
		c.most[v] += n
		c.least[v] += n
		c.grew(v, n)
		return
	}
	if d.possible() && n != 0 {
		c.on[p] += n
	}
	c.addPossible(d, n)
}

// addPossible counts pods that may be in a domain, or not.
func (c *counts) addPossible(d domain, n int) {
	if d.absent {
		c.outside += n
	}
	if !d.possible() || n == 0 {
		return
	}
	c.all += n
	for _, v := range d.values {
		c.most[v] += n
	}
	if d.unlisted {
		c.anywhere += n
	}
}

// around is the most pods that may be in one domain with a place, and that domain.
func (c *counts) around(p *Place) (n int, value string) {
	d := p.domain(c.key)
	if d.unlisted {
		return c.all, "any"
	}
	for _, v := range d.values {
		if m := c.most[v] + c.anywhere; m > n || value == "" {
			n, value = m, v
		}
	}
	return n, value
}

// near says whether a pod is in one domain with the place, whatever happens.
func (c *counts) near(p *Place) bool {
	d := p.domain(c.key)
	if c.on[p] > 0 {
		return true
	}
	if d.absent || d.unlisted {
		return false
	}
	for _, v := range d.values {
		if c.least[v] == 0 {
			return false
		}
	}
	return len(d.values) > 0
}

// nowhereElse says whether all pods that there may be are in one domain with the place, if they are there at all.
func (c *counts) nowhereElse(p *Place) bool {
	v, ok := p.domain(c.key).decided()
	if !ok || c.anywhere > 0 || c.most[v] < c.all {
		return false
	}
	for other, n := range c.most {
		if other != v && n > 0 {
			return false
		}
	}
	return true
}

// domains are those of a spread constraint. Constraints that differ only in what they count share one.
type domains struct {
	// of is where each place that counts lies.
	of map[*Place]domain
	// values are the domains that there are, or may be; sure of them are there whatever happens.
	values map[string]bool
	sure   int
	// settled are the domains with a place that is in them whatever happens; open are the places of which it is not
	// decided.
	settled map[string]bool
	open    []*Place
	// unlisted says that there may be a domain that nothing lists.
	unlisted bool
	// counted is how certain it is that a place counts which turns out to be a variant.
	counted func(*kind, *Variant) certainty
}

func newDomains(all []*Place, where func(*Place) domain) *domains {
	out := &domains{of: make(map[*Place]domain), values: make(map[string]bool), settled: make(map[string]bool)}
	for _, p := range all {
		d := where(p)
		if !d.possible() {
			continue
		}
		out.of[p] = d
		if v, ok := d.decided(); ok {
			out.settled[v] = true
		} else {
			out.open = append(out.open, p)
		}
		for _, v := range d.values {
			out.values[v] = true
		}
		out.unlisted = out.unlisted || d.unlisted
	}
	out.sure = len(out.settled)
	return out
}

// spread is one spread constraint with the pods that it counts, over the domains that it has.
type spread struct {
	pods       *counts
	domains    *domains
	skew       int
	minDomains int
	// self is 1 when the pods count themselves.
	self int
	// levels says how many domains have so many pods at least, summing up to all domains; floor is the lowest level
	// that any has. Pods only come, so that it only rises.
	levels map[int]int
	floor  int
}

func newSpread(t model.TopologySpread, self bool, over *domains) *spread {
	s := &spread{
		pods: newCounts(labels.Normal(t.TopologyKey)), domains: over, skew: int(t.MaxSkew), minDomains: max(1, int(t.MinDomains)),
		levels: map[int]int{0: len(over.values)},
	}
	if self {
		s.self = 1
	}
	s.pods.lone = s.pods.key == labels.Hostname
	s.pods.where, s.pods.counted = func(p *Place) domain { return over.of[p] }, over.counted
	s.pods.grew = s.rise
	return s
}

func (s *spread) rise(value string, n int) {
	now := s.pods.least[value]
	s.levels[now-n]--
	s.levels[now]++
	for s.levels[s.floor] == 0 {
		s.floor++
	}
}

// lowestFor is the fewest pods that any domain has for sure, as seen by a pod that goes to a place in a domain with so many
// pods at most. What of these is there is there on both sides of the comparison: the pod's own domain has no fewer.
func (s *spread) lowestFor(at *Place, value string, most int) int {
	sure := s.domains.sure
	if d := s.domains.of[at]; value != "" && !s.domains.settled[value] && d.possible() && !d.absent {
		sure++ // the one that the pod is in
	}
	if sure < s.minDomains || s.domains.unlisted {
		return 0
	}
	if s.floor == 0 && len(s.pods.on) > 0 && !s.pods.lone {
		return min(most, s.lowestBut(at, value))
	}
	own := s.pods.least[value]
	if !s.domains.values[value] || own != s.floor || s.levels[own] > 1 {
		return s.floor
	}
	for level := own + 1; level < most; level++ {
		if s.levels[level] > 0 {
			return level
		}
	}
	return most
}

// lowestBut is the fewest pods that any domain but that of a place has if it is there. One that has only places of which it
// is not decided is there because one of these is in it, with all the pods that it has.
func (s *spread) lowestBut(at *Place, value string) int {
	lowest := math.MaxInt
	for v := range s.domains.settled {
		if v != value {
			lowest = min(lowest, s.pods.least[v])
		}
	}
	for _, p := range s.domains.open {
		n, values := s.pods.on[p], s.domains.of[p].values
		if slices.Contains(values, value) {
			n *= 2 // they are not in that one then, where they were counted
		}
		if p != at && slices.ContainsFunc(values, func(v string) bool { return v != value && !s.domains.settled[v] }) {
			lowest = min(lowest, n)
		}
	}
	return lowest
}
