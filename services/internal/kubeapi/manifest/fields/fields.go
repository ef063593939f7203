// Package fields walks the paths of fields, as the strict decoder gives them
// ("spec.template.spec.requirements[0].foo"), and finds the fields that Go's types have.
//
// It knows types and texts, and no manifest. Start reading at Unknown.
package fields

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Unknown follows a path to the struct that does not know its next field.
func Unknown(t reflect.Type, path string) (place reflect.Type, name string) {
	for {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Slice:
			_, rest, ok := CutIndex(path)
			if !ok {
				return nil, ""
			}
			t, path = t.Elem(), rest
		case reflect.Struct:
			i := slices.IndexFunc(fieldsOf(t), func(f field) bool {
				_, ok := CutKey(path, f.name)
				return ok
			})
			if i < 0 {
				name, _, _ = strings.Cut(path, ".")
				name, _, _ = strings.Cut(name, "[")
				return t, name
			}
			f := fieldsOf(t)[i]
			path, _ = CutKey(path, f.name)
			t = f.of
		default: // of a map any key may be one
			return nil, ""
		}
	}
}

// field is one of a struct, by its name in manifests.
type field struct {
	name string
	of   reflect.Type
}

// fieldsOf has those of structs that stand in another without a name among the other's.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			out = append(out, fieldsOf(f.Type)...)
		case name != "" && name != "-":
			out = append(out, field{name, f.Type})
		}
	}
	return out
}

// Names are those of a struct's fields.
func Names(t reflect.Type) []string {
	var out []string
	for _, f := range fieldsOf(t) {
		out = append(out, f.name)
	}
	return out
}

// Elsewhere are the paths of fields of that name, but for those of lists' items and of the metadata that all kinds have.
func Elsewhere(t reflect.Type, name string, depth int) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth == 0 {
		return nil
	}
	var out []string
	for _, f := range fieldsOf(t) {
		if f.name == name {
			out = append(out, f.name)
		}
		if f.of.Name() == "ObjectMeta" || f.name == "status" {
			continue
		}
		for _, at := range Elsewhere(f.of, name, depth-1) {
			out = append(out, f.name+"."+at)
		}
	}
	return out
}

// CutKey takes a key off the front of a path.
func CutKey(path, key string) (string, bool) {
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

// CutIndex takes "[3]" off the front of a path.
func CutIndex(path string) (int, string, bool) {
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
