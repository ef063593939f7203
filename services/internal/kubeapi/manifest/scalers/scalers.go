// Package scalers reads how many replicas an autoscaler keeps of what it scales.
//
// It must never know the objects that are scaled. Start reading at Read, then Set.
package scalers

import (
	"cmp"
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Autoscaler is a HorizontalPodAutoscaler, or KEDA's ScaledObject.
type Autoscaler struct {
	title string
	isHPA bool

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

// Read reads one of this kind, which messages call by its title.
func Read(text []byte, kind, title string) (*Autoscaler, error) {
	a := &Autoscaler{title: title, isHPA: kind == "HorizontalPodAutoscaler"}
	err := json.Unmarshal(text, a)
	return a, err
}

// Target is the kind and the name of what it scales; no name where it does not say one.
func (a *Autoscaler) Target() (kind, name string) {
	return cmp.Or(a.Spec.ScaleTargetRef.Kind, "Deployment"), a.Spec.ScaleTargetRef.Name
}

// Scales says that it scales this object, which is of this kind.
func (a *Autoscaler) Scales(kind string, o metav1.Object) bool {
	space := func(name string) string { return cmp.Or(name, metav1.NamespaceDefault) }
	ofKind, name := a.Target()
	return kind == ofKind && o.GetName() == name && space(o.GetNamespace()) == space(a.Metadata.Namespace)
}

// Set makes a number of replicas, which is 1 where it is not said, what the autoscaler keeps of it. It returns why, or
// "" where it leaves the number.
func (a *Autoscaler) Set(n **int32) (why string) {
	has := int32(1)
	if *n != nil {
		has = **n
	}
	to, why := a.keeps(has)
	if to == has {
		return ""
	}
	*n = &to
	return why
}

// keeps is how many replicas are left of so many, and why. A HorizontalPodAutoscaler leaves a workload alone that has
// none: that is how one is switched off.
func (a *Autoscaler) keeps(has int32) (n int32, why string) {
	least, most := a.least(), cmp.Or(a.Spec.MaxReplicas, a.Spec.MaxReplicaCount)
	paused, err := strconv.ParseInt(a.Metadata.Annotations["autoscaling.keda.sh/paused-replicas"], 10, 32)
	switch {
	case !a.isHPA && err == nil && paused >= 0:
		return int32(paused), "at which " + a.title + " is paused"
	case !a.isHPA && a.Metadata.Annotations["autoscaling.keda.sh/paused"] == "true", a.isHPA && has == 0:
		return has, ""
	case has < least:
		return least, "the least that " + a.title + " keeps"
	case most != nil && *most >= max(least, 1) && has > *most:
		return *most, "the most that " + a.title + " keeps"
	default:
		return has, ""
	}
}

// least is what it keeps at least: a HorizontalPodAutoscaler 1, and KEDA's none, where they don't say.
func (a *Autoscaler) least() int32 {
	switch {
	case a.Spec.MinReplicas != nil:
		return *a.Spec.MinReplicas
	case a.Spec.MinReplicaCount != nil:
		return *a.Spec.MinReplicaCount
	case a.isHPA:
		return 1
	default:
		return 0
	}
}
