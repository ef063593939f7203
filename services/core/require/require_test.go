package require_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// universe is every state that the brute-force model looks at; nil is the absent label.
func universe() []*string {
	var u []*string
	for _, v := range []string{"a", "b", "c", "", "-1", "0", "1", "2", "3", "4", "5", "300", "1000"} {
		u = append(u, &v)
	}
	return append(u, nil)
}

// holds is the meaning of a requirement, written down a second time and as plainly as can be.
func holds(m model.Requirement, state *string) bool {
	integer := func() (n, bound int64, ok bool) {
		if state == nil {
			return 0, 0, false
		}
		n, err := strconv.ParseInt(*state, 10, 64)
		if err != nil {
			return 0, 0, false
		}
		bound, err = strconv.ParseInt(m.Values[0], 10, 64)
		return n, bound, err == nil
	}
	switch m.Operator {
	case model.In:
		return state != nil && slices.Contains(m.Values, *state)
	case model.NotIn:
		return state == nil || !slices.Contains(m.Values, *state)
	case model.Exists:
		return state != nil
	case model.DoesNotExist:
		return state == nil
	case model.Gt:
		n, b, ok := integer()
		return ok && n > b
	case model.Gte:
		n, b, ok := integer()
		return ok && n >= b
	case model.Lt:
		n, b, ok := integer()
		return ok && n < b
	case model.Lte:
		n, b, ok := integer()
		return ok && n <= b
	}
	return false
}

func drawRequirement(t *rapid.T, label string) model.Requirement {
	m := model.Requirement{Key: "k", Operator: model.Operator(rapid.IntRange(1, 8).Draw(t, label+" operator"))}
	switch m.Operator {
	case model.In, model.NotIn:
		pool := []string{"a", "b", "c", "", "0", "1", "2", "3", "300"}
		m.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 1, 4, rapid.ID[string]).Draw(t, label+" values")
	case model.Gt, model.Gte, model.Lt, model.Lte:
		m.Values = []string{strconv.Itoa(rapid.SampledFrom([]int{0, 1, 2, 3, 4, 300}).Draw(t, label+" bound"))}
	case model.Exists, model.DoesNotExist:
	}
	return m
}

func drawAll(t *rapid.T, label string) ([]model.Requirement, require.Requirement) {
	n := rapid.IntRange(1, 3).Draw(t, label+" count")
	r := require.Any("k")
	var ms []model.Requirement
	for i := range n {
		m := drawRequirement(t, label+strconv.Itoa(i))
		ms = append(ms, m)
		r = r.Intersect(require.New(m))
	}
	return ms, r
}

func allHold(ms []model.Requirement, state *string) bool {
	return !slices.ContainsFunc(ms, func(m model.Requirement) bool { return !holds(m, state) })
}

func matches(r require.Requirement, state *string) bool {
	if state == nil {
		return r.Matches("", false)
	}
	return r.Matches(*state, true)
}

func TestIntersectionAllowsWhatAllAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms, r := drawAll(t, "r")
		for _, s := range universe() {
			if got, want := matches(r, s), allHold(ms, s); got != want {
				t.Fatalf("%v on %v: %v, want %v", ms, text(s), got, want)
			}
		}
	})
}

func TestEmptyAllowsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms, r := drawAll(t, "r")
		for _, s := range universe() {
			if r.Empty() && allHold(ms, s) {
				t.Fatalf("%v is called empty but allows %v", ms, text(s))
			}
		}
		_, finite := r.Values()
		some := slices.ContainsFunc(universe(), func(s *string) bool { return allHold(ms, s) })
		if finite && !some && !r.Empty() {
			t.Fatalf("%v allows nothing but is not called empty", ms)
		}
	})
}

func TestOthersAreAllValuesThatItDoesNotAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms, r := drawAll(t, "r")
		long := slices.ContainsFunc(r.Model(), func(m model.Requirement) bool { return m.Operator == model.Gte || m.Operator == model.Lte })
		for _, s := range universe() {
			want := s != nil && !allHold(ms, s) && !long
			if got := matches(r.Others(), s); got != want {
				t.Fatalf("%v: its others allow %v: %v, want %v", ms, text(s), got, want)
			}
		}
	})
}

func TestSubsetAgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		as, a := drawAll(t, "a")
		bs, b := drawAll(t, "b")
		for _, s := range universe() {
			if a.SubsetOf(b) && allHold(as, s) && !allHold(bs, s) {
				t.Fatalf("%v is called a subset of %v, but %v tells them apart", as, bs, text(s))
			}
		}
		if !a.Intersect(b).SubsetOf(a) || !a.SubsetOf(a) {
			t.Fatalf("%v: laws of subsets broken", as)
		}
	})
}

func TestIntersectIsCommutativeAndAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, a := drawAll(t, "a")
		_, b := drawAll(t, "b")
		_, c := drawAll(t, "c")
		if x, y := a.Intersect(b).String(), b.Intersect(a).String(); x != y {
			t.Fatalf("%s is not %s", x, y)
		}
		if x, y := a.Intersect(b).Intersect(c).String(), a.Intersect(b.Intersect(c)).String(); x != y {
			t.Fatalf("%s is not %s", x, y)
		}
	})
}

func TestModelRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, a := drawAll(t, "a")
		back := require.Any("k")
		for _, m := range a.Model() {
			back = back.Intersect(require.New(m))
		}
		if a.String() != back.String() {
			t.Fatalf("%s came back as %s", a, back)
		}
	})
}

func TestCompatible(t *testing.T) {
	in := func(key string, values ...string) model.Requirement {
		return model.Requirement{Key: key, Operator: model.In, Values: values}
	}
	op := func(key string, o model.Operator) model.Requirement { return model.Requirement{Key: key, Operator: o} }
	tests := map[string]struct {
		holder, asks require.Set
		want         bool
	}{
		"a shared value is enough":                      {require.NewSet(in("team", "a", "b")), require.NewSet(in("team", "b")), true},
		"no shared value is a conflict":                 {require.NewSet(in("team", "a")), require.NewSet(in("team", "b")), false},
		"a custom key must be defined":                  {nil, require.NewSet(in("team", "a")), false},
		"a well-known key need not be defined":          {nil, require.NewSet(in(labels.Zone, "z1")), true},
		"an undefined key satisfies NotIn":              {nil, require.NewSet(model.Requirement{Key: "team", Operator: model.NotIn, Values: []string{"a"}}), true},
		"an undefined key satisfies DoesNotExist":       {nil, require.NewSet(op("team", model.DoesNotExist)), true},
		"an undefined key does not satisfy Exists":      {nil, require.NewSet(op("team", model.Exists)), false},
		"two negatives agree":                           {require.NewSet(op("team", model.DoesNotExist)), require.NewSet(model.Requirement{Key: "team", Operator: model.NotIn, Values: []string{"a"}}), true},
		"DoesNotExist clashes with Exists":              {require.NewSet(op("team", model.DoesNotExist)), require.NewSet(op("team", model.Exists)), false},
		"an older name of a label is the same label":    {require.NewSet(in(labels.Zone, "z1")), require.NewSet(in("failure-domain.beta.kubernetes.io/zone", "z2")), false},
		"bounds without a common integer are a clash":   {require.NewSet(model.Requirement{Key: "n", Operator: model.Gt, Values: []string{"4"}}), require.NewSet(model.Requirement{Key: "n", Operator: model.Lte, Values: []string{"4"}}), false},
		"bounds with one common integer are compatible": {require.NewSet(model.Requirement{Key: "n", Operator: model.Gte, Values: []string{"4"}}), require.NewSet(model.Requirement{Key: "n", Operator: model.Lte, Values: []string{"4"}}), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := tt.holder.Compatible(tt.asks, labels.WellKnown); got != tt.want {
				t.Errorf("%s against %s: %v, want %v", tt.holder, tt.asks, got, tt.want)
			}
		})
	}
}

func text(s *string) string {
	if s == nil {
		return "absent"
	}
	return strconv.Quote(*s)
}

func TestRegion(t *testing.T) {
	for zone, want := range map[string]string{
		"us-east-1a": "us-east-1", "us-gov-west-1b": "us-gov-west-1", "us-west-2-lax-1a": "us-west-2", "odd": "odd",
	} {
		if got := labels.RegionOf(zone); got != want {
			t.Errorf("%s is said to be in %s, want %s", zone, got, want)
		}
	}
}
