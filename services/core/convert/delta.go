package convert

import (
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Part reads a part of a snapshot, of which others may have what its objects refer to. The error is an *Error.
func Part(s *clusterpb.Snapshot) (model.Snapshot, error) {
	r := &reader{}
	out := r.lists(s)
	return out, r.err()
}

// Delta reads a part of a delta. The error is an *Error.
func Delta(d *clusterpb.Delta) (model.Delta, error) {
	r := &reader{}
	gone := d.GetRemoved()
	out := model.Delta{Upserted: r.lists(d.GetUpserted()), Removed: model.Removed{
		PodClasses: gone.GetPodClasses(), Pods: gone.GetPods(), DaemonSets: gone.GetDaemonSets(), Nodes: gone.GetNodes(),
		Namespaces: gone.GetNamespaces(), PodDisruptionBudgets: gone.GetPodDisruptionBudgets(), NodePools: gone.GetNodePools(),
		NodeClasses: gone.GetNodeClasses(), Catalogs: gone.GetCatalogs(), Offerings: RemovedOfferings(gone), Claims: gone.GetClaims(),
		Notices: gone.GetNotices(), Disruptions: gone.GetDisruptions(), NodeOverlays: gone.GetNodeOverlays(),
		CapacityBuffers: gone.GetCapacityBuffers(),
	}}
	return out, r.err()
}

// References checks that what the objects of a whole snapshot must find is there. The error is an *Error.
func References(s *model.Snapshot) error {
	r := &reader{}
	r.references(s)
	return r.err()
}

// Decide reads a question; the input has no snapshot. The error is an *Error.
func Decide(d *plannerpb.Decide) (model.Input, error) {
	r := &reader{}
	var in model.Input
	r.decide(d, &in)
	return in, r.err()
}
