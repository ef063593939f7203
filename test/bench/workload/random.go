package workload

import "math"

// random is a sequence of numbers that a seed decides, the same on every machine and with every Go release (splitmix64).
// What is generated from it is part of what the repository guarantees, so the library's generators would not do.
type random struct{ state uint64 }

func newRandom(seed uint64) *random { return &random{seed} }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1.
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// float is a number from 0 to less than 1.
func (r *random) float() float64 { return float64(r.next()>>11) / (1 << 53) }

// heavy is a positive number of mean 1, mostly small and sometimes large (exponential).
func (r *random) heavy() float64 { return -math.Log(1 - r.float()) }

// pick is the place of one of the weights, each as often as it weighs.
func (r *random) pick(weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	at := r.float() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// draws shares n out over the weights, one after the other, and counts.
func (r *random) draws(n int, weights []float64) []int {
	cumulated := make([]float64, len(weights))
	sum := 0.0
	for i, w := range weights {
		sum += w
		cumulated[i] = sum
	}
	out := make([]int, len(weights))
	for range n {
		at := r.float() * sum
		lo, hi := 0, len(cumulated)-1
		for lo < hi {
			if mid := (lo + hi) / 2; cumulated[mid] > at {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		out[lo]++
	}
	return out
}

// hash01 is a number from 0 to less than 1 that a text decides (FNV-1a, then mixed).
func hash01(text string) float64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return newRandom(h).float()
}
