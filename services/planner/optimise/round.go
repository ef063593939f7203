package optimise

import "slices"

// offer keeps a plan if it is the best so far.
func (s *solver) offer(pl *plan) {
	if pl.better(s.best) {
		s.best.set(pl)
	}
}

// dive rounds the programme's solution: it buys what the solution has whole copies of, or else some of what it has most
// of, solves the programme again for what is left, and so on. At each step the greedy search, led by the duals, finishes
// the packing; the best of these packings counts.
func (s *solver) dive(x *columns, limit int64) {
	pl, end := s.base.clone(), s.base.clone()
	var old []pat
	for len(x.rows) > 0 {
		bought := s.buyWhole(x, pl) || s.buyPart(x, pl)
		end.set(pl)
		s.finish(end, x.y)
		s.offer(end)
		if !bought || x.work() >= limit || pl.pods == 0 || s.enough() {
			return
		}
		old = append(old[:0], x.pool...)
		x.begin(pl, old)
		// What is left is little of the whole, so it may be a little further from its optimum.
		gap := s.gap / 2 * s.lp / max(1, s.lp-float64(pl.cost))
		x.generate(generation{gap: gap, limit: limit, nodes: pricingNodes, stop: s.stopped})
		if pl.pods == 0 && float64(pl.cost)+x.bound >= float64(s.best.cost) {
			return
		}
	}
}

// buyWhole buys the whole copies of each column in the solution.
func (s *solver) buyWhole(x *columns, pl *plan) bool {
	taken := false
	for k, j := range x.ms.basis {
		if j < 0 || x.pool[j].bin < 0 {
			continue
		}
		if n := int32(x.ms.xb[k] + 1e-5); n > 0 {
			taken = s.buy(pl, x.pool[j], n) || taken
		}
	}
	return taken
}

// buy takes up to n copies of a filling, as many as pods and limits allow.
func (s *solver) buy(pl *plan, p pat, n int32) bool {
	n = pl.room(p.bin, n)
	for k, i := range p.rows {
		n = min(n, pl.rest[i]/p.cnt[k])
	}
	if n <= 0 {
		return false
	}
	p.copies = n
	pl.take(p)
	return true
}

// buyPart buys one copy of the columns that the solution has most of.
func (s *solver) buyPart(x *columns, pl *plan) bool {
	type part struct {
		share float64
		j     int32
	}
	var parts []part
	value := 0.0
	for k, j := range x.ms.basis {
		if j >= 0 && x.pool[j].bin >= 0 && x.ms.xb[k] > 1e-4 {
			parts = append(parts, part{x.ms.xb[k], j})
			value += float64(x.ms.xb[k] * x.ms.cost[j])
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		switch {
		case a.share > b.share:
			return -1
		case a.share < b.share:
			return 1
		}
		return int(a.j - b.j)
	})
	spent := 0.0
	for _, p := range parts {
		if spent > 0 && (spent > 2*value/5 || p.share < 0.2) {
			break
		}
		if s.buy(pl, x.pool[p.j], 1) {
			spent += x.ms.cost[p.j]
		}
	}
	return spent > 0
}
