// Package swap puts pods that a packing has left onto the bins that it has: where there is room, or in the place of
// another pod that fits elsewhere.
//
// It buys nothing, and lets no pod cost extra that did not. Start reading with Place.
package swap

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// Place puts pods that a plan has left onto bins that it has, moving others where that makes room, until that has taken so
// much work, and says how much it has taken. It asks the problem between two pods whether to stop.
func Place(pl *compact.Plan, open *compact.OpenBin, most int64) (work int64) {
	if pl.Pods == 0 {
		return 0
	}
	p := &placer{pl: pl, c: pl.Problem, open: open, found: make([]int32, pl.Problem.NumRows)}
	p.list()
	p.forget()
	placed := false
	for row, n := range pl.Rest {
		for ; n > 0 && p.work < most && !p.c.Stopped() && (p.put(int32(row)) || p.move(int32(row))); n-- {
			placed = true
		}
	}
	if placed {
		p.write()
	}
	return p.work
}

type placer struct {
	pl    *compact.Plan
	c     *compact.Problem
	open  *compact.OpenBin
	nodes []node
	// found is memory for move: by row, a node that may have a pod of it.
	found []int32
	work  int64
}

// node is one copy of a filling of the plan.
type node struct {
	filling      int
	bin          int32
	left         []int64
	rows, counts []int32
	changed      bool
}

// list makes a node of each copy.
func (p *placer) list() {
	k := p.c.NumResources
	for at, f := range p.pl.Fillings {
		left := slices.Clone(p.c.Bins[f.Bin].Free)
		for x, i := range f.Rows {
			for r, q := range p.c.Request[int(i)*k : int(i+1)*k] {
				left[r] -= q * int64(f.Counts[x])
			}
		}
		for range f.Copies {
			p.nodes = append(p.nodes, node{filling: at, bin: f.Bin, left: slices.Clone(left), rows: slices.Clone(f.Rows), counts: slices.Clone(f.Counts)})
		}
	}
}

// put puts a pod where it may be as it is.
func (p *placer) put(row int32) bool {
	n := p.nodeFor(row, 0)
	if n == none {
		return false
	}
	p.add(int(n), row, 1)
	return true
}

// move puts a pod in the place of any other that fits elsewhere.
func (p *placer) move(row int32) bool {
	for n := range p.nodes {
		x := &p.nodes[n]
		if !p.takes(x, row) {
			continue
		}
		for _, other := range x.rows {
			if p.work++; other == row || !p.hasRoomWithout(x, row, other) {
				continue
			}
			if p.found[other] == unknown {
				p.found[other] = p.nodeFor(other, 0)
			}
			h := p.found[other]
			if int(h) == n {
				h = p.nodeFor(other, n+1)
			}
			if h != none && p.allows(n, row, other) {
				p.add(n, other, -1)
				p.add(n, row, 1)
				p.add(int(h), other, 1)
				return true
			}
		}
	}
	return false
}

// unknown is what it is not known which node has room for, none what no node has.
const unknown, none = -2, -1

// forget forgets what was found.
func (p *placer) forget() {
	for i := range p.found {
		p.found[i] = unknown
	}
}

// nodeFor is the first node from a place on that may have a pod as it is; none for no node.
func (p *placer) nodeFor(row int32, from int) int32 {
	for n := from; n < len(p.nodes); n++ {
		if p.hasRoom(n, row) && p.allows(n, row, none) {
			return int32(n)
		}
	}
	return none
}

// hasRoomWithout says that a node has room for a pod of a row in the place of one of another, rules aside.
func (p *placer) hasRoomWithout(x *node, row, other int32) bool {
	k := p.c.NumResources
	for r, left := range x.left {
		if p.c.Request[int(row)*k+r] > left+p.c.Request[int(other)*k+r] {
			return false
		}
	}
	return true
}

// hasRoom says that a node has room for one more pod of a row, rules aside.
func (p *placer) hasRoom(n int, row int32) bool {
	p.work++
	x, k := &p.nodes[n], p.c.NumResources
	for r, q := range p.c.Request[int(row)*k : int(row+1)*k] {
		if q > x.left[r] {
			return false
		}
	}
	return p.takes(x, row)
}

// takes says that a node's bin takes pods of a row, at no extra price.
func (p *placer) takes(x *node, row int32) bool {
	b := &p.c.Bins[x.bin]
	return b.Takes.Has(int(row)) && (b.Penalties == nil || b.Penalties[row] == 0)
}

// allows says that a node may have one more pod of a row, once one of another is gone.
func (p *placer) allows(n int, row, without int32) bool {
	x := &p.nodes[n]
	p.open.Open(&p.c.Bins[x.bin])
	for k, i := range x.rows {
		q := x.counts[k]
		if i == without {
			q--
		}
		p.open.Put(i, q)
	}
	p.work += int64(len(x.rows) + len(p.c.Rules)/rulesForWork)
	return p.open.Capacity(row, 1) == 1
}

// rulesForWork is how many rules that are cleared count as one step.
const rulesForWork = 8

// add adds pods of a row to a node, or takes one away.
func (p *placer) add(n int, row, pods int32) {
	p.forget()
	x, k := &p.nodes[n], p.c.NumResources
	x.changed = true
	for r, q := range p.c.Request[int(row)*k : int(row+1)*k] {
		x.left[r] -= q * int64(pods)
	}
	at, found := slices.BinarySearch(x.rows, row)
	if !found {
		x.rows, x.counts = slices.Insert(x.rows, at, row), slices.Insert(x.counts, at, 0)
	}
	if x.counts[at] += pods; x.counts[at] == 0 {
		x.rows, x.counts = slices.Delete(x.rows, at, at+1), slices.Delete(x.counts, at, at+1)
	}
}

// write takes the nodes that have changed over into the plan.
func (p *placer) write() {
	for _, x := range p.nodes {
		if x.changed {
			p.pl.Remove(x.filling, 1)
		}
	}
	for _, x := range p.nodes {
		if !x.changed {
			continue
		}
		b := &p.c.Bins[x.bin]
		p.pl.Take(compact.Filling{Bin: x.bin, Copies: 1, Rows: x.rows, Counts: x.counts, Cost: b.Price + b.Penalty(x.rows, x.counts)})
	}
	p.pl.Tidy()
}
