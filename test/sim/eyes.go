package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// eyes see what no plan may do. They look at the cluster as it is, and share no code with the planner or its verifier:
// every rule is written down once more, from what the documentation says.
type eyes struct{ c *cluster }

// rest is how long a pod that was moved by choice must be left alone.
const rest = 30 * time.Minute

// look judges a plan before it is carried out.
func (e *eyes) look(p *model.Plan) {
	goes := make(map[model.ClaimID]bool)
	for i := range p.Disruptions {
		for _, id := range p.Disruptions[i].Candidates {
			if goes[id] || e.c.claims[string(id)] == nil || e.c.claims[string(id)].node == nil {
				e.c.day.broken(&e.c.day.NoDestination, fmt.Sprintf("%s %s is taken twice, or is no node", e.c.clock(), id))
			}
			goes[id] = true
		}
	}
	for i := range e.c.pools {
		e.budget(&e.c.pools[i], p)
	}
	e.disruptionBudgets(p)
	for i := range p.Disruptions {
		e.disruption(&p.Disruptions[i], p, goes)
	}
	e.capacity(p)
}

// chosen says whether a disruption of a claim could have waited. From its expiry on a claim can't.
func (e *eyes) chosen(d *model.Disruption, cl *claim) bool {
	return causeOf(d.Reason).chosen() && d.Reason != model.ReasonInterrupted && !e.tooOld(d.Reason, cl)
}

func (e *eyes) tooOld(why model.DisruptionReason, cl *claim) bool {
	return why == model.ReasonExpired && !cl.ExpireTime.IsZero() && !e.c.now.Before(cl.ExpireTime)
}

func (e *eyes) disruption(d *model.Disruption, p *model.Plan, goes map[model.ClaimID]bool) {
	for _, id := range d.Candidates {
		cl := e.c.claims[string(id)]
		if cl == nil || cl.node == nil || !causeOf(d.Reason).chosen() {
			continue
		}
		if cl.node.DoNotDisrupt {
			e.c.day.broken(&e.c.day.Protected, fmt.Sprintf("%s %s: node %s must not be disrupted", e.c.clock(), d.Reason, id))
		}
		for _, pd := range cl.node.movable() {
			if pd.Terminating {
				continue
			}
			if pd.protected(e.c.now) {
				e.c.day.broken(&e.c.day.Protected, fmt.Sprintf("%s %s: pod %s on %s must not be disrupted", e.c.clock(), d.Reason, pd.ID, id))
			}
			e.destination(d, p, pd, goes)
		}
	}
}

// destination looks for the one place where a displaced pod can go, and which is there or comes first.
func (e *eyes) destination(d *model.Disruption, p *model.Plan, pd *pod, goes map[model.ClaimID]bool) {
	found := 0
	for _, pl := range d.Destinations {
		if pl.Pod != pd.ID {
			continue
		}
		switch n := e.c.nodes[string(pl.Node)]; {
		case pl.Claim != "":
			flying := e.c.claims[string(pl.Claim)]
			fresh := slices.Contains(d.Replacements, pl.Claim) &&
				slices.ContainsFunc(p.NodeClaims, func(x model.NodeClaim) bool { return x.ID == pl.Claim })
			if fresh || flying != nil && flying.State < model.ClaimDraining && !goes[pl.Claim] {
				found++
			}
		case n != nil && n.Ready && len(n.Taints) == 0 && !goes[n.Claim]:
			found++
		}
	}
	if found != 1 {
		e.c.day.broken(&e.c.day.NoDestination, fmt.Sprintf("%s %s: pod %s has %d valid destinations", e.c.clock(), d.Reason, pd.ID, found))
	}
}

// soonFree is what a node has free once pods have gone that are ending, and do so in time.
func (e *eyes) soonFree(n *node) size {
	out := n.free
	for _, pd := range n.pods {
		if late := e.c.now.Sub(pd.TerminationDeadline); pd.Terminating && n.Ready && late < patience && late >= -grace {
			out = out.plus(pd.size, 1)
		}
	}
	return out
}

// patience is how long a pod may still be there after its grace, before no other waits for its room any more.
const patience = 10 * time.Second

// capacity says whether what is sent to nodes fits there.
func (e *eyes) capacity(p *model.Plan) {
	sent := make(map[string]size)
	count := func(pl model.Placement) {
		if pd := e.c.pods[string(pl.Pod)]; pd != nil && pl.Node != "" && pd.Node != pl.Node {
			sent[string(pl.Node)] = sent[string(pl.Node)].plus(pd.size, 1)
		}
	}
	for _, pl := range p.Placements {
		count(pl)
	}
	for i := range p.Disruptions {
		for _, pl := range p.Disruptions[i].Destinations {
			count(pl)
		}
	}
	for name, s := range sent {
		if n := e.c.nodes[name]; n == nil || !e.soonFree(n).holds(s) {
			e.c.day.broken(&e.c.day.NoDestination, fmt.Sprintf("%s node %s has no capacity for what is sent there", e.c.clock(), name))
		}
	}
}

// budget holds the pool's nodes that go by choice against its budgets; those that are going or not ready count.
func (e *eyes) budget(pool *model.NodePool, p *model.Plan) {
	nodes, busy := e.nodes(pool.Name, func(n *node) bool { return len(n.Taints) > 0 })
	for i, b := range pool.Budgets {
		if !e.active(b) {
			continue
		}
		going, most := e.going(pool.Name, b.Reasons, p), most(b, nodes)
		if going > 0 && busy+going > most {
			e.c.day.broken(&e.c.day.Budgets, fmt.Sprintf("%s pool %s budget %d: %d of %d nodes busy, %d more go, %d may", e.c.clock(), pool.Name,
				i, busy, nodes, going, most))
		}
	}
}

// nodes counts a pool's nodes, and those of them that are busy: not ready, being drained, or otherwise.
func (e *eyes) nodes(pool model.PoolName, otherwise func(*node) bool) (nodes, busy int) {
	for _, n := range e.c.order {
		cl := n.claim
		if cl.NodePool != pool || cl.Reached < model.ClaimInitialized || cl.State >= model.ClaimTerminating {
			continue
		}
		nodes++
		if !n.Ready || cl.State >= model.ClaimDraining || otherwise(n) {
			busy++
		}
	}
	return nodes, busy
}

func most(b model.DisruptionBudget, nodes int) int {
	if b.IsPercent {
		return (nodes*int(b.Count) + 99) / 100
	}
	return int(b.Count)
}

// may says that budgets let a candidate of a staged disruption be drained now. Those that wait like it are not busy.
func (e *eyes) may(cl *claim, why model.DisruptionReason) bool {
	nodes, busy := e.nodes(cl.NodePool, func(n *node) bool {
		return n.claim.group != nil && n.claim.Disruption != "" && !n.claim.group.record.Staged
	})
	return !slices.ContainsFunc(e.c.pool(cl.NodePool).Budgets, func(b model.DisruptionBudget) bool {
		caps := len(b.Reasons) == 0 || slices.Contains(b.Reasons, why)
		return caps && e.active(b) && busy+1 > most(b, nodes)
	})
}

// going counts a pool's nodes that a plan takes by choice for one of some reasons; none means any. Nodes that are not
// ready are busy already.
func (e *eyes) going(pool model.PoolName, reasons []model.DisruptionReason, p *model.Plan) int {
	n := 0
	for i := range p.Disruptions {
		d := &p.Disruptions[i]
		if len(reasons) > 0 && !slices.Contains(reasons, d.Reason) {
			continue
		}
		of := 0
		for _, id := range d.Candidates {
			if cl := e.c.claims[string(id)]; cl != nil && cl.NodePool == pool && cl.node != nil && cl.node.Ready && e.chosen(d, cl) {
				of++
			}
		}
		if d.Staged { // one after the other
			of = min(of, 1)
		}
		n += of
	}
	return n
}

// active says whether a budget holds now. Schedules are daily: "minute hour * * *".
func (e *eyes) active(b model.DisruptionBudget) bool {
	if b.Schedule == "" {
		return true
	}
	var minute, hour int
	if _, err := fmt.Sscanf(b.Schedule, "%d %d * * *", &minute, &hour); err != nil {
		return true
	}
	now := e.c.now
	hit := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, time.UTC)
	if hit.After(now) {
		hit = hit.Add(-24 * time.Hour)
	}
	return now.Before(hit.Add(b.Duration))
}

// disruptionBudgets holds what a plan evicts by choice against what pods' budgets allow now. Of one node alone more may go
// than at once, where any may: its drain takes them one after the other.
func (e *eyes) disruptionBudgets(p *model.Plan) {
	need, from := make(map[*workload]int), make(map[*workload]map[model.ClaimID]bool)
	for i := range p.Disruptions {
		d := &p.Disruptions[i]
		for _, id := range d.Candidates {
			cl := e.c.claims[string(id)]
			if cl == nil || cl.node == nil || !causeOf(d.Reason).chosen() {
				continue
			}
			for _, pd := range cl.node.movable() {
				if pd.Ready && !pd.Terminating {
					need[pd.load]++
					if from[pd.load] == nil {
						from[pd.load] = make(map[model.ClaimID]bool)
					}
					from[pd.load][id] = true
				}
			}
		}
	}
	for _, l := range e.c.loads {
		if may := l.allowed(); may >= 0 && need[l] > may && (may == 0 || len(from[l]) > 1) {
			e.c.day.broken(&e.c.day.PodBudgets, fmt.Sprintf("%s %d pods of %s are to go, %d may", e.c.clock(), need[l], l.name, may))
		}
	}
}

// evicted sees a pod go.
func (e *eyes) evicted(p *pod, why cause) {
	d := e.c.day
	d.evicted(e.c.now, why)
	if !why.chosen() {
		return
	}
	cl := e.c.nodes[string(p.Node)].claim
	if p.protected(e.c.now) {
		d.broken(&d.Protected, fmt.Sprintf("%s pod %s was evicted for %s", e.c.clock(), p.ID, why))
	}
	if !p.moved.IsZero() && e.c.now.Sub(p.moved) < rest && !e.tooOld(cl.DisruptionReason, cl) && !p.stoodInFor() {
		d.broken(&d.MovedTwice, fmt.Sprintf("%s pod %s was moved for %s; it was moved at %s before", e.c.clock(), p.ID, why, clock(p.moved)))
	}
}

// stoodInFor says that another pod may rest in the pod's stead: one that was made a little before because the workload
// grew while pods of it were moved. Nothing in a cluster says which of the two came for the moved one.
func (p *pod) stoodInFor() bool {
	for _, q := range p.load.pods {
		if since := p.CreateTime.Sub(q.CreateTime); q.moved.IsZero() && since >= 0 && since < time.Minute {
			return true
		}
	}
	return false
}

// bound sees a pod get its node.
func (e *eyes) bound(p *pod) {
	if e.c.now.Before(midnight()) {
		return
	}
	waited := e.c.now.Sub(p.CreateTime)
	list := &e.c.day.waits
	if !p.moved.IsZero() && p.CreateTime.Sub(p.moved) < time.Second {
		list = &e.c.day.displacedWaits
	}
	*list = append(*list, waited)
}
