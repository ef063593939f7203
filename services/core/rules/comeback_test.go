package rules_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// TestTheFirstThatMayComesBack has pods of which each may come only after some others.
func TestTheFirstThatMayComesBack(t *testing.T) {
	group := func(name string, pods int, ruled bool) rules.Returning {
		return rules.Returning{First: model.PodID(name), Pods: pods, Ruled: ruled, Like: len(name) * int(name[0])}
	}
	tests := map[string]struct {
		groups []rules.Returning
		// may says whether a group may come after those that have.
		may  func(group byte, there string) bool
		want string
	}{
		"by name": {
			[]rules.Returning{group("b", 2, true), group("a", 1, true)},
			func(byte, string) bool { return true }, "abb",
		},
		"those that have rules first": {
			[]rules.Returning{group("a", 1, false), group("b", 1, true)},
			func(byte, string) bool { return true }, "ba",
		},
		"the first that may comes each time": {
			[]rules.Returning{group("a", 2, true), group("b", 3, true)},
			func(g byte, there string) bool { return g == 'b' || len(there) > 0 }, "baabb",
		},
		"what never may is tried first, then": {
			[]rules.Returning{group("a", 1, true), group("b", 1, true)},
			func(g byte, there string) bool { return g == 'a' || there == "" }, "a|ba",
		},
		"and what came first comes last": {
			[]rules.Returning{group("a", 1, true), group("b", 1, true), group("c", 1, true)},
			func(g byte, there string) bool { return g != 'c' || there == "b" }, "ab|bca",
		},
		"some never may": {
			[]rules.Returning{group("a", 1, true), group("b", 2, true)},
			func(g byte, there string) bool { return g == 'a' || there == "a" }, "ab|ab|ab|ab|ab|ab|ab|ab, 1 of b",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, there := "", ""
			stuck := rules.ComeBack(tt.groups, func() func(int) bool {
				if got += there; there != "" {
					got += "|"
				}
				there = ""
				return func(i int) bool {
					g := tt.groups[i].First[0]
					ok := tt.may(g, there)
					if ok {
						there += string(g)
					}
					return ok
				}
			})
			got += there
			for i, n := range stuck {
				if n > 0 {
					got += fmt.Sprintf(", %d of %s", n, tt.groups[i].First)
				}
			}
			if got != tt.want {
				t.Errorf("they came as %s, want %s", got, tt.want)
			}
		})
	}
}

// TestThoseThatAreAlikeAreAskedOnce lets pods back to places of which each takes so many, twice: once each place is
// said to be alike to others that it is alike to, and once none is. The same must come in the same order.
func TestThoseThatAreAlikeAreAskedOnce(t *testing.T) {
	fewer := 0
	for seed := range uint64(300) {
		d := rand.New(rand.NewPCG(seed, 7))
		groups := make([]rules.Returning, 1+d.IntN(12))
		zone := make([]int, len(groups))
		for i := range groups {
			zone[i] = d.IntN(3)
			groups[i] = rules.Returning{First: model.PodID(fmt.Sprintf("p%02d", d.IntN(50))), Pods: 1 + d.IntN(3), Ruled: d.IntN(4) > 0, Like: zone[i]}
		}
		run := func(groups []rules.Returning) (stuck []int, came string, asked int) {
			stuck = rules.ComeBack(groups, func() func(int) bool {
				var in [3]int
				came += "|"
				return func(i int) bool {
					asked++
					ok := in[zone[i]] <= min(in[0], in[1], in[2]) // a spread with a skew of 1
					if ok {
						in[zone[i]]++
						came += fmt.Sprint(i, " ")
					}
					return ok
				}
			})
			return stuck, came, asked
		}
		stuck, came, asked := run(groups)
		other := slices.Clone(groups)
		for i := range other {
			other[i].Like = i
		}
		want, order, more := run(other)
		if !slices.Equal(stuck, want) || came != order {
			t.Fatalf("seed %d: %v %s, want %v %s", seed, stuck, came, want, order)
		}
		if asked < more {
			fewer++
		}
	}
	if fewer < 100 {
		t.Errorf("fewer were asked in %d of 300 worlds", fewer)
	}
}
