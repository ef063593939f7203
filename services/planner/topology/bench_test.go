package topology_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// shapes of load, each for n pods that are pending and n/10 nodes.
var loads = map[string]func(s *model.Snapshot, n int){
	// A Deployment of two pods each, spread over zones, and kept apart on hosts.
	"a group for each Deployment": func(s *model.Snapshot, n int) {
		for i := range n / 2 {
			app := fmt.Sprintf("app-%05d", i)
			sel := &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{app}}}}
			c := model.PodClass{ID: model.ClassID(app), Namespace: "ns", Labels: model.Labels{{Key: "app", Value: app}}}
			c.TopologySpread = []model.TopologySpread{{TopologyKey: labels.Zone, MaxSkew: 1, Required: true, Selector: sel}}
			c.PodAntiAffinity = []model.PodAffinityTerm{{TopologyKey: labels.Hostname, Selector: sel, Namespaces: []string{"ns"}}}
			benchClass(s, c, 2)
		}
	},
	// Few values of one label that thousands of classes share, as in Karpenter's own benchmark.
	"classes of a few labels": func(s *model.Snapshot, n int) {
		for i := range n {
			value := fmt.Sprintf("v%d", i%7)
			sel := &model.Selector{Requirements: []model.Requirement{{Key: "my-label", Operator: model.In, Values: []string{fmt.Sprintf("v%d", i*i%7)}}}}
			c := model.PodClass{ID: model.ClassID(fmt.Sprintf("c-%05d", i)), Namespace: "ns", Labels: model.Labels{{Key: "my-label", Value: value}}}
			switch i % 4 {
			case 0:
				c.TopologySpread = []model.TopologySpread{{TopologyKey: labels.Zone, MaxSkew: 1, Required: true, Selector: sel}}
			case 1:
				c.TopologySpread = []model.TopologySpread{{TopologyKey: labels.Hostname, MaxSkew: 1, Required: true, Selector: sel}}
			case 2:
				c.PodAffinity = []model.PodAffinityTerm{{TopologyKey: labels.Zone, Selector: sel, Namespaces: []string{"ns"}}}
			}
			benchClass(s, c, 1)
		}
	},
	// StatefulSets of 100, each pod with its name as a label.
	"identity labels": func(s *model.Snapshot, n int) {
		for i := range n {
			app := fmt.Sprintf("set-%04d", i/100)
			sel := &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{app}}}}
			c := model.PodClass{ID: model.ClassID(fmt.Sprintf("c-%05d", i)), Namespace: "ns", Labels: model.Labels{
				{Key: "app", Value: app}, {Key: "statefulset.kubernetes.io/pod-name", Value: fmt.Sprintf("%s-%d", app, i%100)},
			}}
			c.TopologySpread = []model.TopologySpread{
				{TopologyKey: labels.Zone, MaxSkew: 1, Required: true, Selector: sel},
				{TopologyKey: labels.Hostname, MaxSkew: 1, Required: true, Selector: sel},
			}
			benchClass(s, c, 1)
		}
	},
	// Each class prefers a node label of its own: a set of nodes for each.
	"node selectors of their own": func(s *model.Snapshot, n int) {
		for i := range n {
			app := fmt.Sprintf("app-%05d", i)
			sel := &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{app}}}}
			c := model.PodClass{ID: model.ClassID(app), Namespace: "ns", Labels: model.Labels{{Key: "app", Value: app}}}
			c.NodeSelector = model.Labels{{Key: "team", Value: fmt.Sprintf("t%d", i%200)}}
			c.TopologySpread = []model.TopologySpread{{TopologyKey: labels.Zone, MaxSkew: 1, Required: true, Selector: sel}}
			benchClass(s, c, 1)
		}
	},
}

func benchClass(s *model.Snapshot, c model.PodClass, pods int) {
	s.PodClasses = append(s.PodClasses, c)
	for i := range pods {
		s.Pods = append(s.Pods, model.Pod{ID: model.PodID(fmt.Sprintf("%s-%d", c.ID, i)), Class: c.ID, Phase: model.PodUnschedulable})
	}
}

func benchWorld(tb testing.TB, n int, load func(*model.Snapshot, int)) *view.World {
	tb.Helper()
	s := &model.Snapshot{}
	for i := range n / 10 {
		name := fmt.Sprintf("n%05d", i)
		s.Nodes = append(s.Nodes, model.Node{Name: model.NodeName(name), Labels: model.Labels{
			{Key: labels.Hostname, Value: name}, {Key: "team", Value: fmt.Sprintf("t%d", i%200)}, {Key: labels.Zone, Value: fmt.Sprintf("z%d", i%3)},
		}})
	}
	load(s, n)
	w, err := view.NewWorld(s, model.Policy{}, time.Unix(0, 0))
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

var sizes = []int{1000, 5000, 20000}

// each runs a benchmark for all loads and sizes, and tells how the time grows with the number of pods.
func each(b *testing.B, run func(b *testing.B, w *view.World)) {
	b.Helper()
	for name, load := range loads {
		var first, last float64
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				w := benchWorld(b, n, load)
				b.ReportAllocs()
				b.ResetTimer()
				run(b, w)
				took := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				if n == sizes[0] {
					first = took
				}
				last = took
				if first > 0 {
					b.ReportMetric(math.Log(last/first)/math.Log(max(2, float64(n)/float64(sizes[0]))), "exponent")
				}
			})
		}
	}
}

func BenchmarkNew(b *testing.B) {
	each(b, func(b *testing.B, w *view.World) {
		b.Helper()
		for range b.N {
			podrules.New(w)
		}
	})
}

// BenchmarkPlace asks for each pod on up to 16 hosts whether it may go there, and puts it on the first.
func BenchmarkPlace(b *testing.B) {
	each(b, func(b *testing.B, w *view.World) {
		b.Helper()
		r := podrules.New(w)
		for range b.N {
			placeAll(w, r)
		}
	})
}

func placeAll(w *view.World, r *podrules.Rules) (placed int) {
	v := view.NewView(w)
	t := topology.NewTally(r, v, nil)
	for z := range 3 {
		for team := range 200 {
			t.Offer(&fit.Place{Labels: model.Labels{{Key: "team", Value: fmt.Sprintf("t%d", team)}, {Key: labels.Zone, Value: fmt.Sprintf("z%d", z)}}})
		}
	}
	for i, p := range w.Pods {
		for j := range 16 {
			h := (i*7 + j) % len(v.Hosts)
			if t.Allows(p.Class, t.Host(h)) {
				t.Add(p.Class, t.Host(h), 1)
				placed++
				break
			}
		}
	}
	return placed
}
