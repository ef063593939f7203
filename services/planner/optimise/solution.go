package optimise

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/parts"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// solveParts solves each part by itself: their packings are one together, and so are their bounds, where all have one.
func solveParts(p *problem.Problem, some []parts.Part) Solution {
	out := Solution{Left: make([]int, len(p.Items)), BoundKind: KindExact}
	if p.Worth {
		out.Worth = make([]float64, len(p.Items))
	}
	pods := 0
	for _, item := range p.Items {
		pods += item.Count
	}
	for _, x := range some {
		s := solveOne(&x.Problem, len(some)-1, pods)
		for _, pattern := range s.Patterns {
			pattern.Bin = x.Bins[pattern.Bin]
			for k := range pattern.Counts {
				pattern.Counts[k].Item = x.Items[pattern.Counts[k].Item]
			}
			out.Patterns = append(out.Patterns, pattern)
		}
		for k, i := range x.Items {
			out.Left[i] = s.Left[k]
			if p.Worth {
				out.Worth[i] = s.Worth[k]
			}
		}
		if s.BoundKind == KindNone && !slices.ContainsFunc(s.Left, func(n int) bool { return n > 0 }) {
			s.BoundKind = KindResource // of nothing: all of it is on bins that cost nothing
		}
		out.Cost, out.Bound, out.BoundKind = out.Cost+s.Cost, out.Bound+s.Bound, min(out.BoundKind, s.BoundKind)
		out.Work.add(s.Work)
	}
	if out.BoundKind == KindNone || out.Bound == 0 && out.Cost > 0 {
		out.Bound, out.BoundKind = 0, KindNone
	}
	slices.SortFunc(out.Patterns, comparePatterns)
	return out
}

// solution brings the best plan into the caller's terms.
func (s *solver) solution() Solution {
	c, pl := s.c, s.best
	s.work.Greedy = s.greedy.work
	pl.Tidy()
	out := Solution{Left: make([]int, len(c.Source.Items)), Cost: pl.Cost, Work: s.work}
	d := newDistributor(c)
	for _, p := range pl.Fillings {
		d.distribute(p)
	}
	out.Patterns = d.out
	d.reportLeft(out.Left)
	if c.Source.Worth {
		out.Worth = make([]float64, len(c.Source.Items))
		for row, v := range s.worth {
			for _, item := range c.ItemsOf[row] {
				out.Worth[item] = v
			}
		}
	}
	if pl.Pods == 0 && !c.HasUnpackable && s.kind != KindNone {
		out.Bound, out.BoundKind = min(s.bound, pl.Cost), s.kind
	}
	slices.SortFunc(out.Patterns, comparePatterns)
	return out
}

func comparePatterns(a, b Pattern) int {
	return cmp.Or(cmp.Compare(a.Bin, b.Bin), slices.CompareFunc(a.Counts, b.Counts, func(x, y Count) int {
		return cmp.Or(cmp.Compare(x.Item, y.Item), cmp.Compare(y.Pods, x.Pods))
	}))
}

// distributor hands the pods of rows out to the items that the rows were made of, in the items' order.
type distributor struct {
	c *compact.Problem
	// at is, by row, the item whose turn it is, and left what is left of it.
	at   []int
	left []int
	out  []Pattern
}

func newDistributor(c *compact.Problem) *distributor {
	d := &distributor{c: c, at: make([]int, c.NumRows), left: make([]int, c.NumRows)}
	for i, of := range c.ItemsOf {
		d.left[i] = c.Source.Items[of[0]].Count
	}
	return d
}

// distribute adds the patterns for all copies of a filling: as few as items allow.
func (d *distributor) distribute(p compact.Filling) {
	for copies := int(p.Copies); copies > 0; {
		n := copies
		for x, i := range p.Rows {
			n = min(n, max(1, d.left[i]/int(p.Counts[x])))
		}
		pattern := Pattern{Bin: d.c.Bins[p.Bin].Index, Copies: n, Counts: make([]Count, 0, len(p.Rows))}
		for x, i := range p.Rows {
			pattern.Counts = d.takeItems(pattern.Counts, int(i), int(p.Counts[x]), n)
		}
		slices.SortFunc(pattern.Counts, func(a, b Count) int { return cmp.Compare(a.Item, b.Item) })
		d.out = append(d.out, pattern)
		copies -= n
	}
}

// takeItems takes q pods of a row for each of n copies. If one item does not have them all, n is 1.
func (d *distributor) takeItems(counts []Count, row, q, n int) []Count {
	for q > 0 {
		got := min(q, d.left[row]/n)
		if got > 0 {
			counts = append(counts, Count{Item: int(d.c.ItemsOf[row][d.at[row]]), Pods: got})
		}
		q -= got
		d.left[row] -= got * n
		if d.left[row] == 0 && d.at[row]+1 < len(d.c.ItemsOf[row]) {
			d.at[row]++
			d.left[row] = d.c.Source.Items[d.c.ItemsOf[row][d.at[row]]].Count
		}
	}
	return counts
}

// reportLeft says which pods have no bin.
func (d *distributor) reportLeft(left []int) {
	for i, of := range d.c.ItemsOf {
		left[of[d.at[i]]] = d.left[i]
		for _, item := range of[d.at[i]+1:] {
			left[item] = d.c.Source.Items[item].Count
		}
	}
}
