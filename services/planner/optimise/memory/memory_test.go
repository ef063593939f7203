package memory_test

import (
	"reflect"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/memory"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// simple is a problem of three pods, of which two fit onto a node; stops counts how often the solver asks whether to stop.
func simple(stops *int, stop bool) *problem.Problem {
	all := bits.New(1)
	all.Add(0)
	return &problem.Problem{
		Items:     []problem.Item{{Count: 3, Request: []int64{2}}},
		Bins:      []problem.Bin{{Price: 10, Free: []int64{4}, Takes: all, Most: -1, Before: []problem.Before{{Rule: 0}}}},
		Rules:     []problem.Rule{{Trigger: all, Counted: all, Most: 2}},
		Limits:    []problem.Limit{{Amount: []int64{1}, Most: 5}},
		Penalties: []problem.Penalty{{Price: 1}},
		Stop:      func() bool { *stops++; return stop },
	}
}

func TestMemorySolvesEqualProblemsOnce(t *testing.T) {
	var m memory.Memory
	var first, second int
	want := m.Solve(simple(&first, false))
	if got := m.Solve(simple(&second, false)); !reflect.DeepEqual(got, want) {
		t.Errorf("the second time the solution is %v, want %v", got, want)
	}
	if first == 0 || second != 0 {
		t.Errorf("the solver asked %d and %d times whether to stop, want none the second time", first, second)
	}
}

func TestMemoryTakesABoundForOneThatMayBeLower(t *testing.T) {
	var m memory.Memory
	var first, second, third int
	bound := func(asked *int, known int64) problem.Problem {
		p := simple(asked, false)
		p.BoundOnly, p.Known = true, known
		return *p
	}
	plans := []problem.Problem{bound(&first, 12), bound(&second, 11), bound(&third, 13)}
	want := m.Solve(&plans[0])
	if got := m.Solve(&plans[1]); !reflect.DeepEqual(got, want) || second > 0 {
		t.Errorf("for a cheaper plan the bound is %v, want %v; it was asked %d times whether to stop", got, want, second)
	}
	if m.Solve(&plans[2]); third == 0 {
		t.Error("what is proven up to the cost of one plan was taken for a more expensive one")
	}
}

func TestMemoryTellsProblemsApart(t *testing.T) {
	changes := map[string]func(*problem.Problem){
		"count":      func(p *problem.Problem) { p.Items[0].Count = 4 },
		"request":    func(p *problem.Problem) { p.Items[0].Request = []int64{1} },
		"price":      func(p *problem.Problem) { p.Bins[0].Price = 11 },
		"free":       func(p *problem.Problem) { p.Bins[0].Free = []int64{6} },
		"takes":      func(p *problem.Problem) { p.Bins[0].Takes = bits.New(1) },
		"copies":     func(p *problem.Problem) { p.Bins[0].Most = 1 },
		"before":     func(p *problem.Problem) { p.Bins[0].Before[0].Counted = 1 },
		"triggers":   func(p *problem.Problem) { p.Bins[0].Before[0].Triggers = true },
		"rule":       func(p *problem.Problem) { p.Rules[0].Most = 1 },
		"trigger":    func(p *problem.Problem) { p.Rules[0].Trigger = bits.New(1) },
		"counted":    func(p *problem.Problem) { p.Rules[0].Counted = bits.New(1) },
		"limit":      func(p *problem.Problem) { p.Limits[0].Most = 1 },
		"amount":     func(p *problem.Problem) { p.Limits[0].Amount = []int64{2} },
		"penalty":    func(p *problem.Problem) { p.Penalties[0].Price = 2 },
		"work":       func(p *problem.Problem) { p.Work = -1 },
		"gap":        func(p *problem.Problem) { p.GapTarget = 0.5 },
		"bound only": func(p *problem.Problem) { p.BoundOnly = true },
		"known":      func(p *problem.Problem) { p.Known = 12 },
		"tried":      func(p *problem.Problem) { p.Tried = true },
		"loose":      func(p *problem.Problem) { p.Loose = true },
		"worth":      func(p *problem.Problem) { p.Worth = true },
		"drop":       func(p *problem.Problem) { p.Drop = true },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			var m memory.Memory
			var asked, none int
			m.Solve(simple(&none, false))
			p, alone := simple(&asked, false), simple(&none, false)
			change(p)
			change(alone)
			if got, want := m.Solve(p), optimise.Solve(alone); !reflect.DeepEqual(got, want) {
				t.Errorf("the solution is %v, want %v", got, want)
			}
			if asked == 0 {
				t.Error("it was taken for the problem of before")
			}
		})
	}
}

// TestMemoryComparesAllFields fails for a field that is new: it is to be compared in answers, and changed above.
func TestMemoryComparesAllFields(t *testing.T) {
	for _, x := range []struct {
		of     reflect.Type
		fields int
	}{
		{reflect.TypeFor[problem.Problem](), 14},
		{reflect.TypeFor[problem.Item](), 2},
		{reflect.TypeFor[problem.Bin](), 5},
		{reflect.TypeFor[problem.Before](), 3},
		{reflect.TypeFor[problem.Rule](), 3},
		{reflect.TypeFor[problem.Limit](), 2},
		{reflect.TypeFor[problem.Penalty](), 3},
	} {
		if n := x.of.NumField(); n != x.fields {
			t.Errorf("%s has %d fields, and %d are compared", x.of, n, x.fields)
		}
	}
}

func TestMemoryForgetsWhatWasStopped(t *testing.T) {
	var m memory.Memory
	var stopped, whole int
	m.Solve(simple(&stopped, true))
	if got := m.Solve(simple(&whole, false)); whole == 0 || got.Left[0] > 0 {
		t.Errorf("after a search that was stopped the solution is %v", got)
	}
}

func TestMemoryKeepsTheLastFew(t *testing.T) {
	var m memory.Memory
	var n int
	for work := range int64(100) {
		p := simple(&n, false)
		p.Work = 1_000_000 + work
		m.Solve(p)
	}
	old, last := 0, 0
	for _, x := range []struct {
		work  int64
		asked *int
	}{{99, &last}, {0, &old}} {
		p := simple(x.asked, false)
		p.Work = 1_000_000 + x.work
		m.Solve(p)
	}
	if last > 0 || old == 0 {
		t.Errorf("the last problem was solved again: %v, the first of a hundred: %v", last > 0, old > 0)
	}
}
