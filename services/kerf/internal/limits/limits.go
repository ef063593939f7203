// Package limits finds the pools whose limits a plan comes up against, and plans that weights of pools shape, so that a
// reader of the lower bound, which knows neither, can tell what the gap is made of.
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

// Reached are the pools that have no capacity left, once the plan is carried out, for one more of the smallest nodes that
// they have. Sorted; none where the plan buys nothing, and none of a pool without nodes, which may be of no use to these
// pods.
func Reached(s *clusterpb.Snapshot, plan *plannerpb.Plan) (pools []string) {
	if len(plan.GetNodeClaims()) == 0 {
		return nil
	}
	used := after(s, plan)
	for _, p := range s.GetNodePools() {
		if slices.ContainsFunc(p.GetLimits(), func(l *clusterpb.Amount) bool {
			u, ok := used[p.GetName()][l.GetResource()]
			return ok && u.sum+u.smallest > l.GetValue()
		}) {
			pools = append(pools, p.GetName())
		}
	}
	slices.Sort(pools)
	return pools
}

// Weighed says that the nodes that are bought for pending pods are of pools of more than one weight, so that some pods may
// have gone to a pool that costs more.
func Weighed(s *clusterpb.Snapshot, plan *plannerpb.Plan) bool {
	weights, of := map[int32]bool{}, map[string]int32{}
	for _, p := range s.GetNodePools() {
		of[p.GetName()] = p.GetWeight()
	}
	for _, c := range plan.GetNodeClaims() {
		if c.GetDisruption() == "" { // the bound is about no others
			weights[of[c.GetNodePool()]] = true
		}
	}
	return len(weights) > 1
}

// use is how much of a resource a pool's nodes have, and the one that has least of it, but some.
type use struct{ sum, smallest int64 }

// after is what nodes have by pool and resource once the plan is carried out.
func after(s *clusterpb.Snapshot, plan *plannerpb.Plan) map[string]map[string]use {
	capacity, used := capacities(s), map[string]map[string]use{}
	count := func(pool, instanceType string) {
		if used[pool] == nil {
			used[pool] = map[string]use{}
		}
		for r, n := range capacity[instanceType] {
			if n <= 0 {
				continue
			}
			u, ok := used[pool][r]
			if !ok || n < u.smallest {
				u.smallest = n
			}
			u.sum += n
			used[pool][r] = u
		}
	}
	goes := map[string]bool{}
	for _, d := range plan.GetDisruptions() {
		for _, c := range d.GetCandidates() {
			goes[c] = true
		}
	}
	for _, c := range s.GetClaims() {
		ended := c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE || c.GetState() == clusterpb.ClaimState_CLAIM_STATE_FAILED
		if !ended && !goes[c.GetId()] {
			count(c.GetNodePool(), c.GetInstanceType())
		}
	}
	for _, c := range plan.GetNodeClaims() {
		if len(c.GetOfferings()) > 0 {
			count(c.GetNodePool(), c.GetOfferings()[0].GetInstanceType())
		}
	}
	return used
}

// capacities are what a node of each instance type has, by resource.
func capacities(s *clusterpb.Snapshot) map[string]map[string]int64 {
	out := map[string]map[string]int64{}
	for _, c := range s.GetCatalogs() {
		for _, t := range c.GetInstanceTypes() {
			of := map[string]int64{nodes: 1}
			for _, a := range t.GetCapacity() {
				of[a.GetResource()] = a.GetValue()
			}
			out[t.GetName()] = of
		}
	}
	return out
}
