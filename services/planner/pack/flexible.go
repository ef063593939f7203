package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// holding is what a claim that is packed for an option may hold. It is one node of the option, and in a pool with
// minValues whatever fits each of enough distinct offerings.
type holding struct {
	free  view.Vector
	takes problem.Set
}

// holdings lists what claims packed for an option may hold; more than one where there are several ways to be flexible.
func (p *formulation) holdings(o *Option, wishes bool) []holding {
	if !minValues(o.Pool) {
		return []holding{{o.Free, p.takenBy(o, wishes)}}
	}
	var out []holding
	anywhere := func(*Option) bool { return true }
	here := func(x *Option) bool { return slices.Equal(x.place.Local, o.place.Local) }
	for _, allow := range []func(*Option) bool{anywhere, here} {
		stand := p.m.standIns(o, func(x *Option) bool { return allow(x) && p.lim.Remaining(x, 1) == 1 })
		if stand == nil {
			continue
		}
		h := holding{slices.Clone(o.Free), p.takenBy(o, wishes)}
		for _, x := range stand {
			for i := range h.free {
				h.free[i] = min(h.free[i], x.Free[i])
			}
			for i, word := range p.takenBy(x, false) {
				h.takes[i] &= word
			}
		}
		out = append(out, h)
	}
	if len(out) == 0 && p.m.w.Policy.MinValues == model.MinValuesBestEffort {
		return []holding{{o.Free, p.takenBy(o, wishes)}}
	}
	return out
}

// takenBy are the items of which one node of an option takes one pod.
func (p *formulation) takenBy(o *Option, wishes bool) problem.Set {
	out := problem.NewSet(len(p.rows))
	for _, kind := range p.kinds {
		if !o.takes(&p.l.items[p.rows[kind[0]][0]], wishes) {
			continue
		}
		for _, k := range kind {
			out.Add(k)
		}
	}
	return out
}

// standIns are the options that could stand in for o and leave most room, as many as make enough distinct ones for the
// pool's minValues; nil where there are not enough.
func (m *Market) standIns(o *Option, allow func(*Option) bool) []*Option {
	type standIn struct {
		o    *Option
		lost float64
	}
	var all []standIn
	for _, x := range o.variant.options {
		if x.Available && allow(x) {
			all = append(all, standIn{x, lost(o.Free, x.Free)})
		}
	}
	slices.SortStableFunc(all, func(a, b standIn) int { return cmp.Compare(a.lost, b.lost) })
	options := make([]*Option, len(all))
	for i, x := range all {
		options[i] = x.o
	}
	low, high := 1, len(options)+1
	for low < high {
		mid := (low + high) / 2
		if mid <= len(options) && m.diverse(o.variant, options[:mid]) == nil {
			low = mid + 1
			continue
		}
		high = mid
	}
	if low > len(options) {
		return nil
	}
	return options[:low]
}

// lost is the largest part of any resource that one node has less than another.
func lost(of, has view.Vector) float64 {
	worst := 0.0
	for i, v := range of {
		if v > has[i] {
			worst = max(worst, 1-float64(has[i])/float64(v))
		}
	}
	return worst
}
