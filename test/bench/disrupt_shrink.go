package bench

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/test/bench/workload"
)

// scaledAfter is how long pods have run when their workloads are scaled down.
const scaledAfter = 45 * time.Second

// scaledDown is a cluster whose nodes were bought for the workload's pending pods a moment ago, of which as many as it
// keeps still run. It has the policy of a cluster that has none of its own.
func scaledDown(x *workload.World) (*stage, error) {
	in := x.Input
	in.Policy, in.Kinds = standard(), []model.DecisionKind{model.KindProvision}
	p, err := plan.Decide(in)
	if err != nil {
		return nil, fmt.Errorf("the plan for its pods: %w", err)
	}
	if err := check(in, p); err != nil {
		return nil, err
	}
	if len(p.Pending) > 0 {
		return nil, errors.New("some of its pods stay pending")
	}
	snap := &x.Input.Snapshot
	for i := range p.NodeClaims {
		c := &p.NodeClaims[i]
		o := c.Offerings[0]
		node, claim := workload.Joined(string(c.ID), c.NodePool, x.Types[string(o.InstanceType)], o)
		snap.Nodes, snap.Claims = append(snap.Nodes, node), append(snap.Claims, claim)
	}
	workload.SortBy(snap.Nodes, func(n model.Node) string { return string(n.Name) })
	workload.SortBy(snap.Claims, func(c model.Claim) string { return string(c.ID) })
	on := make(map[model.PodID]model.NodeName, len(p.Placements))
	for _, pl := range p.Placements {
		on[pl.Pod] = model.NodeName(pl.Claim) // a claim of ours and its node have one name
	}
	snap.Pods = kept(x, on)
	for i := range snap.Pods {
		q := &snap.Pods[i]
		q.Node, q.Phase, q.Ready, q.UnschedulableTime = on[q.ID], model.PodRunning, true, time.Time{}
	}
	s := newStage(x)
	x.Input.Policy, s.every = standard(), betweenDrains
	s.bind(workload.Now().Add(-scaledAfter))
	return s, nil
}

// kept are the pods that still run, sorted by id: a controller first ends those that share their node with most of its
// pods, as Kubernetes' ReplicaSet controller does (kubernetes/kubernetes pkg/controller/controller_utils.go,
// ActivePodsWithRanks); of equal ones any.
func kept(x *workload.World, on map[model.PodID]model.NodeName) []model.Pod {
	of := make([][]model.Pod, len(x.Workload.Shapes))
	for _, p := range x.Input.Snapshot.Pods {
		of[x.Shapes[p.ID]] = append(of[x.Shapes[p.ID]], p)
	}
	var out []model.Pod
	for _, pods := range of {
		together := make(map[model.NodeName]int)
		for _, p := range pods {
			together[on[p.ID]]++
		}
		slices.SortStableFunc(pods, func(a, b model.Pod) int { return together[on[a.ID]] - together[on[b.ID]] })
		out = append(out, pods[:(len(pods)*x.Workload.Kept+99)/100]...)
	}
	workload.SortBy(out, func(p model.Pod) string { return string(p.ID) })
	return out
}
