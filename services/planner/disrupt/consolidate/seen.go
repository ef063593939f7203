package consolidate

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

// seen leaves out of what replacements may become what no node shows to have the CSI drivers, devices and features that
// their pods need, or says that nothing else is left of one: pods that run are not moved to find out.
func (j *judge) seen(d *draft.Decision) model.Reason {
	for _, b := range d.Replacements {
		if cheapest := b.Best(); !b.Keep(func(o *market.Option) bool { return j.unseen(b, o) < 0 }) {
			return model.Reason{
				Code: model.CodeNodeLacks, Subject: j.v.Hosts[d.Hosts[0]].Name(),
				Message: fmt.Sprintf("%s would cost less, but none in pool %s has been seen to have the CSI drivers, devices or kubelet features that pod %s needs",
					cheapest.Type.Name, cheapest.Pool.Name, j.v.Pods[b.Items[max(0, j.unseen(b, cheapest))].Pods[0]].ID),
				Remedy: "let a pod that needs them start on such a node",
			}
		} else if b.Best() != cheapest {
			b.RunnersUp = nil // they are compared with what is left out
		}
	}
	return model.Reason{}
}

// unseen is the first item of a claim whose pods need what no node shows an option to have, or -1.
func (j *judge) unseen(b *purchase.NewClaim, o *market.Option) int {
	return slices.IndexFunc(b.Items, func(it market.Item) bool { return !j.v.Lacks.Seen(o.Pool.Name, o.Type.Name, it.Class.PodClass) })
}
