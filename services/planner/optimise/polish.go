package optimise

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// polisher repairs a packing by hand: smaller bins, bins put together, and the worst of them packed anew.
type polisher struct {
	s    *solver
	open *compact.OpenBin
	// y is what pods are worth; a bin's loss is what it costs beyond the worth of its pods.
	y         []float64
	rows, cnt []int32
	work      int64
}

// mergeAmong is how many of the patterns with the greatest loss are tried in pairs.
const mergeAmong = 24

func (s *solver) polish(y []float64, limit int64) {
	p := &polisher{s: s, open: s.greedy.open, y: y}
	trial := s.best.Clone()
	trial.Tidy()
	p.downsize(trial)
	s.offer(trial)
	for _, k := range s.ruins() {
		if p.work > limit || s.enough() {
			break
		}
		trial.Set(s.best)
		trial.Tidy()
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
	if s.c.NumRows > maxRows {
		return []int32{0, 3, 9, 28}
	}
	return []int32{0, 2, 3, 4, 6, 9, 13, 19, 28}
}

func (p *polisher) repair(pl *compact.Plan, limit int64) {
	pl.Tidy()
	p.downsize(pl)
	for p.work < limit && !p.s.stopped() && p.merge(pl) {
		continue
	}
	pl.Tidy()
}

// downsize moves each filling to the cheapest bin that holds it.
func (p *polisher) downsize(pl *compact.Plan) {
	for at := range len(pl.Fillings) {
		q := pl.Fillings[at]
		if q.Copies == 0 {
			continue
		}
		pl.Remove(at, q.Copies)
		q.Copies -= p.move(pl, q)
		if q.Copies > 0 {
			pl.Take(q)
		}
	}
}

// move puts copies of a filling into the cheapest bin that is cheaper than theirs, and says how many.
func (p *polisher) move(pl *compact.Plan, q compact.Filling) int32 {
	b, cost := p.cheapest(pl, q.Rows, q.Counts, q.Cost)
	if b < 0 {
		return 0
	}
	n := pl.Remaining(b, q.Copies)
	if n < q.Copies && !p.s.c.Bins[b].Spares(&p.s.c.Bins[q.Bin]) {
		// The copies that stay must not lose their place under a limit.
		return 0
	}
	pl.Take(compact.Filling{Bin: b, Copies: n, Rows: q.Rows, Counts: q.Counts, Cost: cost})
	return n
}

// cheapest is the bin that holds a filling for the least, below a cost; -1 where there is none.
func (p *polisher) cheapest(pl *compact.Plan, rows, cnt []int32, below int64) (best int32, cost int64) {
	c := p.s.c
	best = -1
	sum := p.open.Sum(rows, cnt)
	for b := range c.Bins {
		bin := &c.Bins[b]
		if bin.Price >= below {
			break
		}
		p.work += int64(c.NumResources)
		if !bin.Fits(sum) || pl.Remaining(int32(b), 1) == 0 {
			continue
		}
		p.work += int64(3 * len(rows))
		if pen, ok := p.open.Holds(bin, rows, cnt); ok && bin.Price+pen < below {
			best, below = int32(b), bin.Price+pen
		}
	}
	return best, below
}

// worst are the places of the patterns by loss of one copy, the greatest first.
func (p *polisher) worst(pl *compact.Plan) []int {
	type lossy struct {
		loss float64
		at   int
	}
	var all []lossy
	for at := range pl.Fillings {
		if q := &pl.Fillings[at]; q.Copies > 0 {
			all = append(all, lossy{float64(q.Cost) - q.Worth(p.y), at})
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
func (p *polisher) merge(pl *compact.Plan) bool {
	worst := p.worst(pl)
	worst = worst[:min(len(worst), mergeAmong)]
	var pair [2]int
	bin, cost, saving := int32(-1), int64(0), int64(0)
	for x, i := range worst {
		for _, j := range worst[x:] {
			a, b := &pl.Fillings[i], &pl.Fillings[j]
			if i == j && a.Copies < 2 {
				continue
			}
			p.join(a, b)
			n, v := p.cheapest(pl, p.rows, p.cnt, a.Cost+b.Cost-saving)
			if n >= 0 {
				pair, bin, cost, saving = [2]int{i, j}, n, v, a.Cost+b.Cost-v
			}
		}
	}
	if bin < 0 {
		return false
	}
	a, b := pl.Fillings[pair[0]], pl.Fillings[pair[1]]
	n := min(a.Copies, b.Copies)
	if pair[0] == pair[1] {
		n /= 2
	}
	n = pl.Remaining(bin, n)
	p.join(&a, &b)
	pl.Remove(pair[0], n)
	pl.Remove(pair[1], n)
	pl.Take(compact.Filling{Bin: bin, Copies: n, Rows: slices.Clone(p.rows), Counts: slices.Clone(p.cnt), Cost: cost})
	return true
}

// join adds up two fillings.
func (p *polisher) join(a, b *compact.Filling) {
	p.rows, p.cnt = p.rows[:0], p.cnt[:0]
	i, j := 0, 0
	for i < len(a.Rows) || j < len(b.Rows) {
		switch {
		case j == len(b.Rows) || i < len(a.Rows) && a.Rows[i] < b.Rows[j]:
			p.rows, p.cnt = append(p.rows, a.Rows[i]), append(p.cnt, a.Counts[i])
			i++
		case i == len(a.Rows) || b.Rows[j] < a.Rows[i]:
			p.rows, p.cnt = append(p.rows, b.Rows[j]), append(p.cnt, b.Counts[j])
			j++
		default:
			p.rows, p.cnt = append(p.rows, a.Rows[i]), append(p.cnt, a.Counts[i]+b.Counts[j])
			i++
			j++
		}
	}
}

// ruin takes out the k copies with the greatest loss.
func (p *polisher) ruin(pl *compact.Plan, k int32) {
	for _, at := range p.worst(pl) {
		if k == 0 {
			return
		}
		n := min(k, pl.Fillings[at].Copies)
		pl.Remove(at, n)
		k -= n
	}
}
