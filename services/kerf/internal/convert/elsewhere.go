package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Elsewhere says, in a line each, what of pools and workloads is meant for nodes that others than Kerf run: labels of
// EKS Auto Mode, and pods that want a node of no pool.
func Elsewhere(objects []runtime.Object) (notes []string) {
	for _, o := range objects {
		if pool, ok := o.(*karpenterv1.NodePool); ok {
			notes = append(notes, poolElsewhere(pool)...)
		}
		if p := podsIn(o); p != nil {
			notes = append(notes, p.elsewhere()...)
		}
	}
	return notes
}

// poolElsewhere finds labels of a pool that seem to choose instance types, as under EKS Auto Mode, and choose nothing here.
func poolElsewhere(pool *karpenterv1.NodePool) (notes []string) {
	note := func(at, key string) {
		if here, is := ofOthers(key); here != "" {
			notes = append(notes, fmt.Sprintf("%s: %s: %s is %s: here it chooses no instance type, and nodes would only carry it; write %s",
				TitleOf(pool), at, key, is, here))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(pool.Spec.Template.Metadata.Labels)) {
		note("spec.template.metadata.labels", key)
	}
	for i, r := range pool.Spec.Template.Spec.Requirements {
		note(fmt.Sprintf("spec.template.spec.requirements[%d].key", i), r.Key)
	}
	return notes
}

// ofOthers is the label that says here what one says of instance types elsewhere, or nowhere, and what the latter is;
// "" for any other.
func ofOthers(key string) (here, is string) {
	if here, ok := labels.OfAutoMode(key); ok {
		return here, "a label of EKS Auto Mode's nodes"
	}
	if name, ok := strings.CutPrefix(key, "node.kubernetes.io/instance-"); ok && key != labels.InstanceType {
		return labels.KarpenterAWS + "/instance-" + name, "a label of no node"
	}
	return "", ""
}

func (p *madePods) elsewhere() (notes []string) {
	note := func(at, key string) {
		if here, is := ofOthers(key); here != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.%s: %s is %s: here it is %s that says so; don't add the former to a pool, which would not choose by it",
				p.title, p.at, at, key, is, here))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.spec.NodeSelector)) {
		note("nodeSelector", key)
	}
	for _, r := range p.required() {
		note("affinity.nodeAffinity", r.Key)
	}
	if p.spec.NodeName == "" && p.wantsNoPool() {
		notes = append(notes, fmt.Sprintf("%s: %s.affinity.nodeAffinity: it wants a node of no pool (%s %s), so that none is bought for it; nothing has to be done if a node group takes it",
			p.title, p.at, labels.NodePool, corev1.NodeSelectorOpDoesNotExist))
	}
	return notes
}

// wantsNoPool says that all terms of the pods' node affinity keep them off nodes of pools, as Karpenter's own do.
func (p *madePods) wantsNoPool() bool {
	a := p.spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	none := func(r corev1.NodeSelectorRequirement) bool {
		return r.Key == labels.NodePool && r.Operator == corev1.NodeSelectorOpDoesNotExist
	}
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return !slices.ContainsFunc(t.MatchExpressions, none) })
}
