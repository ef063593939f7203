// Package limitrange gives containers the requests and limits that admission gives them by the LimitRanges of their
// namespace.
//
// It knows nothing of namespaces and workloads. Start reading with Defaults.
package limitrange

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Defaults are what containers of a namespace have that say nothing else. The zero value has none.
type Defaults struct{ requests, limits corev1.ResourceList }

// Add adds a LimitRange's defaults: what it has none for is its most for a limit, and the limit, or else its least, for
// a request. Of several the first counts.
func (d *Defaults) Add(r *corev1.LimitRange) {
	for _, item := range r.Spec.Limits {
		if item.Type == corev1.LimitTypeContainer {
			limits := with(item.Default, item.Max)
			d.limits = with(d.limits, limits)
			d.requests = with(d.requests, with(with(item.DefaultRequest, limits), item.Min))
		}
	}
}

// Fill gives containers the defaults, and says whether one has a request of them. A limit of its own is a request
// before that.
func (d *Defaults) Fill(spec *corev1.PodSpec) (some bool) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			own := with(r.Requests, r.Limits)
			r.Requests, r.Limits = with(own, d.requests), with(r.Limits, d.limits)
			some = some || len(r.Requests) > len(own)
		}
	}
	return some
}

// with is a list with what it lacks of another.
func with(list, other corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	maps.Copy(out, other)
	maps.Copy(out, list)
	return out
}
