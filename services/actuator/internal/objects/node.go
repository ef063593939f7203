// Package objects says what Kubernetes' objects mean to the actuator and how its own values look as objects: a Node, a
// NodePool or an EC2NodeClass becomes a value of the cluster port, a claim becomes a NodeClaim, a status its conditions.
//
// Everything here is a function of its arguments. It must never know a client or a cache: package kube reads and writes.
// Start at Node, Pool and Class for the way in, at NewClaim and SetClaim for the way out.
package objects

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Node reads a node; the pods on it are given. Its volumes are not told by this object and stay uncounted.
func Node(n *corev1.Node, pods []cluster.Pod) cluster.Node {
	capacity, _ := reader.Amounts(n.Status.Capacity) // what is out of bounds counts as the bound
	allocatable, _ := reader.Amounts(n.Status.Allocatable)
	out := cluster.Node{
		Name:        model.NodeName(n.Name),
		UID:         string(n.UID),
		ProviderID:  n.Spec.ProviderID,
		Labels:      n.Labels,
		Annotations: n.Annotations,
		Capacity:    capacity,
		Allocatable: allocatable,
		Taints:      reader.Taints(n.Spec.Taints),
		Cordoned:    n.Spec.Unschedulable,
		Terminating: n.DeletionTimestamp != nil,
		CreateTime:  n.CreationTimestamp.Time,
		Pods:        pods,
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
		out.Conditions = append(out.Conditions, model.NodeCondition{
			Type: string(c.Type), Status: string(c.Status), TransitionTime: c.LastTransitionTime.Time,
		})
	}
	slices.SortFunc(out.Conditions, func(a, b model.NodeCondition) int { return cmp.Compare(a.Type, b.Type) })
	return out
}

// Pods are the pods on a node, and what was read of each.
type Pods struct {
	of     []*corev1.Pod
	values []cluster.Pod
}

// Read reads pods of a cache, which are sorted by name, those alone that are not as they were before: of many pods on a
// node one changes at a time.
func (p Pods) Read(pods []*corev1.Pod) Pods {
	if len(pods) == 0 {
		return Pods{}
	}
	now := Pods{pods, make([]cluster.Pod, len(pods))}
	at := 0
	for i, pod := range pods {
		for at < len(p.of) && ByName(p.of[at], pod) < 0 {
			at++
		}
		if at < len(p.of) && p.of[at] == pod {
			now.values[i] = p.values[at]
		} else {
			now.values[i] = Pod(pod)
		}
	}
	return now
}

// Values are what was read; callers must not change it.
func (p Pods) Values() []cluster.Pod { return p.values }

// ByName orders pods by namespace and name.
func ByName(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Pod reads a pod as far as a drain cares.
func Pod(p *corev1.Pod) cluster.Pod {
	out := cluster.Pod{
		Namespace: p.Namespace,
		Name:      p.Name,
		UID:       string(p.UID),
		Finished:  p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		Critical:  p.Spec.PriorityClassName == "system-cluster-critical" || p.Spec.PriorityClassName == "system-node-critical",
	}
	if _, ok := p.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		out.Mirror = true
	}
	for _, o := range p.OwnerReferences {
		if o.Controller == nil || !*o.Controller {
			continue
		}
		out.Owner = string(o.UID)
		out.Daemon = out.Daemon || o.Kind == "DaemonSet"
		out.Mirror = out.Mirror || o.Kind == "Node"
	}
	disrupted := corev1.Taint{Key: labels.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}
	for i := range p.Spec.Tolerations {
		if tolerates(p.Spec.Tolerations[i], disrupted) {
			out.ToleratesDisrupted = true
		}
	}
	out.DoNotDisrupt, out.DoNotDisruptUntil = reader.DoNotDisrupt(p)
	out.Ready = reader.Ready(p)
	if p.Status.StartTime != nil {
		out.StartTime = p.Status.StartTime.Time
	}
	if p.DeletionTimestamp != nil {
		out.DeletionTime = p.DeletionTimestamp.Time
	}
	out.GracePeriod = 30 * time.Second // Kubernetes' default
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		out.GracePeriod = time.Duration(*s) * time.Second
	}
	if c := p.Status.ExtendedResourceClaimStatus; c != nil {
		var names []string
		for _, m := range c.RequestMappings {
			names = append(names, m.ResourceName)
		}
		out.ByDevices = strings.Join(names, ",")
	}
	out.Size = size(p)
	out.Tied = tied(&p.Spec)
	return out
}

// size is that of all that a pod requests. What a pod without containers requests stands where caches keep the sum.
func size(p *corev1.Pod) int64 {
	var sum corev1.ResourceList
	if r := p.Spec.Resources; len(p.Spec.Containers) > 0 || r == nil {
		sum = resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	} else {
		sum = r.Requests
	}
	requests, _ := reader.Amounts(sum)
	return requests.Size()
}

// tolerates follows Kubernetes: an empty key with Exists tolerates everything, an empty effect every effect.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Operator == corev1.TolerationOpExists {
		return t.Key == "" || t.Key == taint.Key
	}
	return t.Key == taint.Key && t.Value == taint.Value
}
