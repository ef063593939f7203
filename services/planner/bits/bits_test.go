package bits_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/planner/bits"
)

func TestASetAgreesWithAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.IntRange(0, 200)
		draw := func(name string) (bits.Set, map[int]bool) {
			s, m := bits.New(number.Draw(rt, "room")), map[int]bool{}
			for range rapid.IntRange(0, 20).Draw(rt, name) {
				i := number.Draw(rt, "number")
				in := rapid.Bool().Draw(rt, "in")
				if s.Put(i, in); in {
					m[i] = true
				} else {
					delete(m, i)
				}
			}
			return s, m
		}
		s, has := draw("some")
		other, wants := draw("others")
		covers, covered := true, true
		for i := range 300 {
			if s.Has(i) != has[i] {
				rt.Fatalf("%d is in the set: %v, want %v", i, s.Has(i), has[i])
			}
			covers, covered = covers && (has[i] || !wants[i]), covered && (wants[i] || !has[i])
		}
		if s.Len() != len(has) || s.Covers(other) != covers || s.Equal(other) != (covers && covered) {
			rt.Fatalf("%d numbers, covers the other: %v, equals it: %v; want %d, %v, %v",
				s.Len(), s.Covers(other), s.Equal(other), len(has), covers, covers && covered)
		}
	})
}
