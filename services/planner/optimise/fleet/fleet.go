// Package fleet finds out how many nodes of each bin to buy, before what is on them: numbers of nodes whose sums have
// what all pods ask for, at the least cost. Where few nodes are needed that is a better bound than any programme over
// parts of nodes, and says what a better plan may look like.
//
// What it proves holds for all plans; which of its fleets hold the pods is found out by trying. Start reading with Search.
package fleet

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/knapsack"
)

// Search looks for fleets.
type Search struct {
	Work int64

	c *compact.Problem
	// y is what pods are worth: no filling is worth more than its bin.
	y []float64
	// sums are what fleets must have.
	sums []sum
	// unit divides all prices.
	unit int64
}

// sum is what all nodes together must have of something, as parts of what is asked for, by bin.
type sum []float64

// mostGroups is of how many groups of rows sums are known that only some bins take.
const mostGroups = 64

// asked is what sums are scaled to.
const asked = 100

// Suits says whether bins are all that matters: nothing is there yet, and there is no end of any.
func Suits(c *compact.Problem) bool {
	return len(c.Limits) == 0 && !c.HasUnpackable && c.Bins[0].Price > 0 &&
		!slices.ContainsFunc(c.Bins, func(b compact.Bin) bool { return b.Limited || b.Penalties != nil || len(b.Before) > 0 })
}

// New is a search in a problem that suits, where pods are worth y and nothing holds pods that are worth more than it costs.
func New(c *compact.Problem, y []float64) *Search {
	s := &Search{c: c, y: y}
	c.ListRows()
	for b := range c.Bins {
		s.unit = compact.CommonDivisor(s.unit, c.Bins[b].Price)
	}
	var most []float64
	most, s.Work = knapsack.MostWorth(c, y)
	need := 0.0
	for i, n := range c.Count {
		need += float64(float64(n) * y[i])
	}
	v := make(sum, len(c.Bins))
	for b := range c.Bins {
		v[b] = min(most[b], float64(c.Bins[b].Price)*(1+1e-9))
	}
	s.add(v, need)
	s.addGroups()
	s.addRounded()
	s.addPlaces()
	return s
}

// addPlaces adds the places that pods ask for which rules keep apart.
func (s *Search) addPlaces() {
	c := s.c
	for _, k := range c.MostWanted(c.Count, mostRules) {
		need, v := 0.0, make(sum, len(c.Bins))
		counted := make([]bool, c.NumRows)
		for i, parts := range c.RulesOf {
			if slices.ContainsFunc(parts, func(pt compact.RulePart) bool { return pt.Rule == k }) {
				counted[i] = true
				need += float64(c.Count[i])
			}
			s.Work += int64(1 + len(parts))
		}
		for b := range c.Bins {
			at := slices.IndexFunc(c.Bins[b].Rows, func(i int32) bool { return counted[i] })
			if at >= 0 {
				v[b] = float64(c.Rules[k].Most)
			} else {
				at = len(c.Bins[b].Rows)
			}
			s.Work += int64(1 + at)
		}
		s.add(v, need)
	}
}

// mostRules is of how many rules places are counted: of those that ask for the most nodes.
const mostRules = 64

// mostSteps is how many sums there are of one resource in steps.
const mostSteps = 64

// addRounded adds what pods ask for of each resource in whole steps, if a node has no more than whole ones, too: pods
// of 8 cores need a node of 16 each, if that keeps a little for itself. Steps are as large as requests.
func (s *Search) addRounded() {
	c := s.c
	k := c.NumResources
	for r := range k {
		var steps []int64
		for i, n := range c.Count {
			if q := c.Request[i*k+r]; n > 0 && q > 0 {
				steps = append(steps, q)
			}
		}
		slices.Sort(steps)
		steps = slices.Compact(steps)
		for x := range min(mostSteps, len(steps)) {
			step := steps[x*len(steps)/min(mostSteps, len(steps))]
			need, v := 0.0, make(sum, len(c.Bins))
			for i, n := range c.Count {
				need += float64(float64(n) * float64(c.Request[i*k+r]/step))
			}
			for b := range c.Bins {
				v[b] = float64(max(0, c.Bins[b].Free[r]) / step)
			}
			s.add(v, need)
			s.Work += int64(c.NumRows + len(c.Bins))
		}
	}
}

func (s *Search) add(v sum, need float64) {
	if need <= 0 {
		return
	}
	for b := range v {
		v[b] *= asked / need * (1 + 1e-9) // whatever rounding errors did
	}
	s.sums = append(s.sums, v)
}

// addGroups adds what pods ask for that the same bins take, or some of these.
func (s *Search) addGroups() {
	c := s.c
	takers := make([][]bool, c.NumRows)
	for i := range takers {
		takers[i] = make([]bool, len(c.Bins))
	}
	for b := range c.Bins {
		for _, i := range c.Bins[b].Rows {
			takers[i][b] = true
		}
	}
	groups := [][]bool{slices.Repeat([]bool{true}, len(c.Bins))}
	for i, t := range takers {
		if c.Count[i] > 0 && len(groups) < mostGroups && !slices.ContainsFunc(groups, func(g []bool) bool { return slices.Equal(g, t) }) {
			groups = append(groups, t)
		}
	}
	for _, g := range groups {
		for r := range c.NumResources {
			s.addGroup(g, takers, r)
		}
		s.Work += int64(c.NumRows * len(c.Bins))
	}
}

// addGroup adds what is asked for of a resource that no other bins take than those of a group.
func (s *Search) addGroup(group []bool, takers [][]bool, r int) {
	c, need := s.c, 0.0
	for i, t := range takers {
		if within(t, group) {
			need += float64(float64(c.Count[i]) * float64(c.Request[i*c.NumResources+r]))
		}
	}
	v := make(sum, len(c.Bins))
	for b, in := range group {
		if f := c.Bins[b].Free[r]; in && c.Unit[r] > 0 {
			v[b] = float64(max(0, f-f%c.Unit[r]))
		}
	}
	s.add(v, need)
}

// within says that all of a are in b.
func within(a, b []bool) bool {
	for k, in := range a {
		if in && !b[k] {
			return false
		}
	}
	return true
}
