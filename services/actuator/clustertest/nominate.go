package clustertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/actuator/neighbours"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// CanNominate is true: the fake heeds nominations, as far as one that schedules nothing can.
func (f *Fake) CanNominate(context.Context) (can, bind bool, why string, err error) {
	return true, true, "it is a fake", nil
}

// Unbound returns a pod that has no node.
func (f *Fake) Unbound(id model.PodID) (cluster.UnboundPod, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, there := f.unbound[id]
	return p, there
}

// Waiting are the pods of a controller that have no node.
func (f *Fake) Waiting(owner string) []cluster.UnboundPod {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []cluster.UnboundPod
	for _, p := range f.unbound {
		if p.Owner == owner {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b cluster.UnboundPod) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Bindable says whether nothing but its node and the pods around decide about a pod.
func (f *Fake) Bindable(id model.PodID) (model.Amounts, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, spec := f.unbound[id], f.specs[id]
	if p.UID == "" || spec == nil {
		return nil, false
	}
	s := &spec.Spec
	if _, decidable := neighbours.Read(spec); !decidable || len(s.Volumes)+len(reader.HostPorts(s)) > 0 {
		return nil, false
	}
	sum := corev1.ResourceList{}
	for _, c := range s.Containers {
		for name, q := range c.Resources.Requests {
			q.Add(sum[name])
			sum[name] = q
		}
	}
	requests, outOfBounds := reader.Amounts(sum)
	return requests, outOfBounds == ""
}

// Bind binds pods that are as they were seen to nodes whose labels are those that they select.
func (f *Fake) Bind(_ context.Context, list []cluster.Nomination) (left, wait []cluster.Nomination, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.touch()
	for _, n := range list {
		p, there := f.unbound[n.Pod.ID]
		if !there || p.UID != n.Pod.UID {
			left = append(left, n)
			continue
		}
		bound := f.specs[n.Pod.ID]
		node := f.node(string(n.Node))
		rules, decidable := neighbours.Read(bound)
		if node == nil || !decidable || !selects(bound.Spec.NodeSelector, node.Labels) || !tolerates(bound, node) {
			left = append(left, n)
			continue
		}
		if !around(f).Allows(rules, string(n.Node)) {
			wait = append(wait, n)
			continue
		}
		delete(f.unbound, n.Pod.ID)
		delete(f.specs, n.Pod.ID)
		starts(bound)
		pod := objects.Pod(bound)
		node.Pods = append(node.Pods, pod)
		f.pods[string(bound.UID)] = life{labels: bound.Labels, given: bound}
	}
	return left, wait, nil
}

// around is which pods run where. The fake does not know whom pods that run keep away.
func around(f *Fake) *neighbours.Cluster {
	var nodes []*corev1.Node
	for _, n := range f.state.Nodes {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: string(n.Name), Labels: n.Labels}})
	}
	return neighbours.New(nodes, func(yield func(*corev1.Pod, string) bool) {
		for _, n := range f.state.Nodes {
			for _, p := range n.Pods {
				o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: f.pods[p.UID].labels}}
				if !p.Finished && !yield(o, string(n.Name)) {
					return
				}
			}
		}
	})
}

// tolerates says whether a node's taints are for a pod.
func tolerates(p *corev1.Pod, n *cluster.Node) bool {
	o := &corev1.Node{}
	for _, t := range n.Taints {
		o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect.String())})
	}
	return neighbours.Tolerates(p, o)
}

func selects(want, has map[string]string) bool {
	for k, v := range want {
		if has[k] != v {
			return false
		}
	}
	return true
}

// Nominees are the pods without a node that Kerf has nominated.
func (f *Fake) Nominees() []cluster.UnboundPod {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []cluster.UnboundPod
	for _, p := range f.unbound {
		if p.ByKerf {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b cluster.UnboundPod) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Nominate writes nominations of pods that are as they were seen.
func (f *Fake) Nominate(ctx context.Context, list []cluster.Nomination) error {
	var errs []error
	for _, n := range list {
		if f.OnNominate != nil {
			if err := f.OnNominate(ctx, n); err != nil {
				errs = append(errs, fmt.Errorf("nominate pod %s: %w", n.Pod.ID, err))
				continue
			}
		}
		f.mu.Lock()
		if p, there := f.unbound[n.Pod.ID]; there && p.UID == n.Pod.UID && p.Nominated == n.Pod.Nominated {
			f.unbound.nominate(n.Pod.ID, n.Node, true)
			f.touch()
		}
		f.mu.Unlock()
	}
	return errors.Join(errs...)
}

// Preempt nominates a pod as the scheduler does, or takes its nomination away, its own or Kerf's.
func (f *Fake) Preempt(id model.PodID, node model.NodeName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.touch()
	f.unbound.nominate(id, node, false)
}

// unboundPods are pods without a node.
type unboundPods map[model.PodID]cluster.UnboundPod

// nominate writes a pod's nomination. Who writes what is there already does not become its author.
func (u unboundPods) nominate(id model.PodID, node model.NodeName, byKerf bool) {
	p := u[id]
	if p.Nominated != node {
		p.Nominated, p.ByKerf = node, byKerf && node != ""
		u[id] = p
	}
}

func readUnbound(namespace, name string, p cluster.UnboundPod) *unstructured.Unstructured {
	status := map[string]any{"phase": string(corev1.PodPending)}
	if p.Nominated != "" {
		status["nominatedNodeName"] = string(p.Nominated)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "status": status}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID(p.UID))
	return o
}
