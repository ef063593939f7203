package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/around"
	"github.com/kerf-dev/kerf/services/actuator/neighbours"
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

// simple says that nothing but the labels, taints and capacity of a node decide whether a pod may run there, and the
// pods around. Of volumes the cache keeps those with claims. Pods of a group are none: they get nodes together or not
// at all, which the scheduler decides. Nor are those that need features of a kubelet.
func simple(p *corev1.Pod) bool {
	s := &p.Spec
	if len(s.Volumes)+len(s.ResourceClaims)+len(s.SchedulingGates) > 0 || s.SchedulingGroup != nil || s.HostNetwork || s.SchedulerName != corev1.DefaultSchedulerName || len(reader.HostPorts(s)) > 0 || len(reader.NeededFeatures(s)) > 0 {
		return false
	}
	_, decidable := neighbours.Read(p)
	return decidable
}

// Bind binds many pods beside each other.
func (x *Nominator) Bind(ctx context.Context, list []cluster.Nomination) (left, wait []cluster.Nomination, err error) {
	if !x.mayBind.Load() {
		return list, nil, nil
	}
	ready, left, wait := x.assume(list)
	errs := beside(ctx, x.writing, ready, func(n cluster.Nomination) error { return x.bind(ctx, n) })
	for i, err := range errs {
		if err != nil {
			x.around.Forget(types.UID(ready[i].Pod.UID))
			left = append(left, ready[i])
		}
		if errors.Is(err, errOther) {
			errs[i] = nil
		}
	}
	return left, wait, errors.Join(errs...)
}

// assume says which pods are to be bound now: from then on they count as running there. Left are those that the node
// refuses, or that are not as they were seen any more, wait those that the pods around keep from it for now.
func (x *Nominator) assume(list []cluster.Nomination) (ready, left, wait []cluster.Nomination) {
	wait = list
	x.around.With(func(place func(*corev1.Pod, string) around.Verdict) {
		for again := true; again; {
			again = false
			var still []cluster.Nomination
			for _, n := range wait {
				p := x.unboundPod(n.Pod.ID)
				if p == nil || string(p.UID) != n.Pod.UID || !x.admits(p, n.Node) {
					left = append(left, n)
					continue
				}
				switch place(p, string(n.Node)) {
				case around.Placed:
					ready, again = append(ready, n), true
				case around.Waits:
					still = append(still, n)
				case around.Undecidable, around.Known: // known: it is on its way to this node or another
					left = append(left, n)
				}
			}
			wait = still
		}
	})
	return ready, left, wait
}

// admits says whether the node's labels and taints are for the pod. Kerf's own taint, which is about to go, does not count;
// one that is not of the effect NoSchedule would end the pod.
func (x *Nominator) admits(p *corev1.Pod, name model.NodeName) bool {
	node, err := x.nodes.Get(string(name))
	if err != nil || node.DeletionTimestamp != nil || node.Spec.Unschedulable {
		return false
	}
	ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(node)
	return err == nil && ok && neighbours.Tolerates(p, node)
}

// errOther says that the scheduler was quicker, or that it is another pod of that name.
var errOther = errors.New("the pod is not as it was seen")

func (x *Nominator) bind(ctx context.Context, n cluster.Nomination) error {
	namespace, name, _ := strings.Cut(string(n.Pod.ID), "/")
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(n.Pod.UID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: string(n.Node)},
	}
	err := x.writer.Pods(namespace).Bind(ctx, binding, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errOther
	}
	return fmt.Errorf("bind pod %s to node %q: %w", n.Pod.ID, n.Node, err)
}
