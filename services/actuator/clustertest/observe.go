package clustertest

import (
	"maps"
	"reflect"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Observe returns a copy of the state, in which nodes that have not changed are where they were in the last one.
func (f *Fake) Observe() (cluster.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cold {
		return cluster.State{}, cluster.ErrNotReady
	}
	f.settle()
	s := cluster.State{
		Pools: slices.Clone(f.state.Pools), Classes: slices.Clone(f.state.Classes), Silent: f.state.Silent,
		PodsUnseen: f.state.PodsUnseen,
	}
	seen := make(map[model.NodeName]*cluster.Node, len(f.state.Nodes))
	for _, n := range f.state.Nodes {
		if before := f.seen[n.Name]; before != nil && same(before, n) {
			seen[n.Name] = before
		} else {
			seen[n.Name] = copyNode(n)
		}
		s.Nodes = append(s.Nodes, seen[n.Name])
	}
	f.seen = seen
	for k, o := range f.objects {
		if k.kind != kindClaim {
			continue
		}
		s.ClaimObjects = append(s.ClaimObjects, model.ClaimID(k.name))
		if o.GetDeletionTimestamp() != nil {
			s.DeletedClaims = append(s.DeletedClaims, model.ClaimID(k.name))
		}
		if objects.OfUser(o) {
			s.UserClaims = append(s.UserClaims, model.ClaimID(k.name))
		}
	}
	slices.Sort(s.ClaimObjects)
	slices.Sort(s.DeletedClaims)
	slices.Sort(s.UserClaims)
	return s, nil
}

// Claim implements cluster.Observer.
func (f *Fake) Claim(id model.ClaimID) (c model.Claim, there bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.objects[key{kindClaim, string(id)}]
	if o == nil {
		return model.Claim{}, false, nil
	}
	return objects.ReadClaim(o)
}

func copyNode(n *cluster.Node) *cluster.Node {
	out := *n
	out.Labels, out.Annotations = maps.Clone(n.Labels), maps.Clone(n.Annotations)
	out.Taints, out.Pods, out.Conditions = slices.Clone(n.Taints), slices.Clone(n.Pods), slices.Clone(n.Conditions)
	return &out
}

// same says whether two nodes are equal. Loops look many times at thousands: what is long is compared without reflection.
func same(a, b *cluster.Node) bool {
	if !maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations) || !slices.Equal(a.Taints, b.Taints) ||
		!slices.Equal(a.Conditions, b.Conditions) || !slices.Equal(a.Pods, b.Pods) ||
		!slices.Equal(a.Capacity, b.Capacity) || !slices.Equal(a.Allocatable, b.Allocatable) {
		return false
	}
	x, y := *a, *b
	for _, n := range []*cluster.Node{&x, &y} {
		n.Labels, n.Annotations, n.Taints, n.Conditions, n.Pods, n.Capacity, n.Allocatable = nil, nil, nil, nil, nil, nil, nil
	}
	return reflect.DeepEqual(x, y)
}
