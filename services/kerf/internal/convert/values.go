package convert

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// unknownValues warns of values of pools' requirements that nothing in the catalogue has: beside others that are known they
// would go unnoticed.
func (inv *inventory) unknownValues(pools []*karpenterv1.NodePool, w World) []string {
	known := inv.known(w)
	var out []string
	for _, p := range pools {
		for i, r := range p.Spec.Template.Spec.Requirements {
			values := known[labels.Normal(r.Key)]
			if values == nil || (r.Operator != karpenterv1.OpIn && r.Operator != karpenterv1.OpNotIn) {
				continue
			}
			for _, v := range r.Values {
				if !values[v] {
					out = append(out, fmt.Sprintf("%s: spec.template.spec.requirements[%d].values: there is no %s %s in the catalogue of %s%s",
						Title(karpenterv1.KindNodePool, "", p.Name), i, r.Key, v, w.Catalog.Region, question(v, values)))
				}
			}
		}
	}
	return out
}

// known are the values that there are, by label.
func (inv *inventory) known(w World) map[string]map[string]bool {
	known := map[string]map[string]bool{
		labels.InstanceType: {}, labels.InstanceFamily: {}, labels.InstanceCategory: {}, labels.InstanceSize: {}, labels.Zone: {},
		labels.Arch: {"amd64": true, "arm64": true}, labels.OS: {"linux": true, "windows": true},
	}
	for _, c := range inv.snapshot.GetCatalogs() {
		for _, t := range c.GetInstanceTypes() {
			for _, l := range t.GetLabels() {
				if values := known[l.GetKey()]; values != nil {
					values[l.GetValue()] = true
				}
			}
		}
	}
	for _, z := range w.Catalog.Zones {
		known[labels.Zone][z.Name] = true
	}
	return known
}

func question(v string, known map[string]bool) string {
	if q := near.Value(v, slices.Sorted(maps.Keys(known))); q != "" {
		return "; " + q
	}
	return ""
}
