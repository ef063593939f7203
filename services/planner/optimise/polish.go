package optimise

import "slices"

// polisher repairs a packing by hand: smaller bins, bins put together, and the worst of them packed anew.
type polisher struct {
	s    *solver
	load *load
	// y is what pods are worth; a bin's loss is what it costs beyond the worth of its pods.
	y         []float64
	rows, cnt []int32
	work      int64
}

// mergeAmong is how many of the patterns with the greatest loss are tried in pairs.
const mergeAmong = 24

func (s *solver) polish(y []float64, limit int64) {
	p := &polisher{s: s, load: s.greedy.load, y: y}
	trial := s.best.clone()
	trial.tidy()
	p.downsize(trial)
	s.offer(trial)
	for _, k := range s.ruins() {
		if p.work > limit || s.enough() {
			break
		}
		trial.set(s.best)
		trial.tidy()
		p.ruin(trial, k)
		s.finish(trial, y)
		p.repair(trial, limit)
		s.offer(trial)
	}
	s.work.Polish += p.work
}

// ruins are how many of the worst copies to pack anew, again and again: fewer tries where there are so many rows that each
// takes long and gains little.
func (s *solver) ruins() []int32 {
	if s.c.n > mostRows {
		return []int32{0, 3, 9, 28}
	}
	return []int32{0, 2, 3, 4, 6, 9, 13, 19, 28}
}

func (p *polisher) repair(pl *plan, limit int64) {
	pl.tidy()
	p.downsize(pl)
	for p.work < limit && !p.s.stopped() && p.merge(pl) {
		continue
	}
	pl.tidy()
}

// downsize moves each filling to the cheapest bin that holds it.
func (p *polisher) downsize(pl *plan) {
	for at := range len(pl.pats) {
		q := pl.pats[at]
		if q.copies == 0 {
			continue
		}
		pl.give(at, q.copies)
		q.copies -= p.move(pl, q)
		if q.copies > 0 {
			pl.take(q)
		}
	}
}

// move puts copies of a filling into the cheapest bin that is cheaper than theirs, and says how many.
func (p *polisher) move(pl *plan, q pat) int32 {
	b, cost := p.cheapest(pl, q.rows, q.cnt, q.cost)
	if b < 0 {
		return 0
	}
	n := pl.room(b, q.copies)
	if n < q.copies && !p.s.c.bins[b].spares(&p.s.c.bins[q.bin]) {
		// The copies that stay must not lose their place under a limit.
		return 0
	}
	pl.take(pat{bin: b, copies: n, rows: q.rows, cnt: q.cnt, cost: cost})
	return n
}

// cheapest is the bin that holds a filling for the least, below a cost; -1 where there is none.
func (p *polisher) cheapest(pl *plan, rows, cnt []int32, below int64) (best int32, cost int64) {
	c := p.s.c
	best = -1
	sum := p.load.sum(rows, cnt)
	for b := range c.bins {
		bin := &c.bins[b]
		if bin.price >= below {
			break
		}
		p.work += int64(c.k)
		if !bin.has(sum) || pl.room(int32(b), 1) == 0 {
			continue
		}
		p.work += int64(3 * len(rows))
		if pen, ok := p.load.holds(bin, rows, cnt); ok && bin.price+pen < below {
			best, below = int32(b), bin.price+pen
		}
	}
	return best, below
}

// loss is what a filling costs beyond the worth of its pods.
func (p *polisher) loss(q *pat) float64 {
	v := float64(q.cost)
	for x, i := range q.rows {
		v -= float64(float64(q.cnt[x]) * p.y[i])
	}
	return v
}

// worst are the places of the patterns by loss of one copy, the greatest first.
func (p *polisher) worst(pl *plan) []int {
	type lossy struct {
		loss float64
		at   int
	}
	var all []lossy
	for at := range pl.pats {
		if pl.pats[at].copies > 0 {
			all = append(all, lossy{p.loss(&pl.pats[at]), at})
		}
	}
	slices.SortFunc(all, func(a, b lossy) int {
		switch {
		case a.loss > b.loss:
			return -1
		case a.loss < b.loss:
			return 1
		}
		return a.at - b.at
	})
	p.work += int64(16 * len(all))
	out := make([]int, len(all))
	for i, x := range all {
		out[i] = x.at
	}
	return out
}

// merge puts the two fillings together that save most, as often as there are copies of both; false where none saves.
func (p *polisher) merge(pl *plan) bool {
	worst := p.worst(pl)
	worst = worst[:min(len(worst), mergeAmong)]
	var pair [2]int
	bin, cost, saving := int32(-1), int64(0), int64(0)
	for x, i := range worst {
		for _, j := range worst[x:] {
			a, b := &pl.pats[i], &pl.pats[j]
			if i == j && a.copies < 2 {
				continue
			}
			p.join(a, b)
			n, v := p.cheapest(pl, p.rows, p.cnt, a.cost+b.cost-saving)
			if n >= 0 {
				pair, bin, cost, saving = [2]int{i, j}, n, v, a.cost+b.cost-v
			}
		}
	}
	if bin < 0 {
		return false
	}
	a, b := pl.pats[pair[0]], pl.pats[pair[1]]
	n := min(a.copies, b.copies)
	if pair[0] == pair[1] {
		n /= 2
	}
	n = pl.room(bin, n)
	p.join(&a, &b)
	pl.give(pair[0], n)
	pl.give(pair[1], n)
	pl.take(pat{bin: bin, copies: n, rows: slices.Clone(p.rows), cnt: slices.Clone(p.cnt), cost: cost})
	return true
}

// join adds up two fillings.
func (p *polisher) join(a, b *pat) {
	p.rows, p.cnt = p.rows[:0], p.cnt[:0]
	i, j := 0, 0
	for i < len(a.rows) || j < len(b.rows) {
		switch {
		case j == len(b.rows) || i < len(a.rows) && a.rows[i] < b.rows[j]:
			p.rows, p.cnt = append(p.rows, a.rows[i]), append(p.cnt, a.cnt[i])
			i++
		case i == len(a.rows) || b.rows[j] < a.rows[i]:
			p.rows, p.cnt = append(p.rows, b.rows[j]), append(p.cnt, b.cnt[j])
			j++
		default:
			p.rows, p.cnt = append(p.rows, a.rows[i]), append(p.cnt, a.cnt[i]+b.cnt[j])
			i++
			j++
		}
	}
}

// ruin takes out the k copies with the greatest loss.
func (p *polisher) ruin(pl *plan, k int32) {
	for _, at := range p.worst(pl) {
		if k == 0 {
			return
		}
		n := min(k, pl.pats[at].copies)
		pl.give(at, n)
		k -= n
	}
}
