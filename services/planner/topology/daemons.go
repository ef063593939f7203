package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// daemonPods is a DaemonSet whose pods may run on nodes of a form; uncertain says that they may not. The form is what such a
// node is if they do.
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

// daemonsOn are the DaemonSets whose pods may run on nodes of a form.
func (t *Tally) daemonsOn(id int32) []daemonPods {
	f := &t.nodes.forms[id]
	if len(t.nodes.r.Daemons) == 0 || f.daemonsKnown {
		return f.daemons
	}
	var out []daemonPods
	for _, d := range t.nodes.r.Daemons {
		never := func(id int32) bool { return !fit.MayRun(d.Profile, &t.nodes.shapes[id].place) }
		doubtful := func(id int32) bool { return !fit.Admits(d.Profile, &t.nodes.shapes[id].place) }
		shapes := t.nodes.forms[id].shapes
		if some := slices.DeleteFunc(slices.Clone(shapes), never); len(some) > 0 {
			out = append(out, daemonPods{class: d, form: t.nodes.formOf(some), uncertain: slices.ContainsFunc(shapes, doubtful)})
		}
	}
	f = &t.nodes.forms[id] // there may be more forms now
	f.daemonsKnown, f.daemons = true, out
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

// expectedDaemons are the DaemonSets whose pods will start on a host that has not joined yet, or may start on one that has.
func (t *Tally) expectedDaemons(v *view.View, h *view.Host, s *Site) []daemonPods {
	var out []daemonPods
	for _, w := range t.daemonsOn(s.form) {
		runs := slices.ContainsFunc(h.Pods, func(p int) bool {
			c := v.Pods[p].Class
			return c.Daemon && c.Namespace == w.class.Namespace && c.OwnerName == w.class.OwnerName
		})
		if !runs {
			w.uncertain = w.uncertain || h.Node != nil
			out = append(out, w)
		}
	}
	return out
}
