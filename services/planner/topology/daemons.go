package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// daemonPods is a DaemonSet whose pods may run on nodes of a form; uncertain says that they may not.
type daemonPods struct {
	class     *view.Class
	uncertain bool
}

// daemonsOn are the DaemonSets whose pods may run on nodes of a form.
func (t *Tally) daemonsOn(id int32) []daemonPods {
	f := &t.nodes.forms[id]
	if len(t.nodes.r.Daemons) == 0 || f.daemonsKnown {
		return f.daemons
	}
	f.daemonsKnown = true
	for _, d := range t.nodes.r.Daemons {
		may := func(id int32) bool { return fit.MayRun(d.Profile, &t.nodes.shapes[id].place) }
		doubtful := func(id int32) bool { return !fit.Admits(d.Profile, &t.nodes.shapes[id].place) }
		if slices.ContainsFunc(f.shapes, may) {
			f.daemons = append(f.daemons, daemonPods{class: d, uncertain: slices.ContainsFunc(f.shapes, doubtful)})
		}
	}
	return f.daemons
}

// countDaemons counts the DaemonSets' pods of a claim, n times.
func (t *Tally) countDaemons(s *Site, n int32) {
	for _, w := range t.daemonsOn(s.form) {
		t.change(step{kind: stepAdd, site: s, class: w.class, n: n, daemon: true, uncertain: w.uncertain})
	}
}

// expectedDaemons are the DaemonSets whose pods will start on a host that has not joined yet, or may start on one that is not
// initialized. On a node that has been there for longer they would run by now.
func (t *Tally) expectedDaemons(v *view.View, h *view.Host, s *Site) []daemonPods {
	if h.Node != nil && h.Initialized {
		return nil
	}
	var out []daemonPods
	for _, w := range t.daemonsOn(s.form) {
		runs := slices.ContainsFunc(h.Pods, func(p int) bool {
			c := v.Pods[p].Class
			return c.Daemon && c.Namespace == w.class.Namespace && c.OwnerName == w.class.OwnerName
		})
		if !runs {
			out = append(out, daemonPods{class: w.class, uncertain: w.uncertain || h.Node != nil})
		}
	}
	return out
}
