package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Worth is what pods would cost at the lowest prices: the duals of the cheapest way to have all of them on new nodes.
type Worth struct {
	// Floor proves what all of them cost at least; the zero Proof where some can't be bought for at all.
	Floor Proof
	// byClass is the worth of one pod, micro-dollars per hour, by the class's index; 0 for pods that nothing is sold for.
	byClass []float64
}

// Of is the worth of one pod of a class, micro-dollars per hour.
func (w *Worth) Of(c *view.Class) float64 { return w.byClass[c.Index] }

// Worth prices pods as if none of them was anywhere: any pool, no limits, no spread, no wishes.
func (d *Scheduler) Worth(pods []int) Worth {
	out := Worth{byClass: make([]float64, len(d.v.Classes))}
	if len(pods) == 0 {
		return out
	}
	p := d.relaxed(Items(d.v.World, pods), d.m.tiers)
	p.Problem.Worth = true
	s := optimise.Solve(&p.Problem)
	out.Floor = proofOf(s, len(pods))
	for k, row := range p.rows {
		for _, i := range row {
			out.byClass[p.l.items[i].Class.Index] = s.Worth[k]
		}
	}
	return out
}

// relaxed is the problem of buying for items on some tiers, with no more rules than every plan must keep.
func (d *Scheduler) relaxed(items []Item, tiers [][]*Option) *formulation {
	classes := make([]*view.Class, len(items))
	for i, it := range items {
		classes[i] = it.Class
	}
	rules := slices.DeleteFunc(d.rules.NodeRules(classes), func(r topology.NodeRule) bool { return r.Skew })
	rules = append(rules, workloadCaps(items, d.v.Policy.MaxPodsOfWorkloadPerNode)...)
	p := d.newProblem(newLoad(items, rules), nil)
	all := slices.Concat(tiers...)
	slices.SortStableFunc(all, compareOptions)
	p.options = undominated(all, nil)
	for i, o := range p.options {
		p.add(i, holding{o.Free, p.takenBy(o, false)}, 0)
		if id := o.Offering.ReservationID; id != "" && len(p.bins) > 0 && p.bins[len(p.bins)-1] == i {
			p.Bins[len(p.Bins)-1].Most = int(d.units.Left(id))
		}
	}
	p.addRules()
	p.addPorts()
	return p
}

// Trim leaves out of what a claim may become all that costs more than it may; false, and nothing is changed, where too
// little would be left. A claim that other claims share their list with gets one of its own.
func (b *NewClaim) Trim(most PriceCeiling) bool {
	dear := func(o *Option) bool { return !most.above(o) }
	if !slices.ContainsFunc(b.Options, dear) {
		return true
	}
	kept := slices.DeleteFunc(slices.Clone(b.Options), dear)
	if len(kept) == 0 {
		return false
	}
	relaxed, all := b.Relaxed(), b.Options
	if b.Options = kept; b.Relaxed() && !relaxed {
		b.Options = all
		return false
	}
	return true
}
