//go:build unix

package plan_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// drifted is a cluster of nodes that all have drifted, but one that proves what its pool launches. Their pods are of
// some classes, each of which is spread over zones and over capacity types with a skew of 1.
func drifted(nodes, perNode, classes int) *world {
	w := newWorld()
	types := w.Snapshot.Catalogs[0].InstanceTypes // those of the nodes
	market(w, 20)
	w.Snapshot.Catalogs[0].InstanceTypes = append(w.Snapshot.Catalogs[0].InstanceTypes, types...)
	zones, kinds := w.Snapshot.NodeClasses[0].Zones, []model.CapacityType{model.OnDemand, model.Spot}
	for _, zone := range zones {
		w.offer("m5.xlarge", zone, model.OnDemand, 192000)
		w.offer("m5.xlarge", zone, model.Spot, 80000)
	}
	for i := range classes {
		w.class(fmt.Sprintf("app-%03d", i), 3000/int64(perNode), gib, func(c *model.PodClass) {
			spread(zoneKey, 1)(c, i)
			spread(labels.CapacityType, 1)(c, i)
		})
	}
	for i := range nodes {
		n := w.node(fmt.Sprintf("n%05d", i), "m5.xlarge", "", 0)
		c := w.claim("c-" + string(n.Name))
		c.Zone, c.CapacityType = zones[i%len(zones)], kinds[i%len(kinds)]
		c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "the image is old"}
		for k := range n.Labels {
			switch n.Labels[k].Key {
			case zoneKey:
				n.Labels[k].Value = c.Zone
			case labels.CapacityType:
				n.Labels[k].Value = c.CapacityType.String()
			}
		}
		for k := range perNode {
			class := fmt.Sprintf("app-%03d", (i/6+k)%classes) // six nodes that have the same pods have one of each zone and type
			w.Snapshot.Pods = append(w.Snapshot.Pods, model.Pod{
				ID: w.podID(class), Class: model.ClassID(class), Node: n.Name, Phase: model.PodRunning, Ready: true,
			})
		}
	}
	w.class("other", 3500, gib, nil)
	w.node("proof", "m5.xlarge", "other", 1)
	return w
}

// BenchmarkReplace is a plan for nodes that all have drifted, and how the processor time for it, and for its
// verification, grows from one size to the next.
func BenchmarkReplace(b *testing.B) {
	for _, how := range []struct{ perNode, classes int }{{1, 1}, {3, 1}, {3, 20}, {10, 1}, {10, 100}, {10, 1000}} {
		sizes := []int{498, 996, 1998} // no domain has more than others
		took := make(map[int]float64)
		for i, nodes := range sizes {
			b.Run(fmt.Sprintf("%dpods/%dclasses/%dnodes", how.perNode, how.classes, nodes), func(b *testing.B) {
				w := drifted(nodes, how.perNode, how.classes)
				var p model.Plan
				before := spent(b)
				for b.Loop() {
					var err error
					if p, err = plan.Decide(w.Input); err != nil {
						b.Fatal(err)
					}
				}
				took[nodes] = (spent(b) - before).Seconds() / float64(b.N)
				before = spent(b)
				if vs := verify.Plan(w.Input, p); len(vs) > 0 {
					b.Errorf("the plan breaks rules: %s", verify.Join(vs))
				}
				b.ReportMetric((spent(b)-before).Seconds()*1000, "verify-cpu-ms")
				b.ReportMetric(took[nodes]*1000, "cpu-ms/op")
				if i > 0 && took[sizes[i-1]] > 0 {
					b.ReportMetric(math.Log2(took[nodes]/took[sizes[i-1]]), "exponent")
				}
				goes := 0
				for i := range p.Disruptions {
					goes += len(p.Disruptions[i].Candidates)
				}
				b.ReportMetric(float64(goes), "nodes-go")
			})
		}
	}
}
