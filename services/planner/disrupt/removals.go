package disrupt

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
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
// Where too many of a pool are unhealthy, the cause is hardly the nodes, and none goes.
func Unhealthy(v *view.View) (gone, stays []Removal) {
	unhealthy, nodes := make([][]Removal, len(v.Pools)), make([]int, len(v.Pools))
	for i, h := range v.Hosts {
		if h.Node == nil || h.Claim == nil || h.Pool == nil {
			continue
		}
		nodes[h.Pool.Index]++
		if r, _ := rules.Unhealthy(v.Policy.Repair, h.Node.Conditions, v.Now); !r.OK() {
			r.Subject = h.Name()
			unhealthy[h.Pool.Index] = append(unhealthy[h.Pool.Index], Removal{i, r})
		}
	}
	for _, p := range v.Pools {
		all := unhealthy[p.Index]
		tooMany := rules.RepairGuard(v.Policy.Repair, p.Name, len(all), nodes[p.Index])
		for _, x := range all {
			guard := rules.ZoneShifted(v.Hosts[x.Host].Claim.Zone, v.ShiftedZones)
			if guard.OK() {
				guard = tooMany
			}
			switch {
			case v.Hosts[x.Host].Leaving || v.Removed(x.Host):
			case !guard.OK():
				guard.Message = x.Reason.Message + "; but " + guard.Message
				stays = append(stays, Removal{x.Host, guard})
			default:
				gone = append(gone, x)
			}
		}
	}
	return gone, stays
}

// removeUnhealthy removes unhealthy nodes, whatever budgets and pods say: the pods are not well there either. Pods that fit on nodes
// that there are go there; the others get theirs once the claim is marked.
func removeUnhealthy(dr *draft.Draft, unhealthy []Removal) {
	_, stays := Unhealthy(dr.View)
	for _, x := range stays {
		dr.Verdicts[x.Host] = x.Reason
		dr.Unhealthy[x.Host] = x.Reason
	}
	for _, x := range unhealthy {
		if r := draft.OnlyNode(dr, x.Host); !r.OK() {
			dr.Verdicts[x.Host] = r
			continue
		}
		dr.Unhealthy[x.Host] = x.Reason
		d, _, _ := dr.Move([]int{x.Host}, dr.Reliable)
		d.Reason, d.Explanation = model.ReasonUnhealthy, x.Reason
		dr.Keep(d)
	}
}

// removeSurplus removes what static pools have too many. Their users say so: no other rule is asked. Pods that find no place on
// nodes that there are get theirs once they have left.
func removeSurplus(dr *draft.Draft, surplus []Removal) {
	for _, x := range surplus {
		d, _, _ := dr.Move([]int{x.Host}, dr.Reliable)
		d.Reason, d.Explanation = model.ReasonSurplus, x.Reason
		dr.Keep(d)
	}
}
