// Package require is the algebra of label requirements.
//
// A Requirement is the set of states that one label may be in: some of all strings, and perhaps "absent". The eight
// operators of Kubernetes and Karpenter are eight ways to write such a set down; everything else (does a node match, can
// a pool and a pod agree, what is left when both hold) is plain set algebra, and exact. The package knows nothing of
// pods, nodes or prices. Start reading with Requirement; Set holds one Requirement per key.
package require

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// enumerable is the longest range of integers that is turned into a list of values, so that such ranges stay exact. They
// list integers as they are written plainly: a label of "07" is in no short range, though Kubernetes reads it as 7.
const enumerable = 256

// Requirement is the set of states that the label Key may be in. Use New or Any; the zero Requirement allows nothing.
type Requirement struct {
	Key string
	// complement says that values lists the strings that are not in the set.
	complement bool
	// values are sorted and unique.
	values []string
	// absent says that the label may be missing.
	absent bool
	// bounded says that only integers are in the set, those from lo to hi. Only used with complement.
	bounded bool
	lo, hi  int64
	// MinValues is how many distinct values must remain among the offerings of a claim; 0 means no minimum.
	MinValues int
}

// Any allows every value of a label, and its absence.
func Any(key string) Requirement {
	return Requirement{Key: key, complement: true, absent: true, lo: math.MinInt64, hi: math.MaxInt64}
}

// Value allows exactly one value.
func Value(key, value string) Requirement {
	return Requirement{Key: key, values: []string{value}}
}

// New reads a requirement. Values of the bounds that are no integers give a Requirement that allows nothing; the
// boundary of the planner refuses them before.
func New(m model.Requirement) Requirement {
	r := Any(labels.Normal(m.Key))
	r.MinValues = m.MinValues
	switch m.Operator {
	case model.In:
		r.complement, r.absent = false, false
		r.values = sorted(m.Values)
	case model.NotIn:
		r.values = sorted(m.Values)
	case model.Exists:
		r.absent = false
	case model.DoesNotExist:
		r.complement = false
	case model.Gt, model.Gte, model.Lt, model.Lte:
		return inRange(r, m)
	default:
		return Requirement{Key: r.Key}
	}
	return r
}

func inRange(r Requirement, m model.Requirement) Requirement {
	nothing := Requirement{Key: r.Key}
	if len(m.Values) != 1 {
		return nothing
	}
	n, err := strconv.ParseInt(m.Values[0], 10, 64)
	if err != nil {
		return nothing
	}
	r.absent, r.bounded = false, true
	switch {
	case m.Operator == model.Gte:
		r.lo = n
	case m.Operator == model.Lte:
		r.hi = n
	case m.Operator == model.Gt && n < math.MaxInt64:
		r.lo = n + 1
	case m.Operator == model.Lt && n > math.MinInt64:
		r.hi = n - 1
	default:
		return nothing
	}
	return r.simplify()
}

func sorted(values []string) []string {
	s := slices.Clone(values)
	slices.Sort(s)
	return slices.Compact(s)
}

// Contains says whether the label may have this value.
func (r Requirement) Contains(value string) bool {
	_, listed := slices.BinarySearch(r.values, value)
	if !r.complement {
		return listed
	}
	return !listed && r.inBounds(value)
}

func (r Requirement) inBounds(value string) bool {
	if !r.bounded {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && r.lo <= n && n <= r.hi
}

// AllowsAbsent says whether the label may be missing.
func (r Requirement) AllowsAbsent() bool { return r.absent }

// Matches says whether the requirement holds for a label that has the value, or is missing where present is false.
func (r Requirement) Matches(value string, present bool) bool {
	if !present {
		return r.absent
	}
	return r.Contains(value)
}

// Empty says that nothing is allowed: no label can satisfy it.
func (r Requirement) Empty() bool {
	return !r.absent && !r.complement && len(r.values) == 0
}

// Values lists the values of a set that has finitely many; ok is false for the others.
func (r Requirement) Values() (values []string, ok bool) {
	return r.values, !r.complement
}

// Single returns the value of a requirement that allows exactly one, and not the label's absence.
func (r Requirement) Single() (string, bool) {
	if r.complement || r.absent || len(r.values) != 1 {
		return "", false
	}
	return r.values[0], true
}

// Pick is a value to give the label where it must have one and any will do: the least of a list, the lowest of a
// range, else the preferred string, lengthened until it is not excluded. ok is false where no value is allowed.
func (r Requirement) Pick(preferred string) (value string, ok bool) {
	switch {
	case !r.complement && len(r.values) == 0:
		return "", false
	case !r.complement:
		return r.values[0], true
	case !r.bounded:
		for value = preferred; !r.Contains(value); {
			value += "-x"
		}
		return value, true
	}
	n, step := r.lo, int64(1)
	if r.lo == math.MinInt64 {
		n, step = r.hi, -1
	}
	for tries := 0; tries <= len(r.values); tries++ {
		if value = strconv.FormatInt(n, 10); r.Contains(value) {
			return value, true
		}
		n += step
	}
	return "", false
}

// Others allows the values that the requirement does not, and no absence; nothing for a range of integers.
func (r Requirement) Others() Requirement {
	if r.bounded {
		return Requirement{Key: r.Key}
	}
	return Requirement{Key: r.Key, complement: !r.complement, values: r.values, lo: math.MinInt64, hi: math.MaxInt64}
}

// Intersect is what both allow. MinValues is the larger of the two.
func (r Requirement) Intersect(s Requirement) Requirement {
	out := Requirement{Key: r.Key, absent: r.absent && s.absent, MinValues: max(r.MinValues, s.MinValues)}
	switch {
	case r.complement && s.complement:
		out.complement, out.bounded = true, r.bounded || s.bounded
		out.lo, out.hi = max(r.lo, s.lo), min(r.hi, s.hi)
		out.values = sorted(append(slices.Clone(r.values), s.values...))
		return out.simplify()
	case r.complement:
		r, s = s, r
		fallthrough
	default:
		for _, v := range r.values {
			if s.Contains(v) {
				out.values = append(out.values, v)
			}
		}
	}
	return out
}

// simplify turns short ranges of integers into lists, and empty ones into nothing.
func (r Requirement) simplify() Requirement {
	if !r.complement || !r.bounded {
		return r
	}
	short := r.lo > r.hi || (uint64(r.hi)-uint64(r.lo) < enumerable)
	if !short {
		return r
	}
	out := Requirement{Key: r.Key, absent: r.absent, MinValues: r.MinValues}
	for n := r.lo; n <= r.hi; n++ {
		if v := strconv.FormatInt(n, 10); r.Contains(v) {
			out.values = append(out.values, v)
		}
		if n == math.MaxInt64 {
			break
		}
	}
	slices.Sort(out.values)
	return out
}

// SubsetOf says that s allows everything that r allows.
func (r Requirement) SubsetOf(s Requirement) bool {
	if r.absent && !s.absent {
		return false
	}
	if !r.complement {
		return !slices.ContainsFunc(r.values, func(v string) bool { return !s.Contains(v) })
	}
	if !s.complement || slices.ContainsFunc(s.values, r.Contains) {
		return false
	}
	if !s.bounded {
		return true
	}
	return r.bounded && s.lo <= r.lo && r.hi <= s.hi
}

// Model writes the requirement down with the operators of the contract: nothing for Any, up to four for the rest.
func (r Requirement) Model() []model.Requirement {
	var out []model.Requirement
	add := func(op model.Operator, values ...string) {
		out = append(out, model.Requirement{Key: r.Key, Operator: op, Values: values})
	}
	switch {
	case !r.complement && r.absent:
		add(model.DoesNotExist)
	case !r.complement:
		add(model.In, r.values...)
	default:
		if !r.absent && !r.bounded {
			add(model.Exists)
		}
		if r.lo != math.MinInt64 || r.bounded && r.hi == math.MaxInt64 {
			add(model.Gte, strconv.FormatInt(r.lo, 10))
		}
		if r.hi != math.MaxInt64 {
			add(model.Lte, strconv.FormatInt(r.hi, 10))
		}
		if len(r.values) > 0 {
			add(model.NotIn, r.values...)
		}
	}
	if len(out) > 0 {
		out[0].MinValues = r.MinValues
	}
	slices.SortFunc(out, func(a, b model.Requirement) int { return int(a.Operator) - int(b.Operator) })
	return out
}

// String is the requirement for messages, for example `zone In [a b]`.
func (r Requirement) String() string {
	var parts []string
	for _, m := range r.Model() {
		if len(m.Values) == 0 {
			parts = append(parts, m.Key+" "+m.Operator.String())
			continue
		}
		parts = append(parts, m.Key+" "+m.Operator.String()+" ["+shorten(m.Values)+"]")
	}
	if len(parts) == 0 {
		return r.Key + " is anything"
	}
	return strings.Join(parts, " and ")
}

// shorten keeps messages readable where a requirement lists hundreds of values.
func shorten(values []string) string {
	const most = 8
	if len(values) <= most {
		return strings.Join(values, " ")
	}
	return strings.Join(values[:most], " ") + " and " + strconv.Itoa(len(values)-most) + " more"
}
