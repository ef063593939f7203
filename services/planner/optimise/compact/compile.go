// Package compact is a packing problem in the form that the search works on, and packings of it in the making.
//
// Equal items are merged into rows, bins that another bin beats are left out, and resources that no pod asks for are
// dropped, so that the search is small and does not depend on the caller's order. It searches for nothing itself. Start
// reading with Compile, then Plan and OpenBin.
package compact

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// Problem is a packing problem in the form that the search wants: equal items are one row, bins that another beats are
// gone, and so are resources that no pod asks for. Rows and bins are in an order that does not depend on the caller's.
type Problem struct {
	Source *problem.Problem
	// NumRows and NumResources are the dimensions of Request, which is by row and resource.
	NumRows, NumResources int
	Count                 []int32
	Request               []int64
	// leastRequests is, by resource, the least that a pod of any row asks for.
	leastRequests []int64
	// ItemsOf are the items of each row, in the caller's order.
	ItemsOf [][]int32
	Bins    []Bin
	Rules   []Rule
	// Kinds are the rows that differ in nothing but rules, and KindOf the kind of each row. What rules do not matter for is
	// done by kind: there may be thousands of rows, and are some dozens of kinds. Those with equal requests follow each
	// other, what the fewest bins take first; Ties says that there are such. The rows with the fewest rules come first.
	Kinds  [][]int32
	KindOf []int32
	Ties   bool
	// RulesOf are the rules that each row has a part in.
	RulesOf [][]RulePart
	Limits  []int64
	// Unit is, by resource, what all requests are multiples of.
	Unit []int64
	// packable are the rows that some bin can hold a pod of; HasUnpackable says that there are others.
	packable      []bool
	HasUnpackable bool
	// detailed says that bins have their rows.
	detailed bool
	Work     int64
}

// Bin is a kind of node that the search considers.
type Bin struct {
	Index int
	Price int64
	Free  []int64
	Takes bits.Set
	// Copies is how many may be used; never more than there are pods.
	Copies int
	// Limited says that Copies is a real bound.
	Limited bool
	Amount  []int64
	// Penalties is by row; nil where there are no penalties.
	Penalties []int64
	Before    []problem.Before

	// Kinds are those of which one pod fits, rules aside. Rows are the rows of which one pod fits, Alone how many fit
	// alone, which only column generation asks for: see ListRows.
	Kinds []int32
	Rows  []int32
	Alone []int32
}

// Rule bounds how many pods of some rows may be in a bin beside pods that trigger it.
type Rule struct {
	Most int32
	// Mutual says that the same rows trigger it and count.
	Mutual bool
}

// RulePart is what a row has to do with a rule.
type RulePart struct {
	Rule              int32
	Triggers, Counted bool
}

// Compile brings a problem into its inner form.
func Compile(p *problem.Problem) *Problem {
	c := &Problem{Source: p}
	resources := c.resources()
	m := newMerger(c, resources)
	m.hashRules()
	m.groupTakes()
	m.signItems()
	m.mergeItems()
	m.findKinds()
	c.Unit, c.leastRequests = c.units(), c.leastRequest()
	m.buildBins()
	c.orderKinds()
	c.findMutual()
	c.findPackable()
	for _, h := range c.packable {
		c.HasUnpackable = c.HasUnpackable || !h
	}
	return c
}

// findMutual marks the rules that the same rows trigger and count for.
func (c *Problem) findMutual() {
	for r := range c.Rules {
		c.Rules[r].Mutual = true
	}
	for _, parts := range c.RulesOf {
		for _, pt := range parts {
			if !pt.Triggers || !pt.Counted {
				c.Rules[pt.Rule].Mutual = false
			}
		}
	}
}

// MostWanted are the rules that let only so many pods of their own rows share a bin, those first that ask for the most
// bins for a demand; up to most of them.
func (c *Problem) MostWanted(demand []int32, most int) []int32 {
	bins := make([]float64, len(c.Rules))
	for i, n := range demand {
		for _, pt := range c.RulesOf[i] {
			if r := &c.Rules[pt.Rule]; r.Mutual && r.Most > 0 {
				bins[pt.Rule] += float64(n) / float64(r.Most)
			}
		}
	}
	var out []int32
	for r, n := range bins {
		if n > 0 {
			out = append(out, int32(r))
		}
	}
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(bins[b], bins[a]) })
	return out[:min(len(out), most)]
}

// Pods is how many there are that some bin could hold.
func (c *Problem) Pods() int {
	n := 0
	for i, q := range c.Count {
		if c.packable[i] {
			n += int(q)
		}
	}
	return n
}

// Existing says that a bin costs nothing and there is only so much of it, as is the case with nodes that exist.
func (b *Bin) Existing() bool { return b.Limited && b.Price == 0 }

// resources are those that some pod asks for.
func (c *Problem) resources() []int {
	var out []int
	for r := range c.width() {
		if slices.ContainsFunc(c.Source.Items, func(it problem.Item) bool { return it.Count > 0 && it.Request[r] > 0 }) {
			out = append(out, r)
		}
	}
	return out
}

// Stopped says that the caller wants no more work done.
func (c *Problem) Stopped() bool { return c.Source.Stop != nil && c.Source.Stop() }

func (c *Problem) width() int {
	if len(c.Source.Items) == 0 {
		return 0
	}
	return len(c.Source.Items[0].Request)
}

func (c *Problem) leastRequest() []int64 {
	out := make([]int64, c.NumResources)
	for r := range out {
		for i := range c.NumRows {
			if q := c.Request[i*c.NumResources+r]; i == 0 || q < out[r] {
				out[r] = q
			}
		}
	}
	return out
}

// orderKinds puts kinds and their rows in order.
func (c *Problem) orderKinds() {
	wide := make([]int, c.NumRows)
	for _, of := range c.Kinds {
		for b := range c.Bins {
			if c.Bins[b].Takes.Has(int(of[0])) {
				wide[of[0]]++
			}
		}
	}
	slices.SortStableFunc(c.Kinds, func(a, b []int32) int {
		return cmp.Or(c.compareRequests(b[0], a[0]), wide[a[0]]-wide[b[0]])
	})
	for t, of := range c.Kinds {
		c.Ties = c.Ties || t > 0 && c.compareRequests(c.Kinds[t-1][0], of[0]) == 0
		slices.SortStableFunc(of, func(a, b int32) int { return len(c.RulesOf[a]) - len(c.RulesOf[b]) })
		for _, i := range of {
			c.KindOf[i] = int32(t)
		}
	}
}

func (c *Problem) compareRequests(a, b int32) int {
	k := int32(c.NumResources)
	return slices.Compare(c.Request[a*k:(a+1)*k], c.Request[b*k:(b+1)*k])
}

// findPackable finds what each bin can hold at least one pod of: kinds, and in packable the rows that some bin holds.
func (c *Problem) findPackable() {
	c.packable = make([]bool, c.NumRows)
	kinds := make([]int32, 0, len(c.Bins)*len(c.Kinds))
	bare := make([]bool, len(c.Kinds)) // held by a bin that rules see nothing on
	for i := range c.Bins {
		b := &c.Bins[i]
		from := len(kinds)
		for t, of := range c.Kinds {
			first := int(of[0])
			if !b.Takes.Has(first) || fits(b.Free, c.Request[first*c.NumResources:(first+1)*c.NumResources], 1) == 0 {
				continue
			}
			kinds = append(kinds, int32(t))
			bare[t] = bare[t] || len(b.Before) == 0
		}
		b.Kinds = kinds[from:len(kinds):len(kinds)]
		if len(b.Before) > 0 {
			c.addPackableBeside(b)
		}
		c.Work += int64(c.NumRows + len(c.Kinds)*(c.NumResources+1))
	}
	for t, rows := range c.Kinds {
		for _, j := range rows {
			c.packable[j] = c.packable[j] || bare[t] && c.ruleCapacity(&Bin{}, j, 1) > 0
		}
	}
}

// addPackableBeside finds the rows that a bin holds beside what is on it.
func (c *Problem) addPackableBeside(b *Bin) {
	for _, t := range b.Kinds {
		for _, j := range c.Kinds[t] {
			c.packable[j] = c.packable[j] || c.ruleCapacity(b, j, 1) > 0
		}
	}
}

// ListRows lists the rows of each bin.
func (c *Problem) ListRows() {
	if c.detailed {
		return
	}
	c.detailed = true
	most := make([]int32, len(c.Kinds))
	for i := range c.Bins {
		c.listRows(&c.Bins[i], most)
	}
}

// listRows lists the rows that a bin can hold at least one pod of; most is memory, by kind.
func (c *Problem) listRows(b *Bin, most []int32) {
	clear(most)
	rows := 0
	for _, t := range b.Kinds {
		first := int(c.Kinds[t][0])
		most[t] = fits(b.Free, c.Request[first*c.NumResources:(first+1)*c.NumResources], math.MaxInt32)
		rows += len(c.Kinds[t])
	}
	b.Rows, b.Alone = make([]int32, 0, rows), make([]int32, 0, rows)
	for i, t := range c.KindOf {
		if most[t] == 0 {
			continue
		}
		if n := c.ruleCapacity(b, int32(i), min(most[t], c.Count[i])); n > 0 {
			b.Rows = append(b.Rows, int32(i))
			b.Alone = append(b.Alone, n)
		}
	}
}

// ruleCapacity is how many pods of a row, up to n, rules allow on an otherwise empty bin.
func (c *Problem) ruleCapacity(b *Bin, row, n int32) int32 {
	for _, pt := range c.RulesOf[row] {
		triggered, counted := pt.Triggers, int32(0)
		for _, x := range b.Before {
			if x.Rule == int(pt.Rule) {
				triggered = triggered || x.Triggers
				counted += int32(x.Counted)
			}
		}
		most := c.Rules[pt.Rule].Most
		switch {
		case !triggered:
		case pt.Counted:
			n = min(n, max(0, most-counted))
		case counted > most:
			n = 0
		}
	}
	return n
}

// fits is how many pods, up to most, fit.
func fits(free, req []int64, most int32) int32 {
	n := int64(most)
	for r, q := range req {
		if q <= 0 {
			continue
		}
		if free[r] < q {
			return 0
		}
		if exceeds(q, n, free[r]) {
			n = free[r] / q
		}
	}
	return int32(n)
}

// totalRequest is what all pods together ask for.
func (c *Problem) totalRequest() []int64 {
	total := make([]int64, c.NumResources)
	for i := range c.NumRows {
		for r := range c.NumResources {
			total[r] += int64(c.Count[i]) * c.Request[i*c.NumResources+r]
		}
	}
	return total
}

// front holds the bins that may beat others, the last that did first: it tends to beat the next too.
type front struct {
	c     *Problem
	total []int64
	order []int
}

// beaten says whether a bin kept before is as good in everything.
func (f *front) beaten(b *Bin) bool {
	for j, k := range f.order {
		f.c.Work += int64(f.c.NumResources)
		if f.c.Bins[k].beats(b, f.total) {
			copy(f.order[1:j+1], f.order[:j])
			f.order[0] = k
			return true
		}
	}
	return false
}

// beats says that whatever o holds b holds as cheaply, without using up more of any limit.
func (b *Bin) beats(o *Bin, total []int64) bool {
	for r, f := range b.Free {
		if f < o.Free[r] && f < total[r] {
			return false
		}
	}
	if !b.Spares(o) || b.Price > o.Price || len(b.Before) > 0 {
		return false
	}
	for w, x := range o.Takes {
		if x&^b.Takes[w] != 0 {
			return false
		}
	}
	for i, x := range b.Penalties {
		if x > 0 && o.Takes.Has(i) && (o.Penalties == nil || x > o.Penalties[i]) {
			return false
		}
	}
	return true
}

// Spares says that b uses up no more of any limit than o.
func (b *Bin) Spares(o *Bin) bool {
	for l, x := range b.Amount {
		if x > o.Amount[l] {
			return false
		}
	}
	return true
}

// units are the greatest common divisors of all requests, by resource.
func (c *Problem) units() []int64 {
	out := make([]int64, c.NumResources)
	for i, q := range c.Request {
		a := CommonDivisor(out[i%c.NumResources], q)
		out[i%c.NumResources] = max(a, -a)
	}
	for r := range out {
		out[r] = max(1, out[r])
	}
	return out
}

// InitialWorth are what a pod of each row is worth at first: the cheapest fraction of a bin that is as large as it.
func (c *Problem) InitialWorth() []float64 {
	out := make([]float64, c.NumRows)
	for b := range c.Bins {
		x := &c.Bins[b]
		if x.Existing() {
			continue
		}
		for _, t := range x.Kinds {
			i := c.Kinds[t][0]
			s := c.share(x, i)
			v := max(1, float64(float64(x.Price)*s))
			if x.Penalties != nil {
				v += float64(x.Penalties[i])
			}
			if out[i] == 0 || v < out[i] {
				out[i] = v
			}
		}
		c.Work += int64(len(x.Kinds))
	}
	for i, t := range c.KindOf {
		out[i] = out[c.Kinds[t][0]]
	}
	// What only free bins hold is worth most there.
	most := 1.0
	for _, v := range out {
		most = max(most, v)
	}
	for i, v := range out {
		if v == 0 {
			out[i] = 10 * most
		}
	}
	return out
}

// share is the largest part of any resource of a bin that a pod takes.
func (c *Problem) share(b *Bin, row int32) float64 {
	s := 0.0
	for r, q := range c.Request[int(row)*c.NumResources : int(row)*c.NumResources+c.NumResources] {
		if q > 0 {
			s = max(s, float64(q)/float64(b.Free[r]))
		}
	}
	return s
}

// RoundWork is about what a round of column generation takes.
func (c *Problem) RoundWork() int64 {
	const pivots = 16
	n := 0
	for b := range c.Bins {
		for _, t := range c.Bins[b].Kinds {
			n += len(c.Kinds[t])
		}
	}
	return int64(n * (c.NumResources + 1) * pivots)
}

// CommonDivisor is the greatest number that divides both; of either sign, and that of the other where one is 0.
func CommonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
