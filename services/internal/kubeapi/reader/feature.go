package reader

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"
)

// NeededFeatures are the features of kubelets without which the scheduler keeps pods like this off a node, sorted. No
// feature is too old yet for the scheduler to ask for it; a test says when one is.
func NeededFeatures(p *corev1.PodSpec) []string {
	var out []string
	for _, f := range features.AllFeatures {
		if f.InferForScheduling(&types.PodInfo{Spec: p}) {
			out = append(out, f.Name())
		}
	}
	slices.Sort(out)
	return out
}

// BindMounts are the mounts of a container that NeededFeatures reads. Beside them it reads its restart rules.
func BindMounts(c *corev1.Container) []corev1.VolumeMount {
	var out []corev1.VolumeMount
	for _, m := range c.VolumeMounts {
		if len(m.BindMountOptions) > 0 {
			out = append(out, m)
		}
	}
	return out
}
