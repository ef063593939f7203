package convert

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// identityLabels are labels that controllers give each pod a value of its own for. They would make a class of every pod,
// so that a class has them only where something selects pods by them.
func identityLabels() []string {
	return []string{appsv1PodIndex, batchv1.JobCompletionIndexAnnotation, appsv1StatefulSetPodName}
}

const (
	appsv1PodIndex           = "apps.kubernetes.io/pod-index"
	appsv1StatefulSetPodName = "statefulset.kubernetes.io/pod-name"
)

// classLabels are the pod's labels without those that tell it from its like, unless something selects by them.
func (b *classBuilder) classLabels() []*clusterpb.Label {
	out := b.pod.Labels
	for _, key := range identityLabels() {
		if _, ok := out[key]; !ok || b.refs.Selected(key) {
			continue
		}
		out = maps.Clone(out)
		delete(out, key)
	}
	return labelsOf(out)
}

// SelectsByIdentity lists the identity labels that an object selects pods by: a pod by its own spread and affinity, a
// budget and a Service by their selector; nil selects nothing. An owner's selector needs no look: a template can't have
// such labels.
func SelectsByIdentity(o any) []string {
	var keys []string
	selector := func(s *metav1.LabelSelector) {
		if s == nil {
			return
		}
		keys = slices.AppendSeq(keys, maps.Keys(s.MatchLabels))
		for _, e := range s.MatchExpressions {
			keys = append(keys, e.Key)
		}
	}
	switch o := o.(type) {
	case *corev1.Pod:
		if o == nil {
			return nil
		}
		for _, c := range o.Spec.TopologySpreadConstraints {
			selector(c.LabelSelector)
			keys = append(keys, c.MatchLabelKeys...)
		}
		for _, t := range podAffinityTerms(o.Spec.Affinity) {
			selector(t.LabelSelector)
			keys = slices.Concat(keys, t.MatchLabelKeys, t.MismatchLabelKeys)
		}
	case *policyv1.PodDisruptionBudget:
		if o == nil {
			return nil
		}
		selector(o.Spec.Selector)
	case *corev1.Service:
		if o == nil {
			return nil
		}
		keys = slices.AppendSeq(keys, maps.Keys(o.Spec.Selector))
	}
	if len(keys) == 0 {
		return nil
	}
	return slices.DeleteFunc(identityLabels(), func(l string) bool { return !slices.Contains(keys, l) })
}

func podAffinityTerms(a *corev1.Affinity) []corev1.PodAffinityTerm {
	var out []corev1.PodAffinityTerm
	if a == nil {
		return nil
	}
	weighted := func(list []corev1.WeightedPodAffinityTerm) {
		for _, t := range list {
			out = append(out, t.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		out = append(out, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted(p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		out = append(out, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted(p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return out
}
