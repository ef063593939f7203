package require

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Set is one Requirement for each of some keys, sorted by key. Keys that it does not list may be anything. A Set is not
// changed after it was made.
type Set []Requirement

// NewSet intersects requirements into a Set.
func NewSet(reqs ...model.Requirement) Set {
	if len(reqs) == 0 {
		return nil
	}
	s := make(Set, 0, len(reqs))
	for _, m := range reqs {
		s = s.add(New(m))
	}
	return s
}

// FromLabels is the Set of labels as a node selector means it: each key must have its value.
func FromLabels(own model.Labels) Set {
	if len(own) == 0 {
		return nil
	}
	s := make(Set, 0, len(own))
	for _, l := range own {
		s = s.add(Value(labels.Normal(l.Key), l.Value))
	}
	return s
}

// add is With for a Set that is not shared yet: it is changed where it lies.
func (s Set) add(r Requirement) Set {
	i, ok := s.find(r.Key)
	if !ok {
		return slices.Insert(s, i, r)
	}
	s[i] = s[i].Intersect(r)
	return s
}

// Get returns the Requirement for a key, and whether the Set lists the key.
func (s Set) Get(key string) (Requirement, bool) {
	i, ok := s.find(key)
	if !ok {
		return Any(key), false
	}
	return s[i], true
}

func (s Set) find(key string) (int, bool) {
	return slices.BinarySearchFunc(s, key, func(r Requirement, k string) int { return cmp.Compare(r.Key, k) })
}

// With is the Set with one more Requirement; a key that was there is intersected.
func (s Set) With(r Requirement) Set {
	return append(make(Set, 0, len(s)+1), s...).add(r)
}

// Intersect is what both Sets allow.
func (s Set) Intersect(t Set) Set {
	for _, r := range t {
		s = s.With(r)
	}
	return s
}

// Empty says that some key is allowed nothing, and names the first such key.
func (s Set) Empty() (key string, empty bool) {
	for _, r := range s {
		if r.Empty() {
			return r.Key, true
		}
	}
	return "", false
}

// Matches says whether labels satisfy the Set; if not, it returns the first Requirement that they break.
func (s Set) Matches(labels model.Labels) (Requirement, bool) {
	for _, r := range s {
		v, ok := labels.Get(r.Key)
		if !r.Matches(v, ok) {
			return r, false
		}
	}
	return Requirement{}, true
}

// Compatible says whether something that is only known to be in the Set s could satisfy t: on every key of t both allow
// something in common. A key that s does not list is absent, unless mayBeUndefined says that it will be known later. If
// not, it returns the first Requirement of t that can't hold.
func (s Set) Compatible(t Set, mayBeUndefined func(key string) bool) (Requirement, bool) {
	for _, r := range t {
		i, ok := s.find(r.Key)
		if !ok {
			if r.Empty() || (!r.absent && !mayBeUndefined(r.Key)) {
				return r, false
			}
			continue
		}
		if s[i].Intersect(r).Empty() {
			return r, false
		}
	}
	return Requirement{}, true
}

// Model writes the Set down with the operators of the contract, sorted by key and operator.
func (s Set) Model() []model.Requirement {
	var out []model.Requirement
	for _, r := range s {
		out = append(out, r.Model()...)
	}
	return out
}

// String is the Set for messages.
func (s Set) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.String()
	}
	return strings.Join(parts, ", ")
}
