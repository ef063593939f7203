package clustertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// CanNominate is true: the fake heeds nominations, as far as one that schedules nothing can.
func (f *Fake) CanNominate(context.Context) (bool, string, error) { return true, "it is a fake", nil }

// Unbound returns a pod that has no node.
func (f *Fake) Unbound(id model.PodID) (cluster.UnboundPod, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, there := f.unbound[id]
	return p, there
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

// Preempt nominates a pod as the scheduler does, or takes its nomination away, whoever made it.
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
