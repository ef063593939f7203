package convert

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/refused"
)

// LeftOut says in a line each which objects count for less than they might be taken to: pods behind scheduling gates, pods
// on nodes that are not there, and nodes, which without their NodeClaims are room and no cost; and what of
// a class's images and kubelets, and of pods', nodes' and pools' protection, has no effect.
func LeftOut(objects []runtime.Object) (notes []string) {
	nodes, claimed := map[string]bool{}, map[string]bool{}
	for _, o := range objects {
		if c, ok := o.(*karpenterv1.NodeClaim); ok {
			claimed[c.Status.NodeName] = true
		}
	}
	var gated, elsewhere, pooled []string
	for _, o := range objects {
		if n, ok := o.(*corev1.Node); ok {
			nodes[n.Name] = true
			if n.Labels[labels.NodePool] != "" && !claimed[n.Name] {
				pooled = append(pooled, n.Name)
			}
		}
	}
	for _, o := range objects {
		notes = append(notes, withoutEffect(o)...)
		p := podsIn(o)
		if p == nil {
			continue
		}
		notes = append(notes, p.unprotected()...)
		if _, daemons := o.(*appsv1.DaemonSet); len(p.spec.SchedulingGates) > 0 && !daemons { // nodes keep room for daemons' pods
			gated = append(gated, fmt.Sprintf("%s (%s)", p.title, p.spec.SchedulingGates[0].Name))
		}
		if _, isPod := o.(*corev1.Pod); isPod && p.spec.NodeName != "" && !nodes[p.spec.NodeName] {
			elsewhere = append(elsewhere, fmt.Sprintf("%s (%s)", p.title, p.spec.NodeName))
		}
	}
	if len(gated) > 0 {
		notes = append(notes, "left out until their scheduling gates are gone: "+few(gated))
	}
	if len(elsewhere) > 0 {
		notes = append(notes, "left out, because their nodes are not among the files: "+few(elsewhere))
	}
	if len(pooled) > 0 {
		notes = append(notes, few(pooled)+": room for pods, but neither billed nor removed, because their NodeClaims are not among "+
			"the files: kubectl get nodeclaims -o yaml, or kerf shadow --once for a live cluster")
	}
	return notes
}

// withoutEffect is what a class asks for in vain, and a node or a pool.
func withoutEffect(o runtime.Object) (notes []string) {
	switch o := o.(type) {
	case *awsv1.EC2NodeClass:
		for _, problem := range refused.Class(o) {
			notes = append(notes, TitleOf(o)+": "+problem)
		}
	case *corev1.Node:
		return misspelt(o, o.Annotations, labels.DoNotDisrupt, labels.DoNotRepair)
	case *karpenterv1.NodePool:
		return misspelt(o, o.Annotations, labels.DoNotDisrupt)
	}
	return notes
}

// Gated has the pods and workloads, "namespace/name", whose pods are left out until their scheduling gates are gone,
// and the first of these.
func Gated(objects []runtime.Object) map[string]string {
	out := map[string]string{}
	for _, o := range objects {
		p := podsIn(o)
		if p == nil || len(p.spec.SchedulingGates) == 0 {
			continue
		}
		if m, ok := o.(metav1.Object); ok {
			out[cmp.Or(p.namespace, metav1.NamespaceDefault)+"/"+m.GetName()] = p.spec.SchedulingGates[0].Name
		}
	}
	return out
}

// unprotected says that pods ask not to be disrupted, or what that costs, in words that mean nothing.
func (p *madePods) unprotected() (notes []string) {
	note := func(key, text string) {
		notes = append(notes, fmt.Sprintf("%s: %smetadata.annotations[%s]: %q %s",
			p.title, strings.TrimSuffix(p.at, "spec"), key, p.annotations[key], text))
	}
	value, asked := p.annotations[labels.DoNotDisrupt]
	protected, _ := reader.DoNotDisrupt(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: p.annotations}})
	if asked && !protected && value != "false" {
		note(labels.DoNotDisrupt, `protects nothing: write "true", or a duration such as "30m"`)
	}
	if cost, said := p.annotations[labels.DisruptionCost]; said {
		if _, err := strconv.ParseInt(cost, 10, 32); err != nil {
			note(labels.DisruptionCost, "counts for nothing: write a whole number from -2147483648 to 2147483647")
		}
	}
	return notes
}

// misspelt says that an object asks to be left alone in words that mean nothing: for a time, for instance, as pods may.
func misspelt(o runtime.Object, annotations map[string]string, keys ...string) (notes []string) {
	for _, key := range keys {
		if value, asked := annotations[key]; asked && value != "true" && value != "false" {
			notes = append(notes, fmt.Sprintf("%s: metadata.annotations[%s]: %q protects nothing: write \"true\"", TitleOf(o), key, value))
		}
	}
	return notes
}

// few are the first of a list, and how many more there are.
func few(list []string) string {
	const most = 3
	text := strings.Join(list[:min(len(list), most)], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
