package optimise

import "math/bits"

// load is one bin being filled.
type load struct {
	c    *core
	b    *bin
	left []int64
	// triggers and counted are by rule.
	triggers, counted []int32
	cnt               []int32
	// had says which rows have had pods, as a list and by row.
	had   []int32
	known []bool
	asked []int64
}

func newLoad(c *core) *load {
	return &load{
		c: c, left: make([]int64, c.k), asked: make([]int64, c.k), cnt: make([]int32, c.n), known: make([]bool, c.n),
		triggers: make([]int32, len(c.rules)), counted: make([]int32, len(c.rules)),
	}
}

// open starts on an empty copy of a bin.
func (l *load) open(b *bin) {
	l.b = b
	copy(l.left, b.free)
	for _, i := range l.had {
		l.cnt[i], l.known[i] = 0, false
	}
	l.had = l.had[:0]
	if len(l.triggers) == 0 {
		return
	}
	clear(l.triggers)
	clear(l.counted)
	for _, x := range b.before {
		if x.Triggers {
			l.triggers[x.Rule]++
		}
		l.counted[x.Rule] += int32(x.Counted)
	}
}

// room is how many more pods of a row, up to most, the bin holds; that it takes the row is for the caller to know.
func (l *load) room(row, most int32) int32 {
	return l.allowed(row, l.space(row, most))
}

// full says that no pod of any row fits any more.
func (l *load) full() bool {
	for r, q := range l.c.least {
		if l.left[r] < q {
			return true
		}
	}
	return false
}

// space is how many more pods of a row, up to most, the bin holds, rules aside.
func (l *load) space(row, most int32) int32 {
	k := l.c.k
	n := int64(most)
	for r, q := range l.c.req[int(row)*k : int(row)*k+k] {
		if f := l.left[r]; q > f {
			return 0
		} else if exceeds(q, n, f) {
			n = f / q
		}
	}
	return int32(n)
}

// exceeds says whether n requests of q are more than f. None is negative, and q is at most f. The product may be beyond an
// int64: two thousand million pods of 5 GiB are.
func exceeds(q, n, f int64) bool {
	high, low := bits.Mul64(uint64(q), uint64(n))
	return high > 0 || low > uint64(f)
}

// allowed is how many more pods of a row, up to n, rules allow.
func (l *load) allowed(row, n int32) int32 {
	for _, pt := range l.c.byRow[row] {
		n = min(n, l.ruleRoom(pt, n))
	}
	return n
}

func (l *load) ruleRoom(pt part, n int32) int32 {
	most, counted := l.c.rules[pt.rule].most, l.counted[pt.rule]
	switch {
	case !pt.triggers && l.triggers[pt.rule] == 0:
		return n
	case pt.counted:
		return max(0, most-counted)
	case counted > most:
		return 0
	}
	return n
}

// put adds pods, or takes them away where q is negative.
func (l *load) put(row, q int32) {
	k := l.c.k
	if !l.known[row] {
		l.known[row] = true
		l.had = append(l.had, row)
	}
	l.cnt[row] += q
	for r, x := range l.c.req[int(row)*k : int(row)*k+k] {
		l.left[r] -= x * int64(q)
	}
	for _, pt := range l.c.byRow[row] {
		if pt.triggers {
			l.triggers[pt.rule] += q
		}
		if pt.counted {
			l.counted[pt.rule] += q
		}
	}
}

// holds says whether a bin can hold a whole filling, whose counts may be 0; what that adds in penalties comes with it.
func (l *load) holds(b *bin, rows, cnt []int32) (penalty int64, ok bool) {
	for x, i := range rows {
		if cnt[x] > 0 && !b.takes.Has(int(i)) {
			return 0, false
		}
	}
	if !b.has(l.sum(rows, cnt)) {
		return 0, false
	}
	if len(l.c.rules) > 0 {
		l.open(b)
		for x, i := range rows {
			if l.room(i, cnt[x]) < cnt[x] {
				return 0, false
			}
			l.put(i, cnt[x])
		}
	}
	return b.penalty(rows, cnt), true
}

// sum is what a filling asks for, until the next one is asked about.
func (l *load) sum(rows, cnt []int32) []int64 {
	clear(l.asked)
	for x, i := range rows {
		for r, q := range l.c.req[int(i)*l.c.k : (int(i)+1)*l.c.k] {
			l.asked[r] += q * int64(cnt[x])
		}
	}
	return l.asked
}

// has says whether a bin has room for that much.
func (b *bin) has(sum []int64) bool {
	for r, f := range b.free {
		if sum[r] > max(f, 0) {
			return false
		}
	}
	return true
}

func (b *bin) penalty(rows, cnt []int32) int64 {
	if b.pen == nil {
		return 0
	}
	sum := int64(0)
	for x, i := range rows {
		sum += b.pen[i] * int64(cnt[x])
	}
	return sum
}
