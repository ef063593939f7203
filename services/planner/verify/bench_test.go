package verify_test

import (
	"fmt"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// largeScene is a plan for pods of many Deployments, each spread over zones and hosts and kept away from another one, on
// claims of fifty pods with sixty offerings each, beside as many nodes that are full.
func largeScene(deployments, pods int) *scene {
	zones := []string{"r-1a", "r-1b", "r-1c"}
	s := newScene()
	in := &s.in.Snapshot
	in.NodeClasses[0].Zones = zones
	in.Offerings, in.Catalogs[0].InstanceTypes = nil, nil
	for i := range 60 {
		name := fmt.Sprintf("t%02d", i)
		t := instanceType(name, "amd64", 64_000, 256*gib)
		t.Capacity[2].Value, t.Allocatable[2].Value = 110, 110
		in.Catalogs[0].InstanceTypes = append(in.Catalogs[0].InstanceTypes, t)
		for _, z := range zones {
			in.Offerings = append(in.Offerings, offering(name, z, model.OnDemand, int64(100_000+i)))
		}
	}
	for i := range deployments {
		s.class(fmt.Sprintf("app-%03d", i), func(c *model.PodClass) {
			even(zone)(c)
			even(host, func(t *model.TopologySpread) { t.MaxSkew = 5 })(c)
			away(host, fmt.Sprintf("app-%03d", (i+deployments/2)%deployments))(c)
		})
	}
	claims := pods / 50 / 6 * 6 // a half of them has as many in each zone
	for i := range claims {
		name := fmt.Sprintf("c-%05d", i)
		s.p.NodeClaims = append(s.p.NodeClaims, model.NodeClaim{ID: model.ClaimID(name), NodePool: "default", NodeClass: "default"})
		c := &s.p.NodeClaims[i]
		for j := range 60 {
			c.Offerings = append(c.Offerings, model.RankedOffering{
				InstanceType: model.TypeName(fmt.Sprintf("t%02d", j)), Zone: zones[i%3], CapacityType: model.OnDemand, Price: int64(100_000 + j),
			})
		}
		node := fmt.Sprintf("n-%05d", i)
		s.node(node, zones[i%3])
		for j := range 50 {
			s.running(fmt.Sprintf("old-%05d-%02d", i, j), "lone", node)
		}
	}
	for i := range pods {
		class := i % deployments
		id := model.PodID(fmt.Sprintf("shop/new-%05d", i))
		in.Pods = append(in.Pods, pending(string(id), fmt.Sprintf("app-%03d", class)))
		// The pods of a Deployment go round the claims of its half, and so round the zones.
		at := (class*3+i/deployments)%(claims/2) + 2*class/deployments*(claims/2)
		c := &s.p.NodeClaims[at]
		s.p.Placements = append(s.p.Placements, model.Placement{Pod: id, Claim: c.ID, Order: int32(i)})
	}
	return s
}

func BenchmarkPlan(b *testing.B) {
	for _, size := range []struct{ deployments, pods int }{{50, 10_000}, {200, 50_000}, {1000, 50_000}} {
		b.Run(fmt.Sprintf("%ddeployments/%dpods", size.deployments, size.pods), func(b *testing.B) {
			s := largeScene(size.deployments, size.pods)
			s.fill()
			b.ReportAllocs()
			for b.Loop() {
				if found := verify.Plan(s.in, s.p); len(found) > 0 {
					b.Fatal(verify.Join(found))
				}
			}
		})
	}
}
