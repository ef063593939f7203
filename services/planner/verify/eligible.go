package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// mayWait says whether taking a claim could as well wait, so that budgets and pods may keep it: it can't any more once the
// claim has expired.
func mayWait(f *facts.Facts, r model.DisruptionReason, claim *model.Claim) bool {
	expired, _ := rules.Expired(claim, f.Input.Now)
	return r.ByChoice() && (r != model.ReasonExpired || expired.OK())
}

// forced says whether pods can't hold the disruption up: of a node that is too old and whose drain is bounded.
func forced(f *facts.Facts, r model.DisruptionReason, claim *model.Claim) bool {
	return r == model.ReasonExpired && rules.ForcedByAge(claim, f.Input.Now)
}

// eligible checks that a claim may be taken away for the disruption's reason.
func (d *disruptions) eligible(subject string, x *model.Disruption, id model.ClaimID) {
	claim := d.f.Cluster.Live[id]
	if claim == nil {
		d.r.Fail(subject, "claim %s does not exist, or has ended", id)
		return
	}
	if claim.State >= model.ClaimDraining || claim.Disruption != "" {
		d.r.Fail(subject, "claim %s is being taken away already", id)
	}
	d.cause(subject, x, claim)
	if r := rules.ZoneShifted(claim.Zone, d.f.Market.Shifted); !r.OK() && (x.Reason.ByChoice() || x.Reason == model.ReasonUnhealthy) {
		d.r.Fail(subject, "claim %s: %s", id, r.Message)
	}
	if !x.Reason.ByChoice() {
		return
	}
	node := d.f.Cluster.NodeOf[id]
	switch {
	case d.f.Cluster.Leaving(claim):
		d.r.Fail(subject, "claim %s is leaving already", id)
	case slices.Contains(d.f.Input.Exclude, id):
		d.r.Fail(subject, "claim %s was to be left alone", id)
	case claim.State != model.ClaimInitialized:
		d.r.Fail(subject, "claim %s is not initialized", id)
	case node == nil:
		d.r.Fail(subject, "claim %s has no node", id)
	case node.DoNotDisrupt:
		d.r.Fail(subject, "node %s must not be disrupted", node.Name)
	case !forced(d.f, x.Reason, claim):
		d.podsAllow(subject, node)
	}
	if mayWait(d.f, x.Reason, claim) {
		d.rested(subject, id)
	}
	if consolidates(x.Reason) {
		d.policy(subject, x, claim)
	}
}

// cause checks that the reason is true of the claim.
func (d *disruptions) cause(subject string, x *model.Disruption, claim *model.Claim) {
	switch x.Reason {
	case model.ReasonEmpty:
		if pods := d.f.Cluster.MovableOn(claim.ID); len(pods) > 0 {
			d.r.Fail(subject, "claim %s is not empty: pod %s is on it", claim.ID, pods[0].ID)
		}
	case model.ReasonUnderutilized:
	case model.ReasonDrifted:
		if d.drifted(claim).OK() {
			d.r.Fail(subject, "claim %s has not drifted", claim.ID)
		}
	case model.ReasonExpired:
		if r, _ := rules.Expiring(claim, d.f.Input.Now); r.OK() {
			d.r.Fail(subject, "claim %s has not expired, and is not about to", claim.ID)
		}
	case model.ReasonUnhealthy:
		if n := d.f.Cluster.NodeOf[claim.ID]; n == nil || !d.unhealthy(n) {
			d.r.Fail(subject, "claim %s has no node that was unhealthy for long enough", claim.ID)
		}
	case model.ReasonInterrupted:
		if !d.f.Cluster.Interrupted(claim) {
			d.r.Fail(subject, "claim %s is not interrupted", claim.ID)
		}
	case model.ReasonSurplus:
		if !d.f.Cluster.Static(claim.NodePool) {
			d.r.Fail(subject, "claim %s is not one of a static pool", claim.ID)
		}
		if d.f.Cluster.Leaving(claim) {
			d.r.Fail(subject, "claim %s is leaving already", claim.ID)
		}
	default:
		d.r.Fail(subject, "%s is no reason that the planner decides on", x.Reason)
	}
}

// podsAllow checks that no pod on a node keeps it from being disrupted by choice.
func (d *disruptions) podsAllow(subject string, node *model.Node) {
	for _, p := range d.f.Cluster.PodsOn[node.Name] {
		if r, _ := rules.Protected(p, d.f.Input.Now); !r.OK() && !p.Terminating {
			d.r.Fail(subject, "pod %s on node %s must not be disrupted", p.ID, node.Name)
		}
		if c := d.f.Cluster.Class(p); c.Daemon && !p.Terminating && rules.Evicted(c) {
			for _, pdb := range d.pdbs.covering(p) {
				if pdb.NeverAllows && rules.CountsEviction(pdb, p) {
					d.r.Fail(subject, "pod %s of a DaemonSet on node %s can't ever be evicted, because of %s", p.ID, node.Name, pdb.ID)
				}
			}
		}
		if !d.f.Cluster.Movable(p) {
			continue
		}
		if d.f.Cluster.Class(p).OwnerKind == "" {
			d.r.Fail(subject, "pod %s on node %s would be lost: nothing would make it again", p.ID, node.Name)
		}
		if why := d.f.Unsupported(d.f.Cluster.Class(p)); why != "" {
			d.r.Fail(subject, "pod %s on node %s would have no place that is planned for: %s", p.ID, node.Name, why)
		}
		if n := len(d.pdbs.covering(p)); n > 1 {
			d.r.Fail(subject, "pod %s on node %s can't be evicted: %d PodDisruptionBudgets cover it", p.ID, node.Name, n)
		}
	}
}

// policy checks what the pool says about consolidation.
func (d *disruptions) policy(subject string, x *model.Disruption, claim *model.Claim) {
	pool := d.f.Cluster.Pools[claim.NodePool]
	switch {
	case pool == nil:
		d.r.Fail(subject, "node pool %s of claim %s does not exist", claim.NodePool, claim.ID)
	case pool.Replicas != nil:
		d.r.Fail(subject, "node pool %s of claim %s is static", pool.Name, claim.ID)
	case x.Reason == model.ReasonUnderutilized && pool.ConsolidationPolicy == model.WhenEmpty:
		d.r.Fail(subject, "node pool %s consolidates empty nodes only", pool.Name)
	default:
		d.quiet(subject, claim, pool)
	}
}

func (d *disruptions) quiet(subject string, claim *model.Claim, pool *model.NodePool) {
	var lastPodEvent time.Time
	if n := d.f.Cluster.NodeOf[claim.ID]; n != nil {
		lastPodEvent = n.LastPodEventTime
	}
	if r, _ := rules.ConsolidateAfter(pool.ConsolidateAfter, claim.InitializeTime, lastPodEvent, d.f.Input.Now); !r.OK() {
		d.r.Fail(subject, "claim %s: %s", claim.ID, r.Message)
	}
}

// rested checks that the pods on a node are not moved by choice again too early, and not in the middle of a rollout.
func (d *disruptions) rested(subject string, id model.ClaimID) {
	for _, p := range d.f.Cluster.MovableOn(id) {
		o := rules.OwnerOf(d.f.Cluster.Class(p))
		resting, _ := d.moves.Resting(d.f.Cluster.Class(p), p, d.f.Input.Now)
		rolling, _ := d.rollouts.RollingOut(o, p.ID, d.f.Input.Now)
		for _, r := range []model.Reason{resting, rolling} {
			if !r.OK() && o.Kind != "" {
				d.r.Fail(subject, "pod %s may not move: %s", p.ID, r.Message)
			}
		}
	}
}

// addPods notes which pods were moved, and which workloads are being rolled out: for that, classes stand for their
// pods, the newest of each for the others.
func (d *disruptions) addPods() {
	newest := make(map[model.ClassID]*model.Pod)
	for i := range d.f.Cluster.Snapshot.Pods {
		p := &d.f.Cluster.Snapshot.Pods[i]
		d.moves.Add(d.f.Cluster.Class(p), p)
		if last := newest[p.Class]; !p.Terminating && !p.ID.Virtual() && (last == nil || p.BindTime.After(last.BindTime)) {
			newest[p.Class] = p
		}
	}
	for _, p := range newest {
		class := d.f.Cluster.Class(p)
		d.rollouts.Add(rules.OwnerOf(class), class.OwnerRevision, p.BindTime)
	}
}

// drifted says how a claim no longer is what its pool and class ask for.
func (d *disruptions) drifted(claim *model.Claim) model.Reason {
	r, _ := d.drifting.Drifted(claim, d.f.Cluster.NodeOf[claim.ID])
	return r
}

func (d *disruptions) unhealthy(n *model.Node) bool {
	r, _ := rules.Unhealthy(d.f.Input.Policy.Repair, n.Conditions, d.f.Input.Now)
	return !r.OK() && rules.NotToBeRepaired(n.DoNotRepair).OK()
}

// taken counts the nodes of each pool that the plan takes away for a reason, and lists the pools in order.
func (d *disruptions) taken(why model.DisruptionReason) (nodes map[model.PoolName]int, pools []model.PoolName) {
	nodes = make(map[model.PoolName]int)
	for _, x := range d.f.Plan.Disruptions {
		for _, id := range x.Candidates {
			if claim := d.f.Cluster.Live[id]; claim != nil && x.Reason == why {
				nodes[claim.NodePool]++
			}
		}
	}
	return nodes, slices.Sorted(maps.Keys(nodes))
}

// canaries checks that a pool's drifted nodes go one at a time until one has proven what comes after them, and not at all
// for a while after that failed.
func (d *disruptions) canaries() {
	taken, pools := d.taken(model.ReasonDrifted)
	claim := func(id model.ClaimID) *model.Claim { return d.f.Cluster.Claims[id] }
	for _, name := range pools {
		going, proven := taken[name]-1, false
		for _, claim := range d.f.Cluster.Live {
			if claim.NodePool == name && claim.Disruption != "" && claim.DisruptionReason == model.ReasonDrifted {
				going++
			}
			proven = proven || d.proves(claim, name)
		}
		pause, _ := rules.DriftPause(name, d.f.Cluster.Snapshot.Disruptions, claim, d.f.Input.Now)
		for _, r := range []model.Reason{pause, rules.Canary(name, going, proven)} {
			if !r.OK() {
				d.r.Fail("node pool "+string(name), "the plan takes %d drifted nodes: %s", taken[name], r.Message)
			}
		}
	}
}

// proves says whether a claim's node, made from what the pool and its class are now, works.
func (d *disruptions) proves(claim *model.Claim, name model.PoolName) bool {
	pool, class, node := d.f.Cluster.Pools[name], d.f.Cluster.NodeClasses[claim.NodeClass], d.f.Cluster.NodeOf[claim.ID]
	return pool != nil && class != nil && node != nil && node.Ready && rules.Proves(claim, pool, class) &&
		!d.f.Cluster.Leaving(claim) && d.drifted(claim).OK()
}

// repairs checks that unhealthy nodes are taken only where few of the pool are: else the cause is not likely theirs.
func (d *disruptions) repairs() {
	_, pools := d.taken(model.ReasonUnhealthy)
	for _, name := range pools {
		nodes, unhealthy := 0, 0
		for id, claim := range d.f.Cluster.Live {
			if n := d.f.Cluster.NodeOf[id]; n != nil && claim.NodePool == name && rules.CountsForRepair(claim) {
				nodes++
				if rules.Unwell(d.f.Input.Policy.Repair, claim, n.Conditions, d.f.Input.Now) {
					unhealthy++
				}
			}
		}
		if r := rules.RepairGuard(d.f.Input.Policy.Repair, name, unhealthy, nodes); !r.OK() {
			d.r.Fail("node pool "+string(name), "the plan takes unhealthy nodes: %s", r.Message)
		}
	}
}
