package compact

import (
	"math"
	"slices"
)

// ResourcePrices prices pods by what they take of resources: give each resource a weight, all weights together 1, and
// share a bin's price out by the weighted part of each resource that a pod takes. No filling is then worth more than
// its bin. So a pod costs at least its part on the bin where that is least, penalty included. The weights are improved
// step by step.
//
// A rule that lets so many pods of some rows share a bin sells that many places. They have a price, the same on each
// bin, which is taken off the bin's before that is shared out.
type ResourcePrices struct {
	c *Problem
	// bins may be used; parts are, by bin, kind of the bin and resource, what a pod takes of it.
	bins  []int32
	parts [][]float64
	// demand, best and trial are by kind, y is best by row.
	demand      []int64
	best, trial []float64
	weight      []float64
	places      []places
	// left is, by place in bins, what is left of the price once its places are paid.
	left  []float64
	Worth []float64
	Work  int64
}

// places are what a rule sells.
type places struct {
	rule int32
	// demand is how many bins' are wanted. price is of all that one bin has.
	demand, price float64
	// bins have some, as places in the bins that may be used.
	bins []int
}

// mostPlaces is of how many rules places have a price: of those of which most are wanted.
const mostPlaces = 4

// PriceResources are values of pods that no filling of the bins that usable allows exceeds, and what the demand is worth.
func PriceResources(c *Problem, demand []int32, usable func(b int32) bool) (r *ResourcePrices, worth float64) {
	r = &ResourcePrices{c: c, demand: make([]int64, len(c.Kinds)), weight: make([]float64, c.NumResources), Worth: make([]float64, c.NumRows)}
	r.best, r.trial = make([]float64, len(c.Kinds)), make([]float64, len(c.Kinds))
	for i, q := range demand {
		r.demand[c.KindOf[i]] += int64(q)
	}
	for b := range c.Bins {
		if usable(int32(b)) {
			r.add(int32(b))
		}
	}
	best := math.Inf(-1)
	at := make([]float64, c.NumResources)
	for k := range c.NumResources {
		clear(at)
		at[k] = 1
		best = r.try(at, best)
	}
	copy(at, r.weight)
	for step := 0.25; step > 0.01; step /= 2 {
		for improved := true; improved && !c.Stopped(); {
			best, improved = r.shift(at, step, best)
		}
	}
	if r.findPlaces(demand); len(r.places) > 0 {
		best = r.pricePlaces(best)
		for improved := true; improved && !c.Stopped(); {
			best, improved = r.shift(at, 0.05, best)
		}
		best = r.pricePlaces(best)
	}
	for i, t := range c.KindOf {
		r.Worth[i] = r.best[t]
	}
	for _, p := range r.places {
		r.eachOf(p.rule, func(row int) { r.Worth[row] += p.price / float64(c.Rules[p.rule].Most) })
	}
	return r, best
}

// eachOf calls a function for each row that a rule counts.
func (r *ResourcePrices) eachOf(rule int32, call func(row int)) {
	for i, parts := range r.c.RulesOf {
		if slices.ContainsFunc(parts, func(pt RulePart) bool { return pt.Rule == rule && pt.Counted }) {
			call(i)
		}
	}
}

// findPlaces finds the rules whose places have a price.
func (r *ResourcePrices) findPlaces(demand []int32) {
	for _, rule := range r.c.MostWanted(demand, mostPlaces) {
		p, kinds := places{rule: rule}, make([]bool, len(r.c.Kinds))
		r.eachOf(rule, func(row int) {
			p.demand += float64(demand[row]) / float64(r.c.Rules[rule].Most)
			kinds[r.c.KindOf[row]] = true
		})
		for n, b := range r.bins {
			if slices.ContainsFunc(r.c.Bins[b].Kinds, func(t int32) bool { return kinds[t] }) {
				p.bins = append(p.bins, n)
			}
		}
		if len(p.bins) > 0 {
			r.places = append(r.places, p)
		}
	}
}

// pricePlaces improves the prices of places, one after the other, and says what the demand is worth.
func (r *ResourcePrices) pricePlaces(best float64) float64 {
	for k := range r.places {
		p := &r.places[k]
		most := r.room(p)
		for step := most / 4; step > most/300 && !r.c.Stopped(); {
			was := best
			for _, by := range []float64{step, -step} {
				if by = max(by, -p.price); by == 0 || by > r.room(p) {
					continue
				}
				r.charge(p, by)
				if best = r.try(r.weight, best); best > was {
					break
				}
				r.charge(p, -by)
			}
			if best == was {
				step /= 2
			}
		}
	}
	return best
}

// room is how much more a bin's places of a rule may cost.
func (r *ResourcePrices) room(p *places) float64 {
	least := math.Inf(1)
	for _, n := range p.bins {
		least = min(least, r.left[n])
	}
	return least
}

// charge changes the price of places.
func (r *ResourcePrices) charge(p *places, by float64) {
	p.price += by
	for _, n := range p.bins {
		r.left[n] -= by
	}
}

// shift tries to move some weight from each resource to each other; at is memory.
func (r *ResourcePrices) shift(at []float64, step, was float64) (best float64, improved bool) {
	best = was
	for from := range at {
		for to := range at {
			copy(at, r.weight)
			move := min(step, at[from])
			if from == to || move == 0 {
				continue
			}
			at[from] -= move
			at[to] += move
			if v := r.try(at, best); v > best*(1+1e-6) {
				best, improved = v, true
			}
		}
	}
	return best, improved
}

func (r *ResourcePrices) add(b int32) {
	bin := &r.c.Bins[b]
	k := r.c.NumResources
	parts := make([]float64, len(bin.Kinds)*k)
	for x, t := range bin.Kinds {
		i := int(r.c.Kinds[t][0])
		for q := range k {
			if a := r.c.Request[i*k+q]; a > 0 {
				parts[x*k+q] = float64(a) / float64(bin.Free[q])
			}
		}
	}
	r.bins, r.parts, r.left = append(r.bins, b), append(r.parts, parts), append(r.left, float64(bin.Price))
}

// try values pods by some weights, and keeps them if the demand is worth more than best then.
func (r *ResourcePrices) try(w []float64, best float64) float64 {
	k := r.c.NumResources
	for t := range r.trial {
		r.trial[t] = math.Inf(1)
	}
	for n, b := range r.bins {
		bin := &r.c.Bins[b]
		parts, left := r.parts[n], r.left[n]
		for x, t := range bin.Kinds {
			v := 0.0
			for q, part := range parts[x*k:][:len(w)] {
				v += float64(w[q] * part)
			}
			v = float64(v * left)
			if bin.Penalties != nil {
				v += float64(bin.Penalties[r.c.Kinds[t][0]])
			}
			if v < r.trial[t] {
				r.trial[t] = v
			}
		}
		r.Work += int64(len(parts))
	}
	sum := 0.0
	for _, p := range r.places {
		sum += float64(p.price * p.demand)
	}
	for t, v := range r.trial {
		if math.IsInf(v, 1) {
			r.trial[t] = 0
			continue
		}
		sum += float64(v * float64(r.demand[t]))
	}
	if sum > best {
		best = sum
		copy(r.weight, w)
		copy(r.best, r.trial)
	}
	return best
}
