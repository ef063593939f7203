// Package disrupt finds nodes to give back: those that nothing runs on, those that are too old, and those whose pods can
// live for less elsewhere.
//
// Its methods run in a fixed order (empty, expired, delete, replace). Each looks at the candidates that a chain of named
// checks lets through, tries a decision on a fork of the view, and keeps it or takes it back. Every pod that a decision
// displaces has a destination that can be relied on: a node that is ready and stays, or a replacement that must be
// initialized first. Nodes that are going away already are not its business: their pods are demand like any other. The
// package never looks at a clock and changes nothing but the view and the limits that it is given. Start reading with Run.
package disrupt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Params is what Run works on. The view already carries the pending pods where they are expected to run.
type Params struct {
	View    *view.View
	Matcher *fit.Matcher
	// Desk seats pods in the view.
	Desk   *pack.Desk
	Market *pack.Market
	Limits *pack.Limits
	// Unsupported says for each class, by index, what keeps its pods from being planned for.
	Unsupported []model.Reason
	// Unplaced are the pending pods that nothing was found for.
	Unplaced []pack.Item
	// Room are the seats of buffers' pods, which nobody ever makes: they move at no cost.
	Room []pack.Seat
	// Surplus are hosts that static pools have too many; they take no pods any more.
	Surplus []Surplus
}

// Surplus is a host that its static pool is not to have.
type Surplus struct {
	// Host is a place in View.Hosts.
	Host   int
	Reason model.Reason
}

// Decision gives nodes back.
type Decision struct {
	Reason model.DisruptionReason
	// Hosts are the candidates: places in View.Hosts, in order.
	Hosts []int
	// Evicted are the pods that are displaced: places in World.Pods, in order.
	Evicted []int
	// Spots are where pods go on nodes that exist, those of buffers included.
	Spots []pack.Seat
	// Replacements hold the other pods.
	Replacements []*pack.Bought
	// Saving is in micro-dollars per hour; 0 where the reason is not money.
	Saving      int64
	Explanation model.Reason
}

// Result is what Run found.
type Result struct {
	Decisions []Decision
	// Verdicts say, by place in View.Hosts, why each node stays or goes; only nodes that Kerf owns have one.
	Verdicts []model.Reason
}

// Run looks for nodes to give back.
func Run(in Params) Result {
	s := newSearch(in)
	s.shrink()
	for i, h := range s.v.Hosts {
		if h.Node != nil && h.Claim != nil && !s.v.Removed(i) {
			s.verdicts[i] = s.eligible(i)
			if s.verdicts[i].OK() {
				s.candidates = append(s.candidates, i)
			}
		}
	}
	s.sortCandidates()
	s.empty()
	s.expired()
	s.consolidate()
	s.buffered()
	return Result{Decisions: s.decisions, Verdicts: s.verdicts}
}

// search is the state of one Run.
type search struct {
	Params
	v       *view.View
	budgets *budgets
	pdbs    *pdbs
	balance *balance
	// before is how many pods were placed on each host before Run began.
	before   []int
	verdicts []model.Reason
	// candidates passed the checks that hold for every method; the best to give back come first.
	candidates []int
	decisions  []Decision
	// awaited are hosts that pods were meant for before Run began.
	awaited []bool
	// room are the pods of buffers, by host; mindful says that there are some there that mind other pods, and do not move.
	room    [][]int
	mindful []bool
	// nodes is how many nodes say that they stand for a claim.
	nodes map[model.ClaimID]int
}

func newSearch(in Params) *search {
	s := &search{Params: in, v: in.View, budgets: newBudgets(in.View), pdbs: newPDBs(in.View)}
	s.verdicts, s.awaited = make([]model.Reason, len(s.v.Hosts)), make([]bool, len(s.v.Hosts))
	s.nodes = make(map[model.ClaimID]int)
	held := s.takeRoom()
	for i, h := range s.v.Hosts {
		s.before = append(s.before, s.v.Nominated(i))
		s.awaited[i] = s.before[i] > held[i]
		if h.Node != nil && h.Claim != nil {
			s.nodes[h.Claim.ID]++
		}
	}
	s.balance = newBalance(s)
	return s
}

// sortCandidates puts first what saves most for the least disturbance.
func (s *search) sortCandidates() {
	ratio := make([]float64, len(s.v.Hosts))
	for _, h := range s.candidates {
		ratio[h] = float64(s.v.Weighed(s.v.Hosts[h].Claim)) / s.disturbance(h)
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
		out = append(out, movable(s.v, h)...)
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
		s.budgets.take(s.v.Hosts[h].Pool, 1)
		s.verdicts[h] = d.Explanation
	}
	for _, b := range d.Replacements {
		s.Limits.Keep(b)
	}
	s.pdbs.take(d.Evicted)
	s.decisions = append(s.decisions, d)
}

// price is what hosts cost, by the list and as they are weighed.
func (s *search) price(hosts []int) (list, weighed int64) {
	for _, h := range hosts {
		list += s.v.Price(s.v.Hosts[h].Claim)
		weighed += s.v.Weighed(s.v.Hosts[h].Claim)
	}
	return list, weighed
}

// empty gives back nodes that nothing runs on.
func (s *search) empty() {
	for _, h := range s.candidates {
		if len(movable(s.v, h)) > 0 || !s.unforced(h).OK() || !s.quiet(h).OK() {
			continue
		}
		host := s.v.Hosts[h]
		if r := s.taken(h); !r.OK() { // what goes before has sent pods there
			s.verdicts[h] = r
			continue
		}
		if r := notStatic(s, h); !r.OK() {
			s.verdicts[h] = r
			continue
		}
		if s.mindful[h] || len(s.room[h]) > 0 {
			continue // it is not to go, but its room may move
		}
		if r := s.budgets.reason(host.Pool, model.ReasonEmpty, 1); !r.OK() {
			s.verdicts[h] = r
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

// expired gives back nodes that are too old, once their pods have a place.
func (s *search) expired() {
	for _, h := range s.candidates {
		host := s.v.Hosts[h]
		if !s.isExpired(h) || s.v.Removed(h) {
			continue
		}
		if r := s.taken(h); !r.OK() {
			s.verdicts[h] = r
			continue
		}
		if r := s.budgets.reason(host.Pool, model.ReasonExpired, 1); !r.OK() {
			s.verdicts[h] = r
			continue
		}
		if r := budgetsMayAllow(s, h); !r.OK() { // again: what this plan evicts already counts
			s.verdicts[h] = r
			continue
		}
		d, r := s.relocate([]int{h})
		if !r.OK() {
			s.verdicts[h] = r
			continue
		}
		d.Reason = model.ReasonExpired
		d.Explanation = model.Reason{
			Code: model.CodeExpired, Subject: host.Name(),
			Message: fmt.Sprintf("it was to live until %s", host.Claim.ExpireTime.UTC().Format("2006-01-02 15:04:05")),
		}
		s.keep(d)
	}
}

func (s *search) isExpired(host int) bool {
	t := s.v.Hosts[host].Claim.ExpireTime
	return !t.IsZero() && !t.After(s.v.Now)
}
