package draft

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/pack/settled"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// comeback is the question whether pods get their places when all have left that decisions take away, those of this
// plan and some more. It is about those pods only to which the latter matter, by pod rules: others were asked about
// before.
type comeback struct {
	dr  *Draft
	all []Decision
	// decided is how many of them are part of the plan.
	decided int
	// touched are the circles of pods that the others change, see podrules.Circles.
	touched []bool
}

func newComeback(dr *Draft, more []Decision) *comeback {
	x := &comeback{
		dr: dr, all: slices.Concat(dr.Decisions, more), decided: len(dr.Decisions), touched: make([]bool, len(dr.Scheduler.Tally().Rules().Counters)),
	}
	touch := func(c *view.Class) {
		if n := dr.circles[c.Index]; n != podrules.None {
			x.touched[n] = true
		}
	}
	if dr.replacesStatic(more) {
		for _, c := range dr.View.Classes {
			touch(c)
		}
		return x
	}
	for _, d := range more {
		for _, h := range d.Hosts {
			for _, p := range dr.View.Hosts[h].Pods {
				touch(dr.View.Pods[p].Class)
			}
		}
	}
	for _, c := range dr.Scheduler.Tally().Rules().Daemons { // nodes go and come with theirs
		touch(c)
	}
	return x
}

// concerns says whether the question is about a pod.
func (x *comeback) concerns(pod int) bool {
	n := x.dr.circles[x.dr.View.Pods[pod].Class.Index]
	return n != podrules.None && x.touched[n]
}

// moved are the pods that a decision finds places for, as far as the question is about them. Those of buffers do not exist.
func (x *comeback) moved(d *Decision) (out []pack.Assignment) {
	add := func(a pack.Assignment) {
		if !x.concerns(a.Pod) {
			return
		}
		if !x.dr.View.Pods[a.Pod].ID.Virtual() {
			out = append(out, a)
		}
	}
	for _, a := range d.Destinations {
		add(a)
	}
	for _, b := range d.Replacements {
		for _, it := range b.Items {
			for _, p := range it.Pods {
				add(pack.Assignment{Pod: p, Claim: b})
			}
		}
	}
	return out
}

// firstRefused is the first of the placed pods that could not be bound in its turn, while the nodes that go still are
// there with all that they have.
func (x *comeback) firstRefused() (refused pack.Assignment, some bool) {
	placed := slices.DeleteFunc(slices.Clone(x.dr.placed), func(a pack.Assignment) bool { return !x.concerns(a.Pod) })
	if len(placed) == 0 {
		return refused, false
	}
	mark := x.dr.Scheduler.Mark()
	defer x.dr.Scheduler.Revert(mark)
	for i := range x.all {
		d := &x.all[i]
		for _, a := range x.moved(d) {
			x.dr.Scheduler.Count(a, -1)
		}
		for _, h := range d.Hosts {
			x.dr.Scheduler.CountHost(h, x.dr.Moving[h], 1)
			if i < x.decided && !d.Reason.ByChoice() {
				topology.Occupy(x.dr.Scheduler.Tally(), h, 1)
			}
		}
	}
	i := x.dr.Scheduler.FirstRefused(placed, true)
	if i < 0 {
		return refused, false
	}
	return placed[i], true
}

// stuck is one of the moved pods that never comes back once all have left and the nodes are gone, if each time the
// first that may comes: another order might have a place for each, but no controller keeps them in one.
func (x *comeback) stuck() (pod pack.Assignment, some bool) {
	mark := x.dr.Scheduler.Mark()
	defer x.dr.Scheduler.Revert(mark)
	var moved []pack.Assignment
	for i := range x.all {
		d := &x.all[i]
		for _, h := range d.Hosts {
			if i >= x.decided || d.Reason.ByChoice() { // the others are closed already
				topology.Occupy(x.dr.Scheduler.Tally(), h, -1)
			}
		}
		moved = append(moved, x.moved(d)...)
	}
	places, groups := x.groups(moved)
	tally, open := x.dr.Scheduler.Tally(), x.openTo()
	away := x.dr.Scheduler.Mark()
	left := rules.ComeBack(groups, func() func(int) bool {
		x.dr.Scheduler.Revert(away)
		return func(i int) bool {
			p := pack.PlacedAs(x.dr.Scheduler, places[i])
			ok := settled.Allows(tally, p, open)
			if ok {
				tally.Add(p.Class, p.Site, 1)
			}
			return ok
		}
	})
	if i := slices.IndexFunc(left, func(n int) bool { return n > 0 }); i >= 0 {
		return places[i], true
	}
	return pod, false
}

// openTo finds the nodes of which something is open that matters to a class.
func (x *comeback) openTo() func(*view.Class) []*topology.Site {
	var claims []*topology.Site
	seen := make(map[*purchase.NewClaim]bool)
	add := func(b *purchase.NewClaim) {
		if b != nil && b.Site != nil && !seen[b] {
			seen[b], claims = true, append(claims, b.Site)
		}
	}
	for _, d := range x.all {
		for _, b := range d.Replacements {
			add(b)
		}
	}
	for _, a := range x.dr.placed {
		add(a.Claim)
	}
	known := make(map[*view.Class][]*topology.Site)
	return func(c *view.Class) []*topology.Site {
		open, ok := known[c]
		if !ok {
			open = topology.Open(x.dr.Scheduler.Tally(), c, claims)
			known[c] = open
		}
		return open
	}
}

// groups takes moved pods off the counts, and sorts them by where they go. Of each group one pod stands for all.
func (x *comeback) groups(moved []pack.Assignment) (places []pack.Assignment, groups []rules.Returning) {
	slices.SortFunc(moved, func(a, b pack.Assignment) int { return cmp.Compare(a.Pod, b.Pod) }) // pods are in the order of their names
	index, alike := make(map[settled.Placed]int), make(map[settled.Likeness]int)
	for _, a := range moved {
		to := pack.PlacedAs(x.dr.Scheduler, a)
		if to.Site == nil {
			continue
		}
		x.dr.Scheduler.Count(a, -1)
		i, known := index[to]
		if !known {
			i = len(groups)
			index[to] = i
			like := settled.LikenessOf(x.dr.Scheduler.Tally(), to)
			if _, known := alike[like]; !known {
				alike[like] = i
			}
			ruled := podrules.HasRequired(x.dr.Scheduler.Tally().Rules(), to.Class)
			groups, places = append(groups, rules.Returning{First: x.dr.View.Pods[a.Pod].ID, Ruled: ruled, Like: alike[like]}), append(places, a)
		}
		groups[i].Pods++
	}
	return places, groups
}
