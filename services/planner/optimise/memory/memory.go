// Package memory solves packing problems, and those that it has solved lately not once more.
//
// It never solves anything itself: package optimise does. Start reading with Memory.
package memory

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// kept is how many solutions are remembered.
const kept = 16

// Memory remembers the last problems and their solutions. Neither may be changed once they were solved. The zero Memory
// is empty; it belongs to one goroutine.
type Memory struct {
	known []solved
	next  int
}

type solved struct {
	problem  *problem.Problem
	solution optimise.Solution
}

// Solve is optimise.Solve. Where that was stopped, its solution is not remembered.
func (m *Memory) Solve(p *problem.Problem) optimise.Solution {
	for _, k := range m.known {
		if answers(k.problem, p) {
			return k.solution
		}
	}
	s := solved{p, optimise.Solve(p)}
	if p.Stop != nil && p.Stop() {
		return s.solution
	}
	if len(m.known) < kept {
		m.known = append(m.known, s)
	} else {
		m.known[m.next], m.next = s, (m.next+1)%kept
	}
	return s.solution
}

// answers says that the solution of q is one of p: they are the same, but for when they are to stop. Of
// bounds q may know of a more expensive plan: what it proves holds for the cheaper one, too.
func answers(q, p *problem.Problem) bool {
	return p.Work == q.Work && p.GapTarget == q.GapTarget && p.BoundOnly == q.BoundOnly && p.Tried == q.Tried && p.Loose == q.Loose &&
		p.Worth == q.Worth && p.Drop == q.Drop && (p.Known == q.Known || p.Known < q.Known && p.Known > 0) &&
		slices.EqualFunc(p.Items, q.Items, equalItems) && slices.EqualFunc(p.Bins, q.Bins, equalBins) &&
		slices.EqualFunc(p.Rules, q.Rules, equalRules) && slices.EqualFunc(p.Limits, q.Limits, equalLimits) && slices.Equal(p.Penalties, q.Penalties)
}

func equalItems(a, b problem.Item) bool {
	return a.Count == b.Count && slices.Equal(a.Request, b.Request)
}

func equalBins(a, b problem.Bin) bool {
	return a.Price == b.Price && a.Most == b.Most && slices.Equal(a.Free, b.Free) && a.Takes.Equal(b.Takes) && slices.Equal(a.Before, b.Before)
}

func equalRules(a, b problem.Rule) bool {
	return a.Most == b.Most && a.Trigger.Equal(b.Trigger) && a.Counted.Equal(b.Counted)
}

func equalLimits(a, b problem.Limit) bool {
	return a.Most == b.Most && slices.Equal(a.Amount, b.Amount)
}
