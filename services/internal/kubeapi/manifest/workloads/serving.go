package workloads

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaderWorkerSet is a number of groups of pods, of which one leads each.
type leaderWorkerSet struct {
	Spec struct {
		Replicas *int32 `json:"replicas"`
		Group    struct {
			Size   *int32                  `json:"size"`
			Leader *corev1.PodTemplateSpec `json:"leaderTemplate"`
			Worker corev1.PodTemplateSpec  `json:"workerTemplate"`
		} `json:"leaderWorkerTemplate"`
	} `json:"spec"`
}

func (s *leaderWorkerSet) scale() (string, **int32) { return "spec.replicas", &s.Spec.Replicas }

func (s *leaderWorkerSet) groups(meta metav1.ObjectMeta) []group {
	replicas, each := or(s.Spec.Replicas, 1), or(s.Spec.Group.Size, 1)
	leader := s.Spec.Group.Worker
	if s.Spec.Group.Leader != nil {
		leader = *s.Spec.Group.Leader
	}
	labels := map[string]string{"leaderworkerset.sigs.k8s.io/name": meta.Name}
	leaders := group{name: "leaders", template: leader, labels: map[string]string{
		"leaderworkerset.sigs.k8s.io/name": meta.Name, "leaderworkerset.sigs.k8s.io/worker-index": "0",
	}}
	workers := group{name: "workers", template: s.Spec.Group.Worker, labels: labels}
	kind, owner := leaderWorkerSets(), space(meta.Namespace)+"/"+meta.Name
	topology := meta.Annotations[kind.topology]
	return append(kind.apart(leaders, owner, topology, replicas, 1), kind.apart(workers, owner, topology, replicas, max(each-1, 0))...)
}

// knativeService begins with one pod, or as many as it keeps at least, and has a proxy in each.
type knativeService struct {
	Spec struct {
		Template struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Spec     struct {
				corev1.PodSpec `json:",inline"`
				knativeOnly    `json:",inline"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// knativeOnly is what Knative has beside the pod's own fields, which places no pod.
type knativeOnly struct {
	Concurrency     any `json:"containerConcurrency"`
	Timeout         any `json:"timeoutSeconds"`
	ResponseTimeout any `json:"responseStartTimeoutSeconds"`
	IdleTimeout     any `json:"idleTimeoutSeconds"`
}

func (s *knativeService) groups(meta metav1.ObjectMeta) []group {
	t := s.Spec.Template
	told := func(keys ...string) int64 {
		for _, key := range keys {
			if n, err := strconv.ParseInt(t.Metadata.Annotations["autoscaling.knative.dev/"+key], 10, 32); err == nil {
				return n
			}
		}
		return -1
	}
	first := told("initial-scale", "initialScale")
	if first < 0 {
		first = 1
	}
	g := group{
		pods:     max(first, told("min-scale", "minScale")),
		template: corev1.PodTemplateSpec{ObjectMeta: t.Metadata, Spec: t.Spec.PodSpec},
		labels:   map[string]string{"serving.knative.dev/service": meta.Name},
	}
	proxy := corev1.Container{Name: "queue-proxy", Image: "queue", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("25m")},
	}}
	g.template.Spec.Containers = append(g.template.Spec.Containers, proxy)
	return []group{g}
}
