// Package unset finds the fields of Karpenter's objects that are written without a value, as templates leave them.
//
// An API server takes a null for a field of its own kinds, and refuses it for one of a CustomResourceDefinition, unless
// the schema has a default for it. Go's decoder can't tell it from a field that is not there. The package knows
// Karpenter's schemas and no types. Start reading at Fields.
package unset

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Fields are the fields of an object's spec that have no value, and that Karpenter's schemas want one of, in the order of
// their paths. group is the object's; those of other kinds are never found.
func Fields(group string, text []byte) []string {
	if group != "karpenter.sh" && group != "karpenter.k8s.aws" {
		return nil
	}
	var object struct {
		Spec map[string]any `json:"spec"`
	}
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	return find(object.Spec, "spec")
}

func find(value any, path string) (found []string) {
	switch v := value.(type) {
	case nil:
		if !mayBeNull(index.ReplaceAllString(path, "")) {
			return []string{path}
		}
	case string:
		if v == "" && slices.Contains(notEmpty(), index.ReplaceAllString(path, "")) {
			return []string{path}
		}
	case []any:
		for i, item := range v {
			found = append(found, find(item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = append(found, find(v[key], path+"."+key)...)
		}
	}
	return found
}

var index = regexp.MustCompile(`\[\d+\]`)

// mayBeNull tells fields with a default, which a null is replaced by; those of the kubelet, whose schema is open; and
// those that the schema requires, which are missing then: the package manifest tells of these, and what it takes them for.
func mayBeNull(path string) bool {
	switch path {
	case "spec.disruption", "spec.disruption.consolidationPolicy", "spec.disruption.budgets", "spec.disruption.budgets.nodes",
		"spec.disruption.consolidateAfter", "spec.template.spec.expireAfter", "spec.expireAfter", "spec.template.spec.requirements", "spec.requirements":
		return true
	}
	return strings.HasPrefix(path, "spec.metadataOptions") || strings.HasPrefix(path, "spec.kubelet")
}

// notEmpty are texts that Go's types take for the default where they are empty, and the schema does not.
func notEmpty() []string {
	return []string{
		"spec.disruption.consolidationPolicy", "spec.disruption.budgets.nodes", "spec.template.spec.expireAfter", "spec.expireAfter",
	}
}
