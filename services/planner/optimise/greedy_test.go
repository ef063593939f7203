package optimise

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKeysAreInOrderWhateverOrderTheyBeginIn sorts keys that begin in an order that is nearly theirs, in none, and in
// one of other classes.
func TestKeysAreInOrderWhateverOrderTheyBeginIn(t *testing.T) {
	g := &greedy{}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 4))
		n := 1 + r.IntN(100)
		g.classes = make([]class, n)
		var keys []keyed
		for c := range n {
			if r.IntN(10) > 0 {
				keys = append(keys, keyed{uint64(r.IntN(20)), int32(c), int32(c)})
			}
		}
		want := slices.Clone(keys)
		slices.SortFunc(want, compareKeyed)
		var before []int32
		for _, k := range want {
			before = append(before, k.class)
		}
		for range r.IntN(2) * r.IntN(2*n) {
			if i, j := r.IntN(n), r.IntN(n); i < len(before) && j < len(before) {
				before[i], before[j] = before[j], before[i]
			}
		}
		if r.IntN(4) == 0 && len(before) > 0 {
			before[r.IntN(len(before))] = int32(n + r.IntN(n)) // of a class that is no more
		}
		if g.sort(keys, before); !slices.Equal(keys, want) {
			t.Fatalf("seed %d: %v, want %v", seed, keys, want)
		}
	}
}
