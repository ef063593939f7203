package optimise

import "slices"

// core is the problem in the form that the search wants: equal items are one row, bins that another beats are gone,
// resources that nobody asks for too. Rows and bins are in an order that does not depend on the caller's.
type core struct {
	p *Problem
	// n rows, k resources.
	n, k  int
	count []int32
	req   []int64
	// of are the items of each row, in the caller's order.
	of    [][]int32
	bins  []bin
	rules []rule
	// byRow are the rules that each row has a part in.
	byRow [][]part
	most  []int64
	// unit is, by resource, what all requests are multiples of.
	unit []int64
	// held are the rows that some bin can hold a pod of; stuck says that there are others.
	held  []bool
	stuck bool
	work  int64
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

	// rows are the rows of which one pod fits, room how many fit alone.
	rows []int32
	room []int32
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
	m.buildBins()
	c.unit = c.units()
	c.findMutual()
	c.held = make([]bool, c.n)
	for i := range c.bins {
		c.list(&c.bins[i])
	}
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

func (c *core) width() int {
	if len(c.p.Items) == 0 {
		return 0
	}
	return len(c.p.Items[0].Request)
}

// list fills in which rows a bin can hold at least one pod of.
func (c *core) list(b *bin) {
	for i := range c.n {
		if !b.takes.Has(i) {
			continue
		}
		n := fits(b.free, c.req[i*c.k:(i+1)*c.k], c.count[i])
		n = c.ruleRoom(b, i, n)
		if n > 0 {
			b.rows = append(b.rows, int32(i))
			b.room = append(b.room, n)
			c.held[i] = true
		}
	}
	c.work += int64(c.n * (c.k + 1))
}

// ruleRoom is how many pods of a row, up to n, rules allow on an otherwise empty bin.
func (c *core) ruleRoom(b *bin, row int, n int32) int32 {
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
		if q*n > free[r] {
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
