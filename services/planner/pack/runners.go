package pack

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
)

// mostRunners is how many runners-up a claim names.
const mostRunners = 5

// Runner is a shape that was weighed and lost.
type Runner struct {
	Option *Option
	// Pods is how many of the pods that were to be placed one such node holds.
	Pods   int
	Reason model.Reason
}

// runners lists the shapes that came nearest to the best one, one for each instance type.
func (r *round) runners(best int, lim *Limits) []Runner {
	var near []int
	seen := map[model.TypeName]bool{r.options[best].Type.Name: true}
	order := make([]int, 0, len(r.options))
	for i, o := range r.options {
		if r.fills[i].value > 0 && lim.Room(o, 1) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, r.cheaper)
	for _, i := range order {
		name := r.options[i].Type.Name
		if seen[name] {
			continue
		}
		seen[name] = true
		if near = append(near, i); len(near) == mostRunners {
			break
		}
	}
	var out []Runner
	for _, i := range near {
		pods := 0
		for _, k := range r.fills[i].counts {
			pods += k
		}
		out = append(out, Runner{Option: r.options[i], Pods: pods, Reason: r.lost(i, best, pods)})
	}
	return out
}

// lost says why option i lost against the best one.
func (r *round) lost(i, best, pods int) model.Reason {
	o := r.options[i]
	holds := fmt.Sprintf("%s at %s holds %d of the pods", o.Type.Name, fit.Money(o.Offering.Price), pods)
	if r.cheaper(i, best) == 0 {
		return model.Reason{
			Code: model.CodeTie, Subject: "instancetype/" + string(o.Type.Name),
			Message: holds + ", at the same price for what it holds; the smaller node wins",
		}
	}
	per := func(k int) float64 {
		return float64(r.options[k].Offering.Price+r.m.w.Policy.PerNodeOverhead) / float64(r.fills[k].value)
	}
	return model.Reason{
		Code: model.CodeDearer, Subject: "instancetype/" + string(o.Type.Name),
		Message: fmt.Sprintf("%s, %.1f%% dearer for what it holds", holds, (per(i)/per(best)-1)*100),
	}
}

// finishRunners settles a claim's runners-up once it is known what it may become. Where a cheaper type than the one that
// it was packed for turned out to hold its pods, what lost against that other type says nothing any more.
func (m *Market) finishRunners(b *Bought) {
	if len(b.Options) == 0 {
		return
	}
	best := b.Best()
	if best.Type != b.base.Type {
		b.Runners = nil
	}
	seen := map[model.TypeName]bool{best.Type.Name: true}
	for _, r := range b.Runners {
		seen[r.Option.Type.Name] = true
	}
	pods := 0
	for _, it := range b.Items {
		pods += len(it.Pods)
	}
	out := slices.Clone(b.Runners)
	for _, o := range b.Options {
		if len(out) == mostRunners {
			break
		}
		if seen[o.Type.Name] {
			continue
		}
		seen[o.Type.Name] = true
		out = append(out, Runner{Option: o, Pods: pods, Reason: outpriced(o, best, pods)})
	}
	b.Runners = out
}

func outpriced(o, best *Option, pods int) model.Reason {
	r := model.Reason{Code: model.CodeDearer, Subject: "instancetype/" + string(o.Type.Name)}
	holds := fmt.Sprintf("%s at %s holds the %s", o.Type.Name, fit.Money(o.Offering.Price), fit.Count(pods, "pod"))
	if o.Offering.Price == best.Offering.Price {
		r.Code = model.CodeTie
		r.Message = holds + ", at the same price; the name decides"
		return r
	}
	r.Message = fmt.Sprintf("%s, %s more than %s", holds, fit.Money(o.Offering.Price-best.Offering.Price), best.Type.Name)
	return r
}
