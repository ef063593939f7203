package limits_test

import (
	"strings"
	"testing"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/limits"
)

func TestPoolsThatHaveReachedALimit(t *testing.T) {
	t.Parallel()
	cpu := func(name string, milli int64) *clusterpb.InstanceType {
		return &clusterpb.InstanceType{Name: name, Capacity: []*clusterpb.Amount{{Resource: "cpu", Value: milli}}}
	}
	buy := func(pool, instanceType string) *plannerpb.NodeClaim {
		return &plannerpb.NodeClaim{NodePool: pool, Offerings: []*clusterpb.RankedOffering{{InstanceType: instanceType}}}
	}
	limit := func(resource string, n int64) []*clusterpb.Amount {
		return []*clusterpb.Amount{{Resource: resource, Value: n}}
	}
	runs := &clusterpb.Claim{NodePool: "spot", InstanceType: "large"}
	goes := &clusterpb.Claim{Id: "goes", NodePool: "spot", InstanceType: "large"}
	gone := &clusterpb.Claim{NodePool: "spot", InstanceType: "large", State: clusterpb.ClaimState_CLAIM_STATE_GONE}
	for name, tt := range map[string]struct {
		limits []*clusterpb.Amount
		claims []*clusterpb.Claim
		buys   []*plannerpb.NodeClaim
		want   string
	}{
		"no limit":                         {nil, nil, []*plannerpb.NodeClaim{buy("spot", "large")}, ""},
		"one that is far away":             {limit("cpu", 6000), nil, []*plannerpb.NodeClaim{buy("spot", "large")}, ""},
		"one that the new nodes reach":     {limit("cpu", 3000), nil, []*plannerpb.NodeClaim{buy("spot", "large")}, "spot"},
		"one that nodes have reached":      {limit("cpu", 3000), []*clusterpb.Claim{runs}, []*plannerpb.NodeClaim{buy("other", "large")}, "spot"},
		"one that nodes had reached":       {limit("cpu", 3000), []*clusterpb.Claim{gone}, []*plannerpb.NodeClaim{buy("other", "large")}, ""},
		"one of a pool without use":        {limit("cpu", 1000), nil, []*plannerpb.NodeClaim{buy("other", "large")}, ""},
		"one that only what goes reached":  {limit("cpu", 4000), []*clusterpb.Claim{goes, runs}, []*plannerpb.NodeClaim{buy("other", "small")}, ""},
		"capacity for its small nodes":     {limit("cpu", 4000), []*clusterpb.Claim{runs}, []*plannerpb.NodeClaim{buy("other", "large"), buy("spot", "small")}, ""},
		"none for its large nodes":         {limit("cpu", 3000), []*clusterpb.Claim{runs}, []*plannerpb.NodeClaim{buy("other", "small")}, "spot"},
		"a number of nodes":                {limit("nodes", 1), []*clusterpb.Claim{runs}, []*plannerpb.NodeClaim{buy("other", "small")}, "spot"},
		"one of a resource of no new node": {limit("nvidia.com/gpu", 0), nil, []*plannerpb.NodeClaim{buy("spot", "large")}, ""},
		"nothing bought":                   {limit("cpu", 1000), []*clusterpb.Claim{runs}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &clusterpb.Snapshot{
				NodePools: []*clusterpb.NodePool{{Name: "other"}, {Name: "spot", Limits: tt.limits}}, Claims: tt.claims,
				Catalogs: []*clusterpb.Catalog{{InstanceTypes: []*clusterpb.InstanceType{cpu("small", 1000), cpu("large", 2000)}}},
			}
			if got := strings.Join(limits.Reached(s, &plannerpb.Plan{NodeClaims: tt.buys, Disruptions: []*plannerpb.Disruption{{Candidates: []string{"goes"}}}}), ", "); got != tt.want {
				t.Errorf("%q have reached a limit, want %q", got, tt.want)
			}
		})
	}
}

func TestPoolsOfHigherWeightGoFirst(t *testing.T) {
	t.Parallel()
	s := &clusterpb.Snapshot{NodePools: []*clusterpb.NodePool{{Name: "first", Weight: 100}, {Name: "last"}, {Name: "too"}}}
	for name, tt := range map[string]struct {
		buys []*plannerpb.NodeClaim
		want bool
	}{
		"nothing bought":    {nil, false},
		"of one pool":       {[]*plannerpb.NodeClaim{{NodePool: "first"}, {NodePool: "first"}}, false},
		"of one weight":     {[]*plannerpb.NodeClaim{{NodePool: "last"}, {NodePool: "too"}}, false},
		"of two":            {[]*plannerpb.NodeClaim{{NodePool: "last"}, {NodePool: "first"}}, true},
		"one for what goes": {[]*plannerpb.NodeClaim{{NodePool: "last"}, {NodePool: "first", Disruption: "d"}}, false},
	} {
		if got := limits.Weighed(s, &plannerpb.Plan{NodeClaims: tt.buys}); got != tt.want {
			t.Errorf("%s: weighed is %v", name, got)
		}
	}
}
