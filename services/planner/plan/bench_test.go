package plan_test

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// market fills a world with hundreds of instance types in three zones, on demand and spot: families from lean to fat in
// memory, four generations that get cheaper, sizes from large to 32xlarge. Prices and sizes follow EC2's proportions.
func market(w *world, families int) {
	s := &w.Snapshot
	s.Offerings, s.Catalogs[0].InstanceTypes = nil, nil
	s.NodeClasses[0].Zones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}
	s.NodePools[0].Requirements = nil
	for f := range families {
		memory, generation := int64(2)<<(f%3), f/3%4
		for _, size := range []int64{1, 2, 4, 8, 16, 24, 32, 48, 64} {
			name := fmt.Sprintf("f%03d.x%02d", f, size)
			cores, mem := 2*size, 2*size*memory*1024
			s.Catalogs[0].InstanceTypes = append(s.Catalogs[0].InstanceTypes,
				instanceType(name, cores*1000, mem*92/100, min(29*size, 737), cores*1000-70-cores*3, mem*92/100-255-min(29*size, 737)*11-100))
			price := size * (60000 + 12000*memory) * int64(100-4*generation+f%7) / 100
			for z, zone := range s.NodeClasses[0].Zones {
				if (f+z)%13 == 0 {
					continue
				}
				w.offer(name, zone, model.OnDemand, price)
				w.offer(name, zone, model.Spot, price*int64(25+(f*7+z*5+int(size))%20)/100)
			}
		}
	}
}

// mixed adds pods of many shapes, small ones often.
func mixed(w *world, shapes, pods int) {
	for i := range shapes {
		cpu := int64(50) << (i % 8)
		w.class(fmt.Sprintf("shape-%03d", i), cpu, cpu*int64(1+i%5)*mib, nil)
	}
	for i := range pods {
		w.pending(fmt.Sprintf("shape-%03d", (i*i+3*i)%shapes), 1)
	}
}

func BenchmarkProvision(b *testing.B) {
	for _, size := range []struct{ shapes, pods int }{{1, 1000}, {50, 10000}, {200, 50000}} {
		b.Run(fmt.Sprintf("%dshapes/%dpods/800types", size.shapes, size.pods), func(b *testing.B) {
			w := newWorld()
			market(w, 89)
			mixed(w, size.shapes, size.pods)
			b.ReportAllocs()
			for b.Loop() {
				p, err := plan.Decide(w.Input)
				if err != nil || len(p.Pending) > 0 {
					b.Fatalf("%v, %d pods stay pending", err, len(p.Pending))
				}
				b.ReportMetric(p.LowerBound.Gap*100, "%gap")
				b.ReportMetric(float64(len(p.NodeClaims)), "claims")
			}
		})
	}
}

// BenchmarkDecide is a whole decision about provisioning on a market of 800 types: batches of pods for an empty cluster,
// and a few pods for one that is large and well used.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []struct{ pods, nodes, perNode int }{{1000, 0, 0}, {10000, 0, 0}, {100, 5000, 20}} {
		b.Run(fmt.Sprintf("%dpods/%dnodes/%dbound", size.pods, size.nodes, size.nodes*size.perNode), func(b *testing.B) {
			w := newWorld()
			w.Kinds = []model.DecisionKind{model.KindProvision}
			w.class("steady", 150, 500*mib, nil)
			for i := range size.nodes {
				w.node(fmt.Sprintf("n%05d", i), "m5.xlarge", "steady", size.perNode)
			}
			types := w.Snapshot.Catalogs[0].InstanceTypes // those of the nodes
			market(w, 89)
			w.Snapshot.Catalogs[0].InstanceTypes = append(w.Snapshot.Catalogs[0].InstanceTypes, types...)
			mixed(w, 50, size.pods)
			// In order, as sessions keep them: sorting is no part of what is measured.
			slices.SortFunc(w.Snapshot.Pods, func(x, y model.Pod) int { return strings.Compare(string(x.ID), string(y.ID)) })
			b.ReportAllocs()
			peak := watchHeap()
			for b.Loop() {
				p, err := plan.Decide(w.Input)
				if err != nil || len(p.Pending) > 0 || len(p.Placements) != size.pods {
					b.Fatalf("%v, %d pods stay pending, %d are placed", err, len(p.Pending), len(p.Placements))
				}
			}
			b.ReportMetric(float64(peak())/float64(mib), "peak-MiB")
		})
	}
}

// watchHeap starts a goroutine that looks at the heap every few milliseconds. The function ends it and returns the most
// that was in use, with what the benchmark's input takes.
func watchHeap() func() uint64 {
	var most uint64
	var wait sync.WaitGroup
	done := make(chan struct{})
	runtime.GC()
	wait.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return func() uint64 {
		close(done)
		wait.Wait()
		return most
	}
}

func BenchmarkConsolidate(b *testing.B) {
	for _, nodes := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%dnodes", nodes), func(b *testing.B) {
			w := newWorld()
			mixed(w, 20, 0)
			for i := range nodes {
				name := fmt.Sprintf("n%05d", i)
				w.node(name, []string{"m5.large", "m5.xlarge", "r5.large"}[i%3], fmt.Sprintf("shape-%03d", i%4), 3+i%4)
			}
			b.ReportAllocs()
			for b.Loop() {
				p, err := plan.Decide(w.Input)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(p.Disruptions)), "disruptions")
			}
		})
	}
}
