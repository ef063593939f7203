package pack

import (
	"math"

	"github.com/kerf-dev/kerf/services/planner/view"
)

// Bound is a price, micro-dollars per hour, that no way to run the items on new nodes can undercut; 0 when none is known.
//
// Give each resource a weight, all weights together 1. A node's price, shared out by the weighted part of each resource
// that a pod takes, is never more than the node's price, whatever is on it. So each pod costs at least its part on the
// option where that part is cheapest, and all pods at least the sum. Every choice of weights gives a valid bound; a few
// are tried, then improved step by step, and the highest counts.
func (m *Market) Bound(items []Item) int64 {
	b := newBounder(m, items)
	best, at := 0.0, b.weights(0)
	for k := range b.places {
		if w := b.weights(k); b.value(w) > best {
			best, at = b.value(w), w
		}
	}
	for step := 0.25; step > 0.005; step /= 2 {
		for improved := true; improved; {
			improved = false
			for from := range b.places {
				for to := range b.places {
					w := shift(at, from, to, step)
					if v := b.value(w); v > best*(1+1e-9) {
						best, at, improved = v, w, true
					}
				}
			}
		}
	}
	return int64(math.Floor(best * (1 - 1e-9)))
}

type bounder struct {
	m     *Market
	items []Item
	// places are the resources that any item asks for.
	places []int
	// parts has, for each item and option that takes it, price × part of each resource in places.
	parts [][][]float64
}

func newBounder(m *Market, items []Item) *bounder {
	b := &bounder{m: m, items: items}
	for i := range m.w.Index.Len() {
		for _, it := range items {
			if it.Class.Requested[i] > 0 {
				b.places = append(b.places, i)
				break
			}
		}
	}
	for _, it := range items {
		var parts [][]float64
		for _, tier := range m.tiers {
			for _, o := range tier {
				if o.takes(&it, false) {
					parts = append(parts, b.part(o, it.Class))
				}
			}
		}
		b.parts = append(b.parts, undearer(parts))
	}
	return b
}

func (b *bounder) part(o *Option, c *view.Class) []float64 {
	out := make([]float64, len(b.places))
	for k, i := range b.places {
		if q := c.Requested[i]; q > 0 {
			out[k] = float64(o.Price) * float64(q) / float64(o.Free[i])
		}
	}
	return out
}

// undearer drops parts that another one is nowhere above: they are never the cheapest.
func undearer(parts [][]float64) [][]float64 {
	var kept [][]float64
	for i, p := range parts {
		dearer := false
		for j, q := range parts {
			if i != j && nowhereAbove(q, p) && (j < i || !nowhereAbove(p, q)) {
				dearer = true
				break
			}
		}
		if !dearer {
			kept = append(kept, p)
		}
	}
	return kept
}

func nowhereAbove(p, q []float64) bool {
	for i := range p {
		if p[i] > q[i] {
			return false
		}
	}
	return true
}

// weights puts all weight on the k-th resource.
func (b *bounder) weights(k int) []float64 {
	w := make([]float64, len(b.places))
	if len(w) > 0 {
		w[k] = 1
	}
	return w
}

func shift(w []float64, from, to int, step float64) []float64 {
	out := append([]float64(nil), w...)
	step = min(step, out[from])
	out[from] -= step
	out[to] += step
	return out
}

func (b *bounder) value(w []float64) float64 {
	sum := 0.0
	for i, it := range b.items {
		least := math.Inf(1)
		for _, part := range b.parts[i] {
			v := 0.0
			for k := range part {
				v += float64(w[k] * part[k])
			}
			least = min(least, v)
		}
		if math.IsInf(least, 1) {
			return 0
		}
		sum += float64(len(it.Pods)) * least
	}
	return sum
}
