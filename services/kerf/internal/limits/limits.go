// Package limits finds the pools whose limits a plan comes up against, so that a reader of the lower bound, which knows no
// limits, can tell what the gap is made of.
//
// It adds up what instance types have, and decides nothing. Start reading at Reached.
package limits

import (
	"slices"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
)

// nodes is the resource of a limit that counts nodes.
const nodes = "nodes"

// Reached are the pools that have no capacity left, once the plan is carried out, for one more of the largest nodes that
// it buys in any pool. Sorted; none where it buys nothing.
func Reached(s *clusterpb.Snapshot, plan *plannerpb.Plan) (pools []string) {
	capacity := map[string]map[string]int64{} // by type and resource
	for _, c := range s.GetCatalogs() {
		for _, t := range c.GetInstanceTypes() {
			of := map[string]int64{nodes: 1}
			for _, a := range t.GetCapacity() {
				of[a.GetResource()] = a.GetValue()
			}
			capacity[t.GetName()] = of
		}
	}
	used, largest := map[string]map[string]int64{}, map[string]int64{}
	count := func(pool, instanceType string) {
		if used[pool] == nil {
			used[pool] = map[string]int64{}
		}
		for r, n := range capacity[instanceType] {
			used[pool][r] += n
		}
	}
	for _, c := range s.GetClaims() {
		ended := c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE || c.GetState() == clusterpb.ClaimState_CLAIM_STATE_FAILED
		if !ended {
			count(c.GetNodePool(), c.GetInstanceType())
		}
	}
	for _, c := range plan.GetNodeClaims() {
		if len(c.GetOfferings()) == 0 {
			continue
		}
		instanceType := c.GetOfferings()[0].GetInstanceType()
		count(c.GetNodePool(), instanceType)
		for r, n := range capacity[instanceType] {
			largest[r] = max(largest[r], n)
		}
	}
	for _, p := range s.GetNodePools() {
		if slices.ContainsFunc(p.GetLimits(), func(l *clusterpb.Amount) bool {
			return largest[l.GetResource()] > 0 && used[p.GetName()][l.GetResource()]+largest[l.GetResource()] > l.GetValue()
		}) {
			pools = append(pools, p.GetName())
		}
	}
	slices.Sort(pools)
	return pools
}
