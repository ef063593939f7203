package view

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// learnedKey is a type as a node class launches it: images and kubelet settings are the class's.
type learnedKey struct {
	class model.NodeClassName
	name  model.TypeName
}

// learn notes, for each node class and type, the least that nodes of it turned out to have. The catalogue estimates what
// a kubelet will report; where it is too generous, a node bought for pods that just fit is too small for them, and the
// next one would be bought just so. Only nodes that were initialized and are still as their class would launch them tell
// anything, and a resource that a node does not report, or has none of, tells nothing: a broken device must not make a
// type useless.
func (cp compiler) learn() {
	cp.w.learned = make(map[learnedKey]Vector)
	nodes := cp.w.Snapshot.Nodes
	for i := range cp.w.Snapshot.Claims {
		c := &cp.w.Snapshot.Claims[i]
		if c.State != model.ClaimInitialized || c.InstanceType == "" || !c.Drifted.OK() {
			continue
		}
		at, found := slices.BinarySearchFunc(nodes, c.Node, func(n model.Node, name model.NodeName) int { return cmp.Compare(n.Name, name) })
		t := hostBuilder(cp).claimCatalog(c).Type(c.InstanceType)
		if !found || t == nil {
			continue
		}
		key := learnedKey{c.NodeClass, c.InstanceType}
		has := cp.w.Index.Vector(nodes[at].Allocatable)
		least := cp.w.learned[key]
		for k, v := range has {
			if v <= 0 || v >= t.AllocatableVector[k] {
				continue
			}
			if least == nil {
				least = slices.Clone(t.AllocatableVector)
				cp.w.learned[key] = least
			}
			least[k] = min(least[k], v)
		}
	}
}

// Allocatable is what pods can use of a new node of a type, DaemonSet pods included: what the catalogue says, or less
// where nodes that the node class launched turned out to have less. The caller must not change it.
func (w *World) Allocatable(class model.NodeClassName, t *Type) Vector {
	if v, ok := w.learned[learnedKey{class, t.Name}]; ok {
		return v
	}
	return t.AllocatableVector
}
