package disrupt

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

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
		guard := rules.RepairGuard(v.Policy.Repair, p.Name, len(all), nodes[p.Index])
		for _, x := range all {
			switch {
			case v.Hosts[x.Host].Leaving || v.Removed(x.Host):
			case !guard.OK():
				r := guard
				r.Message = x.Reason.Message + "; but " + guard.Message
				stays = append(stays, Removal{x.Host, r})
			default:
				gone = append(gone, x)
			}
		}
	}
	return gone, stays
}

// removeUnhealthy removes unhealthy nodes, whatever budgets and pods say: the pods are not well there either. Pods that fit on nodes
// that there are go there; the others get theirs once the claim is marked.
func (s *search) removeUnhealthy() {
	_, stays := Unhealthy(s.v)
	for _, x := range stays {
		s.verdicts[x.Host] = x.Reason
		s.unhealthy[x.Host] = x.Reason
	}
	for _, x := range s.Unhealthy {
		if r := onlyNode(s, x.Host); !r.OK() {
			s.verdicts[x.Host] = r
			continue
		}
		s.unhealthy[x.Host] = x.Reason
		d, _, _ := s.move([]int{x.Host}, s.reliable)
		d.Reason, d.Explanation = model.ReasonUnhealthy, x.Reason
		s.keep(d)
	}
}
