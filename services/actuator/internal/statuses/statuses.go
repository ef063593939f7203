// Package statuses says what the objects of users are to tell: the status of pools, and which nodes have been quiet for
// as long as their pools ask for. It must never know how an object is written: packages outbox and kube do that. Start
// reading at Pools and Quiet.
package statuses

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Pools are the statuses of pools: what their instances have in sum, whether nodes can be launched, and whether the last
// launches became nodes.
func Pools(pools []cluster.Pool, claims []*model.Claim, class func(model.NodeClassName) *market.Class) []cluster.PoolStatus {
	sums := map[model.PoolName]map[model.Resource]int64{}
	for _, c := range claims {
		if c.State < model.ClaimLaunched || c.State.Ended() {
			continue
		}
		if sums[c.NodePool] == nil {
			sums[c.NodePool] = map[model.Resource]int64{}
		}
		sums[c.NodePool][model.Nodes]++
		for _, a := range c.Capacity {
			sums[c.NodePool][a.Resource] += a.Value
		}
	}
	last := launches(pools, claims, class)
	var out []cluster.PoolStatus
	for i := range pools {
		pool := &pools[i]
		s := cluster.PoolStatus{
			Name: pool.Name, Hash: pool.Hash, NotReady: notReady(pool, class), Registration: registration(last[pool.Name]),
		}
		for _, r := range slices.Sorted(maps.Keys(sums[pool.Name])) {
			s.Resources = append(s.Resources, model.Amount{Resource: r, Value: sums[pool.Name][r]})
		}
		if len(s.Resources) == 0 {
			s.Resources = model.Amounts{{Resource: model.Nodes}}
		}
		out = append(out, s)
	}
	return out
}

func notReady(pool *cluster.Pool, class func(model.NodeClassName) *market.Class) model.Reason {
	if !pool.NotReady.OK() {
		return pool.NotReady
	}
	if c := class(pool.NodeClass); c != nil {
		return c.NotReady()
	}
	return model.Reason{
		Code: model.CodeNodeClassNotFound, Subject: "nodepool/" + string(pool.Name),
		Message: "EC2NodeClass \"" + string(pool.NodeClass) + "\" does not exist",
		Remedy:  "create it, or correct spec.template.spec.nodeClassRef.name of NodePool " + string(pool.Name),
	}
}

const (
	// ring is how many launches of a pool count, and mostFailures how many of them make it unhealthy.
	ring         = 4
	mostFailures = 2
)

// launches are the launches that have become nodes, or have failed to, of each pool as it and its class are now: a change
// of either may be the remedy. The newest are first.
func launches(pools []cluster.Pool, claims []*model.Claim, class func(model.NodeClassName) *market.Class) map[model.PoolName][]*model.Claim {
	type hashes struct{ pool, class string }
	now := make(map[model.PoolName]hashes, len(pools))
	for i := range pools {
		h := hashes{pool: pools[i].Hash}
		if c := class(pools[i].NodeClass); c != nil {
			h.class = c.Spec.Hash
		}
		now[pools[i].Name] = h
	}
	out := map[model.PoolName][]*model.Claim{}
	for _, c := range claims {
		if h, there := now[c.NodePool]; there && h == (hashes{c.PoolHash, c.ClassHash}) && (registered(c) || neverJoined(c)) {
			out[c.NodePool] = append(out[c.NodePool], c)
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b *model.Claim) int {
			return cmp.Or(b.CreateTime.Compare(a.CreateTime), cmp.Compare(a.ID, b.ID))
		})
	}
	return out
}

func registered(c *model.Claim) bool {
	return c.Reached >= model.ClaimRegistered || c.State == model.ClaimRegistered || c.State == model.ClaimInitialized
}

// neverJoined says that the instance did not come, or became no node, in time. That EC2 has none left is not of the
// pool's making.
func neverJoined(c *model.Claim) bool {
	return c.Failure.Code == model.CodeLaunchTimeout || c.Failure.Code == model.CodeRegistrationTimeout
}

// registration judges launches by the newest of them. Those that have ended are forgotten after a while, so that
// nothing may be known of a pool that is not used.
func registration(last []*model.Claim) cluster.Registration {
	last = last[:min(len(last), ring)]
	failed := slices.DeleteFunc(slices.Clone(last), registered)
	switch {
	case len(failed) >= mostFailures:
		return cluster.Registration{
			Known: true, Message: fmt.Sprintf("%d of the last %d launches did not become nodes; of claim %s: %s",
				len(failed), len(last), failed[0].ID, failed[0].Failure.Message),
		}
	case len(failed) < len(last):
		return cluster.Registration{Known: true, Healthy: true}
	}
	return cluster.Registration{}
}
