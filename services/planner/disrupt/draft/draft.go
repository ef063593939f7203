// Package draft is the state of one search for nodes to disrupt: what is known of each host, and what has been decided so
// far. It says whether a node may go at all, moves pods elsewhere in the view, and makes a decision part of the plan.
//
// It must never know why a node should go: whether it is empty, too old or too expensive is for those that use the draft.
// Start reading with Draft, then Keep; the checks that a candidate must pass are in eligible.go.
package draft

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/budget"
	"github.com/kerf-dev/kerf/services/planner/disrupt/churn"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Params is what a draft begins with. The view already carries the pending pods where they are expected to run.
type Params struct {
	View *view.View
	// Matcher judges the places of moved pods by the policy's cap on pods of one workload, too, once there is a draft.
	Matcher *fit.Matcher
	// Scheduler assigned pods in the view.
	Scheduler *pack.Scheduler
	Limits    *market.Limits
	// Unsupported says for each class, by index, what keeps its pods from being planned for.
	Unsupported []model.Reason
	// Unplaced are the pending pods that nothing was found for.
	Unplaced []market.Item
	// BufferPods are the places of buffers' pods, which do not exist: they move at no cost.
	BufferPods []pack.Assignment
	// Assignments are the places of the pending pods.
	Assignments []pack.Assignment
	// Bought is how many nodes the plan buys for pending pods, by pool.
	Bought []int
	// Exclude are claims to leave alone, in order.
	Exclude []model.ClaimID
}

// Decision disrupts nodes.
type Decision struct {
	Reason model.DisruptionReason
	// Hosts are the candidates: indexes into View.Hosts, in order.
	Hosts []int
	// Evicted are the pods that are displaced: indexes into World.Pods, in order.
	Evicted []int
	// Destinations are where pods go on nodes that exist, those of buffers included.
	Destinations []pack.Assignment
	// Replacements hold the other pods.
	Replacements []*purchase.NewClaim
	// Saving is in micro-dollars per hour; 0 where the reason is not money.
	Saving      int64
	Explanation model.Reason
	// Churn is what the evictions are weighed at, micro-dollars, and PayBack how long it takes for the saving to make
	// up for them; 0 where the reason is not money.
	Churn   int64
	PayBack time.Duration
	// Workloads are whose pods are evicted.
	Workloads []model.WorkloadEvictions
	// Staged says that the hosts are more than budgets let go at once: they are drained as budgets let them.
	Staged bool
}

// Estimated says whether prices that the saving follows from are estimates: of what goes, or of what takes its place.
func (d *Decision) Estimated(v *view.View) bool {
	return slices.ContainsFunc(d.Hosts, func(h int) bool { return v.Estimated(v.Hosts[h].Claim) }) ||
		slices.ContainsFunc(d.Replacements, func(b *purchase.NewClaim) bool { return b.Best().Estimated() })
}

// Draft is the state of one search: what is known of each host, and what was decided so far. Lists by host are in the order
// of View.Hosts and never change their length. One goroutine owns it.
type Draft struct {
	Params

	// What is worked out before the first decision, and does not change.

	History *churn.History
	Churn   *churn.Prices
	// Moving are the pods on each host that a plan can move: indexes into World.Pods, in order.
	Moving [][]int
	// Buffered are the pods of buffers on each host that may move; BuffersFixed says that there are some that may not,
	// because they have pod rules.
	Buffered     [][]int
	BuffersFixed []bool
	// Drift is, by host, how it has drifted. The owner notes it before the first decision.
	Drift []model.Reason
	// before is how many pods were placed on each host before the search began; awaited says that some of them are real.
	before  []int
	awaited []bool
	// starting and started count, by pool, nodes for pending pods that are bought or on their way, and nodes that have
	// started.
	starting, started []int
	// ending and running count, by pool, pods on nodes that stay: those that are being deleted, and the others.
	// DaemonSets' are not meant.
	ending, running []int
	// needing are pods without a node that need something of one, one of each class.
	needing []market.Item
	// waitForLimit says for whom a limit would have room once a node of a type is gone, as far as it was asked.
	waitForLimit map[freedBy]bool
	// nodesOf is how many nodes say that they stand for a claim.
	nodesOf map[model.ClaimID]int
	// circles are those of the classes, see podrules.Circles.
	circles []int32
	// uncapped is the matcher that judges as the scheduler does, which knows of no cap.
	uncapped *fit.Matcher
	// placed are the Assignments in their order, without the pods of buffers; buffersTied are of those which pod rules
	// concern.
	placed, buffersTied []pack.Assignment

	// What decisions change. A host with a decision is removed from the view, and its verdict is why.

	// NodeBudgets and PodBudgets count what is left after the decisions so far.
	NodeBudgets *budget.Nodes
	PodBudgets  *budget.Pods
	// dependents are pods that this plan has placed and that depend on others.
	dependents dependents
	// BuffersLost is what buffers lose to the decisions so far. Who looks for decisions by BuffersLose keeps it up to date.
	BuffersLost BuffersLoss
	// Unhealthy is, by host, what is wrong with it, whether it goes or stays.
	Unhealthy []model.Reason
	// Soon says of hosts that are to be replaced that their pods have a place once a node is ready.
	Soon []bool
	// Verdicts say, by host, why a node goes or stays; zero as long as neither is decided.
	Verdicts []model.Reason
	// Candidates are the hosts that passed EveryMethod, the best to disrupt first. A method skips those that have a
	// decision or a verdict by then.
	Candidates []int
	// Decisions grow by Keep alone.
	Decisions []Decision
}

// New prepares a draft without decisions; the scheduler keeps the policy's cap on nodes that are there from then on.
// Pods of buffers that have pod rules are no longer counted for others' rules.
func New(in Params) *Draft {
	dr := &Draft{
		Params: in, NodeBudgets: budget.NewNodes(in.View), PodBudgets: budget.NewPods(in.View), History: churn.NewHistory(in.View),
	}
	dr.uncapped, dr.Matcher = in.Matcher, in.Matcher.Capped()
	dr.Scheduler.Judge(dr.Matcher)
	dr.Churn = churn.NewPrices(dr.View, dr.History.Moves.Rest())
	n := len(dr.View.Hosts)
	dr.Verdicts, dr.awaited, dr.Moving = make([]model.Reason, n), make([]bool, n), make([][]int, n)
	dr.Drift, dr.Unhealthy, dr.Soon = make([]model.Reason, n), make([]model.Reason, n), make([]bool, n)
	dr.nodesOf, dr.dependents, dr.waitForLimit = make(map[model.ClaimID]int), make(dependents), make(map[freedBy]bool)
	dr.started = make([]int, len(dr.View.Pools))
	dr.starting = append(slices.Clone(in.Bought), make([]int, len(dr.View.Pools)-len(in.Bought))...)
	dr.ending, dr.running = countEnding(dr.View)
	dr.needing = needing(&in)
	held := dr.noteBufferPods()
	for i, h := range dr.View.Hosts {
		for _, p := range h.Pods {
			if dr.View.Pods[p].Movable() {
				dr.Moving[i] = append(dr.Moving[i], p)
			}
		}
		dr.before = append(dr.before, dr.View.Nominated(i))
		dr.awaited[i] = dr.before[i] > held[i]
		if h.Node != nil && h.Claim != nil {
			dr.nodesOf[h.Claim.ID]++
		}
		switch {
		case h.Pool == nil || h.Claim == nil || h.Leaving:
		case h.Claim.State == model.ClaimInitialized:
			dr.started[h.Pool.Index]++
		case h.Claim.State.InFlight() && h.Claim.Replaces == "":
			dr.starting[h.Pool.Index]++
		}
	}
	dr.circles = podrules.Circles(dr.Scheduler.Tally().Rules())
	dr.noteDependents(in.Assignments)
	dr.placed = slices.DeleteFunc(slices.Clone(in.Assignments), func(a pack.Assignment) bool {
		return dr.View.Pods[a.Pod].ID.Virtual()
	})
	return dr
}

// Starting is how many nodes of a pool are bought or on their way for pending pods, and how many have started.
func (dr *Draft) Starting(p *view.Pool) (starting, started int) {
	return dr.starting[p.Index], dr.started[p.Index]
}

func countEnding(v *view.View) (ending, running []int) {
	ending, running = make([]int, len(v.Pools)), make([]int, len(v.Pools))
	for _, h := range v.Hosts {
		if h.Pool == nil || h.Claim == nil || h.Leaving {
			continue // what is moved ends, too
		}
		late := EndingUntil(v, h).IsZero()
		for _, p := range h.Pods {
			switch pod := &v.Pods[p]; {
			case pod.Movable():
				running[h.Pool.Index]++
			case ends(pod) && !late:
				ending[h.Pool.Index]++
			}
		}
	}
	return ending, running
}

// endingFor is how long pods that end count as ending once the last pod has come or gone on their node. Most pods have
// half a minute for it; what takes longer, as it may for good where a kubelet is dead or a finalizer stays, is not
// waited for.
const endingFor = 2 * time.Minute

// ends says that a pod is being deleted which makes room.
func ends(p *view.Pod) bool { return p.Terminating && !p.Class.Daemon && !p.Class.Mirror }

// EndingUntil is up to when pods that are being deleted on a host count as ending; zero where none does.
func EndingUntil(v *view.View, h *view.Host) time.Time {
	if h.Node == nil || !slices.ContainsFunc(h.Pods, func(p int) bool { return ends(&v.Pods[p]) }) {
		return time.Time{}
	}
	until := h.Node.LastPodEventTime.Add(endingFor)
	if !v.Now.Before(until) {
		return time.Time{}
	}
	return until
}

// Ending is how many pods of a pool have lately begun to be deleted, on nodes that stay, and how many others run there.
func (dr *Draft) Ending(p *view.Pool) (ending, running int) {
	return dr.ending[p.Index], dr.running[p.Index]
}

// Mark is what decisions change of a draft, as it was when they had not been made. It serves for one Revert.
type Mark struct {
	view       view.Mark
	nodes      *budget.Nodes
	pods       *budget.Pods
	limits     *market.Limits
	dependents dependents
	buffers    BuffersLoss
	decisions  int
}

// Mark notes what is decided so far.
func (dr *Draft) Mark() Mark {
	return Mark{
		view: dr.Scheduler.Mark(), nodes: dr.NodeBudgets.Clone(false), pods: dr.PodBudgets.Clone(), limits: dr.Limits.Clone(),
		dependents: dr.dependents.clone(), buffers: dr.BuffersLost, decisions: len(dr.Decisions),
	}
}

// BuffersLost is what it was then.
func (m Mark) BuffersLost() BuffersLoss { return m.buffers }

// WithinBudgets says whether budgets for nodes let all decisions since the mark happen now, and then what is left of them.
func (dr *Draft) WithinBudgets(m Mark) (left *budget.Nodes, ok bool) {
	left = m.nodes.Clone(false)
	for _, d := range dr.Since(m) {
		for _, h := range d.Hosts {
			pool := dr.View.Hosts[h].Pool
			if !left.Reason(pool, d.Reason, 1).OK() {
				return nil, false
			}
			left.Take(h, pool)
		}
	}
	return left, true
}

// Since are the decisions since the mark.
func (dr *Draft) Since(m Mark) []Decision { return dr.Decisions[m.decisions:] }

// Revert takes back all decisions since the mark, and returns them. Verdicts stay.
func (dr *Draft) Revert(m Mark) []Decision {
	dr.Scheduler.Revert(m.view)
	dr.NodeBudgets, dr.PodBudgets, *dr.Limits, dr.dependents, dr.BuffersLost = m.nodes, m.pods, *m.limits, m.dependents, m.buffers
	undone := slices.Clone(dr.Since(m))
	dr.Decisions = dr.Decisions[:m.decisions]
	return undone
}

// Movable are the pods on hosts that a plan can move, in order.
func (dr *Draft) Movable(hosts ...int) []int {
	var out []int
	for _, h := range hosts {
		out = append(out, dr.Moving[h]...)
	}
	slices.Sort(out)
	return out
}

// Taken says whether a host is part of a decision of this plan, as a candidate or as a destination.
func (dr *Draft) Taken(host int) model.Reason {
	name := dr.View.Hosts[host].Name()
	switch {
	case dr.View.Removed(host):
		return dr.Verdicts[host]
	case !dr.awaited[host] && dr.View.Nominated(host) > dr.before[host]:
		return model.Reason{Code: model.CodeSuperseded, Subject: name, Message: "pods of another node that goes are to move here"}
	}
	return model.Reason{}
}

// Keep makes a decision part of the plan.
func (dr *Draft) Keep(d Decision) {
	slices.Sort(d.Hosts)
	for _, h := range d.Hosts {
		dr.View.Remove(h)
		dr.NodeBudgets.Take(h, dr.View.Hosts[h].Pool)
		dr.Verdicts[h] = d.Explanation
	}
	for _, b := range d.Replacements {
		b.TakeFrom(dr.Limits)
	}
	dr.PodBudgets.Take(d.Evicted)
	dr.noteDependents(assignmentsOf(&d))
	d.Churn, d.Workloads = dr.Churn.Now(d.Evicted), churn.Workloads(dr.View, d.Evicted)
	if d.Reason == model.ReasonUnderutilized {
		d.PayBack = churn.PayBack(d.Churn, d.Saving)
	}
	dr.Decisions = append(dr.Decisions, d)
}

// Price is what hosts cost, by the list and as they are weighed.
func (dr *Draft) Price(hosts []int) (list, weighed int64) {
	for _, h := range hosts {
		list += dr.View.Price(dr.View.Hosts[h].Claim)
		weighed += dr.View.WeighedPrice(dr.View.Hosts[h].Claim)
	}
	return list, weighed
}

// Disturbance is what removing a node does to its pods: 1, and for each pod how hard it is to move.
func (dr *Draft) Disturbance(host int) float64 {
	sum := 1.0
	for _, i := range dr.Moving[host] {
		sum += churn.Hardness(dr.View.Pods[i])
	}
	return sum
}

// Expired says that a node is as old as it may become.
func (dr *Draft) Expired(host int) bool {
	r, _ := rules.Expired(dr.View.Hosts[host].Claim, dr.View.Now)
	return !r.OK()
}

// Expiring says that a node is about to become too old.
func (dr *Draft) Expiring(host int) bool {
	r, _ := rules.Expiring(dr.View.Hosts[host].Claim, dr.View.Now)
	return !r.OK() && !dr.Expired(host)
}
