package fit

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Daemons lists the DaemonSets whose pods may run on a node with these labels and taints. Startup taints do not count:
// a daemon that waits until one is gone still takes its room in the end.
func Daemons(w *view.World, at *Place) []*view.Class {
	var out []*view.Class
	for _, d := range w.Daemons {
		if MayRun(d.Class.Profile, at) {
			out = append(out, d.Class)
		}
	}
	return out
}

// ReserveDaemons sets aside, on each host, what DaemonSets will still start there.
func ReserveDaemons(v *view.View) {
	for i, h := range v.Hosts {
		for _, d := range v.Daemons {
			if mayTurnUp(d.Class.Profile, h) && !runs(v, h, d.Class) {
				v.Reserve(i, d.Class)
			}
		}
	}
}

func mayTurnUp(p *view.Profile, h *view.Host) bool {
	return slices.ContainsFunc(h.LabelSets, func(ls model.Labels) bool {
		return MayRun(p, &Place{Labels: ls, Open: h.Open, Taints: h.Taints})
	})
}

// runs says whether a pod of a DaemonSet, of this or an earlier revision, is on the host.
func runs(v *view.View, h *view.Host, d *view.Class) bool {
	return slices.ContainsFunc(h.Pods, func(p int) bool {
		c := v.Pods[p].Class
		return c.Daemon && c.Namespace == d.Namespace && c.OwnerName == d.OwnerName
	})
}
