package compact

import "math"

// ResourcePrices prices pods by what they take of resources: give each resource a weight, all weights together 1, and share a
// bin's price out by the weighted part of each resource that a pod takes. No filling is then worth more than its bin. So
// a pod costs at least its part on the bin where that is least, penalty included. The weights are improved step by step.
type ResourcePrices struct {
	c *Problem
	// bins may be used; parts are, by bin, kind of the bin and resource, price times part.
	bins  []int32
	parts [][]float64
	// demand, best and trial are by kind, y is best by row.
	demand      []int64
	best, trial []float64
	weight      []float64
	Worth       []float64
	Work        int64
}

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
	for i, t := range c.KindOf {
		r.Worth[i] = r.best[t]
	}
	return r, best
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
				parts[x*k+q] = float64(bin.Price) * (float64(a) / float64(bin.Free[q]))
			}
		}
	}
	r.bins, r.parts = append(r.bins, b), append(r.parts, parts)
}

// try values pods by some weights, and keeps them if the demand is worth more than best then.
func (r *ResourcePrices) try(w []float64, best float64) float64 {
	k := r.c.NumResources
	for t := range r.trial {
		r.trial[t] = math.Inf(1)
	}
	for n, b := range r.bins {
		bin := &r.c.Bins[b]
		parts := r.parts[n]
		for x, t := range bin.Kinds {
			v := 0.0
			for q, f := range w {
				v += float64(f * parts[x*k+q])
			}
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
