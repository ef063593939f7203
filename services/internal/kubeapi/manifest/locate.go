package manifest

import (
	"go.yaml.in/yaml/v3"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/fields"
)

// maxSearched is how many bytes a document may have for a field to be looked for in it, which is a courtesy only.
const maxSearched = 1 << 20

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
	root, ok := parse(doc)
	if !ok {
		return 0, nil
	}
	return find(root, path)
}

// parse is the first node of a document's source.
func parse(doc document) (*yaml.Node, bool) {
	var root yaml.Node
	if doc.text == nil || len(doc.text) > maxSearched || yaml.Unmarshal(doc.text, &root) != nil || len(root.Content) == 0 {
		return nil, false
	}
	return root.Content[0], true
}

// find walks the path a key at a time; 0 means that there is no such field. Keys
// may hold dots themselves, so each key that the path begins with is tried.
func find(node *yaml.Node, path string) (line int, value *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			rest, ok := fields.CutKey(path, node.Content[i].Value)
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
		index, rest, ok := fields.CutIndex(path)
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

// repeats says that a document's text has a field twice in one place. Without a way to tell, it has.
func repeats(doc document) bool {
	root, ok := parse(doc)
	return !ok || repeated(root)
}

func repeated(node *yaml.Node) bool {
	seen := map[string]bool{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[child.Value] && child.Kind == yaml.ScalarNode && child.Tag != "!!merge" {
				return true
			}
			seen[child.Value] = true
		}
		if repeated(child) {
			return true
		}
	}
	return false
}
