package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// daemonPods is a pod of a DaemonSet, of one class or of another that counts alike, which nodes of a form may have;
// uncertain says that they may not. The form is what such a node is if they do.
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
	out := t.nodes.daemonsOf(id, t.nodes.r.Daemons)
	f = &t.nodes.forms[id] // there may be more forms now
	f.daemonsKnown, f.daemons = true, out
	return out
}

// daemonsOf are the pods of some DaemonSets that nodes of a form may have.
func (a *nodeForms) daemonsOf(id int32, daemons []*view.Class) []daemonPods {
	shapes := a.forms[id].shapes
	places := make([]*fit.Place, len(shapes))
	for i, shape := range shapes {
		places[i] = &a.shapes[shape].place
	}
	var out []daemonPods
	for _, x := range a.r.StartingAt(daemons, places) {
		some := make([]int32, len(x.At))
		for n, i := range x.At {
			some[n] = shapes[i]
		}
		out = append(out, daemonPods{class: x.Class, form: a.formOf(some), uncertain: !x.Surely})
	}
	return out
}

// countDaemons counts the DaemonSets' pods of a claim, n times.
func (t *Tally) countDaemons(s *Site, n int32) {
	for _, w := range t.daemonsOn(s.form) {
		t.change(step{kind: stepAdd, site: w.on(s), class: w.class, n: n, daemon: true, uncertain: w.uncertain})
	}
}

// bringsDaemons says whether a node like the site may have pods of DaemonSets that a counter of required anti-affinity
// counts in a domain.
func bringsDaemons(t *Tally, s *Site, f frozenRule) bool {
	return slices.ContainsFunc(t.daemonsOn(s.form), func(w daemonPods) bool {
		if !podrules.CountsForAnti(t.nodes.r, w.class, f.counter) {
			return false
		}
		domains, unbounded := t.nodes.possible(podrules.None, w.form, t.nodes.r.Counters[f.counter].Key)
		return unbounded || slices.Contains(domains, f.domain) || f.domain == open && len(domains) > 0
	})
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

// expectedDaemons are the pods of DaemonSets that will start on a host that has not joined yet, or may start on one
// that has.
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
	out := t.nodes.daemonsOf(s.form, slices.DeleteFunc(slices.Clone(t.nodes.r.Daemons), runs))
	for i := range out {
		out[i].uncertain = true
	}
	return out
}
