package topology

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// partners says that a DaemonSet's pod that surely runs on a node to come is a partner for required affinity. The scheduler
// has it so, because such pods are bound while the node is not ready yet. Package verify does not count them so far, and
// would refuse the plan: it is switched on once it does.
const partners = false

// duty is how many pods of DaemonSets a counter counts on a node from the start: surely, and at most.
type duty struct{ counter, lo, hi int32 }

// worker is a DaemonSet whose pods may run on nodes of a form; loose says that it is not sure.
type worker struct {
	class *view.Class
	loose bool
}

// staff are the DaemonSets whose pods may run on nodes of a form.
func (t *Tally) staff(f int32) []worker {
	if len(t.r.daemons) > 0 && !t.forms[f].employed {
		t.employ(&t.forms[f])
	}
	return t.forms[f].staff
}

// onDuty is what DaemonSets add to a counter on a new node of a site that stands for nodes to come.
func (t *Tally) onDuty(s *Site, counter int32) duty {
	if !s.pending || len(t.staff(s.form)) == 0 {
		return duty{}
	}
	if u := t.r.counters[counter].universe; u != nowhere && t.pass(t.r.universes[u].filter, s.form) == passNo {
		return duty{}
	}
	list := t.forms[s.form].duties
	i, ok := slices.BinarySearchFunc(list, counter, func(x duty, n int32) int { return cmp.Compare(x.counter, n) })
	if !ok {
		return duty{}
	}
	return list[i]
}

// employ works out which DaemonSets run on nodes of a form.
func (t *Tally) employ(f *form) {
	f.employed = true
	may := func(d *view.Class) bool {
		return slices.ContainsFunc(f.shapes, func(id int32) bool { return fit.MayRun(d.Profile, &t.shapes[id].place) })
	}
	doubtful := func(d *view.Class) bool {
		return slices.ContainsFunc(f.shapes, func(id int32) bool { return !fit.Admits(d.Profile, &t.shapes[id].place) })
	}
	var list []duty
	for _, d := range t.r.daemons {
		if !may(d) {
			continue
		}
		w := worker{class: d, loose: !partners || doubtful(d)}
		f.staff = append(f.staff, w)
		k := &t.r.kinds[t.r.kindOf[d.Index]]
		for _, counters := range [][]int32{k.spread, k.pods, t.r.classes[d.Index].owned} {
			for _, n := range counters {
				one := duty{counter: n, lo: 1, hi: 1}
				if w.loose {
					one.lo = 0
				}
				list = append(list, one)
			}
		}
	}
	slices.SortFunc(list, func(a, b duty) int { return cmp.Compare(a.counter, b.counter) })
	for _, x := range list {
		if last := len(f.duties) - 1; last >= 0 && f.duties[last].counter == x.counter {
			f.duties[last].lo += x.lo
			f.duties[last].hi += x.hi
			continue
		}
		f.duties = append(f.duties, x)
	}
}

// attend counts the DaemonSets' pods of a claim, n times.
func (t *Tally) attend(s *Site, n int32) {
	for _, w := range t.staff(s.form) {
		t.change(step{kind: stepAdd, site: s, class: w.class, n: n, daemon: true, loose: w.loose})
	}
}

// expected are the DaemonSets whose pods may yet start on a host. On a node that has been there for long they need not.
func (t *Tally) expected(v *view.View, h *view.Host, s *Site) []worker {
	var out []worker
	for _, w := range t.staff(s.form) {
		runs := slices.ContainsFunc(h.Pods, func(p int) bool {
			c := v.Pods[p].Class
			return c.Daemon && c.Namespace == w.class.Namespace && c.OwnerName == w.class.OwnerName
		})
		if !runs {
			out = append(out, worker{class: w.class, loose: w.loose || h.Initialized})
		}
	}
	return out
}
