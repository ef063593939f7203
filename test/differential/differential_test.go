package main

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/judge"
	"github.com/kerf-dev/kerf/test/differential/kube"
	"github.com/kerf-dev/kerf/test/differential/mutate"
)

// mostSeeds is how many cases a broken rule may survive.
const mostSeeds = 600

// TestEveryBrokenRuleIsCaught makes the planner believe in rules that the scheduler does not have. A failure counts only
// where the plan that follows the true rules is right.
func TestEveryBrokenRuleIsCaught(t *testing.T) {
	for _, m := range mutate.All() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			s := scheduler(t)
			unsupported := 0
			for seed := range uint64(mostSeeds) {
				c := gen.New(seed, m.Families)
				broken := try(t, s, c, judge.Options{Worlds: 2, Believe: m.Believe})
				unsupported += broken.Unsupported
				if broken.Count(m.Want) == 0 {
					continue
				}
				if truth := try(t, s, c, judge.Options{Worlds: 2}); truth.Count(m.Want) == 0 {
					i := slices.IndexFunc(broken.Failures, func(f judge.Failure) bool { return f.Kind == m.Want })
					t.Logf("caught after %d seeds: %s", seed+1, broken.Failures[i])
					return
				}
			}
			if unsupported > 0 {
				t.Skipf("the planner still refuses %d of the pods that this rule is about", unsupported)
			}
			t.Errorf("not caught in %d seeds", mostSeeds)
		})
	}
}

// TestSeedsThatFailedOnce holds plans for rare cases: of as many others few, if any, would show the same.
func TestSeedsThatFailedOnce(t *testing.T) {
	s := scheduler(t)
	for _, seed := range []uint64{
		771000143, 1710001453, 1710009597, 1800001955, 2100018193, 2200027319, 2200046983, 2200058317, 2300004414, 2400104081, 2400125741,
		2400134528, 3100001528, 3100004940, 3110032440, 3120000047, 3130001488, 3130004872, 3140007053, 3160007840, 3160016358, 3160029747, 3170033091,
		3190175762, 3190240804, 3190257265, 3190343371, 3190592845, 3190865257,
		3190881868, 3290056833, 3820143790, 9000798210, 3830156705, 3840516999, 3850101889, 4100326960, 4500137202, 4800416408, 3860160544, 3910017179, 4800711657, 12800018396,
	} {
		for _, f := range try(t, s, gen.New(seed, gen.Everything&^(gen.Ending|gen.Needs)), judge.Options{Orders: 3, Worlds: 2}).Failures {
			t.Errorf("seed %d: %s", seed, f)
		}
	}
}

// TestEachFamilyHasARuleToBreak holds the list of mutations to that of families.
func TestEachFamilyHasARuleToBreak(t *testing.T) {
	covered := mutate.Unruly
	for _, m := range mutate.All() {
		covered |= m.Families
	}
	for _, f := range gen.All() {
		if covered&f == 0 {
			t.Errorf("no mutation is about %s", f)
		}
	}
}

func scheduler(t *testing.T) *kube.Scheduler {
	t.Helper()
	s, err := kube.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func try(t *testing.T, s *kube.Scheduler, c gen.Case, o judge.Options) judge.Result {
	t.Helper()
	r, err := judge.Try(s, c, o)
	if err != nil {
		t.Fatalf("seed %d: %v", c.Seed, err)
	}
	return r
}
