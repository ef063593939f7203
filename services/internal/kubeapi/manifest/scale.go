package manifest

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/scalers"
)

// scaler says how many replicas a workload has.
type scaler struct {
	*scalers.Autoscaler
	place Place
	name  string
	done  bool // the object that it scales has its number
}

func (r *reader) scaler(doc document, h header) {
	a, err := scalers.Read(doc.json, h.Kind, h.title())
	if err != nil {
		r.wrongValue(doc, h, a, err)
		return
	}
	r.scalers = append(r.scalers, &scaler{Autoscaler: a, place: doc.place, name: h.title()})
}

// scale gives workloads the replicas that their autoscalers keep.
func (r *reader) scale() {
	for _, s := range r.scalers {
		kind, name := s.Target()
		i := slices.IndexFunc(r.read, func(e entry) bool {
			m, ok := e.object.(metav1.Object)
			return ok && s.Scales(e.object.GetObjectKind().GroupVersionKind().Kind, m)
		})
		switch {
		case s.done:
		case name == "":
			r.warn(s.place, s.name, "spec.scaleTargetRef.name", "is missing: skipped, as it scales nothing")
		case i < 0 && slices.ContainsFunc(r.ended, func(m *maker) bool { return s.Scales(m.Kind.Kind, &m.Meta) }):
			r.warn(s.place, s.name, "", fmt.Sprintf("skipped: %s %s, which it scales, has ended, or is being deleted", kind, name))
		case i < 0:
			r.warn(s.place, s.name, "", fmt.Sprintf("skipped: %s %s, which it scales, is not among the files", kind, name))
		default:
			if n := replicasOf(r.read[i].object); n != nil {
				s.set(r, r.read[i].place, r.read[i].name, "spec.replicas", n)
			}
		}
	}
}

// scaleMaker gives an object of another project the number that its autoscalers keep, before its pods are made. One that is
// a workload as a whole is left to scale.
func (s *scaler) scaleMaker(r *reader, m *maker) {
	field, n, isOwn := m.Scale()
	switch {
	case !isOwn || !s.Scales(m.Kind.Kind, &m.Meta):
		return
	case n == nil:
		r.warn(s.place, s.name, "", "skipped: "+m.name+", which it scales, has no number of its own that kerf knows an autoscaler to set")
	default:
		s.set(r, m.place, m.name, field, n)
	}
	s.done = true
}

func (s *scaler) set(r *reader, place Place, name, field string, n **int32) {
	if why := s.Set(n); why != "" {
		r.warn(place, name, field, fmt.Sprintf("assumed: %d, %s", **n, why))
	}
}

func replicasOf(obj runtime.Object) **int32 {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Replicas
	case *appsv1.StatefulSet:
		return &o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return &o.Spec.Replicas
	default:
		return nil
	}
}
