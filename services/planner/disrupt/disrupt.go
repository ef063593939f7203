// Package disrupt finds nodes to disrupt: those that are unhealthy, too many, empty, too old or no longer what they should be,
// and those whose pods can live for less elsewhere.
//
// Its methods run in that order. Each looks at the candidates that a chain of named checks lets through, tries a decision on
// a fork of the view, and keeps it or takes it back. Every pod that a decision by choice displaces has a destination that can
// be relied on: a node that is ready and stays, or a replacement that must be initialized first. What saves money must make
// up for the evictions that it takes, and pods that were moved a short time ago are left alone: the snapshot's history tells
// which. Nodes that are going away already are not its business: their pods are demand like any other. The package never
// looks at a clock and changes nothing but the view and the limits that it is given. docs/adr/0008 has the reasons. Start
// reading with Run.
package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Params is what Run works on. The view already carries the pending pods where they are expected to run.
type Params struct {
	View    *view.View
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
	// Surplus are hosts that static pools have too many, Unhealthy those that are unhealthy; they take no pods any more.
	Surplus, Unhealthy []Removal
	// Fixed makes a claim of a static pool to take the place of one of its nodes, for some pods, within limits.
	Fixed func(pool *view.Pool, items []market.Item, lim *market.Limits) (*purchase.NewClaim, model.Reason)
	// ResumeAfter is where the last search ended; "" begins anew.
	ResumeAfter model.ClaimID
	// Spare are claims to leave alone, in order.
	Spare []model.ClaimID
}

// Removal is a host that is not to be there, whatever runs on it: one too many of a static pool, or an unhealthy one.
type Removal struct {
	// Host is a place in View.Hosts.
	Host   int
	Reason model.Reason
}

// Decision disrupts nodes.
type Decision struct {
	Reason model.DisruptionReason
	// Hosts are the candidates: places in View.Hosts, in order.
	Hosts []int
	// Evicted are the pods that are displaced: places in World.Pods, in order.
	Evicted []int
	// Destinations are where pods go on nodes that exist, those of buffers included.
	Destinations []pack.Assignment
	// Replacements hold the other pods.
	Replacements []*purchase.NewClaim
	// Saving is in micro-dollars per hour; 0 where the reason is not money.
	Saving      int64
	Explanation model.Reason
	// Churn is what the evictions are weighed at, micro-dollars, and PayBack how long it takes for the saving to make up for
	// them; 0 where the reason is not money.
	Churn   int64
	PayBack time.Duration
	// Workloads are whose pods are evicted.
	Workloads []model.WorkloadEvictions
}

// Result is what Run found.
type Result struct {
	Decisions []Decision
	// Verdicts say, by place in View.Hosts, why each node stays or goes; only nodes that Kerf owns have one.
	Verdicts []model.Reason
	// Waste is, by place in View.Hosts, what a node costs beyond what its pods are worth; 0 where that is not known.
	Waste []int64
	// Summary is how far the search got.
	Summary model.DisruptionSummary
	// ReconsiderTime is when time alone first changes which nodes may or must go; zero when it never does.
	ReconsiderTime time.Time
}

// Run looks for nodes to disrupt.
func Run(in Params) Result {
	s := newSearch(in)
	s.removeUnhealthy()
	s.removeSurplus()
	for i, h := range s.v.Hosts {
		if h.Node != nil && h.Claim != nil && !s.v.Removed(i) && s.verdicts[i].OK() {
			s.verdicts[i] = s.ask(everyMethod(), i)
			if s.verdicts[i].OK() {
				s.candidates = append(s.candidates, i)
			}
		}
	}
	s.appraise()
	s.sortCandidates()
	s.removeEmpty()
	r := newReplacer(s)
	r.replaceExpired()
	r.replaceDrifted()
	s.consolidate()
	s.explainBuffers()
	return Result{Decisions: s.decisions, Verdicts: s.verdicts, Waste: s.waste, Summary: s.summary, ReconsiderTime: s.reconsider()}
}

// search is the state of one Run: what is known of each host, and what was decided so far. Lists by host are in the order of
// View.Hosts and never change their length.
type search struct {
	Params
	v *view.View

	// What is worked out before the first decision, and does not change.

	history *history
	churn   *churn
	balance *balance
	// moving are the pods on each host that a plan can move: places in World.Pods, in order.
	moving [][]int
	// bufferPods are the pods of buffers on each host that may move; buffersFixed says that there are some that may not,
	// because they have pod rules.
	bufferPods   [][]int
	buffersFixed []bool
	// before is how many pods were placed on each host before Run began; awaited says that some of them are real.
	before  []int
	awaited []bool
	// nodes is how many nodes say that they stand for a claim.
	nodes map[model.ClaimID]int
	// drift is, by host, how it has drifted; driftChange is when time alone first makes another one drift, zero for never.
	drift       []model.Reason
	driftChange time.Time
	// worth is what pods would cost at the lowest prices, value the sum of that on each host, waste what the host costs
	// beyond. Known once appraise was called.
	worth purchase.Worth
	value []float64
	waste []int64

	// What decisions change. A host with a decision is removed from the view, and its verdict is why.

	// budgets and pdbs count what is left after the decisions so far.
	budgets *budgets
	pdbs    *pdbs
	// dependents are pods that this plan has placed and that depend on others.
	dependents dependents
	// unhealthy is, by host, what is wrong with it, whether it goes or stays.
	unhealthy []model.Reason
	verdicts  []model.Reason
	// candidates are the hosts that passed the checks that hold for every method, the best to disrupt first. A method
	// skips those that have a decision or a verdict by then.
	candidates []int
	decisions  []Decision
	summary    model.DisruptionSummary
}

func newSearch(in Params) *search {
	s := &search{Params: in, v: in.View, budgets: newBudgets(in.View), pdbs: newPDBs(in.View), history: newHistory(in.View)}
	s.churn = newChurn(s.v, s.history.moves.Rest())
	n := len(s.v.Hosts)
	s.verdicts, s.awaited, s.moving = make([]model.Reason, n), make([]bool, n), make([][]int, n)
	s.drift, s.unhealthy = make([]model.Reason, n), make([]model.Reason, n)
	s.nodes = make(map[model.ClaimID]int)
	held := s.noteBufferPods()
	for i, h := range s.v.Hosts {
		s.moving[i] = movable(s.v, i)
		s.before = append(s.before, s.v.Nominated(i))
		s.awaited[i] = s.before[i] > held[i]
		if h.Node == nil || h.Claim == nil {
			continue
		}
		s.nodes[h.Claim.ID]++
		drift, until := Drift(s.v, i)
		s.drift[i], s.driftChange = drift, rules.Earliest(s.driftChange, until)
	}
	s.balance, s.dependents = newBalance(s), make(dependents)
	s.noteDependents(in.Assignments)
	return s
}

// sortCandidates puts first what saves most for the least disturbance.
func (s *search) sortCandidates() {
	ratio := make([]float64, len(s.v.Hosts))
	for _, h := range s.candidates {
		ratio[h] = float64(s.v.WeighedPrice(s.v.Hosts[h].Claim)) / s.disturbance(h)
	}
	slices.SortStableFunc(s.candidates, func(a, b int) int { return cmp.Compare(ratio[b], ratio[a]) })
}

// movable are the pods on a host that a plan can move: not those of DaemonSets, not the kubelet's own, and not those
// that are being deleted.
func movable(v *view.View, host int) []int {
	var out []int
	for _, p := range v.Hosts[host].Pods {
		if pod := v.Pods[p]; !pod.Class.Daemon && !pod.Class.Mirror && !pod.Terminating {
			out = append(out, p)
		}
	}
	return out
}

func (s *search) movable(hosts ...int) []int {
	var out []int
	for _, h := range hosts {
		out = append(out, s.moving[h]...)
	}
	slices.Sort(out)
	return out
}

// taken says whether a host is part of a decision of this plan, as a candidate or as a destination.
func (s *search) taken(host int) model.Reason {
	name := s.v.Hosts[host].Name()
	switch {
	case s.v.Removed(host):
		return s.verdicts[host]
	case !s.awaited[host] && s.v.Nominated(host) > s.before[host]:
		return model.Reason{Code: model.CodeSuperseded, Subject: name, Message: "pods of another node that goes are to move here"}
	}
	return model.Reason{}
}

// keep makes a decision part of the plan.
func (s *search) keep(d Decision) {
	slices.Sort(d.Hosts)
	for _, h := range d.Hosts {
		s.v.Remove(h)
		s.budgets.take(h, s.v.Hosts[h].Pool, d.Reason)
		s.verdicts[h] = d.Explanation
	}
	for _, b := range d.Replacements {
		b.TakeFrom(s.Limits)
	}
	s.pdbs.take(d.Evicted)
	s.noteDependents(assignmentsOf(&d))
	d.Churn, d.Workloads = s.churn.sum(d.Evicted), workloads(s.v, d.Evicted)
	if d.Reason == model.ReasonUnderutilized {
		d.PayBack = payBack(d.Churn, d.Saving)
	}
	s.decisions = append(s.decisions, d)
}

// price is what hosts cost, by the list and as they are weighed.
func (s *search) price(hosts []int) (list, weighed int64) {
	for _, h := range hosts {
		list += s.v.Price(s.v.Hosts[h].Claim)
		weighed += s.v.WeighedPrice(s.v.Hosts[h].Claim)
	}
	return list, weighed
}

// removeEmpty removes nodes that nothing runs on.
func (s *search) removeEmpty() {
	for _, h := range s.candidates {
		if len(s.moving[h]) > 0 || !s.unforced(h).OK() || !s.quiet(h).OK() {
			continue
		}
		host := s.v.Hosts[h]
		if r := s.taken(h); !r.OK() { // what goes before has sent pods there
			s.verdicts[h] = r
			continue
		}
		if !notStatic(s, h).OK() {
			continue
		}
		if s.buffersFixed[h] || len(s.bufferPods[h]) > 0 {
			continue // it is not to go, but its buffer pods may move
		}
		if r := s.returns(h); !r.OK() {
			s.verdicts[h] = r
			continue
		}
		if r := s.budgets.reason(host.Pool, model.ReasonEmpty, 1); !r.OK() {
			if !s.replaceable(h) { // it may go for another reason, under that one's budget or none
				s.verdicts[h] = r
			}
			continue
		}
		price := s.v.Price(host.Claim)
		s.keep(Decision{
			Reason: model.ReasonEmpty, Hosts: []int{h}, Saving: price,
			Explanation: model.Reason{
				Code: model.CodeEmpty, Subject: host.Name(),
				Message: fmt.Sprintf("no pod but those of DaemonSets runs there; it costs %s an hour", fit.Money(price)),
			},
		})
	}
}

// returns says that a pod which ends on a host will come back, and need its place: that of a StatefulSet does, under its old
// name.
func (s *search) returns(host int) model.Reason {
	for _, i := range s.v.Hosts[host].Pods {
		if p := s.v.Pods[i]; p.Terminating && p.Class.OwnerKind == "StatefulSet" {
			return model.Reason{
				Code: model.CodeNominated, Subject: s.v.Hosts[host].Name(),
				Message: fmt.Sprintf("pod %s is ending there, and its StatefulSet will make it again", p.ID), Remedy: "wait",
			}
		}
	}
	return model.Reason{}
}
