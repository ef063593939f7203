package workloads

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// asThere says which pods they make.
const asThere = "those of such a workload of Kubernetes' own"

// OpenKruise's forms of Kubernetes' own workloads, which have all that those have.
type (
	cloneSet    struct{ appsv1.ReplicaSet }
	statefulSet struct{ appsv1.StatefulSet }
	daemonSet   struct{ appsv1.DaemonSet }
)

func (s *cloneSet) object() (runtime.Object, string)    { return &s.ReplicaSet, asThere }
func (s *statefulSet) object() (runtime.Object, string) { return &s.StatefulSet, asThere }
func (s *daemonSet) object() (runtime.Object, string)   { return &s.DaemonSet, asThere }
