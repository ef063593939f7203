package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// scaler says how many replicas a workload has.
type scaler struct {
	place Place
	name  string
	isHPA bool
	least int32

	Metadata struct {
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		MinReplicas     *int32 `json:"minReplicas"`
		MaxReplicas     *int32 `json:"maxReplicas"`
		MinReplicaCount *int32 `json:"minReplicaCount"`
		MaxReplicaCount *int32 `json:"maxReplicaCount"`
		ScaleTargetRef  struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
	} `json:"spec"`
}

// scaler reads how many replicas an autoscaler keeps: a HorizontalPodAutoscaler 1, and KEDA's none, where they don't say.
func (r *reader) scaler(doc document, h header) {
	s := scaler{place: doc.place, name: h.title(), isHPA: h.Kind == "HorizontalPodAutoscaler"}
	if json.Unmarshal(doc.json, &s) != nil {
		r.skip(doc, h)
		return
	}
	switch {
	case s.Spec.MinReplicas != nil:
		s.least = *s.Spec.MinReplicas
	case s.Spec.MinReplicaCount != nil:
		s.least = *s.Spec.MinReplicaCount
	case s.isHPA:
		s.least = 1
	}
	s.Spec.ScaleTargetRef.Kind = cmp.Or(s.Spec.ScaleTargetRef.Kind, "Deployment")
	r.scalers = append(r.scalers, s)
}

// scale gives workloads the replicas that their autoscalers keep.
func (r *reader) scale() {
	for _, s := range r.scalers {
		to := s.Spec.ScaleTargetRef
		i := slices.IndexFunc(r.read, func(e entry) bool {
			m, ok := e.object.(metav1.Object)
			namespace := func(name string) string { return cmp.Or(name, metav1.NamespaceDefault) }
			return ok && e.object.GetObjectKind().GroupVersionKind().Kind == to.Kind && m.GetName() == to.Name &&
				namespace(m.GetNamespace()) == namespace(s.Metadata.Namespace)
		})
		if to.Name == "" {
			r.warn(s.place, s.name, "spec.scaleTargetRef.name", "is missing: skipped, as it scales nothing")
			continue
		}
		if i < 0 {
			r.warn(s.place, s.name, "", fmt.Sprintf("skipped: %s %s, which it scales, is not among the files", to.Kind, to.Name))
			continue
		}
		replicas := replicasOf(r.read[i].object)
		if replicas == nil {
			continue
		}
		has := int32(1)
		if *replicas != nil {
			has = **replicas
		}
		if n, why := s.keeps(has); n != has {
			*replicas = new(n)
			r.warn(r.read[i].place, r.read[i].name, "spec.replicas", fmt.Sprintf("assumed: %d, %s", n, why))
		}
	}
}

// keeps is how many replicas are left of so many, and why. A HorizontalPodAutoscaler leaves a workload alone that has
// none: that is how one is switched off.
func (s scaler) keeps(has int32) (n int32, why string) {
	most := cmp.Or(s.Spec.MaxReplicas, s.Spec.MaxReplicaCount)
	paused, err := strconv.ParseInt(s.Metadata.Annotations["autoscaling.keda.sh/paused-replicas"], 10, 32)
	switch {
	case !s.isHPA && err == nil && paused >= 0:
		return int32(paused), "at which " + s.name + " is paused"
	case !s.isHPA && s.Metadata.Annotations["autoscaling.keda.sh/paused"] == "true", s.isHPA && has == 0:
		return has, ""
	case has < s.least:
		return s.least, "the least that " + s.name + " keeps"
	case most != nil && *most >= max(s.least, 1) && has > *most:
		return *most, "the most that " + s.name + " keeps"
	default:
		return has, ""
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
