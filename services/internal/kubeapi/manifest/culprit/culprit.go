// Package culprit finds the values in a JSON text that make its decoding fail.
//
// Decoders of single values, such as quantities, don't know where the value stands, and those of objects stop at the first.
// So one field after the other is left out. The package must never know what is decoded. Start reading at Find.
package culprit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Culprit is a value that can't be decoded.
type Culprit struct {
	// Path is as the strict decoder gives it, "spec.template.spec.requirements[0].foo"; "" where no field is to blame.
	Path  string
	Value any
	// Err is what decoding says of it.
	Err error
}

// maxAttempts bounds how often a text is decoded.
const maxAttempts = 1000

// Find finds up to most fields that make decode fail, in the order of their paths.
func Find(text []byte, most int, decode func([]byte) error) (found []Culprit) {
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return nil
	}
	s := search{tree: tree, decode: decode, left: maxAttempts}
	for len(found) < most && !s.decodes() {
		leaf, ok := s.blame(tree, "")
		if !ok {
			break
		}
		found = append(found, s.found)
		leaf.leaveOut()
	}
	return found
}

// search is one for culprits; found is the last.
type search struct {
	tree   any
	found  Culprit
	decode func([]byte) error
	left   int // attempts
}

// decodes tells whether the tree does as it is now; of a search that has taken too long it says no.
func (s *search) decodes() bool {
	if s.left--; s.left < 0 {
		return false
	}
	return s.attempt() == nil
}

func (s *search) attempt() error {
	text, err := json.Marshal(s.tree)
	if err != nil {
		return err
	}
	return s.decode(text)
}

// blame changes node for a moment, to see whether it decodes without one of its fields. Where more than one is wrong,
// such as a label in a selector and again in the template, they are left out from the last to the first, until the rest
// decodes: that one is looked into while the others are out, so that what decoding says is of it.
func (s *search) blame(node any, path string) (leaf member, ok bool) {
	all := membersOf(node, path)
	for _, m := range all {
		m.leaveOut()
		guilty := s.decodes()
		m.restore()
		if guilty {
			return s.into(m), true
		}
	}
	defer func() {
		for _, m := range all {
			m.restore()
		}
	}()
	for _, m := range slices.Backward(all) {
		if m.leaveOut(); s.decodes() {
			m.restore()
			return s.into(m), true
		}
	}
	return member{}, false
}

// into finds the part of a member that is to blame, or else takes all of it.
func (s *search) into(m member) member {
	if leaf, ok := s.blame(m.value, m.path); ok {
		return leaf
	}
	if err := s.attempt(); err != nil {
		s.found = Culprit{m.path, m.value, err}
	}
	return m
}

// member is a field of an object, or an item of a list, which is emptied, because leaving it out moves the others.
type member struct {
	path              string
	value             any
	leaveOut, restore func()
}

func membersOf(node any, path string) []member {
	var out []member
	switch n := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(n)) {
			value := n[key]
			at := strings.TrimPrefix(path+"."+key, ".")
			out = append(out, member{at, value, func() { delete(n, key) }, func() { n[key] = value }})
		}
	case []any:
		for i, value := range n {
			out = append(out, member{fmt.Sprintf("%s[%d]", path, i), value, func() { n[i] = nil }, func() { n[i] = value }})
		}
	}
	return out
}
