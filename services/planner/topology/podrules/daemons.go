package podrules

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Starting is a pod of a DaemonSet, of the class or of one that no rule can tell from it, that a node has if it turns
// out to be at one of some places, of which At has the numbers. Surely says that it has it wherever it is.
type Starting struct {
	Class  *view.Class
	At     []int
	Surely bool
}

// StartingAt are the pods of some DaemonSets on a node that will be at one of some places.
func (r *Rules) StartingAt(daemons []*view.Class, places []*fit.Place) (out []Starting) {
	for len(daemons) > 0 {
		var alike, others []*view.Class
		for _, d := range daemons {
			switch {
			case !slices.ContainsFunc(places, func(at *fit.Place) bool { return fit.MayRun(d.Profile, at) }):
			case len(alike) == 0 || countAlike(r, alike[0], d):
				alike = append(alike, d)
			default:
				others = append(others, d)
			}
		}
		out = append(out, startAlike(alike, places)...)
		daemons = others
	}
	return out
}

// countAlike says whether no rule can tell the pods of two classes apart.
func countAlike(r *Rules, a, b *view.Class) bool {
	return r.KindOf[a.Index] == r.KindOf[b.Index] && slices.Equal(r.Classes[a.Index].Owned, r.Classes[b.Index].Owned)
}

// startAlike is StartingAt for pods that count alike, each at the places that have so many: where one runs on spot and
// another on demand, a node of which that is open has one pod, and not perhaps two.
func startAlike(alike []*view.Class, places []*fit.Place) (out []Starting) {
	least, most := make([]int, len(places)), make([]int, len(places))
	for i, at := range places {
		for _, d := range alike {
			if fit.MayRun(d.Profile, at) {
				most[i]++
			}
			if fit.Admits(d.Profile, at) {
				least[i]++
			}
		}
	}
	for n, d := range alike {
		x := Starting{Class: d, Surely: slices.Min(least) > n}
		for i := range places {
			if most[i] > n {
				x.At = append(x.At, i)
			}
		}
		if len(x.At) > 0 {
			out = append(out, x)
		}
	}
	return out
}

// ApartFromDaemons are the counters, other than on kubernetes.io/hostname, of the required anti-affinity of a class's
// pods against those of DaemonSets, and of these against them.
func ApartFromDaemons(r *Rules, c *view.Class) (out []int32) {
	if len(r.Daemons) == 0 {
		return nil
	}
	counts := func(counter int32) bool {
		return r.Counters[counter].Key != Hostname && slices.ContainsFunc(r.Daemons, func(d *view.Class) bool { return CountsForAnti(r, d, counter) })
	}
	for _, a := range r.Classes[c.Index].Anti {
		out = append(out, a.Counter)
	}
	out = append(out, r.Kinds[r.KindOf[c.Index]].RepelledBy...)
	return slices.DeleteFunc(out, func(counter int32) bool { return !counts(counter) })
}

// CountsForAnti says whether a counter of required anti-affinity, or of its owners, counts pods of a class.
func CountsForAnti(r *Rules, c *view.Class, counter int32) bool {
	return slices.Contains(r.Kinds[r.KindOf[c.Index]].Pods, counter) || slices.Contains(r.Classes[c.Index].Owned, counter)
}
