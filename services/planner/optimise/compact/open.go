package compact

import "math/bits"

// OpenBin is one bin being filled.
type OpenBin struct {
	c    *Problem
	b    *Bin
	left []int64
	// triggers and counted are by rule.
	triggers, counted []int32
	Counts            []int32
	// had says which rows have had pods, as a list and by row.
	had   []int32
	known []bool
	asked []int64
}

// NewOpenBin makes an empty bin of no shape yet.
func NewOpenBin(c *Problem) *OpenBin {
	return &OpenBin{
		c: c, left: make([]int64, c.NumResources), asked: make([]int64, c.NumResources), Counts: make([]int32, c.NumRows), known: make([]bool, c.NumRows),
		triggers: make([]int32, len(c.Rules)), counted: make([]int32, len(c.Rules)),
	}
}

// Open starts on an empty copy of a bin.
func (l *OpenBin) Open(b *Bin) {
	l.b = b
	copy(l.left, b.Free)
	for _, i := range l.had {
		l.Counts[i], l.known[i] = 0, false
	}
	l.had = l.had[:0]
	if len(l.triggers) == 0 {
		return
	}
	clear(l.triggers)
	clear(l.counted)
	for _, x := range b.Before {
		if x.Triggers {
			l.triggers[x.Rule]++
		}
		l.counted[x.Rule] += int32(x.Counted)
	}
}

// Capacity is how many more pods of a row, up to most, the bin holds; that it takes the row is for the caller to know.
func (l *OpenBin) Capacity(row, most int32) int32 {
	return l.RuleCapacity(row, l.ResourceCapacity(row, most))
}

// Left is what is free of a resource.
func (l *OpenBin) Left(r int) int64 { return l.left[r] }

// Bin is what is being filled.
func (l *OpenBin) Bin() *Bin { return l.b }

// Places is how many more pods a mutual rule lets in.
func (l *OpenBin) Places(rule int32) int32 { return max(0, l.c.Rules[rule].Most-l.counted[rule]) }

// Full says that no pod of any row fits any more.
func (l *OpenBin) Full() bool {
	for r, q := range l.c.leastRequests {
		if l.left[r] < q {
			return true
		}
	}
	return false
}

// ResourceCapacity is how many more pods of a row, up to most, the bin holds, rules aside.
func (l *OpenBin) ResourceCapacity(row, most int32) int32 {
	if !l.HasRoom(row) { // which most do not have, and to divide takes long
		return 0
	}
	k := l.c.NumResources
	left := l.left[:k]
	n := int64(most)
	for r, q := range l.c.Request[int(row)*k:][:k] {
		if f := left[r]; exceeds(q, n, f) {
			n = f / q
		}
	}
	return int32(n)
}

// HasRoom says that a pod of a row fits, rules aside.
func (l *OpenBin) HasRoom(row int32) bool {
	k := l.c.NumResources
	left := l.left[:k]
	for r, q := range l.c.Request[int(row)*k:][:k] {
		if q > left[r] {
			return false
		}
	}
	return true
}

// exceeds says whether n requests of q are more than f. None is negative, and q is at most f. The product may be beyond an
// int64: 2^31 pods of 5 GiB are.
func exceeds(q, n, f int64) bool {
	high, low := bits.Mul64(uint64(q), uint64(n))
	return high > 0 || low > uint64(f)
}

// RuleCapacity is how many more pods of a row, up to n, rules allow.
func (l *OpenBin) RuleCapacity(row, n int32) int32 {
	for _, pt := range l.c.RulesOf[row] {
		if n = min(n, l.capacityUnder(pt, n)); n == 0 {
			return 0
		}
	}
	return n
}

// Takes says that a pod of a row fits, and that rules allow it.
func (l *OpenBin) Takes(row int32) bool { return l.HasRoom(row) && l.RuleCapacity(row, 1) > 0 }

func (l *OpenBin) capacityUnder(pt RulePart, n int32) int32 {
	most, counted := l.c.Rules[pt.Rule].Most, l.counted[pt.Rule]
	switch {
	case !pt.Triggers && l.triggers[pt.Rule] == 0:
		return n
	case pt.Counted:
		return max(0, most-counted)
	case counted > most:
		return 0
	}
	return n
}

// Put adds pods, or takes them away where q is negative.
func (l *OpenBin) Put(row, q int32) {
	k := l.c.NumResources
	if !l.known[row] {
		l.known[row] = true
		l.had = append(l.had, row)
	}
	l.Counts[row] += q
	for r, x := range l.c.Request[int(row)*k : int(row)*k+k] {
		l.left[r] -= x * int64(q)
	}
	for _, pt := range l.c.RulesOf[row] {
		if pt.Triggers {
			l.triggers[pt.Rule] += q
		}
		if pt.Counted {
			l.counted[pt.Rule] += q
		}
	}
}

// Holds says whether a bin can hold a whole filling, whose counts may be 0; what that adds in penalties comes with it.
func (l *OpenBin) Holds(b *Bin, rows, cnt []int32) (penalty int64, ok bool) {
	for x, i := range rows {
		if cnt[x] > 0 && !b.Takes.Has(int(i)) {
			return 0, false
		}
	}
	if !b.Fits(l.Sum(rows, cnt)) {
		return 0, false
	}
	if len(l.c.Rules) > 0 {
		l.Open(b)
		for x, i := range rows {
			if l.Capacity(i, cnt[x]) < cnt[x] {
				return 0, false
			}
			l.Put(i, cnt[x])
		}
	}
	return b.Penalty(rows, cnt), true
}

// Sum is what a filling asks for, until the next one is asked about.
func (l *OpenBin) Sum(rows, cnt []int32) []int64 {
	clear(l.asked)
	for x, i := range rows {
		for r, q := range l.c.Request[int(i)*l.c.NumResources : (int(i)+1)*l.c.NumResources] {
			l.asked[r] += q * int64(cnt[x])
		}
	}
	return l.asked
}

// Fits says whether a bin has that much free.
func (b *Bin) Fits(sum []int64) bool {
	for r, f := range b.Free {
		if sum[r] > max(f, 0) {
			return false
		}
	}
	return true
}

// Penalty is what the pods of a filling cost extra.
func (b *Bin) Penalty(rows, cnt []int32) int64 {
	if b.Penalties == nil {
		return 0
	}
	sum := int64(0)
	for x, i := range rows {
		sum += b.Penalties[i] * int64(cnt[x])
	}
	return sum
}

// Filled are the open bins with what they hold, by row, as fillings: one for each that holds any.
func Filled(c *Problem, bins []int32, open []*OpenBin) []Filling {
	var out []Filling
	for j, b := range bins {
		f := Filling{Bin: b, Copies: 1, Cost: c.Bins[b].Price}
		for i, q := range open[j].Counts {
			if q > 0 {
				f.Rows, f.Counts = append(f.Rows, int32(i)), append(f.Counts, q)
			}
		}
		if len(f.Rows) > 0 {
			out = append(out, f)
		}
	}
	return out
}
