package purchase

import (
	"fmt"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// mostRunners is how many runners-up a claim names.
const mostRunners = 5

// RunnerUp is a shape that was weighed and lost.
type RunnerUp struct {
	Option *market.Option
	// Pods is how many of the pods that were to be placed one such node holds.
	Pods   int
	Reason model.Reason
}

// runners lists the types that come nearest to the one that a filling is on: those that hold pods of the same mix, as far
// as there are any, for the least money each.
func (p *formulation) runners(pattern optimise.Pattern) []RunnerUp {
	base := p.options[p.bins[pattern.Bin]]
	pods, most := 0, math.Inf(1)
	sum := make(view.Vector, p.m.World.Index.Len())
	for _, c := range pattern.Counts {
		pods += c.Pods
		most = min(most, float64(p.total[c.Item])/float64(c.Pods))
		sum.Add(p.Items[c.Item].Request, int64(c.Pods))
	}
	asked := askedOf(sum)
	seen := p.seen
	clear(seen)
	seen[p.types[base.Type.Name]] = true
	var out []RunnerUp
	worst := 0.0 // what the least of them costs for a pod
	for b, i := range p.bins {
		if seen[p.typed[b]] {
			continue
		}
		o := p.options[i]
		held := min(most, times(p.Bins[b].Free, asked)) * float64(pods)
		if len(out) == mostRunners && float64(o.Price) > held*worst {
			continue // it is worse than the last of those that are kept
		}
		n := int(held + 1e-9)
		if n == 0 || o.Price*int64(pods) < base.Price*int64(n) || !p.takesAll(b, pattern) {
			continue
		}
		seen[p.typed[b]] = true
		out = keepBest(out, RunnerUp{Option: o, Pods: n})
		least := out[len(out)-1]
		worst = float64(least.Option.Price) / float64(least.Pods) * (1 + 1e-6)
	}
	for i := range out {
		out[i].Reason = lostTo(out[i], base, pods)
	}
	return out
}

// keepBest puts a runner where it belongs by price for a pod, after its equals, and keeps the best.
func keepBest(best []RunnerUp, r RunnerUp) []RunnerUp {
	at := len(best)
	for at > 0 && r.Option.Price*int64(best[at-1].Pods) < best[at-1].Option.Price*int64(r.Pods) {
		at--
	}
	if at == mostRunners {
		return best
	}
	return slices.Insert(best[:min(len(best), mostRunners-1)], at, r)
}

func (p *formulation) takesAll(bin int, pattern optimise.Pattern) bool {
	return !slices.ContainsFunc(pattern.Counts, func(c optimise.Count) bool { return !p.Bins[bin].Takes.Has(c.Item) })
}

// portion is some of one resource.
type portion struct {
	resource int
	inverse  float64
}

func askedOf(sum view.Vector) []portion {
	var out []portion
	for r, q := range sum {
		if q > 0 {
			out = append(out, portion{r, 1 / float64(q)})
		}
	}
	return out
}

// times is how often a node holds a sum of requests.
func times(free view.Vector, sum []portion) float64 {
	most := math.Inf(1)
	for _, a := range sum {
		most = min(most, float64(free[a.resource])*a.inverse)
	}
	return most
}

// lostTo says why a type lost against the one that was taken for some pods.
func lostTo(r RunnerUp, best *market.Option, pods int) model.Reason {
	o := r.Option
	holds := fmt.Sprintf("%s at %s holds %d of the pods", o.Type.Name, o.PriceText(), r.Pods)
	if o.Price*int64(pods) == best.Price*int64(r.Pods) {
		return model.Reason{
			Code: model.CodeTie, Subject: "instancetype/" + string(o.Type.Name),
			Message: holds + ", at the same price for what it holds; " + tieBreak(o, best),
		}
	}
	per, bestPer := float64(o.Price)/float64(r.Pods), float64(best.Price)/float64(pods)
	return model.Reason{
		Code: model.CodeMoreExpensive, Subject: "instancetype/" + string(o.Type.Name),
		Message: fmt.Sprintf("%s, %.1f%% more expensive for what it holds", holds, (per/bestPer-1)*100),
	}
}

// tieBreak says what made the best of two options that cost the same for what they hold.
func tieBreak(lost, best *market.Option) string {
	switch {
	case lost.Price > best.Price:
		return "the smaller node wins"
	case lost.Price < best.Price:
		return "fewer nodes win"
	}
	return "the name decides"
}

// FinishRunnersUp settles a claim's runners-up once it is known what it may become. Where a cheaper type than the one that
// it was packed for turned out to hold its pods, what lost against that other type says nothing any more.
func (b *NewClaim) FinishRunnersUp() {
	if len(b.Options) == 0 {
		return
	}
	best := b.Best()
	if best.Type != b.Base.Type {
		b.RunnersUp = nil
	}
	seen := map[model.TypeName]bool{best.Type.Name: true}
	for _, r := range b.RunnersUp {
		seen[r.Option.Type.Name] = true
	}
	pods := 0
	for _, it := range b.Items {
		pods += len(it.Pods)
	}
	out := slices.Clone(b.RunnersUp)
	for _, o := range b.Options {
		if len(out) == mostRunners {
			break
		}
		if seen[o.Type.Name] {
			continue
		}
		seen[o.Type.Name] = true
		out = append(out, RunnerUp{Option: o, Pods: pods, Reason: outpriced(o, best, pods)})
	}
	b.RunnersUp = out
}

func outpriced(o, best *market.Option, pods int) model.Reason {
	r := model.Reason{Code: model.CodeMoreExpensive, Subject: "instancetype/" + string(o.Type.Name)}
	holds := fmt.Sprintf("%s at %s holds the %s", o.Type.Name, o.PriceText(), fit.Count(pods, "pod"))
	if o.Price == best.Price {
		r.Code = model.CodeTie
		r.Message = holds + ", at the same price; " + tieBreak(o, best)
		return r
	}
	r.Message = fmt.Sprintf("%s, %s more than %s", holds, fit.Price(o.Price-best.Price, o.Estimated() || best.Estimated()), best.Type.Name)
	return r
}

// Why says that a claim is the cheapest that was found.
func (b *NewClaim) Why(pods int) model.Reason {
	best := b.Best()
	return model.Reason{
		Code: model.CodeCheapest, Subject: "instancetype/" + string(best.Type.Name),
		Message: fmt.Sprintf("%s (%s, %s) holds %s for %s, the lowest price that was found for what it holds; %s to choose from",
			best.Type.Name, best.Offering.CapacityType, best.Offering.Zone, fit.Count(pods, "pod"), best.PerHour(),
			fit.Count(len(b.Options), "offering")) + reclaims(best.Offering.Reclaimed),
	}
}

// reclaims says how often AWS takes such instances back; "" where that is not known.
func reclaims(band model.ReclaimBand) string {
	if band == 0 {
		return ""
	}
	return fmt.Sprintf("; AWS takes back %s of such spot instances in a month", band)
}
