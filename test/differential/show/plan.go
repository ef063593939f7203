package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Plan says what was planned, pods in the order in which they are placed.
func Plan(p model.Plan) string {
	var b strings.Builder
	for _, c := range p.NodeClaims {
		var offerings []string
		for _, o := range c.Offerings {
			offerings = append(offerings, fmt.Sprintf("%s/%s/%s", o.InstanceType, letter(o.Zone), o.CapacityType))
		}
		fmt.Fprintf(&b, "buy %s of %s: %s; %s\n", c.ID, c.NodePool, strings.Join(offerings, " "), term(c.Requirements))
	}
	order := slices.Clone(p.Placements)
	slices.SortStableFunc(order, func(x, y model.Placement) int {
		return cmp.Or(cmp.Compare(x.Order, y.Order), cmp.Compare(x.Pod, y.Pod))
	})
	for _, x := range order {
		fmt.Fprintf(&b, "place %s on %s%s\n", x.Pod, x.Node, x.Claim)
	}
	for _, d := range p.Disruptions {
		fmt.Fprintf(&b, "remove %v: %s\n", d.Candidates, d.Reason)
		for _, x := range d.Destinations {
			fmt.Fprintf(&b, "  move %s to %s%s\n", x.Pod, x.Node, x.Claim)
		}
	}
	for _, x := range p.Pending {
		fmt.Fprintf(&b, "pending %s: %s\n", x.Pod, x.Reason.Message)
	}
	return b.String()
}
