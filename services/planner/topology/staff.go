package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// worker is a DaemonSet whose pods may run on nodes of a form; loose says that it is not sure.
type worker struct {
	class *view.Class
	loose bool
}

// staff are the DaemonSets whose pods may run on nodes of a form.
func (t *Tally) staff(id int32) []worker {
	f := &t.nodes.forms[id]
	if len(t.nodes.r.daemons) == 0 || f.employed {
		return f.staff
	}
	f.employed = true
	for _, d := range t.nodes.r.daemons {
		may := func(id int32) bool { return fit.MayRun(d.Profile, &t.nodes.shapes[id].place) }
		doubtful := func(id int32) bool { return !fit.Admits(d.Profile, &t.nodes.shapes[id].place) }
		if slices.ContainsFunc(f.shapes, may) {
			f.staff = append(f.staff, worker{class: d, loose: slices.ContainsFunc(f.shapes, doubtful)})
		}
	}
	return f.staff
}

// attend counts the DaemonSets' pods of a claim, n times.
func (t *Tally) attend(s *Site, n int32) {
	for _, w := range t.staff(s.form) {
		t.change(step{kind: stepAdd, site: s, class: w.class, n: n, daemon: true, loose: w.loose})
	}
}

// expected are the DaemonSets whose pods will start on a host that has not joined yet, or may start on one that is not
// initialized. On a node that has been there for longer they would run by now.
func (t *Tally) expected(v *view.View, h *view.Host, s *Site) []worker {
	if h.Node != nil && h.Initialized {
		return nil
	}
	var out []worker
	for _, w := range t.staff(s.form) {
		runs := slices.ContainsFunc(h.Pods, func(p int) bool {
			c := v.Pods[p].Class
			return c.Daemon && c.Namespace == w.class.Namespace && c.OwnerName == w.class.OwnerName
		})
		if !runs {
			out = append(out, worker{class: w.class, loose: w.loose || h.Node != nil})
		}
	}
	return out
}

// findDaemons notes the DaemonSets that matter to anybody, so that it is known on which nodes to come their pods will be,
// and for each class that minds some the labels by which these nodes can be told from others.
func (r *Rules) findDaemons() {
	counted, owning := make(map[int32][]string), make(map[int32][]string)
	for _, d := range r.w.Daemons {
		k, own := &r.kinds[r.kindOf[d.Class.Index]], r.classes[d.Class.Index].owned
		if len(k.spread)+len(k.pods)+len(own) == 0 {
			continue
		}
		r.daemons = append(r.daemons, d.Class)
		r.taints = true
		where := r.whereRuns(d.Class)
		for _, list := range [][]int32{k.spread, k.pods} {
			for _, n := range list {
				counted[n] = append(counted[n], where...)
			}
		}
		for _, n := range own {
			owning[n] = append(owning[n], where...)
		}
	}
	if len(r.daemons) == 0 {
		return
	}
	r.besides = make([][]string, len(r.classes))
	for i := range r.classes {
		x := &r.classes[i]
		var keys []string
		for _, s := range x.spread {
			keys = append(keys, counted[s.counter]...)
		}
		for _, a := range x.affinity {
			keys = append(keys, counted[a.counter]...)
		}
		for _, a := range x.anti {
			keys = append(keys, counted[a.counter]...)
		}
		for _, n := range r.kinds[r.kindOf[i]].repelled {
			keys = append(keys, owning[n]...)
		}
		r.besides[i] = sortUnique(keys)
	}
}

// whereRuns are the labels that decide on which new nodes a DaemonSet runs; the pool is one where its taints keep it off.
func (r *Rules) whereRuns(d *view.Class) []string {
	out := slices.Clone(d.Profile.Keys)
	for _, p := range r.w.Pools {
		if !fit.Tolerates(d.Profile, &fit.Place{Taints: p.Taints}) {
			return append(out, labels.NodePool)
		}
	}
	return out
}
