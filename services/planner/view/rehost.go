package view

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/extended"
	"github.com/kerf-dev/kerf/services/core/lacks"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/volumes"
)

// HasDisks says whether the nodes that a world's volumes lie on, and what nodes lack, are the same at a time, with the
// snapshot as it is.
func HasDisks(w *World, now time.Time) bool {
	return maps.Equal(w.disks, rules.DisksOf(w.Snapshot, now)) && w.Lacks.Equal(lacks.Of(w.Snapshot, now))
}

// Rehost makes a world what it is after nodes, claims, notices and pods changed, while all else is as it was: the
// result is that of Compile on the changed snapshot, and views of it are to be made anew. ok is false where more
// changes with the nodes, or with an error; then it may be called again. same says that of new nodes nothing else is
// known than before.
func Rehost(w *World, pods []Pod) (same, ok bool, err error) {
	if counted(extended.Resolve(w.Snapshot)) != nil || !w.volumes.Equal(volumes.New(w.Snapshot.Nodes)) || !HasDisks(w, w.Now) {
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
