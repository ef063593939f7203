//go:build unix

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// wellUsed is a cluster of nodes that run perNode pods each, on a market of 800 types.
func wellUsed(nodes, perNode int) *world {
	w := newWorld()
	w.Kinds = []model.DecisionKind{model.KindProvision}
	w.class("steady", 150, 500*mib, nil)
	for i := range nodes {
		w.node(fmt.Sprintf("n%05d", i), "m5.xlarge", "steady", perNode)
	}
	types := w.Snapshot.Catalogs[0].InstanceTypes // those of the nodes
	market(w, 89)
	w.Snapshot.Catalogs[0].InstanceTypes = append(w.Snapshot.Catalogs[0].InstanceTypes, types...)
	mixed(w, 50, 0)
	return w
}

// arrivals are deltas of pods that come, each of which takes those of the one before away.
func arrivals(w *world, shapes, pods int) func() *model.Delta {
	n, last := 0, []string(nil)
	return func() *model.Delta {
		n++
		d := &model.Delta{Removed: model.Removed{Pods: last}}
		d.Upserted.Revision = w.Snapshot.Revision + uint64(n)
		last = nil
		for i := range pods {
			class := fmt.Sprintf("shape-%03d", i%shapes)
			p := model.Pod{
				ID: model.PodID(fmt.Sprintf("shop/%s-%d-%d", class, i, n)), Class: model.ClassID(class), Phase: model.PodUnschedulable,
			}
			d.Upserted.Pods = append(d.Upserted.Pods, p)
			last = append(last, string(p.ID))
		}
		return d
	}
}

// BenchmarkSession is a plan for a few new pods in a cluster that the session knows: a delta, and a decision.
func BenchmarkSession(b *testing.B) {
	sizes := []struct{ nodes, perNode, pods, shapes int }{{5000, 20, 100, 50}, {5000, 20, 5, 5}, {4000, 10, 200, 20}, {0, 0, 5, 5}, {0, 0, 5, 1}}
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dnodes/%dbound/%dpods/%dshapes", size.nodes, size.nodes*size.perNode, size.pods, size.shapes), func(b *testing.B) {
			w := wellUsed(size.nodes, size.perNode)
			s, err := plan.NewSession(&w.Snapshot)
			if err != nil {
				b.Fatal(err)
			}
			next := arrivals(w, size.shapes, size.pods)
			ask := func() {
				if err := s.Apply(next()); err != nil {
					b.Fatal(err)
				}
				p, err := s.Decide(question(&w.Input))
				if err != nil || len(p.Placements) != size.pods {
					b.Fatalf("%v, %d pods are placed", err, len(p.Placements))
				}
			}
			measure(b, ask)
		})
	}
}

// measure asks once for nothing, and then as often as the benchmark wants: with the memory and the processor time of each.
func measure(b *testing.B, ask func()) {
	b.Helper()
	ask()
	b.ReportAllocs()
	before := spent(b)
	for b.Loop() {
		ask()
	}
	b.ReportMetric(float64((spent(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// BenchmarkSessionNewClass is a plan for five pods of a class that was not there before, as each new revision of a workload
// brings one, while the class of the revision before goes.
func BenchmarkSessionNewClass(b *testing.B) {
	w := wellUsed(5000, 20)
	s, err := plan.NewSession(&w.Snapshot)
	if err != nil {
		b.Fatal(err)
	}
	class := w.Snapshot.PodClasses[len(w.Snapshot.PodClasses)-1]
	next, n := arrivals(w, 1, 5), 0
	ask := func() {
		n++
		d := next()
		if n > 1 {
			d.Removed.PodClasses = []string{string(class.ID)}
		}
		class.ID = model.ClassID(fmt.Sprintf("revision-%d", n))
		d.Upserted.PodClasses = []model.PodClass{class}
		for i := range d.Upserted.Pods {
			d.Upserted.Pods[i].Class = class.ID
		}
		if err := s.Apply(d); err != nil {
			b.Fatal(err)
		}
		if p, err := s.Decide(question(&w.Input)); err != nil || len(p.Placements) != 5 {
			b.Fatalf("%v, %d pods are placed", err, len(p.Placements))
		}
	}
	measure(b, ask)
}

// BenchmarkSessionNode is a plan for five pods in a small cluster of which a node has changed, as all do while they
// come and go.
func BenchmarkSessionNode(b *testing.B) {
	w := wellUsed(20, 5)
	s, err := plan.NewSession(&w.Snapshot)
	if err != nil {
		b.Fatal(err)
	}
	next := arrivals(w, 5, 5)
	ask := func() {
		d := next()
		d.Upserted.Nodes = w.Snapshot.Nodes[:1]
		if err := s.Apply(d); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Decide(question(&w.Input)); err != nil {
			b.Fatal(err)
		}
	}
	measure(b, ask)
}

// BenchmarkSessionBegin is what a session costs before its first plan, and what the heap holds at most.
func BenchmarkSessionBegin(b *testing.B) {
	w := wellUsed(5000, 20)
	mixedPods(w, 50, 15000)
	slices.SortFunc(w.Snapshot.Pods, func(x, y model.Pod) int { return strings.Compare(string(x.ID), string(y.ID)) })
	b.ReportAllocs()
	peak, before := watchHeap(), spent(b)
	for b.Loop() {
		s, err := plan.NewSession(&w.Snapshot)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Decide(question(&w.Input)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((spent(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(peak())/float64(mib), "peak-MiB")
}

func mixedPods(w *world, shapes, pods int) {
	for i := range pods {
		w.pending(fmt.Sprintf("shape-%03d", (i*i+3*i)%shapes), 1)
	}
}

// BenchmarkStop is how long a decision goes on at most after it was asked to stop: the longest processor time between two
// asks, and after the last one, for 50,000 pods of 200 shapes, by a session that has no plan yet and by one that has.
func BenchmarkStop(b *testing.B) {
	w := newWorld()
	w.Kinds = []model.DecisionKind{model.KindProvision}
	market(w, 89)
	mixed(w, 200, 50000)
	for _, known := range []bool{false, true} {
		b.Run(fmt.Sprintf("known=%t", known), func(b *testing.B) {
			var longest time.Duration
			asks, at := 0, 0
			for b.Loop() {
				s, err := plan.NewSession(&w.Snapshot)
				if err != nil {
					b.Fatal(err)
				}
				if known {
					if err := s.Prepare(question(&w.Input)); err != nil {
						b.Fatal(err)
					}
				}
				last := spent(b)
				asks = 0
				lap := func() {
					now := spent(b)
					if now-last > longest {
						longest, at = now-last, asks
					}
					last = now
				}
				q := question(&w.Input)
				q.Stop = func() bool {
					asks++
					lap()
					return false
				}
				if _, err := s.Decide(q); err != nil {
					b.Fatal(err)
				}
				lap()
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "longest-cpu-ms")
			b.ReportMetric(float64(asks), "asks")
			b.ReportMetric(float64(at), "at-ask")
		})
	}
}
