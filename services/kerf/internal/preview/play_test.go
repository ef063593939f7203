package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

func TestANodeOffersAResourceOfDevicesOnlyWhereOthersDo(t *testing.T) {
	cpu, gpu := &clusterpb.Amount{Resource: "cpu", Value: 4000}, &clusterpb.Amount{Resource: "example.com/gpu", Value: 1}
	all := []*clusterpb.Amount{cpu, gpu}
	claim := func(list ...*clusterpb.Amount) *clusterpb.Claim { return &clusterpb.Claim{Requests: list} }
	class := &clusterpb.PodClass{ExtendedRequests: []*clusterpb.ExtendedRequest{{Resource: gpu.GetResource()}}}
	for name, c := range map[string]struct {
		snapshot *clusterpb.Snapshot
		claim    *clusterpb.Claim
		want     []*clusterpb.Amount
	}{
		"no class stands for it":           {&clusterpb.Snapshot{}, claim(cpu), all},
		"no node has it":                   {&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{class}}, claim(cpu), all[:1]},
		"the claim was bought for it":      {&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{class}}, claim(cpu, gpu), all},
		"another node has it":              {&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{class}, Nodes: []*clusterpb.Node{{Allocatable: all}}}, claim(cpu), all},
		"another node has none of it left": {&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{class}, Nodes: []*clusterpb.Node{{Allocatable: []*clusterpb.Amount{{Resource: gpu.GetResource()}}}}}, claim(cpu), all[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			g := &stage{s: c.snapshot}
			if d := cmp.Diff(c.want, g.offered(c.claim, all), protocmp.Transform()); d != "" {
				t.Error(d)
			}
			if len(all) != 2 {
				t.Error("the type has less than before")
			}
		})
	}
}
