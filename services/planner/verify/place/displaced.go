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
// Which order there is, is a matter of trying: first those that have pod rules; and where some never may, these before all others
// the next time, and the first of the others after all. A pod that gets a place later only, as its node goes at once, is nowhere.
func (c *Check) Displaced() {
	d := &displaced{c: c, of: make(map[model.PodID]model.DisruptionID)}
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

// mostTurns is in how many orders displaced pods are tried.
const mostTurns = 8

// comeBack binds the displaced pods, and returns those that never may be where they go.
func (d *displaced) comeBack() (now *filters, stuck []*group) {
	order := d.rulesFirst()
	for range mostTurns {
		f := d.afterEviction()
		left := f.bind(order)
		if len(left) == 0 {
			return f, nil
		}
		if now == nil {
			now, stuck = f, left
		}
		isLeft := func(g *group) bool {
			return slices.ContainsFunc(left, func(x *group) bool { return x.class == g.class && x.to == g.to })
		}
		order = firstThose(order, isLeft)
		others := order[len(left):]
		order = slices.Concat(order[:len(left)], others[min(1, len(others)):], others[:min(1, len(others))])
	}
	return now, stuck
}

// displaced is which pods come back where.
type displaced struct {
	c *Check
	// groups have each displaced pod with a destination that exists once, of its disruption.
	groups []*group
	of     map[model.PodID]model.DisruptionID
}

// group are displaced pods that nothing tells apart.
type group struct {
	class *model.PodClass
	to    *Place
	pods  []*model.Pod
}

// find lists the displaced pods by class and destination, in the order of their names.
func (d *displaced) find() {
	type key struct {
		class model.ClassID
		to    *Place
	}
	var all []model.Placement
	for i := range d.c.f.Plan.Disruptions {
		x := &d.c.f.Plan.Disruptions[i]
		for _, pl := range x.Destinations {
			if !facts.Virtual(pl.Pod) {
				all = append(all, pl)
				d.of[pl.Pod] = x.ID
			}
		}
	}
	slices.SortStableFunc(all, func(a, b model.Placement) int { return cmp.Compare(a.Pod, b.Pod) })
	known := make(map[key]*group)
	for _, mv := range all {
		pod, to := d.c.f.Cluster.Pods[mv.Pod], d.c.places.at(facts.TargetOf(&mv))
		if pod == nil || to == nil {
			continue // another rule is broken
		}
		k := key{pod.Class, to}
		if known[k] == nil {
			known[k] = &group{class: d.c.f.Cluster.Class(pod), to: to}
			d.groups = append(d.groups, known[k])
		}
		known[k].pods = append(known[k].pods, pod)
	}
}

// afterEviction is when all displaced pods have left, and the nodes that go are gone: none of them is a domain that a pod may
// rely on.
func (d *displaced) afterEviction() *filters {
	gone := maps.Clone(d.c.going)
	maps.Copy(gone, d.c.taken)
	to := make(map[model.PodID]*Place)
	for _, pl := range d.c.f.Plan.Placements {
		if !facts.Virtual(pl.Pod) {
			to[pl.Pod] = d.c.places.at(facts.TargetOf(&pl))
		}
	}
	for _, q := range d.c.f.Plan.Pending {
		to[q.Pod] = nil
	}
	return d.c.boundNow(gone, func(p *model.Pod) *Place {
		s, moved := to[p.ID]
		if !moved {
			s = d.c.places.nodes[p.Node]
		}
		if p.Terminating || d.c.taken[s] && !moved { // what is ending will have ended: drains take their time
			return nil
		}
		return s
	})
}

// rulesFirst has those first that have pod rules: the others may come at any time.
func (d *displaced) rulesFirst() []*group {
	hasRules := func(g *group) bool {
		spread := len(facts.HardSpreads(g.class, d.c.f.Input.Policy.DefaultSpread)) > 0
		return spread || len(facts.Required(g.class.PodAffinity)) > 0 || len(facts.Required(g.class.PodAntiAffinity)) > 0
	}
	return firstThose(d.groups, hasRules)
}

// firstThose has some groups before all others.
func firstThose(groups []*group, first func(*group) bool) (out []*group) {
	for _, want := range []bool{true, false} {
		for _, g := range groups {
			if first(g) == want {
				out = append(out, g)
			}
		}
	}
	return out
}

// bind binds pods one after the other, each time the first that may be, and returns those that never may.
func (f *filters) bind(groups []*group) (stuck []*group) {
	for _, g := range groups {
		rest := *g
		stuck = append(stuck, &rest)
	}
	for i := 0; i < len(stuck); {
		g := stuck[i]
		if f.refuses(g.class, g.to) != "" {
			i++
			continue
		}
		f.put(g.pods[0], g.to)
		if g.pods = g.pods[1:]; len(g.pods) == 0 {
			stuck = slices.Delete(stuck, i, i+1)
		}
		i = 0
	}
	return stuck
}
