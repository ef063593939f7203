package disrupt

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/budget"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Removal is a host that is not to be there, whatever runs on it: one too many of a static pool, or an unhealthy one.
type Removal struct {
	// Host is an index into View.Hosts.
	Host   int
	Reason model.Reason
}

// Unhealthy finds the unhealthy nodes of each pool: those that go, and those that stay all the same, each with the reason.
// Where too many of a pool are unhealthy, the cause is hardly the nodes, and none goes. Nor does one whose annotation, or
// whose pool's budget for unhealthy nodes, says so.
func Unhealthy(v *view.View) (gone, stays []Removal) {
	unhealthy, unwell, nodes := make([][]Removal, len(v.Pools)), make([]int, len(v.Pools)), make([]int, len(v.Pools))
	for i, h := range v.Hosts {
		if h.Node == nil || h.Claim == nil || h.Pool == nil {
			continue
		}
		if rules.CountsForRepair(h.Claim) {
			nodes[h.Pool.Index]++
			if rules.Unwell(v.Policy.Repair, h.Claim, h.Node.Conditions, v.Now) {
				unwell[h.Pool.Index]++
			}
		}
		if r, _ := rules.Unhealthy(v.Policy.Repair, h.Node.Conditions, v.Now); !r.OK() {
			r.Subject = h.Name()
			unhealthy[h.Pool.Index] = append(unhealthy[h.Pool.Index], Removal{i, r})
		}
	}
	budgets := budget.NewNodes(v)
	for _, p := range v.Pools {
		tooMany := rules.RepairGuard(v.Policy.Repair, p.Name, unwell[p.Index], nodes[p.Index])
		going := 0
		for _, x := range unhealthy[p.Index] {
			switch guard := keptUnhealthy(v, x.Host, tooMany, budgets.Repair(p, going+1)); {
			case v.Hosts[x.Host].Leaving:
			case v.Removed(x.Host):
				going++
			case !guard.OK():
				guard.Message = x.Reason.Message + "; but " + guard.Message
				stays = append(stays, Removal{x.Host, guard})
			default:
				going++
				gone = append(gone, x)
			}
		}
	}
	return gone, stays
}

// keptUnhealthy says what keeps a node although it is unhealthy.
func keptUnhealthy(v *view.View, host int, ofPool ...model.Reason) model.Reason {
	h := v.Hosts[host]
	for _, r := range append([]model.Reason{rules.ZoneShifted(h.Claim.Zone, v.ShiftedZones), rules.NotToBeRepaired(h.Node.DoNotRepair)}, ofPool...) {
		if !r.OK() {
			return r
		}
	}
	return model.Reason{}
}

// removeAtOnce removes what goes whatever budgets and pods say: unhealthy nodes, whose pods are not well there either,
// and what static pools have too many, as their users say. Pods that fit on nodes that stay go there; the others get
// theirs once the claim is marked. It returns what keeps unhealthy nodes from being repaired and from nothing else.
func removeAtOnce(dr *draft.Draft, unhealthy, surplus []Removal) (unrepaired map[int]model.Reason) {
	unrepaired = make(map[int]model.Reason)
	_, stays := Unhealthy(dr.View)
	for _, x := range stays {
		dr.Unhealthy[x.Host] = x.Reason
		if c := x.Reason.Code; c == model.CodeNodeDoNotDisrupt || c == model.CodeBudget {
			unrepaired[x.Host] = x.Reason
		} else {
			dr.Verdicts[x.Host] = x.Reason
		}
	}
	why := make(map[int]draft.Decision)
	var hosts []int
	for _, x := range unhealthy {
		if r := draft.OnlyNode(dr, x.Host); !r.OK() {
			dr.Verdicts[x.Host] = r
			continue
		}
		dr.Unhealthy[x.Host] = x.Reason
		why[x.Host] = draft.Decision{Reason: model.ReasonUnhealthy, Explanation: x.Reason}
		hosts = append(hosts, x.Host)
	}
	for _, x := range surplus {
		why[x.Host] = draft.Decision{Reason: model.ReasonSurplus, Explanation: x.Reason}
		hosts = append(hosts, x.Host)
	}
	for _, d := range dr.Parts(dr.MoveAtOnce(hosts)) {
		d.Reason, d.Explanation = why[d.Hosts[0]].Reason, why[d.Hosts[0]].Explanation
		dr.Keep(d)
	}
	return unrepaired
}
