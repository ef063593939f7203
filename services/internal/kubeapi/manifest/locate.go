package manifest

import (
	"cmp"
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
	var root yaml.Node
	if doc.text == nil || len(doc.text) > maxSearched || yaml.Unmarshal(doc.text, &root) != nil || len(root.Content) == 0 {
		return doc.place.Line
	}
	line := find(root.Content[0], path)
	if line == 0 {
		return doc.place.Line
	}
	return doc.place.Line + line - 1
}

// find walks the path a key at a time; 0 means that there is no such field. Keys
// may hold dots themselves, so each key that the path begins with is tried.
func find(node *yaml.Node, path string) int {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			rest, ok := cutKey(path, node.Content[i].Value)
			if ok && rest == "" {
				return node.Content[i].Line
			}
			if !ok {
				continue
			}
			if line := find(node.Content[i+1], rest); line != 0 {
				return line
			}
		}
	case yaml.SequenceNode:
		index, rest, ok := cutIndex(path)
		if !ok || index >= len(node.Content) {
			return 0
		}
		if rest == "" {
			return node.Content[index].Line
		}
		return find(node.Content[index], rest)
	default: // a value has no fields
		return 0
	}
	return 0
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

// culprit finds the field that makes decode fail, by leaving out one field after
// the other: decoders of single values, such as quantities, don't know where the
// value stands. "" means that no single field is to blame.
func culprit(text []byte, decode func([]byte) error) string {
	var tree any
	if len(text) > maxSearched || json.Unmarshal(text, &tree) != nil {
		return ""
	}
	attempts := 0
	toBlame := func() bool {
		if attempts++; attempts > maxAttempts {
			return false
		}
		without, err := json.Marshal(tree)
		return err == nil && decode(without) == nil
	}
	return blame(tree, "", toBlame)
}

// blame changes node for a moment, to see whether it decodes without one of its
// fields; items of lists are emptied, because leaving one out moves the others.
func blame(node any, path string, toBlame func() bool) string {
	switch n := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(n)) {
			value := n[key]
			delete(n, key)
			guilty := toBlame()
			n[key] = value
			if guilty {
				at := strings.TrimPrefix(path+"."+key, ".")
				return cmp.Or(blame(value, at, toBlame), at)
			}
		}
	case []any:
		for i, value := range n {
			n[i] = nil
			guilty := toBlame()
			n[i] = value
			if guilty {
				at := fmt.Sprintf("%s[%d]", path, i)
				return cmp.Or(blame(value, at, toBlame), at)
			}
		}
	}
	return ""
}
