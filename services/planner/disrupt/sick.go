package disrupt

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// sick says what ails a node beyond waiting.
func sick(v *view.View, h *view.Host) model.Reason {
	ways := v.Policy.Repair.Conditions
	if len(ways) == 0 {
		ways = model.DefaultRepairConditions()
	}
	for _, c := range h.Node.Conditions {
		for _, w := range ways {
			since := v.Now.Sub(c.TransitionTime)
			if w.Type == c.Type && w.Status == c.Status && since >= w.After {
				return model.Reason{
					Code: model.CodeUnhealthy, Subject: h.Name(),
					Message: fmt.Sprintf("its condition %s has been %s for %s, and the policy waits %s", c.Type, c.Status, since.Truncate(time.Second), w.After),
				}
			}
		}
	}
	return model.Reason{}
}

// Sick finds the nodes of each pool that are sick: those that go, and by host what ails each and, where it stays all the
// same, why. Where too many of a pool are sick, the fault is hardly the nodes', and none goes.
func Sick(v *view.View) (gone, stays []Surplus) {
	if v.Policy.Repair.Off {
		return nil, nil
	}
	ill, nodes := make([][]Surplus, len(v.Pools)), make([]int, len(v.Pools))
	for i, h := range v.Hosts {
		if h.Node == nil || h.Claim == nil || h.Pool == nil {
			continue
		}
		nodes[h.Pool.Index]++
		if r := sick(v, h); !r.OK() {
			ill[h.Pool.Index] = append(ill[h.Pool.Index], Surplus{i, r})
		}
	}
	share := v.Policy.Repair.MaxUnhealthyPercent
	if share == 0 {
		share = model.DefaultMaxUnhealthyPercent
	}
	for _, p := range v.Pools {
		all := ill[p.Index]
		for _, x := range all {
			switch {
			case v.Hosts[x.Host].Leaving || v.Removed(x.Host):
			case len(all) > (nodes[p.Index]*share+99)/100:
				stays = append(stays, Surplus{x.Host, model.Reason{
					Code: model.CodeRepairGuard, Subject: "nodepool/" + string(p.Name),
					Message: fmt.Sprintf("%s; but %d of the pool's %s are sick, and above %d%% none is taken away", x.Reason.Message,
						len(all), fit.Count(nodes[p.Index], "node"), share),
					Remedy: "see what ails them all, or raise policy.repair.max_unhealthy_percent",
				}})
			default:
				gone = append(gone, x)
			}
		}
	}
	return gone, stays
}

// unhealthy gives back nodes that are sick, whoever minds: their pods are not well there either. Pods that fit on nodes
// that there are go there; the others get theirs once the claim is marked.
func (s *search) unhealthy() {
	_, stays := Sick(s.v)
	for _, x := range stays {
		s.verdicts[x.Host] = x.Reason
		s.sick[x.Host] = x.Reason
	}
	for _, x := range s.Sick {
		if r := onlyNode(s, x.Host); !r.OK() {
			s.verdicts[x.Host] = r
			continue
		}
		s.sick[x.Host] = x.Reason
		d, _, _ := s.move([]int{x.Host}, s.reliable)
		d.Reason, d.Explanation = model.ReasonUnhealthy, x.Reason
		s.keep(d)
	}
}
