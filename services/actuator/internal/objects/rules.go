package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Rules keeps of a pod's spec the rules about where it may run: a node selector, required affinity, and hard spread.
func Rules(s *corev1.PodSpec) corev1.PodSpec {
	out := corev1.PodSpec{NodeSelector: s.NodeSelector, Affinity: required(s.Affinity)}
	for i := range s.TopologySpreadConstraints {
		if c := &s.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == corev1.DoNotSchedule {
			out.TopologySpreadConstraints = append(out.TopologySpreadConstraints, *c)
		}
	}
	return out
}

// required keeps what an affinity demands; nil where that is nothing.
func required(a *corev1.Affinity) *corev1.Affinity {
	if a == nil {
		return nil
	}
	var out corev1.Affinity
	if n := a.NodeAffinity; n != nil && n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		out.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: n.RequiredDuringSchedulingIgnoredDuringExecution}
	}
	if p := a.PodAffinity; p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		out.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.RequiredDuringSchedulingIgnoredDuringExecution}
	}
	if p := a.PodAntiAffinity; p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		out.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.RequiredDuringSchedulingIgnoredDuringExecution}
	}
	if out == (corev1.Affinity{}) {
		return nil
	}
	return &out
}

// tied says that a pod's own rules leave it few nodes to run on: those of Rules, and volumes that are not on every node.
func tied(s *corev1.PodSpec) bool {
	r := Rules(s)
	return len(r.NodeSelector) > 0 || r.Affinity != nil || len(r.TopologySpreadConstraints) > 0 ||
		slices.ContainsFunc(s.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}
