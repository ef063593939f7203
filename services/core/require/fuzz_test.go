package require_test

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// choices reads a fuzzer's bytes as a row of small numbers; when they are used up, all further ones are 0.
type choices []byte

func (c *choices) pick(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	return b % n
}

// corners are values around which the algebra has its seams: words, the empty one, what nearly is a number, and the ends
// of ranges that are lists, that are ranges, and that are all integers.
func corners() []string {
	return []string{
		"a", "b", "", "-1", "0", "1", "2", "3", "4", "1.5", "0x2", "255", "256", "257", "300", "1000",
		strconv.Itoa(math.MinInt64), strconv.Itoa(math.MinInt64 + 1), strconv.Itoa(math.MaxInt64 - 1), strconv.Itoa(math.MaxInt64),
		"9223372036854775808", "-9223372036854775809", "1_000",
	}
}

func states() []*string {
	u := []*string{nil}
	for _, v := range corners() {
		u = append(u, &v)
	}
	return u
}

func (c *choices) requirement(key string) model.Requirement {
	m := model.Requirement{Key: key, Operator: model.Operator(1 + c.pick(8)), MinValues: c.pick(3)}
	all := corners()
	switch m.Operator {
	case model.In, model.NotIn:
		for range 1 + c.pick(4) {
			m.Values = append(m.Values, all[c.pick(len(all))])
		}
	case model.Gt, model.Gte, model.Lt, model.Lte:
		m.Values = []string{all[c.pick(len(all))]}
	case model.Exists, model.DoesNotExist:
	}
	return m
}

func (c *choices) requirements(key string) []model.Requirement {
	var ms []model.Requirement
	for range 1 + c.pick(4) {
		ms = append(ms, c.requirement(key))
	}
	return ms
}

func intersected(ms []model.Requirement) require.Requirement {
	r := require.Any("k")
	for _, m := range ms {
		r = r.Intersect(require.New(m))
	}
	return r
}

// FuzzRequirement holds the algebra against what each requirement means by itself, state by state.
func FuzzRequirement(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 4, 0, 13, 0, 1, 5, 0, 4})
	f.Add([]byte{1, 6, 0, 15, 7, 0, 17, 0, 1, 0, 3, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		as, bs := c.requirements("k"), c.requirements("k")
		a, b := intersected(as), intersected(bs)
		both := a.Intersect(b)
		for _, s := range states() {
			if got, want := matches(a, s), allHold(as, s); got != want {
				t.Fatalf("%v on %s: %v, want %v", as, text(s), got, want)
			}
			if got, want := matches(both, s), allHold(as, s) && allHold(bs, s); got != want {
				t.Fatalf("%v and %v on %s: %v, want %v", as, bs, text(s), got, want)
			}
			if a.SubsetOf(b) && allHold(as, s) && !allHold(bs, s) {
				t.Fatalf("%v is called a subset of %v, but %s tells them apart", as, bs, text(s))
			}
			if a.Empty() && allHold(as, s) {
				t.Fatalf("%v is called empty, but allows %s", as, text(s))
			}
		}
		laws(t, a, b)
		written(t, a)
		picked(t, a, as)
	})
}

func laws(t *testing.T, a, b require.Requirement) {
	t.Helper()
	both, other := a.Intersect(b), b.Intersect(a)
	if both.String() != other.String() || both.MinValues != other.MinValues || both.AllowsAbsent() != other.AllowsAbsent() {
		t.Fatalf("%s and %s: %s one way, %s the other", a, b, both, other)
	}
	if again := both.Intersect(a); again.String() != both.String() {
		t.Fatalf("%s and %s: %s, and with the first once more %s", a, b, both, again)
	}
	if !a.SubsetOf(a) || !both.SubsetOf(a) || !both.SubsetOf(b) {
		t.Fatalf("%s and %s: laws of subsets broken", a, b)
	}
	if both.Empty() && !both.SubsetOf(require.Requirement{Key: "k"}) {
		t.Fatalf("%s is empty, but no subset of nothing", both)
	}
	_, compatible := require.Set{a}.Compatible(require.Set{b}, func(string) bool { return false })
	if compatible == both.Empty() {
		t.Fatalf("%s and %s: compatible %v, but together they are %s", a, b, compatible, both)
	}
	for _, known := range []bool{false, true} {
		_, compatible := require.Set{}.Compatible(require.Set{a}, func(string) bool { return known })
		if want := a.AllowsAbsent() || known && !a.Empty(); compatible != want {
			t.Fatalf("%s against a key that is not there (known later: %v): %v", a, known, compatible)
		}
	}
}

// written checks that what is written down means the same when it is read again. Nothing at all has no words: it is
// written as a list without values, which reads as nothing.
func written(t *testing.T, a require.Requirement) {
	t.Helper()
	ms := a.Model()
	back := intersected(ms)
	for _, s := range states() {
		if matches(a, s) != matches(back, s) {
			t.Fatalf("%v came back as %v: they differ on %s", a, ms, text(s))
		}
	}
	if a.String() != back.String() {
		t.Fatalf("%v came back as %v", a, back)
	}
	if len(ms) > 0 && back.MinValues != a.MinValues {
		t.Fatalf("%v: minValues %d came back as %d", a, a.MinValues, back.MinValues)
	}
	if len(ms) > 4 || !slices.IsSortedFunc(ms, func(x, y model.Requirement) int { return int(x.Operator) - int(y.Operator) }) {
		t.Fatalf("%v is written as %v", a, ms)
	}
}

// picked checks that a picked value is one that is allowed, and that there is one wherever one is allowed.
func picked(t *testing.T, a require.Requirement, as []model.Requirement) {
	t.Helper()
	for _, preferred := range []string{"a", "x", "0"} {
		value, ok := a.Pick(preferred)
		if ok && (!a.Contains(value) || !allHold(as, &value)) {
			t.Fatalf("%v: %q was picked, which is not allowed", as, value)
		}
		some := slices.ContainsFunc(states(), func(s *string) bool { return s != nil && allHold(as, s) })
		if !ok && some {
			t.Fatalf("%v: nothing was picked, but something is allowed", as)
		}
	}
	if single, ok := a.Single(); ok && (!allHold(as, &single) || allHold(as, nil)) {
		t.Fatalf("%v: %q is called its only value", as, single)
	}
}

// FuzzSet holds sets over three keys against what their requirements mean, label set by label set.
func FuzzSet(f *testing.F) {
	f.Add([]byte{3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		keys := []string{"a", "b", labels.Zone}
		var ms []model.Requirement
		for range c.pick(5) {
			ms = append(ms, c.requirement(keys[c.pick(len(keys))]))
		}
		var labels model.Labels
		for _, k := range keys {
			if c.pick(3) > 0 {
				labels = append(labels, model.Label{Key: k, Value: corners()[c.pick(len(corners()))]})
			}
		}
		want := !slices.ContainsFunc(ms, func(m model.Requirement) bool {
			v, ok := labels.Get(m.Key)
			if !ok {
				return !holds(m, nil)
			}
			return !holds(m, &v)
		})
		s := require.NewSet(ms...)
		if broken, got := s.Matches(labels); got != want {
			t.Fatalf("%v on %v: %v (%v), want %v", ms, labels, got, broken, want)
		}
		if back := require.NewSet(s.Model()...); back.String() != s.String() {
			t.Fatalf("%v came back as %v", s, back)
		}
		if _, empty := s.Empty(); empty && want {
			t.Fatalf("%v is called empty, but %v satisfies it", ms, labels)
		}
		asked := require.FromLabels(labels)
		if _, ok := asked.Matches(labels); !ok {
			t.Fatalf("%v does not have its own labels", labels)
		}
		if _, ok := asked.Compatible(s, func(string) bool { return false }); ok != want {
			t.Fatalf("labels %v against %v: compatible %v, matches %v", labels, ms, ok, want)
		}
	})
}
