package knapsack

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/table"
)

// maxTable bounds the entries of one bin's table, which are four bytes each, and maxSteps what is done to fill them;
// once bins are looked at more closely than the first time, there may be lastTable and lastSteps times as many.
const maxTable, maxSteps, lastTable, lastSteps = 1 << 17, 1 << 23, 8, 4

// mostPlaces is how many places a rule has at most that a table counts.
const mostPlaces = 2

// stepsForWork is how many steps of a table count as one of any other loop: nothing is computed in them.
const stepsForWork = 4

// SolveTable solves the knapsack, but for rounding values up, in the scarcest capacities, by a table over how much of
// each is left; the others are paid for at their prices, of the last relaxation. So its value, most, bounds that of every
// filling, more tightly than the linear relaxation where few pods fit. It returns the filling that it found too, as far
// as that keeps to the other resources and rules; the next table takes its memory. ok is false where the table would be
// too large, also for the work that is left, or the search was stopped; it may be larger if it is the last that is tried.
// One for a bound may count the places of a rule.
func (k Knapsack) SolveTable(last, bound bool, left int64) (most float64, f Filling, ok bool) {
	if most, ok = k.p.solveTable(k.kn, k.v, last, bound, left); !ok {
		return 0, Filling{}, false
	}
	return most, Filling{Worth: worthOf(k.v, k.p.counts), Counts: k.p.counts}, true
}

// solveTable leaves the filling in p.counts.
func (p *Packer) solveTable(kn *state, v []float64, last, bound bool, left int64) (upper float64, ok bool) {
	of := p.scarcest(kn, last, bound)
	entries, steps := int64(maxTable), int64(maxSteps)
	if last || of[0] >= p.c.NumResources {
		entries, steps = lastTable*entries, min(lastSteps*steps, stepsForWork*left)
	}
	width, size := [table.Resources]int{1, 1, 1}, int64(1)
	for k, r := range of {
		width[k] = int(p.steps(kn, r)) + 1
		if size *= int64(width[k]); size > entries {
			return 0, false
		}
	}
	p.table.Begin(width)
	rest := p.addRows(kn, v, of)
	needed := p.table.Steps(steps)
	p.Work += int64(len(v) * len(v))
	if needed > steps {
		return 0, false
	}
	worth, ok := p.table.Solve(p.c.Stopped)
	if !ok {
		return 0, false
	}
	p.Work += needed / stepsForWork
	p.walk(kn)
	return (rest + worth) * (1 + 1e-10), true
}

// scarcest are the two resources with the highest prices, the highest first, and a third where it is the last table and
// that is small. For a bound they come after the rule whose few places are worth most, if any are worth anything, and
// what is worth nothing is left out of a large one, which has room for more of the other then.
func (p *Packer) scarcest(kn *state, last, bound bool) []int {
	of, n := make([]int, kn.k), p.c.NumResources
	for r := range of {
		of[r] = r
	}
	byPrice := func(a, b int) int { return cmp.Compare(kn.lam[b], kn.lam[a]) }
	slices.SortStableFunc(of[:n], byPrice)
	slices.SortStableFunc(of[n:], byPrice)
	if bound && n >= 2 {
		rule, two := of[n:n], of[:2]
		if kn.k > n && kn.lam[of[n]] > 0 && p.steps(kn, of[n]) <= mostPlaces {
			rule = of[n : n+1]
		}
		if kn.lam[of[1]] <= 0 && (p.steps(kn, of[0])+1)*(p.steps(kn, of[1])+1) > maxTable/2 {
			two = of[:1]
		}
		if len(rule) > 0 || len(two) == 1 {
			return slices.Concat(rule, two)
		}
	}
	if n < table.Resources {
		return of[:n]
	}
	third := p.steps(kn, of[2]) + 1
	size := (p.steps(kn, of[0]) + 1) * (p.steps(kn, of[1]) + 1) * third
	if !last || kn.lam[of[2]] <= 0 || third > maxTable || size > maxTable || size*int64(len(kn.b.Rows)) > maxSteps {
		return of[:2]
	}
	return of[:table.Resources]
}

// steps is how many steps of a resource a bin has, as far as a table may hold them, or places of a rule.
func (p *Packer) steps(kn *state, r int) int64 {
	if n := p.c.NumResources; r >= n {
		return int64(p.c.Rules[kn.rules[r-n]].Most)
	}
	return max(0, min(kn.b.Free[r]/p.c.Unit[r], lastTable*maxTable))
}

// addRows adds the rows that may be in a filling to the table, less what their pods take of what it does not know, and
// returns what that is worth, with the pods that take nothing else.
func (p *Packer) addRows(kn *state, v []float64, of []int) (rest float64) {
	for r, l := range kn.lam {
		if !slices.Contains(of, r) {
			rest += l
		}
	}
	for x, w := range v {
		for r, l := range kn.lam {
			if !slices.Contains(of, r) {
				w -= float64(l * kn.a[x*kn.k+r])
			}
		}
		if w <= 0 {
			continue
		}
		var step [table.Resources]int
		for k, r := range of {
			if n := p.c.NumResources; r < n {
				step[k] = int(p.c.Request[int(kn.b.Rows[x])*n+r] / p.c.Unit[r])
			} else if kn.a[x*kn.k+r] > 0 {
				step[k] = 1
			}
		}
		if step == [table.Resources]int{} {
			rest += float64(w * kn.u[x])
		} else {
			p.table.Add(int32(x), step, w, int(kn.u[x]))
		}
	}
	return rest
}

// walk reads the best filling out of the table and keeps what of it is possible.
func (p *Packer) walk(kn *state) {
	p.counts = slices.Grow(p.counts[:0], len(kn.b.Rows))[:len(kn.b.Rows)]
	clear(p.counts)
	p.open.Open(kn.b)
	p.table.Walk(func(x int32, pods int) {
		n := p.open.Capacity(kn.b.Rows[x], min(int32(pods), int32(kn.u[x])-p.counts[x]))
		p.open.Put(kn.b.Rows[x], n)
		p.counts[x] += n
	})
}

// worthOf is what a filling by index in rows is worth.
func worthOf(v []float64, cnt []int32) float64 {
	sum := 0.0
	for x, q := range cnt {
		sum += float64(v[x] * float64(q))
	}
	return max(0, sum)
}
