package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// daemonPods is a pod of a DaemonSet, of one class or of another that counts alike, which nodes of a form may have; uncertain says
// that they may not. The form is what such a node is if they do.
type daemonPods struct {
	class     *view.Class
	form      int32
	uncertain bool
}

// on is where the pods are on a site.
func (d *daemonPods) on(s *Site) *Site {
	if d.form == s.form {
		return s
	}
	return &Site{name: s.name, form: d.form, host: s.host}
}

// daemonsOn are the pods of DaemonSets that nodes of a form may have.
func (t *Tally) daemonsOn(id int32) []daemonPods {
	f := &t.nodes.forms[id]
	if len(t.nodes.r.Daemons) == 0 || f.daemonsKnown {
		return f.daemons
	}
	out := t.daemonsAmong(t.nodes.r.Daemons, id)
	f = &t.nodes.forms[id] // there may be more forms now
	f.daemonsKnown, f.daemons = true, out
	return out
}

// daemonsAmong are the pods of some DaemonSets that nodes of a form may have.
func (t *Tally) daemonsAmong(daemons []*view.Class, id int32) (out []daemonPods) {
	shapes := t.nodes.forms[id].shapes
	for len(daemons) > 0 {
		var alike, others []*view.Class
		for _, d := range daemons {
			switch {
			case !slices.ContainsFunc(shapes, func(id int32) bool { return fit.MayRun(d.Profile, &t.nodes.shapes[id].place) }):
			case len(alike) == 0 || t.countAlike(alike[0], d):
				alike = append(alike, d)
			default:
				others = append(others, d)
			}
		}
		out = append(out, t.daemonsAlike(alike, shapes)...)
		daemons = others
	}
	return out
}

// countAlike says whether no rule can tell the pods of two classes apart.
func (t *Tally) countAlike(a, b *view.Class) bool {
	r := t.nodes.r
	return r.KindOf[a.Index] == r.KindOf[b.Index] && slices.Equal(r.Classes[a.Index].Owned, r.Classes[b.Index].Owned)
}

// daemonsAlike are pods of DaemonSets that count alike, each on the shapes that have so many: where one runs on spot nodes and
// another on those on demand, a node of which that is open has one pod, and not perhaps two.
func (t *Tally) daemonsAlike(alike []*view.Class, shapes []int32) (out []daemonPods) {
	least, most := make([]int, len(shapes)), make([]int, len(shapes))
	for i, id := range shapes {
		for _, d := range alike {
			if at := &t.nodes.shapes[id].place; fit.MayRun(d.Profile, at) {
				most[i]++
				if fit.Admits(d.Profile, at) {
					least[i]++
				}
			}
		}
	}
	for n, d := range alike {
		var some []int32
		for i, id := range shapes {
			if most[i] > n {
				some = append(some, id)
			}
		}
		if len(some) > 0 {
			out = append(out, daemonPods{class: d, form: t.nodes.formOf(some), uncertain: slices.Min(least) <= n})
		}
	}
	return out
}

// countDaemons counts the DaemonSets' pods of a claim, n times.
func (t *Tally) countDaemons(s *Site, n int32) {
	for _, w := range t.daemonsOn(s.form) {
		t.change(step{kind: stepAdd, site: w.on(s), class: w.class, n: n, daemon: true, uncertain: w.uncertain})
	}
}

// surelyStarts is how many pods of DaemonSets that a counter of spread counts will be on a new node of a form for sure.
func surelyStarts(t *Tally, form, counter int32) (n int32) {
	for _, w := range t.daemonsOn(form) {
		if !w.uncertain && slices.Contains(t.nodes.r.Kinds[t.nodes.r.KindOf[w.class.Index]].Spread, counter) {
			n++
		}
	}
	return n
}

// expectedDaemons are the pods of DaemonSets that will start on a host that has not joined yet, or may start on one that has.
func (t *Tally) expectedDaemons(v *view.View, h *view.Host, s *Site) []daemonPods {
	all := t.daemonsOn(s.form)
	if h.Node == nil || len(all) == 0 {
		return all
	}
	runs := func(d *view.Class) bool {
		return slices.ContainsFunc(h.Pods, func(p int) bool {
			c := v.Pods[p].Class
			return c.Daemon && c.Namespace == d.Namespace && c.OwnerName == d.OwnerName
		})
	}
	out := t.daemonsAmong(slices.DeleteFunc(slices.Clone(t.nodes.r.Daemons), runs), s.form)
	for i := range out {
		out[i].uncertain = true
	}
	return out
}
