package optimise_test

import (
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"math/rand/v2"
	"testing"
	"time"
)

func TestDbg(t *testing.T) {
	run := func(name string, p *optimise.Problem) {
		a, c := time.Now(), cpu()
		s := optimise.Solve(p)
		left := 0
		for _, n := range s.Left {
			left += n
		}
		t.Logf("%s: wall %v cpu %.1f ms cost %d bound %d %v gap %.4f left %d work %+v bad %q", name, time.Since(a), (cpu()-c)*1e3, s.Cost, s.Bound, s.BoundKind, float64(s.Cost)/float64(s.Bound)-1, left, s.Work, check(p, s))
	}
	for _, x := range []int{300, 599, 700, 2000, 3000} {
		run("shapes", generated(10000, x, 3))
	}
	// existing nodes
	for _, n := range []int{250, 1000, 4000} {
		p := generated(200, 64, 4)
		r := rand.New(rand.NewPCG(1, 9))
		for range n {
			p.Bins = append(p.Bins, optimise.Bin{Free: []int64{int64(r.IntN(3000)), int64(r.IntN(6000)), int64(r.IntN(20))}, Most: 1, Takes: all(64)})
		}
		run("existing", p)
		for i := range p.Items {
			p.Items[i].Request[0] += 8000
			p.Items[i].Request[1] += 9000
		}
		run("existing, no fit", p)
	}
	p := generated(10000, 50, 4)
	for i := range 5 {
		s := set(50, i, i+10, i+20)
		p.Rules = append(p.Rules, optimise.Rule{Trigger: s, Counted: s, Most: 1})
	}
	run("anti", p)
	p = generated(10000, 50, 4)
	for i := range p.Bins {
		p.Bins[i].Most = 3
	}
	run("stock of 3", p)
	p = generated(10000, 50, 4)
	l := optimise.Limit{Most: 400_000}
	for _, b := range p.Bins {
		l.Amount = append(l.Amount, b.Free[0])
	}
	p.Limits = append(p.Limits, l)
	run("no limit", generated(10000, 50, 4))
	run("limit", p)
}
