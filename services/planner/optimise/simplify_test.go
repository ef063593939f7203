package optimise_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// manyRows are 2,000 pods of 30 requests in three zones. A fifth must be apart, a fifth is tied to a zone, and those of one label and
// request out of seven each are kept apart from another's: 500 rows and more, too many for a programme. Bins are one type in each of six
// sizes and three zones, at the same price everywhere; withLabels false leaves the rules about labels out.
func manyRows(withLabels bool) *problem.Problem {
	const labels, zones = 7, 3
	p := &problem.Problem{GapTarget: 0.003}
	cpus, memories := []int64{100, 250, 500, 1000, 1500}, []int64{100, 256, 512, 1024, 2048, 4096}
	var apart []int
	zoneOf := map[int]int{}
	byLabel := make([][]int, labels)
	add := func(count int, request []int64) int {
		p.Items = append(p.Items, problem.Item{Count: count, Request: request})
		return len(p.Items) - 1
	}
	for x, cpu := range cpus {
		for y, memory := range memories {
			request := []int64{cpu, memory}
			apart = append(apart, add(13, request))
			for z := range zones {
				zoneOf[add(4+(x+y+z)%2, request)] = z
			}
			for l := range labels {
				byLabel[l] = append(byLabel[l], add(5, request))
			}
		}
	}
	all := len(p.Items)
	for z := range zones {
		takes := problem.NewSet(all)
		for i := range p.Items {
			if of, tied := zoneOf[i]; !tied || of == z {
				takes.Add(i)
			}
		}
		for _, cores := range []int64{1, 2, 4, 8, 16, 32} {
			p.Bins = append(p.Bins, problem.Bin{Price: 20_000 * cores, Free: []int64{1000*cores - 100, 4096*cores - 400}, Takes: takes, Most: -1})
		}
	}
	set := func(items []int) problem.Set {
		out := problem.NewSet(all)
		for _, i := range items {
			out.Add(i)
		}
		return out
	}
	p.Rules = []problem.Rule{{Trigger: set(apart), Counted: set(apart), Most: 1}}
	for l := range labels {
		if withLabels {
			p.Rules = append(p.Rules, problem.Rule{Trigger: set(byLabel[l]), Counted: set(byLabel[(l+1)%labels]), Most: 1})
		}
	}
	return p
}

func TestTooManyRowsForAProgrammeArePackedAsASimplerProblemIs(t *testing.T) {
	p := manyRows(true)
	s := optimise.Solve(p)
	if bad := check(p, s); bad != "" {
		t.Fatal(bad)
	}
	for i, n := range s.Left {
		if n > 0 {
			t.Fatalf("%d pods of item %d are left", n, i)
		}
	}
	fewer := manyRows(false)
	bound := optimise.Solve(fewer).Bound
	p.Work = -1
	greedy := optimise.Solve(p)
	t.Logf("cost %d, greedy %d, bound %d", s.Cost, greedy.Cost, bound)
	// The greedy search fills large bins first, and has none of the pods left that those which must be apart could share their bins with.
	if saved := greedy.Cost - s.Cost; 2*saved < greedy.Cost-bound {
		t.Errorf("it costs %d, the greedy plan %d, and the bound is %d: want half of the difference saved", s.Cost, greedy.Cost, bound)
	}
}
