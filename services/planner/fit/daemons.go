package fit

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Daemons lists the DaemonSets whose pods may run on a node with these labels and taints. Startup taints do not count:
// a daemon that waits until one is gone still takes its share in the end.
func Daemons(w *view.World, at *Place) []*view.Class {
	var out []*view.Class
	for _, d := range w.Daemons {
		if MayRun(d.Class.Profile, at) {
			out = append(out, d.Class)
		}
	}
	return out
}

// BesideDaemons are the values of open labels that DaemonSets do not ask for, where the pool does not list its own: all
// but those of one requirement of theirs each, and all but those of any.
func BesideDaemons(w *view.World, open require.Set) []require.Set {
	var out []require.Set
	var none require.Set
	for _, d := range w.Daemons {
		for _, r := range slices.Concat(Asks(d.Class.Profile)...) {
			has, is := open.Get(r.Key)
			if _, listed := has.Values(); !is || listed {
				continue
			}
			out = append(out, require.Set{r.Others()})
			if _, some := r.Values(); some {
				none = none.With(r.Others())
			}
		}
	}
	return append(out, none)
}

// Asks lists the alternatives of what a profile asks of labels.
func Asks(p *view.Profile) []require.Set {
	if len(p.Affinity) == 0 {
		return []require.Set{p.Selector}
	}
	var out []require.Set
	for _, term := range p.Affinity {
		out = append(out, p.Selector.Intersect(term))
	}
	return out
}

// ReserveDaemons sets aside, on each host, what DaemonSets will still start there.
func ReserveDaemons(v *view.View) {
	for i := range v.Hosts {
		ReserveDaemonsOn(v, i)
	}
}

// ReserveDaemonsOn is ReserveDaemons for one host.
func ReserveDaemonsOn(v *view.View, host int) {
	h := v.Hosts[host]
	if len(v.Daemons) == 0 && len(h.LabelSets) == 1 {
		return // nothing will start, and there is one shape that it could start on
	}
	taken, classes := overhead(v, h)
	v.Reserve(host, taken, classes)
}

// overhead is what DaemonSets will still start on a host: what they take altogether, and their classes. Where a
// host may become one of several shapes, each shape is charged with its own DaemonSets only, as it was when it was
// bought: else its own pods might not fit any more, and would be bought for once again.
func overhead(v *view.View, h *view.Host) (taken view.Vector, classes []*view.Class) {
	var least view.Vector
	for i, ls := range h.LabelSets {
		free := slices.Clone(h.ShapeAllocatable(i))
		for _, d := range v.Daemons {
			if !MayRun(d.Class.Profile, &Place{Labels: ls, Open: h.Open, Taints: h.Taints, Fresh: h.Node == nil}) {
				continue
			}
			owed, runs := owed(v, h, d.Class)
			free.Add(owed, -1)
			if !runs && !slices.Contains(classes, d.Class) {
				classes = append(classes, d.Class)
			}
		}
		if least == nil {
			least = free
		}
		for k := range least {
			least[k] = min(least[k], free[k])
		}
	}
	taken = slices.Clone(h.Allocatable)
	taken.Add(least, -1)
	return taken, classes
}

// owed is what a DaemonSet's pod will take of a host beyond what it takes now, and whether one runs there: all of it
// where none does, and what the present revision asks more where one of an earlier revision is still to be replaced.
func owed(v *view.View, h *view.Host, d *view.Class) (missing view.Vector, runs bool) {
	missing = slices.Clone(d.Requested)
	for _, p := range h.Pods {
		c := v.Pods[p].Class
		if !c.Daemon || c.Namespace != d.Namespace || c.OwnerName != d.OwnerName {
			continue
		}
		runs = true
		for i := range missing {
			missing[i] = min(missing[i], max(0, d.Requested[i]-c.Requested[i]))
		}
	}
	return missing, runs
}
