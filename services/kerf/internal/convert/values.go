package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/meant"
)

// unknownValues warns of values of pools' and overlays' requirements, and of what pods ask of nodes, that nothing in the
// catalogue has: beside others that are known they would go unnoticed.
func (b *Builder) unknownValues(w World) (warnings []string) {
	known := known(w)
	check := func(at, key string, list ...string) {
		values := known[labels.Normal(key)]
		for _, v := range list {
			if values != nil && !values[v] {
				warnings = append(warnings, fmt.Sprintf("%s: there is no %s %s in the catalogue of %s%s", at, key, v, w.Catalog.Region, meant.Value(key, v, values)))
			}
		}
	}
	required := func(at string, list []karpenterv1.Requirement) {
		for i, r := range list {
			warnings = append(warnings, notOfTypes(fmt.Sprintf("%s[%d].key", at, i), r, known)...)
			if r.Operator == karpenterv1.OpIn || r.Operator == karpenterv1.OpNotIn {
				check(fmt.Sprintf("%s[%d].values", at, i), r.Key, r.Values...)
			}
		}
	}
	for _, p := range b.pools {
		required(Title(karpenterv1.KindNodePool, "", p.Name)+": spec.template.spec.requirements", p.Spec.Template.Spec.Requirements)
	}
	for _, o := range b.overlays {
		required(Title(karpenterv1alpha1.KindNodeOverlay, "", o.Name)+": spec.requirements", o.Requirements())
	}
	for _, p := range b.pods {
		for _, key := range slices.Sorted(maps.Keys(p.spec.NodeSelector)) {
			check(p.title+": "+p.at+".nodeSelector", key, p.spec.NodeSelector[key])
		}
		for _, r := range p.required() {
			if r.Operator == corev1.NodeSelectorOpIn {
				check(p.title+": "+p.at+".affinity.nodeAffinity", r.Key, r.Values...)
			}
		}
	}
	return warnings
}

// notOfTypes warns of a label that is almost one of instance types. Those of other projects are told of elsewhere.
func notOfTypes(at string, r karpenterv1.Requirement, known map[string]map[string]bool) []string {
	here, _ := ofOthers(r.Key)
	label := meant.Label(r, known)
	if here != "" || label == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s is a label of no instance type, and chooses none; did you mean %s?", at, r.Key, label)}
}

// unknownLimits warns of limits of pools that nothing counts for, such as mem: they would limit nothing. What has a domain
// may come from a plugin, and is left alone.
func (inv *inventory) unknownLimits(pools []*karpenterv1.NodePool) []string {
	counted := map[string]bool{"nodes": true}
	for _, c := range inv.snapshot.GetCatalogs() {
		for _, t := range c.GetInstanceTypes() {
			for _, r := range t.GetCapacity() {
				counted[r.GetResource()] = true
			}
		}
	}
	var out []string
	for _, p := range pools {
		for _, name := range slices.Sorted(maps.Keys(p.Spec.Limits)) {
			if counted[string(name)] || reader.IsExtended(name) || len(counted) == 1 {
				continue
			}
			question := near.Question(string(name), slices.Sorted(maps.Keys(counted)))
			out = append(out, strings.TrimSuffix(fmt.Sprintf("%s: spec.limits.%s: limits nothing, because no node has %s; %s",
				Title(karpenterv1.KindNodePool, "", p.Name), name, name, question), "; "))
		}
	}
	return out
}

// known are the values that there are, by label.
func known(w World) map[string]map[string]bool {
	known := meant.Known()
	// Classes leave out types that their images can't run, and without a class there are none; the catalogue has them
	// all the same. A class of one's own images leaves out none.
	all, err := instancetype.Catalog(w.Catalog.Types, instancetype.Settings{AMIFamily: instancetype.Custom})
	if err != nil {
		return nil
	}
	for _, t := range all.InstanceTypes {
		for _, l := range t.Labels {
			if values := known[l.Key]; values != nil {
				values[l.Value] = true
			}
		}
	}
	for _, z := range w.Catalog.Zones {
		known[labels.Zone][z.Name] = true
	}
	return known
}
