package workloads

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// kruise are OpenKruise's forms of Kubernetes' own workloads, which have all that those have.
func kruise(kind string) Form {
	switch kind {
	case "CloneSet":
		return &cloneSet{}
	case "StatefulSet":
		return &statefulSet{}
	case "DaemonSet":
		return &daemonSet{}
	default:
		return nil
	}
}

type (
	cloneSet    struct{ appsv1.ReplicaSet }
	statefulSet struct{ appsv1.StatefulSet }
	daemonSet   struct{ appsv1.DaemonSet }
)

func (s *cloneSet) object() runtime.Object    { return &s.ReplicaSet }
func (s *statefulSet) object() runtime.Object { return &s.StatefulSet }
func (s *daemonSet) object() runtime.Object   { return &s.DaemonSet }
