package workloads

import (
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/replicas"
)

// setKind is a kind whose controller makes the same group of pods some times, and which can have a domain of the cluster
// for each of them: a zone, a node.
type setKind struct {
	// The annotation with the label whose values are these domains.
	topology string
	// The label with which the controller tells a group's pods from those of others.
	key string
}

// nodeSelectorStrategy says that nodes have been labelled for the groups of a JobSet, with what is not in its text.
const nodeSelectorStrategy = "alpha.jobset.sigs.k8s.io/node-selector"

func jobSets() setKind {
	return setKind{topology: "alpha.jobset.sigs.k8s.io/exclusive-topology", key: "jobset.sigs.k8s.io/job-key"}
}

func leaderWorkerSets() setKind {
	return setKind{topology: "leaderworkerset.sigs.k8s.io/exclusive-topology", key: "leaderworkerset.sigs.k8s.io/group-key"}
}

// mostApart is for how many groups a domain each is looked for: rules of each its own make a plan slow, and at a few
// hundred it takes minutes.
const mostApart = 32

// apart is an owner's group of pods as so many groups of so many, each of which shares a domain of this topology with none
// of the others. What is wrong of these numbers stays in one group, which says so.
func (k setKind) apart(g group, owner, topology string, sets, each int64) []group {
	if g.pods = times(sets, each); topology == "" || replicas.Check(sets) != nil || replicas.Check(g.pods) != nil {
		return []group{g}
	}
	if sets > mostApart {
		g.ignores = fmt.Sprintf("; %s is not looked at, for more than %d groups", k.topology, mostApart)
		return []group{g}
	}
	out := make([]group, 0, sets)
	for i := range sets {
		one := g
		one.pods, one.part, one.template = each, fmt.Sprint(i), *g.template.DeepCopy()
		value := keyOf(owner, one.part)
		metav1.SetMetaDataLabel(&one.template.ObjectMeta, k.key, value)
		alone(&one.template.Spec, k.key, value, topology)
		out = append(out, one)
	}
	return out
}

// keyOf is a label's value that no other group has.
func keyOf(owner, part string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(owner + "/" + part)) // it never fails
	return fmt.Sprintf("%016x", sum.Sum64())
}

// alone keeps pods with a label's value in one domain, where no pod with another value of it is. Of a group one pod has
// these rules, and the others are made where it runs: it comes to the same.
func alone(spec *corev1.PodSpec, key, value, topology string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.PodAffinity == nil {
		spec.Affinity.PodAffinity = &corev1.PodAffinity{}
	}
	if spec.Affinity.PodAntiAffinity == nil {
		spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	term := func(selects ...metav1.LabelSelectorRequirement) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchExpressions: selects}, NamespaceSelector: &metav1.LabelSelector{}, TopologyKey: topology,
		}
	}
	near, far := spec.Affinity.PodAffinity, spec.Affinity.PodAntiAffinity
	near.RequiredDuringSchedulingIgnoredDuringExecution = append(near.RequiredDuringSchedulingIgnoredDuringExecution,
		term(metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}}))
	far.RequiredDuringSchedulingIgnoredDuringExecution = append(far.RequiredDuringSchedulingIgnoredDuringExecution,
		term(metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists},
			metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}}))
}
