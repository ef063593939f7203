package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

const (
	// mostRounds is after how many plans, each of which was carried out, a cluster that nothing else changes must be at
	// rest: budgets may let one node go at a time, and there are about two dozen pods.
	mostRounds = 40
	// round is how long after a plan the next one is made: by then all that it asks for has happened, and what moved
	// has rested.
	round = 6 * time.Hour
)

// rest carries plans out until there is nothing left to do. A cluster that nothing changes and that never comes to rest
// buys and removes nodes for as long as it is there. It does not see what comes of pods that the scheduler puts
// elsewhere, of launches that fail, or of what waits for less than a round.
func (t *trial) rest(decide func(model.Input) (model.Plan, error)) {
	in, did := t.c.Clone().Input, ""
	in.Kinds = nil
	for range mostRounds {
		p, err := decide(in)
		if err != nil {
			t.fail(Failure{Kind: Broken, Rule: "error", Detail: "of a later round: " + err.Error()})
			return
		}
		if len(p.NodeClaims)+len(p.Disruptions) == 0 {
			return
		}
		did = told(p)
		t.carryOut(&in, p)
	}
	t.fail(Failure{Kind: Restless, Rule: "rounds", Detail: fmt.Sprintf("plan %d still decides: %s", mostRounds, did)})
}

// told is what a plan decides, on one line.
func told(p model.Plan) string {
	var out []string
	for _, c := range p.NodeClaims {
		out = append(out, fmt.Sprintf("buy %s of %s as %s for %d pods", c.ID, c.NodePool, c.Offerings[0].InstanceType, len(c.Pods)))
	}
	for _, d := range p.Disruptions {
		out = append(out, fmt.Sprintf("remove %v: %s, %s", d.Candidates, d.Reason, d.Explanation.Message))
	}
	return strings.Join(out, "; ")
}

// carryOut makes of an input the one after its plan: pods run where they are planned, what was bought has come as what
// it was wanted as most, and what goes is gone. Nodes grow no older.
func (t *trial) carryOut(in *model.Input, p model.Plan) {
	x := &in.Snapshot
	gone := map[model.ClaimID]bool{}
	at := map[model.PodID]model.Placement{}
	for _, d := range p.Disruptions {
		for _, id := range d.Candidates {
			gone[id] = true
		}
		for _, m := range d.Destinations {
			at[m.Pod] = m
		}
	}
	for _, m := range p.Placements {
		at[m.Pod] = m
	}
	for i := range x.Claims {
		c := &x.Claims[i]
		if leaves(x, c) || c.State.Ended() || c.State < model.ClaimRegistered && len(c.Offerings) == 0 {
			gone[c.ID] = true
		} else if c.State < model.ClaimRegistered && !gone[c.ID] {
			t.launch(in, c)
		}
		c.ExpireTime = time.Time{}
	}
	for _, w := range p.NodeClaims {
		c := w.InFlight(pool(x, w.NodePool), in.Now)
		t.launch(in, &c)
		x.Claims = append(x.Claims, c)
	}
	left := map[model.NodeName]bool{}
	x.Nodes = slices.DeleteFunc(x.Nodes, func(n model.Node) bool {
		if gone[n.Claim] && n.Claim != "" || n.Terminating {
			left[n.Name] = true
		}
		return left[n.Name]
	})
	x.Claims = slices.DeleteFunc(x.Claims, func(c model.Claim) bool { return gone[c.ID] })
	x.Notices, x.Disruptions = nil, nil
	x.Pods = slices.DeleteFunc(x.Pods, func(p model.Pod) bool {
		return p.Terminating || left[p.Node] && (t.classes[p.Class].Daemon || t.classes[p.Class].Mirror)
	})
	for i := range x.Pods {
		pod := &x.Pods[i]
		m, moves := at[pod.ID]
		switch {
		case moves && m.Claim != "":
			pod.Node = nameOf(m.Claim)
		case moves:
			pod.Node = m.Node
		case left[pod.Node]:
			pod.Node = ""
		default:
			continue
		}
		pod.Phase, pod.Ready, pod.BindTime, pod.ExpectedNode, pod.NominatedNode, pod.UnschedulableTime = model.PodRunning, true, in.Now, "", "", time.Time{}
		if pod.Node == "" {
			pod.Phase, pod.Ready, pod.BindTime, pod.UnschedulableTime = model.PodUnschedulable, false, time.Time{}, in.Now
		}
	}
	x.Revision++
	x.InventoryRevision++
	in.Now = in.Now.Add(round)
}

// leaves says that a claim goes without a plan.
func leaves(x *model.Snapshot, c *model.Claim) bool {
	return c.State >= model.ClaimDraining || underWay(x, *c).State == model.ClaimDraining
}

func nameOf(id model.ClaimID) model.NodeName { return model.NodeName("node-" + string(id)) }

func pool(x *model.Snapshot, name model.PoolName) *model.NodePool {
	i := slices.IndexFunc(x.NodePools, func(p model.NodePool) bool { return p.Name == name })
	return &x.NodePools[i]
}

// launch makes a claim a node, as the first of its offerings.
func (t *trial) launch(in *model.Input, c *model.Claim) {
	p, o := pool(&in.Snapshot, c.NodePool), c.Offerings[0]
	it := t.instanceType(o.InstanceType)
	own := c.Labels
	for _, r := range c.Requirements {
		if _, decided := own.Get(r.Key); !decided && r.Operator == model.In && len(r.Values) > 0 && !labels.WellKnown(r.Key) {
			own = gen.With(own, r.Key, slices.Min(r.Values))
		}
	}
	c.LaunchedAs(o)
	c.State, c.Reached, c.InstanceID, c.Node, c.Labels = model.ClaimInitialized, model.ClaimInitialized, "i-"+string(c.ID), nameOf(c.ID), own
	c.LaunchTime, c.InitializeTime, c.StateTime = in.Now, in.Now, in.Now
	c.PoolHash, c.Capacity, c.Allocatable = p.Hash, it.Capacity, it.Allocatable
	for _, class := range in.Snapshot.NodeClasses {
		if class.Name == c.NodeClass {
			c.ClassHash = class.Hash
		}
	}
	n := t.nodeOf(string(c.Node), p, o, own, c.Taints)
	slices.SortFunc(n.Allocatable, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) })
	n.Claim, n.Capacity, n.Ready, n.CreateTime, n.LastPodEventTime = c.ID, it.Capacity, true, in.Now, in.Now
	in.Snapshot.Nodes = append(in.Snapshot.Nodes, n)
}
