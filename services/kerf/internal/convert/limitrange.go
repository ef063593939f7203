package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Ranged takes LimitRanges off some objects, and gives containers the requests and limits that the API server would give them by these:
// a pod that it has admitted already has them. Notes say whose, a line for each namespace. Requests decide where pods fit, and a
// container without any fits wherever there is room for its pod.
func Ranged(objects []runtime.Object) (out []runtime.Object, notes []string) {
	defaults := map[string]*containerDefaults{}
	for _, o := range objects {
		r, ok := o.(*corev1.LimitRange)
		if !ok {
			out = append(out, o)
			continue
		}
		d := defaults[namespaceOf(r)]
		if d == nil {
			d = &containerDefaults{requests: corev1.ResourceList{}, limits: corev1.ResourceList{}}
			defaults[namespaceOf(r)] = d
		}
		d.add(r)
	}
	for _, o := range out {
		if p := podsIn(o); p != nil && !admitted(o) {
			if d := defaults[cmp.Or(p.namespace, metav1.NamespaceDefault)]; d != nil && d.fill(p.spec) {
				d.workloads = append(d.workloads, p.title)
			}
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(defaults)) {
		if d := defaults[namespace]; len(d.workloads) > 0 {
			notes = append(notes, fmt.Sprintf("%s: containers without requests have those of the namespace's LimitRange", few(d.workloads)))
		}
	}
	return out, notes
}

// admitted says that a pod comes from an API server.
func admitted(o runtime.Object) bool {
	p, is := o.(*corev1.Pod)
	return is && (p.UID != "" || p.Spec.NodeName != "")
}

// containerDefaults are what containers of a namespace have that say nothing else.
type containerDefaults struct {
	requests, limits corev1.ResourceList
	workloads        []string
}

// add adds a LimitRange's defaults: what it has none for is its most for a limit, and the limit, or else its least, for a request.
func (d *containerDefaults) add(r *corev1.LimitRange) {
	for _, item := range r.Spec.Limits {
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		limits, requests := corev1.ResourceList{}, corev1.ResourceList{}
		maps.Copy(limits, item.Max)
		maps.Copy(limits, item.Default)
		maps.Copy(requests, item.Min)
		maps.Copy(requests, limits)
		maps.Copy(requests, item.DefaultRequest)
		maps.Copy(d.limits, limits)
		maps.Copy(d.requests, requests)
	}
}

// fill gives containers the defaults, and says whether one has a request of them. A limit of its own is a request before that.
func (d *containerDefaults) fill(spec *corev1.PodSpec) (some bool) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			for name := range d.requests {
				_, requested := r.Requests[name]
				_, limited := r.Limits[name]
				some = some || !requested && !limited
			}
			r.Requests = with(with(r.Requests, r.Limits), d.requests)
			r.Limits = with(r.Limits, d.limits)
		}
	}
	return some
}

// with is a list with what it lacks of another.
func with(list, other corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(other)
	if out == nil {
		out = corev1.ResourceList{}
	}
	maps.Copy(out, list)
	return out
}
