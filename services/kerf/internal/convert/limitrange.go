package convert

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/kerf/internal/convert/limitrange"
)

// Ranged takes LimitRanges off some objects, and gives containers the requests and limits that the API server would
// give them by these: a pod that it has admitted already has them. A note says whose. Requests decide where pods fit,
// and a container without any fits wherever there is room for its pod.
func Ranged(objects []runtime.Object) (out []runtime.Object, notes []string) {
	defaults := map[string]*limitrange.Defaults{}
	for _, o := range objects {
		r, ok := o.(*corev1.LimitRange)
		if !ok {
			out = append(out, o)
			continue
		}
		if defaults[namespaceOf(r)] == nil {
			defaults[namespaceOf(r)] = &limitrange.Defaults{}
		}
		defaults[namespaceOf(r)].Add(r)
	}
	var filled []string
	for _, o := range out {
		if p := podsIn(o); p != nil && !admitted(o) {
			if d := defaults[cmp.Or(p.namespace, metav1.NamespaceDefault)]; d != nil && d.Fill(p.spec) {
				filled = append(filled, p.title)
			}
		}
	}
	if len(filled) > 0 {
		notes = append(notes, few(filled)+": containers without requests have those of their namespace's LimitRange")
	}
	return out, notes
}

// admitted says that a pod comes from an API server.
func admitted(o runtime.Object) bool {
	p, is := o.(*corev1.Pod)
	return is && (p.UID != "" || p.Spec.NodeName != "")
}
