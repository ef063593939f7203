package pack

import "slices"

// mergeTail is how many of the last different fillings are looked at. What a greedy search buys first is full; the waste
// is in what it buys last.
const mergeTail = 32

// merge puts pairs of claims together where one node holds both for less than the two cost, until nothing is gained. A
// greedy search ends with a few ill-filled nodes; this repairs most of them.
func (m *Market) merge(bought []*Bought, book *ruleBook, lim *Limits) []*Bought {
	for {
		a, b, o := m.bestMerge(bought, book, lim)
		if o == nil {
			return bought
		}
		merged := &Bought{base: o, Items: mergeItems(bought[a].Items, bought[b].Items)}
		lim.give(bought[a].base)
		lim.give(bought[b].base)
		lim.Take(o, 1)
		bought = slices.Delete(bought, b, b+1)
		bought[a] = merged
	}
}

// bestMerge finds the pair a < b that saves most and what it becomes; nil when no pair saves anything.
func (m *Market) bestMerge(bought []*Bought, book *ruleBook, lim *Limits) (a, b int, o *Option) {
	tail := different(bought)
	best := int64(0)
	for i, x := range tail {
		for _, y := range tail[:i+1] {
			if x == y && (x == 0 || !alike(bought[x], bought[x-1])) {
				continue
			}
			first, second := min(x, y), max(x, y)
			if x == y {
				first = x - 1
			}
			if found, saving := m.together(bought[first], bought[second], book, lim); saving > best {
				a, b, o, best = first, second, found, saving
			}
		}
	}
	return a, b, o
}

// different lists the last claim of each of the last different fillings.
func different(bought []*Bought) []int {
	var out []int
	for i := len(bought) - 1; i >= 0 && len(out) < mergeTail; i-- {
		if i == len(bought)-1 || !alike(bought[i], bought[i+1]) {
			out = append(out, i)
		}
	}
	return out
}

// together finds the cheapest option that holds two claims, and what it saves.
func (m *Market) together(a, b *Bought, book *ruleBook, lim *Limits) (o *Option, saving int64) {
	v := a.base.variant
	if v != b.base.variant || minValues(v.pool) {
		return nil, 0
	}
	price := m.cheapest(a) + m.cheapest(b) + m.w.Policy.PerNodeOverhead
	items := mergeItems(a.Items, b.Items)
	if m.portsClash(items) || !book.holds(items) {
		return nil, 0
	}
	l := m.burdenOf(items)
	for _, o := range v.worth(l) {
		if o.Offering.Price >= price {
			break
		}
		if o.Available && o.holds(l) && lim.roomInstead(o, a.base, b.base) {
			return o, price - o.Offering.Price
		}
	}
	return nil, 0
}

// cheapest is the price of the cheapest option that holds a claim's pods, which is what it is bought as in the end.
func (m *Market) cheapest(b *Bought) int64 {
	l := m.burdenOf(b.Items)
	for _, o := range b.base.variant.worth(l) {
		if o.Available && o.holds(l) {
			return min(o.Offering.Price, b.base.Offering.Price)
		}
	}
	return b.base.Offering.Price
}

// mergeItems adds up two lists of items of one load. Pods stay in order.
func mergeItems(a, b []Item) []Item {
	out := slices.Clone(a)
	for _, it := range b {
		i := slices.IndexFunc(out, func(x Item) bool { return x.row == it.row })
		if i < 0 {
			out = append(out, it)
			continue
		}
		pods := append(slices.Clone(out[i].Pods), it.Pods...)
		slices.Sort(pods)
		out[i].Pods = pods
	}
	return out
}

// worth are the options to look at for a burden, sorted by price. Those that others beat elsewhere may be the best in a cell.
func (v *variant) worth(l burden) []*Option {
	if len(l.cells) > 0 {
		return v.options
	}
	return v.best
}
