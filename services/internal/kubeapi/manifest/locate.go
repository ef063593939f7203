package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits on the search for a field, which is a courtesy only.
const (
	maxSearched = 1 << 20 // bytes of a document
	maxAttempts = 1000    // decodings of it
)

// lineOf finds the line of a field in the document's source, or the document's own
// line when the field can't be found, as in an item of a list. The path is as the
// strict decoder gives it: "spec.template.spec.requirements[0].foo".
func lineOf(doc document, path string) int {
	if line, _ := fieldOf(doc, path); line != 0 {
		return doc.place.Line + line - 1
	}
	return doc.place.Line
}

// written is a field's value as the document spells it; "" where that can't be found, or is no plain value.
func written(doc document, path string) string {
	if _, value := fieldOf(doc, path); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// fieldOf finds a field in the document's source: its line there, 0 for none, and its value.
func fieldOf(doc document, path string) (line int, value *yaml.Node) {
	var root yaml.Node
	if doc.text == nil || len(doc.text) > maxSearched || yaml.Unmarshal(doc.text, &root) != nil || len(root.Content) == 0 {
		return 0, nil
	}
	return find(root.Content[0], path)
}

// find walks the path a key at a time; 0 means that there is no such field. Keys
// may hold dots themselves, so each key that the path begins with is tried.
func find(node *yaml.Node, path string) (line int, value *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			rest, ok := cutKey(path, node.Content[i].Value)
			if ok && rest == "" {
				return node.Content[i].Line, node.Content[i+1]
			}
			if !ok {
				continue
			}
			if line, value := find(node.Content[i+1], rest); line != 0 {
				return line, value
			}
		}
	case yaml.SequenceNode:
		index, rest, ok := cutIndex(path)
		if !ok || index >= len(node.Content) {
			return 0, nil
		}
		if rest == "" {
			return node.Content[index].Line, node.Content[index]
		}
		return find(node.Content[index], rest)
	default: // a value has no fields
		return 0, nil
	}
	return 0, nil
}

// cutKey takes a key off the front of a path.
func cutKey(path, key string) (string, bool) {
	rest, found := strings.CutPrefix(path, key)
	switch {
	case !found:
		return "", false
	case rest == "" || rest[0] == '[':
		return rest, true
	case rest[0] == '.':
		return rest[1:], true
	default:
		return "", false
	}
}

// cutIndex takes "[3]" off the front of a path.
func cutIndex(path string) (int, string, bool) {
	if !strings.HasPrefix(path, "[") {
		return 0, "", false
	}
	number, rest, found := strings.Cut(path[1:], "]")
	index, err := strconv.Atoi(number)
	if !found || err != nil || index < 0 {
		return 0, "", false
	}
	return index, strings.TrimPrefix(rest, "."), true
}

// culprit is a value that can't be decoded.
type culprit struct {
	path  string // "" where no field is to blame
	value any
	err   error // what decoding says of it
}

// culprits finds the fields that make decode fail, by leaving out one field after the other: decoders of single values, such as
// quantities, don't know where the value stands, and those of objects stop at the first. They are in the order of their paths.
func culprits(text []byte, decode func([]byte) error) (found []culprit) {
	var tree any
	if len(text) > maxSearched || json.Unmarshal(text, &tree) != nil {
		return nil
	}
	s := search{tree: tree, decode: decode, left: maxAttempts}
	for len(found) < MaxErrors && !s.decodes() {
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
	found  culprit
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

// blame changes node for a moment, to see whether it decodes without one of its fields. Where more than one is wrong, such as a
// label in a selector and again in the template, they are left out from the last to the first, until the rest decodes: that
// one is looked into while the others are out, so that what decoding says is of it.
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
		s.found = culprit{m.path, m.value, err}
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
