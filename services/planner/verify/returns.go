package verify

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// returns checks that the pods which disruptions displace may be together where they go. Placed pods are where they were
// placed, the candidates' nodes are empty, and the displaced pods come back in some order: the plan names none, so that
// each goes as soon as it may, and only those are wrong that never may. Disruptions are judged together.
//
// Which order there is, is a matter of trying: first those that mind others, then as their names have it; and in the end
// pods without a destination may still be where they are while others of nodes that go at once come back.
func (c *checker) returns() {
	r := &returning{checker: c}
	if r.find(); len(r.groups) == 0 {
		return
	}
	m, stuck := r.mindfulFirst()
	if len(stuck) > 0 {
		if n, fewer := r.asNamed(); len(fewer) == 0 {
			m, stuck = n, nil
		}
	}
	if len(stuck) > 0 && len(r.waiting) > 0 {
		m, stuck = r.beforeOthersLeave()
	}
	for _, g := range stuck {
		for _, pod := range g.pods {
			id, before := r.of[pod.ID], len(c.found)
			c.fail("disruption "+string(id)+" destination of pod "+string(pod.ID), "it may not come back on %s in any order: %s",
				g.to.name, m.refuses(g.class, g.to))
			c.ascribe(before, id)
		}
	}
}

// returning is who comes back where.
type returning struct {
	*checker
	groups []*group
	// of is the disruption of each of their pods.
	of map[model.PodID]model.DisruptionID
	// waiting are the displaced pods without a destination.
	waiting map[model.PodID]bool
	passing map[*site]bool
	empty   map[*site]bool
}

// group are displaced pods that nothing tells apart.
type group struct {
	class *model.PodClass
	to    *site
	// atOnce says that they are of nodes that go whatever happens.
	atOnce bool
	pods   []*model.Pod
}

// find lists the displaced pods by class and destination.
func (r *returning) find() {
	type key struct {
		class  model.ClassID
		to     *site
		atOnce bool
	}
	type move struct {
		model.Placement
		atOnce bool
	}
	var all []move
	r.of, r.waiting = make(map[model.PodID]model.DisruptionID), make(map[model.PodID]bool)
	for i := range r.plan.Disruptions {
		d := &r.plan.Disruptions[i]
		for _, p := range r.evicted(d) {
			r.waiting[p.ID] = true
		}
		for _, pl := range d.Destinations {
			if !virtual(pl.Pod) {
				all = append(all, move{pl, !voluntary(d.Reason)})
				r.of[pl.Pod] = d.ID
			}
		}
	}
	slices.SortStableFunc(all, func(a, b move) int { return cmp.Compare(a.Pod, b.Pod) })
	known := make(map[key]*group)
	for _, mv := range all {
		delete(r.waiting, mv.Pod)
		pod, s := r.pods[mv.Pod], r.site(mv.Placement)
		if pod == nil || s == nil {
			continue // podsOnce and rooms tell
		}
		k := key{pod.Class, s, mv.atOnce}
		if known[k] == nil {
			known[k] = &group{class: r.class(pod), to: s, atOnce: mv.atOnce}
			r.groups = append(r.groups, known[k])
		}
		known[k].pods = append(known[k].pods, pod)
	}
	r.passing, r.empty = r.goingSites(), make(map[*site]bool)
	for id := range r.candidate {
		if s := r.claimSites[id]; s != nil {
			r.passing[s], r.empty[s] = true, true
		}
	}
}

// gone is the moment when all displaced pods have left but, where that is asked for, those that wait for a place.
func (r *returning) gone(waiting bool) *moment {
	m := r.newMoment(r.passing)
	where := make(map[model.PodID]*site)
	for _, pl := range r.plan.Placements {
		if !virtual(pl.Pod) {
			where[pl.Pod] = r.site(pl)
		}
	}
	stranded := make(map[model.PodID]bool)
	for _, q := range r.plan.Pending {
		stranded[q.Pod] = true
	}
	for i := range r.snap.Pods {
		p := &r.snap.Pods[i]
		s, placed := where[p.ID]
		if !placed {
			s = r.nodeSites[p.Node]
		}
		stays := placed || !r.empty[s] || (waiting && r.waiting[p.ID])
		// What is ending will have ended: drains take their time.
		if s != nil && !stranded[p.ID] && !p.Terminating && stays {
			m.put(p, s)
		}
	}
	m.putDaemons()
	return m
}

// mindfulFirst lets those come back first that mind others: whoever does not may come at any time.
func (r *returning) mindfulFirst() (*moment, []*group) {
	m := r.gone(false)
	mindful, others := r.split(r.groups)
	stuck := m.comeBack(mindful)
	more := m.comeBack(others)
	return m, m.comeBack(slices.Concat(stuck, more))
}

// asNamed lets them come back in the order of their names.
func (r *returning) asNamed() (*moment, []*group) {
	m := r.gone(false)
	return m, m.comeBack(r.groups)
}

// beforeOthersLeave lets pods of nodes that go at once come back while those that wait for a place have not left yet.
func (r *returning) beforeOthersLeave() (*moment, []*group) {
	var early, rest []*group
	for _, g := range r.groups {
		if g.atOnce {
			early = append(early, g)
		} else {
			rest = append(rest, g)
		}
	}
	before := r.gone(true)
	mindful, others := r.split(early)
	left := before.comeBack(mindful)
	left = before.comeBack(slices.Concat(left, others))
	m := r.gone(false)
	stay := make(map[model.PodID]bool)
	for _, g := range left {
		for _, p := range g.pods {
			stay[p.ID] = true
		}
	}
	for _, g := range early {
		for _, p := range g.pods {
			if !stay[p.ID] {
				m.put(p, g.to)
			}
		}
	}
	mindful, others = r.split(slices.Concat(left, rest))
	stuck := m.comeBack(mindful)
	return m, m.comeBack(slices.Concat(stuck, others))
}

// split tells those who mind where others are from those who don't.
func (r *returning) split(groups []*group) (mindful, others []*group) {
	for _, g := range groups {
		minds := len(r.spreads(g.class)) > 0 || len(required(g.class.PodAffinity)) > 0 || len(required(g.class.PodAntiAffinity)) > 0
		if minds {
			mindful = append(mindful, g)
		} else {
			others = append(others, g)
		}
	}
	return mindful, others
}

// comeBack lets pods come back, each as soon as it may, and returns those that never may.
func (m *moment) comeBack(groups []*group) []*group {
	left := make([]*group, len(groups))
	for i, g := range groups {
		rest := *g
		left[i] = &rest
	}
	for progress := true; progress; {
		progress = false
		for _, g := range left {
			for len(g.pods) > 0 && m.refuses(g.class, g.to) == "" {
				m.put(g.pods[0], g.to)
				g.pods, progress = g.pods[1:], true
			}
		}
		left = slices.DeleteFunc(left, func(g *group) bool { return len(g.pods) == 0 })
	}
	return left
}
