package compact

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// merger builds a Problem.
type merger struct {
	c         *Problem
	resources []int
	// groups are bins whose Takes are equal: the set, and a hash of the bins that does not depend on any order.
	groups   []takesGroup
	groupOf  []int
	binHash  []uint64
	hash     []uint64
	penByI   [][]problem.Penalty
	ruleOfI  [][]RulePart
	ruleHash []uint64
	rowOf    []int32
}

type takesGroup struct {
	takes bits.Set
	hash  uint64
}

func newMerger(c *Problem, resources []int) *merger {
	m := &merger{c: c, resources: resources}
	c.NumResources = len(resources)
	return m
}

// Mix is a hash step (the finisher of SplitMix64).
func Mix(h, x uint64) uint64 {
	h += x + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func hashSet(s bits.Set) uint64 {
	h := uint64(1)
	last := len(s)
	for last > 0 && s[last-1] == 0 {
		last--
	}
	for _, w := range s[:last] {
		h = Mix(h, w)
	}
	return h
}

// groupTakes finds the bins that take the same items; there are few such groups however many bins there are.
func (m *merger) groupTakes() {
	p := m.c.Source
	m.groupOf = make([]int, len(p.Bins))
	m.binHash = make([]uint64, len(p.Bins))
	byHash := make(map[uint64][]int)
	last := -1
	for b := range p.Bins {
		x := &p.Bins[b]
		m.binHash[b] = m.hashBin(b)
		if last < 0 || !m.groups[last].takes.Equal(x.Takes) {
			h := hashSet(x.Takes)
			last = -1
			for _, g := range byHash[h] {
				if m.groups[g].takes.Equal(x.Takes) {
					last = g
				}
			}
			if last < 0 {
				last = len(m.groups)
				m.groups = append(m.groups, takesGroup{takes: x.Takes})
				byHash[h] = append(byHash[h], last)
			}
		}
		m.groupOf[b] = last
		m.groups[last].hash += Mix(m.binHash[b], 3)
		m.c.Work += int64(len(x.Takes) + m.c.NumResources + 2)
	}
}

// hashBin sums up a bin, all but what it takes.
func (m *merger) hashBin(b int) uint64 {
	x := &m.c.Source.Bins[b]
	h := Mix(uint64(x.Price), uint64(int64(max(x.Most, -1))))
	for _, r := range m.resources {
		h = Mix(h, uint64(x.Free[r]))
	}
	for _, l := range m.c.Source.Limits {
		h = Mix(h, uint64(l.Amount[b]))
	}
	var before uint64
	for _, y := range x.Before {
		t := uint64(0)
		if y.Triggers {
			t = 1
		}
		before += Mix(Mix(m.ruleHash[y.Rule], uint64(y.Counted)), t)
	}
	return Mix(h, before)
}

// hashRules sums up rules by what they say of numbers and of the items' requests, not of places.
func (m *merger) hashRules() {
	p := m.c.Source
	if len(p.Rules) == 0 {
		return
	}
	request := make([]uint64, len(p.Items))
	for i := range p.Items {
		for _, r := range m.resources {
			request[i] = Mix(request[i], uint64(p.Items[i].Request[r]))
		}
		request[i] = Mix(request[i], uint64(p.Items[i].Count))
	}
	m.ruleHash = make([]uint64, len(p.Rules))
	m.ruleOfI = make([][]RulePart, len(p.Items))
	for r := range p.Rules {
		x := &p.Rules[r]
		m.c.Rules = append(m.c.Rules, Rule{Most: int32(min(max(0, x.Most), math.MaxInt32))})
		h := Mix(7, uint64(int64(max(0, x.Most))))
		for i := range p.Items {
			t, n := x.Trigger.Has(i), x.Counted.Has(i)
			if t {
				h += Mix(request[i], 1)
			}
			if n {
				h += Mix(request[i], 2)
			}
			if t || n {
				m.ruleOfI[i] = append(m.ruleOfI[i], RulePart{Rule: int32(r), Triggers: t, Counted: n})
			}
		}
		m.ruleHash[r] = Mix(h, 19)
		m.c.Work += int64(len(p.Items))
	}
}

// signItems gives each item a hash of everything that matters about it but its count.
func (m *merger) signItems() {
	p := m.c.Source
	m.hash = make([]uint64, len(p.Items))
	m.penByI = make([][]problem.Penalty, len(p.Items))
	for _, x := range p.Penalties {
		if x.Price > 0 {
			m.penByI[x.Item] = append(m.penByI[x.Item], x)
		}
	}
	if m.ruleOfI == nil {
		m.ruleOfI = make([][]RulePart, len(p.Items))
	}
	for i := range p.Items {
		m.hash[i] = m.hashItem(i)
	}
	m.c.Work += int64(len(p.Items) * (len(m.groups) + m.c.NumResources))
}

func (m *merger) hashItem(i int) uint64 {
	h := uint64(11)
	for _, r := range m.resources {
		h = Mix(h, uint64(m.c.Source.Items[i].Request[r]))
	}
	for g := range m.groups {
		if m.groups[g].takes.Has(i) {
			h += Mix(m.groups[g].hash, 5)
		}
	}
	for _, x := range m.penByI[i] {
		h += Mix(Mix(m.binHash[x.Bin], uint64(x.Price)), 13)
	}
	for _, x := range m.ruleOfI[i] {
		kind := uint64(0)
		if x.Triggers {
			kind = 1
		}
		if x.Counted {
			kind += 2
		}
		h += Mix(m.ruleHash[x.Rule], kind)
	}
	return Mix(h, 17)
}

// mergeItems makes rows of equal items and puts them in order: by request, largest first.
func (m *merger) mergeItems() {
	c, p := m.c, m.c.Source
	var order []int
	for i := range p.Items {
		if p.Items[i].Count > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(m.compareRequests(b, a), cmp.Compare(m.hash[a], m.hash[b]), cmp.Compare(a, b))
	})
	m.rowOf = make([]int32, len(p.Items))
	for i := range m.rowOf {
		m.rowOf[i] = -1
	}
	type row struct {
		of    []int32
		count int
	}
	var rows []row
	for x, i := range order {
		if x > 0 && m.alike(int(rows[len(rows)-1].of[0]), i) {
			r := &rows[len(rows)-1]
			r.of = append(r.of, int32(i))
			r.count += p.Items[i].Count
			continue
		}
		rows = append(rows, row{of: []int32{int32(i)}, count: p.Items[i].Count})
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		x, y := int(a.of[0]), int(b.of[0])
		return cmp.Or(m.compareRequests(y, x), cmp.Compare(m.hash[x], m.hash[y]), cmp.Compare(a.count, b.count))
	})
	c.NumRows = len(rows)
	c.Count = make([]int32, c.NumRows)
	c.Request = make([]int64, 0, c.NumRows*c.NumResources)
	c.RulesOf = make([][]RulePart, c.NumRows)
	for j, r := range rows {
		first := int(r.of[0])
		c.ItemsOf = append(c.ItemsOf, r.of)
		c.Count[j] = int32(r.count)
		c.RulesOf[j] = m.ruleOfI[first]
		for _, q := range m.resources {
			c.Request = append(c.Request, p.Items[first].Request[q])
		}
		for _, i := range r.of {
			m.rowOf[i] = int32(j)
		}
	}
}

// findKinds puts rows together that differ in nothing but rules.
func (m *merger) findKinds() {
	c := m.c
	c.KindOf = make([]int32, c.NumRows)
	byHash := make(map[uint64][]int32)
	for j := range c.NumRows {
		h := m.hashKind(j)
		kind := int32(-1)
		for _, t := range byHash[h] {
			if m.interchangeable(int(c.ItemsOf[c.Kinds[t][0]][0]), int(c.ItemsOf[j][0])) {
				kind = t
			}
		}
		if kind < 0 {
			kind = int32(len(c.Kinds))
			c.Kinds = append(c.Kinds, nil)
			byHash[h] = append(byHash[h], kind)
		}
		c.Kinds[kind] = append(c.Kinds[kind], int32(j))
		c.KindOf[j] = kind
	}
}

func (m *merger) hashKind(row int) uint64 {
	i := int(m.c.ItemsOf[row][0])
	h := uint64(23)
	for _, q := range m.c.Request[row*m.c.NumResources : (row+1)*m.c.NumResources] {
		h = Mix(h, uint64(q))
	}
	for g := range m.groups {
		if m.groups[g].takes.Has(i) {
			h = Mix(h, uint64(g))
		}
	}
	return Mix(h, uint64(len(m.penByI[i])))
}

func (m *merger) compareRequests(a, b int) int {
	for _, r := range m.resources {
		if x := cmp.Compare(m.c.Source.Items[a].Request[r], m.c.Source.Items[b].Request[r]); x != 0 {
			return x
		}
	}
	return 0
}

// alike says that two items can be exchanged anywhere.
func (m *merger) alike(a, b int) bool {
	return m.hash[a] == m.hash[b] && slices.Equal(m.ruleOfI[a], m.ruleOfI[b]) && m.interchangeable(a, b)
}

// interchangeable says that two items can be exchanged anywhere, rules aside.
func (m *merger) interchangeable(a, b int) bool {
	if m.compareRequests(a, b) != 0 {
		return false
	}
	for g := range m.groups {
		if m.groups[g].takes.Has(a) != m.groups[g].takes.Has(b) {
			return false
		}
	}
	return slices.EqualFunc(m.penByI[a], m.penByI[b], func(x, y problem.Penalty) bool {
		return x.Bin == y.Bin && x.Price == y.Price
	})
}

// buildBins brings the bins that no other beats in everything into their inner form, the cheapest first.
func (m *merger) buildBins() {
	c, p := m.c, m.c.Source
	takes := m.rowSets()
	pods := 0
	for _, n := range c.Count {
		pods += int(n)
	}
	for l := range p.Limits {
		c.Limits = append(c.Limits, p.Limits[l].Most)
	}
	pen := m.penalties()
	f := front{c: c, total: c.totalRequest()}
	free, amount := make([]int64, c.NumResources), make([]int64, len(p.Limits))
	for _, o := range m.sortedBins() {
		i := int(o.at)
		x := &p.Bins[i]
		if x.Most == 0 || takes[m.groupOf[i]] == nil {
			continue
		}
		b := Bin{Index: i, Price: o.price, Free: free, Takes: takes[m.groupOf[i]], Copies: pods, Amount: amount, Before: x.Before}
		for j, r := range m.resources {
			b.Free[j] = x.Free[r]
			if p.BoundOnly && !p.Worth && b.Free[j] > 0 {
				b.Free[j] -= b.Free[j] % c.Unit[j] // no filling takes it
			}
		}
		for l := range p.Limits {
			b.Amount[l] = max(0, p.Limits[l].Amount[i])
		}
		if x.Most > 0 && x.Most < pods {
			b.Copies, b.Limited = x.Most, true
		}
		if pen != nil {
			b.Penalties = pen[i]
		}
		if f.beaten(&b) {
			continue
		}
		b.Free, b.Amount = slices.Clone(free), slices.Clone(amount)
		if !b.Limited {
			f.order = append(f.order, len(c.Bins))
		}
		c.Bins = append(c.Bins, b)
	}
}

type priced struct {
	price int64
	at    int32
}

// sortedBins are the bins by price; among equal prices the larger ones come first, so that they beat the others.
func (m *merger) sortedBins() []priced {
	p := m.c.Source
	order := make([]priced, len(p.Bins))
	for i := range p.Bins {
		order[i] = priced{max(0, p.Bins[i].Price), int32(i)}
	}
	slices.SortFunc(order, func(a, b priced) int {
		if a.price != b.price {
			return cmp.Compare(a.price, b.price)
		}
		return m.compareBins(int(a.at), int(b.at))
	})
	m.c.Work += int64(len(order) * 12)
	return order
}

func (m *merger) compareBins(a, b int) int {
	x, y := &m.c.Source.Bins[a], &m.c.Source.Bins[b]
	for _, r := range m.resources {
		if x.Free[r] != y.Free[r] {
			return cmp.Compare(y.Free[r], x.Free[r])
		}
	}
	return cmp.Or(
		cmp.Compare(uint(y.Most), uint(x.Most)),
		cmp.Compare(m.groups[m.groupOf[a]].hash, m.groups[m.groupOf[b]].hash),
		cmp.Compare(m.binHash[a], m.binHash[b]), cmp.Compare(a, b),
	)
}

// rowSets are the groups' sets, of rows; nil where nothing is left of them.
func (m *merger) rowSets() []bits.Set {
	out := make([]bits.Set, len(m.groups))
	for g := range m.groups {
		s := bits.New(m.c.NumRows)
		some := false
		for j, of := range m.c.ItemsOf {
			if m.groups[g].takes.Has(int(of[0])) {
				s.Add(j)
				some = true
			}
		}
		if some {
			out[g] = s
		}
	}
	return out
}

// penalties are by bin and row.
func (m *merger) penalties() [][]int64 {
	if len(m.c.Source.Penalties) == 0 {
		return nil
	}
	out := make([][]int64, len(m.c.Source.Bins))
	for _, x := range m.c.Source.Penalties {
		row := m.rowOf[x.Item]
		if row < 0 || x.Price <= 0 || m.c.ItemsOf[row][0] != int32(x.Item) {
			continue
		}
		if out[x.Bin] == nil {
			out[x.Bin] = make([]int64, m.c.NumRows)
		}
		out[x.Bin][row] += x.Price
	}
	return out
}
