package optimise

import "slices"

// plan is a packing in the making.
type plan struct {
	c    *core
	pats []pat
	cost int64
	// rest are the pods of each row that are not packed yet, pods how many that is.
	rest []int32
	pods int
	// used are copies by bin, limit what is left of each limit.
	used  []int32
	limit []int64
}

// pat is a filling of a bin, used copies times. What it holds is never changed once it is in a plan.
type pat struct {
	bin, copies int32
	rows, cnt   []int32
	// cost is for one copy, with penalties.
	cost int64
}

func newPlan(c *core) *plan {
	pl := &plan{c: c, rest: slices.Clone(c.count), used: make([]int32, len(c.bins)), limit: slices.Clone(c.most)}
	for i, held := range c.held {
		if !held {
			pl.rest[i] = 0
		}
	}
	pl.pods = c.pods()
	return pl
}

func (pl *plan) clone() *plan {
	out := *pl
	out.pats, out.rest = slices.Clone(pl.pats), slices.Clone(pl.rest)
	out.used, out.limit = slices.Clone(pl.used), slices.Clone(pl.limit)
	return &out
}

// set makes pl a copy of o, in pl's own memory.
func (pl *plan) set(o *plan) {
	pl.c, pl.cost, pl.pods = o.c, o.cost, o.pods
	pl.pats = append(pl.pats[:0], o.pats...)
	pl.rest = append(pl.rest[:0], o.rest...)
	pl.used = append(pl.used[:0], o.used...)
	pl.limit = append(pl.limit[:0], o.limit...)
}

// better says that pl leaves fewer pods than o, or costs less and leaves no more.
func (pl *plan) better(o *plan) bool {
	if pl.pods != o.pods {
		return pl.pods < o.pods
	}
	return pl.cost < o.cost
}

// room is how many more copies of a bin, up to most, may be used.
func (pl *plan) room(bin, most int32) int32 {
	b := &pl.c.bins[bin]
	n := min(int64(most), int64(b.copies)-int64(pl.used[bin]))
	if !b.once {
		n = int64(most)
	}
	for l, x := range b.amount {
		if x > 0 {
			n = min(n, max(0, pl.limit[l])/x)
		}
	}
	return int32(max(0, n))
}

// take adds copies of a filling; keep puts it into memory of its own before.
func (pl *plan) take(p pat) {
	b := &pl.c.bins[p.bin]
	pl.used[p.bin] += p.copies
	for l, x := range b.amount {
		pl.limit[l] -= x * int64(p.copies)
	}
	for x, i := range p.rows {
		pl.rest[i] -= p.cnt[x] * p.copies
		pl.pods -= int(p.cnt[x] * p.copies)
	}
	pl.cost += p.cost * int64(p.copies)
	pl.pats = append(pl.pats, p)
}

// give takes n copies of the filling at a place back out. The place stays, even with no copies.
func (pl *plan) give(at int, n int32) {
	p := &pl.pats[at]
	b := &pl.c.bins[p.bin]
	p.copies -= n
	pl.used[p.bin] -= n
	for l, x := range b.amount {
		pl.limit[l] += x * int64(n)
	}
	for x, i := range p.rows {
		pl.rest[i] += p.cnt[x] * n
		pl.pods += int(p.cnt[x] * n)
	}
	pl.cost -= p.cost * int64(n)
}

// within says that no limit is exceeded.
func (pl *plan) within() bool {
	return !slices.ContainsFunc(pl.limit, func(l int64) bool { return l < 0 })
}

// tidy puts equal fillings together and drops those with no copies.
func (pl *plan) tidy() {
	slices.SortStableFunc(pl.pats, comparePats)
	out := pl.pats[:0]
	for _, p := range pl.pats {
		switch {
		case p.copies == 0:
		case len(out) > 0 && comparePats(out[len(out)-1], p) == 0:
			out[len(out)-1].copies += p.copies
		default:
			out = append(out, p)
		}
	}
	pl.pats = out
}

// comparePats orders fillings by bin, the dearest first, and content.
func comparePats(a, b pat) int {
	if a.bin != b.bin {
		return int(b.bin - a.bin)
	}
	if x := slices.Compare(a.rows, b.rows); x != 0 {
		return x
	}
	return slices.Compare(b.cnt, a.cnt)
}

// slab hands out memory for fillings in large pieces.
type slab struct{ buf []int32 }

func (s *slab) take(n int) []int32 {
	if len(s.buf) < n {
		s.buf = make([]int32, max(8192, n))
	}
	out := s.buf[:n:n]
	s.buf = s.buf[n:]
	return out
}
