package view

import (
	"errors"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/volumes"
)

// Rehost makes a world what it is after nodes, claims, notices and pods changed, while all else is as it was: the result is that
// of Compile on the changed snapshot, and views of it are to be made anew. ok is false where more changes with the nodes, or with an
// error; then it may be called again. same says that of new nodes nothing else is known than before.
func Rehost(w *World, pods []Pod) (same, ok bool, err error) {
	limits, disks := volumes.New(w.Snapshot.Nodes), rules.DisksOf(w.Snapshot.PodClasses, w.Snapshot.Nodes)
	if w.Devices != nil || !w.volumes.Equal(limits) || !maps.Equal(w.disks, disks) {
		return false, false, nil
	}
	w.Pods, w.Unbound = pods, nil
	cp := compiler{w}
	if err := errors.Join(cp.addPods(), cp.addClaims()); err != nil {
		return false, false, err
	}
	before := w.learned
	cp.learn()
	return maps.EqualFunc(before, w.learned, slices.Equal[Vector]), true, nil
}
