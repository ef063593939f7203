package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// Displaced checks that the pods which disruptions displace may be together where they go. Placed pods are where they were
// placed, the candidates' nodes are empty, and the displaced pods come back in some order: the plan names none, so that
// each goes as soon as it may, and only those are wrong that never may. Disruptions are judged together.
//
// In which orders they are tried, rules.ComeBack says. A pod that gets a place later only, as its node goes at once, is
// nowhere.
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

// comeBack binds the displaced pods, and returns those that never may be where they go, and what is there in the first
// order then.
func (d *displaced) comeBack() (now *filters, stuck []*group) {
	groups := make([]rules.Returning, len(d.groups))
	like, first := d.likeness(), make(map[likeness]int)
	for i, g := range d.groups {
		l := like(g)
		if _, known := first[l]; !known {
			first[l] = i
		}
		groups[i] = rules.Returning{First: g.pods[0].ID, Pods: len(g.pods), Ruled: d.ruled(g), Like: first[l]}
	}
	left := rules.ComeBack(groups, func() func(int) bool {
		f := d.afterEviction()
		if now == nil {
			now = f
		}
		came := make([]int, len(groups))
		return func(i int) bool {
			g := d.groups[i]
			ok := f.refuses(g.class, g.to) == ""
			if ok {
				f.put(g.pods[came[i]], g.to)
				came[i]++
			}
			return ok
		}
	})
	for i, n := range left {
		if g := d.groups[i]; n > 0 {
			stuck = append(stuck, &group{g.class, g.to, g.pods[len(g.pods)-n:]})
		}
	}
	return now, stuck
}

// likeness is the same for groups whose pods nothing tells apart, nor what places they come back to, as far as their
// rules go.
type likeness struct {
	class *model.PodClass
	kind  *kind
	// alone is the place where it matters which of its kind it is: by its hostname, or because it is not decided what
	// it becomes.
	alone *Place
}

func (d *displaced) likeness() func(*group) likeness {
	keys := make(map[*model.PodClass][]string)
	return func(g *group) likeness {
		own, known := keys[g.class]
		if !known {
			own = d.c.keys(g.class)
			keys[g.class] = own
		}
		matters := func(key string) bool {
			_, decided := g.to.domain(labels.Normal(key)).decided()
			return !decided || labels.Normal(key) == labels.Hostname
		}
		if slices.ContainsFunc(own, matters) {
			return likeness{class: g.class, alone: g.to}
		}
		return likeness{class: g.class, kind: g.to.kind}
	}
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
			if !pl.Pod.Virtual() {
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

// afterEviction is when all displaced pods have left, and the nodes that go are gone: none of them is a domain that a
// pod may rely on.
func (d *displaced) afterEviction() *filters {
	gone := maps.Clone(d.c.going)
	maps.Copy(gone, d.c.taken)
	to := make(map[model.PodID]*Place)
	for _, pl := range d.c.f.Plan.Placements {
		if !pl.Pod.Virtual() {
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

// ruled says whether pods have pod rules: the others may come at any time.
func (d *displaced) ruled(g *group) bool {
	spread := len(facts.HardSpreads(g.class, d.c.f.Input.Policy.DefaultSpread)) > 0
	return spread || len(facts.Required(g.class.PodAffinity)) > 0 || len(facts.Required(g.class.PodAntiAffinity)) > 0
}
