package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Bindable looks a pod up by its name.
func (x *Nominator) Bindable(id model.PodID) (model.Amounts, bool) {
	p := x.unboundPod(id)
	if p == nil || !simple(p) {
		return nil, false
	}
	requests, outOfBounds := reader.Amounts(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))
	return requests, outOfBounds == ""
}

// simple says that nothing but the labels, taints and capacity of a node decide whether a pod may run there. Of volumes the
// cache keeps those with claims.
func simple(p *corev1.Pod) bool {
	s := &p.Spec
	if len(s.Volumes)+len(s.ResourceClaims)+len(s.SchedulingGates) > 0 || s.HostNetwork || s.SchedulerName != corev1.DefaultSchedulerName {
		return false
	}
	if a := s.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return false
	}
	for _, c := range s.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			return false
		}
	}
	for i := range s.Containers {
		for _, port := range s.Containers[i].Ports {
			if port.HostPort != 0 {
				return false
			}
		}
	}
	return true
}

// Bind binds many pods beside each other.
func (x *Nominator) Bind(ctx context.Context, list []cluster.Nomination) ([]cluster.Nomination, error) {
	if !x.mayBind.Load() {
		return list, nil
	}
	errs, left := make([]error, len(list)), make([]bool, len(list))
	var writers sync.WaitGroup
	for i, n := range list {
		if left[i] = !x.admits(n); left[i] {
			continue
		}
		select {
		case x.writing <- struct{}{}:
		case <-ctx.Done():
			left[i] = true
			continue
		}
		writers.Go(func() {
			defer func() { <-x.writing }()
			errs[i] = x.bind(ctx, n)
			left[i] = errs[i] != nil
		})
	}
	writers.Wait()
	var out []cluster.Nomination
	for i, is := range left {
		if is {
			out = append(out, list[i])
		}
	}
	return out, errors.Join(errs...)
}

// admits says whether the node's labels and taints are for the pod. Kerf's own taint, which is about to go, does not count;
// one that is not of the effect NoSchedule would end the pod.
func (x *Nominator) admits(n cluster.Nomination) bool {
	p := x.unboundPod(n.Pod.ID)
	node, err := x.nodes.Get(string(n.Node))
	if p == nil || err != nil || node.DeletionTimestamp != nil || node.Spec.Unschedulable {
		return false
	}
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(node); err != nil || !ok {
		return false
	}
	_, refused := schedulinghelper.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != labels.TaintUnregistered
	}, false)
	return !refused
}

func (x *Nominator) bind(ctx context.Context, n cluster.Nomination) error {
	namespace, name, _ := strings.Cut(string(n.Pod.ID), "/")
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(n.Pod.UID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: string(n.Node)},
	}
	err := x.writer.Pods(namespace).Bind(ctx, binding, metav1.CreateOptions{FieldManager: fieldManager})
	// The scheduler was quicker, or it is another pod of that name.
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("bind pod %s to node %q: %w", n.Pod.ID, n.Node, err)
}
