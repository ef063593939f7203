package optimise

import (
	"cmp"
	"math"
	"slices"
)

// core is the problem in the form that the search wants: equal items are one row, bins that another beats are gone,
// resources that nobody asks for too. Rows and bins are in an order that does not depend on the caller's.
type core struct {
	p *Problem
	// n rows, k resources.
	n, k  int
	count []int32
	req   []int64
	// least is, by resource, the least that a pod of any row asks for.
	least []int64
	// of are the items of each row, in the caller's order.
	of    [][]int32
	bins  []bin
	rules []rule
	// kinds are the rows that differ in nothing but rules, and kindOf the kind of each row. What rules do not matter for is
	// done by kind: there may be thousands of rows, and are some dozens of kinds. Those with equal requests follow each
	// other, what the fewest bins take first; twins says that there are such. The rows with the fewest rules come first.
	kinds  [][]int32
	kindOf []int32
	twins  bool
	// byRow are the rules that each row has a part in.
	byRow [][]part
	most  []int64
	// unit is, by resource, what all requests are multiples of.
	unit []int64
	// held are the rows that some bin can hold a pod of; stuck says that there are others.
	held  []bool
	stuck bool
	// detailed says that bins have their rows.
	detailed bool
	work     int64
}

// bin is a kind of node that the search considers.
type bin struct {
	at    int
	price int64
	free  []int64
	takes Set
	// copies is how many may be used; never more than there are pods.
	copies int
	// once says that copies is a real bound.
	once   bool
	amount []int64
	// pen is by row; nil where there are no penalties.
	pen    []int64
	before []Before

	// kinds are those of which one pod fits, rules aside; rows are the rows of which one pod fits, room how many fit alone,
	// which only column generation asks for: see core.detail.
	kinds []int32
	rows  []int32
	room  []int32
}

type rule struct {
	most int32
	// mutual says that the same rows trigger it and count.
	mutual bool
}

// part is what a row has to do with a rule.
type part struct {
	rule              int32
	triggers, counted bool
}

// compile brings a problem into its inner form.
func compile(p *Problem) *core {
	c := &core{p: p}
	resources := c.resources()
	m := newMerger(c, resources)
	m.hashRules()
	m.groupTakes()
	m.signItems()
	m.mergeItems()
	m.findKinds()
	m.buildBins()
	c.orderKinds()
	c.unit, c.least = c.units(), c.leastRequest()
	c.findMutual()
	c.hold()
	for _, h := range c.held {
		c.stuck = c.stuck || !h
	}
	return c
}

// findMutual marks the rules that the same rows trigger and count for.
func (c *core) findMutual() {
	for r := range c.rules {
		c.rules[r].mutual = true
	}
	for _, parts := range c.byRow {
		for _, pt := range parts {
			if !pt.triggers || !pt.counted {
				c.rules[pt.rule].mutual = false
			}
		}
	}
}

// pods is how many there are that some bin could hold.
func (c *core) pods() int {
	n := 0
	for i, q := range c.count {
		if c.held[i] {
			n += int(q)
		}
	}
	return n
}

// gratis says that a bin costs nothing and there is only so much of it, as is the case with nodes that exist.
func (b *bin) gratis() bool { return b.once && b.price == 0 }

// resources are those that some pod asks for.
func (c *core) resources() []int {
	var out []int
	for r := range c.width() {
		if slices.ContainsFunc(c.p.Items, func(it Item) bool { return it.Count > 0 && it.Request[r] > 0 }) {
			out = append(out, r)
		}
	}
	return out
}

func (c *core) stopped() bool { return c.p.Stop != nil && c.p.Stop() }

func (c *core) width() int {
	if len(c.p.Items) == 0 {
		return 0
	}
	return len(c.p.Items[0].Request)
}

func (c *core) leastRequest() []int64 {
	out := make([]int64, c.k)
	for r := range out {
		for i := range c.n {
			if q := c.req[i*c.k+r]; i == 0 || q < out[r] {
				out[r] = q
			}
		}
	}
	return out
}

// orderKinds puts kinds and their rows in order.
func (c *core) orderKinds() {
	wide := make([]int, c.n)
	for _, of := range c.kinds {
		for b := range c.bins {
			if c.bins[b].takes.Has(int(of[0])) {
				wide[of[0]]++
			}
		}
	}
	slices.SortStableFunc(c.kinds, func(a, b []int32) int {
		return cmp.Or(c.compareRequests(b[0], a[0]), wide[a[0]]-wide[b[0]])
	})
	for t, of := range c.kinds {
		c.twins = c.twins || t > 0 && c.compareRequests(c.kinds[t-1][0], of[0]) == 0
		slices.SortStableFunc(of, func(a, b int32) int { return len(c.byRow[a]) - len(c.byRow[b]) })
		for _, i := range of {
			c.kindOf[i] = int32(t)
		}
	}
}

func (c *core) compareRequests(a, b int32) int {
	k := int32(c.k)
	return slices.Compare(c.req[a*k:(a+1)*k], c.req[b*k:(b+1)*k])
}

// hold finds what each bin can hold at least one pod of: kinds, and in held the rows that some bin holds.
func (c *core) hold() {
	c.held = make([]bool, c.n)
	kinds := make([]int32, 0, len(c.bins)*len(c.kinds))
	bare := make([]bool, len(c.kinds)) // held by a bin that rules see nothing on
	for i := range c.bins {
		b := &c.bins[i]
		from := len(kinds)
		for t, of := range c.kinds {
			first := int(of[0])
			if !b.takes.Has(first) || fits(b.free, c.req[first*c.k:(first+1)*c.k], 1) == 0 {
				continue
			}
			kinds = append(kinds, int32(t))
			bare[t] = bare[t] || len(b.before) == 0
		}
		b.kinds = kinds[from:len(kinds):len(kinds)]
		if len(b.before) > 0 {
			c.holdBeside(b)
		}
		c.work += int64(c.n + len(c.kinds)*(c.k+1))
	}
	for t, rows := range c.kinds {
		for _, j := range rows {
			c.held[j] = c.held[j] || bare[t] && c.ruleRoom(&bin{}, j, 1) > 0
		}
	}
}

// holdBeside finds the rows that a bin holds beside what is on it.
func (c *core) holdBeside(b *bin) {
	for _, t := range b.kinds {
		for _, j := range c.kinds[t] {
			c.held[j] = c.held[j] || c.ruleRoom(b, j, 1) > 0
		}
	}
}

// detail lists the rows of each bin.
func (c *core) detail() {
	if c.detailed {
		return
	}
	c.detailed = true
	most := make([]int32, len(c.kinds))
	for i := range c.bins {
		c.list(&c.bins[i], most)
	}
}

// list lists the rows that a bin can hold at least one pod of; most is memory, by kind.
func (c *core) list(b *bin, most []int32) {
	clear(most)
	rows := 0
	for _, t := range b.kinds {
		first := int(c.kinds[t][0])
		most[t] = fits(b.free, c.req[first*c.k:(first+1)*c.k], math.MaxInt32)
		rows += len(c.kinds[t])
	}
	b.rows, b.room = make([]int32, 0, rows), make([]int32, 0, rows)
	for i, t := range c.kindOf {
		if most[t] == 0 {
			continue
		}
		if n := c.ruleRoom(b, int32(i), min(most[t], c.count[i])); n > 0 {
			b.rows = append(b.rows, int32(i))
			b.room = append(b.room, n)
		}
	}
}

// ruleRoom is how many pods of a row, up to n, rules allow on an otherwise empty bin.
func (c *core) ruleRoom(b *bin, row, n int32) int32 {
	for _, pt := range c.byRow[row] {
		triggered, counted := pt.triggers, int32(0)
		for _, x := range b.before {
			if x.Rule == int(pt.rule) {
				triggered = triggered || x.Triggers
				counted += int32(x.Counted)
			}
		}
		most := c.rules[pt.rule].most
		switch {
		case !triggered:
		case pt.counted:
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

// total is what all pods together ask for.
func (c *core) total() []int64 {
	total := make([]int64, c.k)
	for i := range c.n {
		for r := range c.k {
			total[r] += int64(c.count[i]) * c.req[i*c.k+r]
		}
	}
	return total
}

// front holds the bins that may beat others, the last that did first: it tends to beat the next too.
type front struct {
	c     *core
	total []int64
	order []int
}

// beaten says whether a bin kept before is as good in everything.
func (f *front) beaten(b *bin) bool {
	for j, k := range f.order {
		f.c.work += int64(f.c.k)
		if f.c.bins[k].beats(b, f.total) {
			copy(f.order[1:j+1], f.order[:j])
			f.order[0] = k
			return true
		}
	}
	return false
}

// beats says that whatever o holds b holds as cheaply, without using up more of any limit.
func (b *bin) beats(o *bin, total []int64) bool {
	for r, f := range b.free {
		if f < o.free[r] && f < total[r] {
			return false
		}
	}
	if !b.spares(o) || b.price > o.price || len(b.before) > 0 {
		return false
	}
	for w, x := range o.takes {
		if x&^b.takes[w] != 0 {
			return false
		}
	}
	for i, x := range b.pen {
		if x > 0 && o.takes.Has(i) && (o.pen == nil || x > o.pen[i]) {
			return false
		}
	}
	return true
}

// spares says that b uses up no more of any limit than o.
func (b *bin) spares(o *bin) bool {
	for l, x := range b.amount {
		if x > o.amount[l] {
			return false
		}
	}
	return true
}
