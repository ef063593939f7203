package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// Displaced checks that the pods which disruptions displace may be together where they go. Placed pods are where they were
// placed, the candidates' nodes are empty, and the displaced pods come back in some order: the plan names none, so that
// each goes as soon as it may, and only those are wrong that never may. Disruptions are judged together.
//
// Which order there is, is a matter of trying: first those that have pod rules, then as their names have it; and in the end
// pods without a destination may still be where they are while others of nodes that go at once come back.
func (c *Check) Displaced() {
	d := &displaced{c: c, of: make(map[model.PodID]model.DisruptionID), withoutDestination: make(map[model.PodID]bool)}
	if d.find(); len(d.groups) == 0 {
		return
	}
	now, stuck := d.comeBack()
	var classes []*model.PodClass
	for _, g := range stuck {
		classes = append(classes, g.class)
	}
	none := func() bool {
		_, stuck := d.comeBack()
		return len(stuck) == 0
	}
	if c.inEachOutcome(classes, none) {
		return
	}
	for _, g := range stuck {
		for _, pod := range g.pods {
			id := d.of[pod.ID]
			c.r.Blame(id, func() {
				c.r.Fail("disruption "+string(id)+" destination of pod "+string(pod.ID), "it may not come back on %s in any order: %s",
					g.to.subject, now.refuses(g.class, g.to))
			})
		}
	}
}

// comeBack binds the displaced pods, and returns those that never may be where they go.
func (d *displaced) comeBack() (now *filters, stuck []*group) {
	now = d.afterEviction(false)
	stuck = d.rulesFirst(now, d.groups)
	if len(stuck) > 0 {
		if byName := d.afterEviction(false); len(byName.bind(d.groups)) == 0 {
			return now, nil
		}
	}
	if len(stuck) > 0 && len(d.withoutDestination) > 0 {
		return d.beforeOthersLeave()
	}
	return now, stuck
}

// displaced is which pods come back where.
type displaced struct {
	c *Check
	// groups have each displaced pod with a destination that exists once, of its disruption.
	groups []*group
	of     map[model.PodID]model.DisruptionID
	// withoutDestination are the displaced pods without a destination.
	withoutDestination map[model.PodID]bool
}

// group are displaced pods that nothing tells apart.
type group struct {
	class *model.PodClass
	to    *Place
	// atOnce says that they are of nodes that go whatever happens.
	atOnce bool
	pods   []*model.Pod
}

// find lists the displaced pods by class and destination, in the order of their names.
func (d *displaced) find() {
	type key struct {
		class  model.ClassID
		to     *Place
		atOnce bool
	}
	type move struct {
		model.Placement
		atOnce bool
	}
	var all []move
	for i := range d.c.f.Plan.Disruptions {
		x := &d.c.f.Plan.Disruptions[i]
		for _, id := range x.Candidates {
			for _, p := range d.c.f.Cluster.MovableOn(id) {
				d.withoutDestination[p.ID] = true
			}
		}
		for _, pl := range x.Destinations {
			if !facts.Virtual(pl.Pod) {
				all = append(all, move{pl, !x.Reason.ByChoice()})
				d.of[pl.Pod] = x.ID
			}
		}
	}
	slices.SortStableFunc(all, func(a, b move) int { return cmp.Compare(a.Pod, b.Pod) })
	known := make(map[key]*group)
	for _, mv := range all {
		delete(d.withoutDestination, mv.Pod)
		pod, to := d.c.f.Cluster.Pods[mv.Pod], d.c.places.at(facts.TargetOf(&mv.Placement))
		if pod == nil || to == nil {
			continue // another rule is broken
		}
		k := key{pod.Class, to, mv.atOnce}
		if known[k] == nil {
			known[k] = &group{class: d.c.f.Cluster.Class(pod), to: to, atOnce: mv.atOnce}
			d.groups = append(d.groups, known[k])
		}
		known[k].pods = append(known[k].pods, pod)
	}
}

// afterEviction is when all displaced pods have left but, where that is asked for, those that wait for a place.
func (d *displaced) afterEviction(unplacedStay bool) *filters {
	transient := maps.Clone(d.c.going)
	maps.Copy(transient, d.c.taken)
	to := make(map[model.PodID]*Place)
	for _, pl := range d.c.f.Plan.Placements {
		if !facts.Virtual(pl.Pod) {
			to[pl.Pod] = d.c.places.at(facts.TargetOf(&pl))
		}
	}
	for _, q := range d.c.f.Plan.Pending {
		to[q.Pod] = nil
	}
	return d.c.boundNow(transient, func(p *model.Pod) *Place {
		s, moved := to[p.ID]
		if !moved {
			s = d.c.places.nodes[p.Node]
		}
		stays := moved || !d.c.taken[s] || (unplacedStay && d.withoutDestination[p.ID])
		if p.Terminating || !stays { // what is ending will have ended: drains take their time
			return nil
		}
		return s
	})
}

// rulesFirst binds those first that have pod rules: the others may come at any time.
func (d *displaced) rulesFirst(now *filters, groups []*group) (stuck []*group) {
	var with, without []*group
	for _, g := range groups {
		spread := len(facts.HardSpreads(g.class, d.c.f.Input.Policy.DefaultSpread)) > 0
		if spread || len(facts.Required(g.class.PodAffinity)) > 0 || len(facts.Required(g.class.PodAntiAffinity)) > 0 {
			with = append(with, g)
		} else {
			without = append(without, g)
		}
	}
	left := now.bind(with)
	return now.bind(slices.Concat(left, now.bind(without)))
}

// beforeOthersLeave lets pods of nodes that go at once come back while those that wait for a place have not left yet.
func (d *displaced) beforeOthersLeave() (*filters, []*group) {
	var early, late []*group
	for _, g := range d.groups {
		if g.atOnce {
			early = append(early, g)
		} else {
			late = append(late, g)
		}
	}
	stuck := d.rulesFirst(d.afterEviction(true), early)
	stays := make(map[model.PodID]bool)
	for _, g := range stuck {
		for _, p := range g.pods {
			stays[p.ID] = true
		}
	}
	now := d.afterEviction(false)
	for _, g := range early {
		for _, p := range g.pods {
			if !stays[p.ID] {
				now.put(p, g.to)
			}
		}
	}
	return now, d.rulesFirst(now, slices.Concat(stuck, late))
}

// bind binds pods, each as soon as it may be, and returns those that never may.
func (f *filters) bind(groups []*group) (stuck []*group) {
	for _, g := range groups {
		rest := *g
		stuck = append(stuck, &rest)
	}
	for progress := true; progress; {
		progress = false
		for _, g := range stuck {
			for len(g.pods) > 0 && f.refuses(g.class, g.to) == "" {
				f.put(g.pods[0], g.to)
				g.pods, progress = g.pods[1:], true
			}
		}
		stuck = slices.DeleteFunc(stuck, func(g *group) bool { return len(g.pods) == 0 })
	}
	return stuck
}
