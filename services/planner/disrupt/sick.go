package disrupt

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
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

// unhealthy gives back nodes that are sick, whoever minds: their pods are not well there either. Pods that fit on nodes
// that there are go there; the others get theirs once the claim is marked. Where too many of a pool are sick, the fault is
// hardly the nodes', and none goes.
func (s *search) unhealthy() {
	if s.v.Policy.Repair.Off {
		return
	}
	ill, nodes := make([][]int, len(s.v.Pools)), make([]int, len(s.v.Pools))
	for i, h := range s.v.Hosts {
		if h.Node == nil || h.Claim == nil || h.Pool == nil {
			continue
		}
		nodes[h.Pool.Index]++
		if r := sick(s.v, h); !r.OK() {
			s.sick[i] = r
			ill[h.Pool.Index] = append(ill[h.Pool.Index], i)
		}
	}
	share := s.v.Policy.Repair.MaxUnhealthyPercent
	if share == 0 {
		share = model.DefaultMaxUnhealthyPercent
	}
	for _, p := range s.v.Pools {
		hosts := ill[p.Index]
		most := (nodes[p.Index]*share + 99) / 100
		for _, h := range hosts {
			switch {
			case s.v.Hosts[h].Leaving || s.v.Removed(h):
			case len(hosts) > most:
				s.verdicts[h] = model.Reason{
					Code: model.CodeRepairGuard, Subject: "nodepool/" + string(p.Name),
					Message: fmt.Sprintf("%s; but %d of the pool's %s are sick, and above %d%% none is taken away", s.sick[h].Message,
						len(hosts), fit.Count(nodes[p.Index], "node"), share),
					Remedy: "see what ails them all, or raise policy.repair.max_unhealthy_percent",
				}
			default:
				if r := onlyNode(s, h); !r.OK() {
					s.verdicts[h] = r
					continue
				}
				d, _, _ := s.move([]int{h}, s.reliable)
				d.Reason, d.Explanation = model.ReasonUnhealthy, s.sick[h]
				s.keep(d)
			}
		}
	}
}
