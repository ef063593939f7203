// Package config turns one file, in YAML or JSON, into a typed config, strictly:
// unknown and repeated fields, trailing data, oversized files and values of the
// wrong shape are errors that name the file, the field by its JSON path, and what
// would be right. Single fields may be set beside the file, for what differs from
// one process to the next. It must never know what the fields mean; meaning is
// checked by the Validate methods of the types it decodes into. Start reading at
// Load.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/kerf-dev/kerf/services/core/near"
)

// MaxBytes is the largest config file that is read.
const MaxBytes = 1 << 20

// Load reads the file at path, in YAML or JSON, over the defaults that into (a
// pointer to a struct) already holds, then the settings over that (see Settings),
// and checks it all with Check. Fields that are left out keep their defaults. An
// empty path is a file that leaves everything out.
func Load(path string, into any, set ...string) error {
	if path != "" {
		data, err := Read(path)
		if err == nil {
			err = decode(data, into)
		}
		if err != nil {
			return fmt.Errorf("config %s: %w", path, err)
		}
	}
	if err := apply(set, into); err != nil {
		return err
	}
	switch err := Check(into); {
	case err == nil:
		return nil
	case path == "":
		return fmt.Errorf("config (none given, see -config): %w", err)
	default:
		return fmt.Errorf("config %s: %w", path, err)
	}
}

// Read reads a file that Load would read, and returns it as JSON.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return toJSON(data)
}

// Decode is Load for bytes that are already in memory.
func Decode(data []byte, into any) error {
	data, err := toJSON(data)
	if err == nil {
		err = decode(data, into)
	}
	if err != nil {
		return err
	}
	return Check(into)
}

// decode reads JSON.
func decode(data []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return explain(err, data, into)
	}
	if len(strict) > 0 {
		return errors.Join(withHints(strict, reflect.TypeOf(into))...)
	}
	return nil
}

// explain adds to a decoding error the place where it happened.
func explain(err error, data []byte, into any) error {
	if isSyntax, offset := kjson.SyntaxErrorOffset(err); isSyntax {
		before := string(data[:min(int(offset), len(data))])
		line := strings.Count(before, "\n") + 1
		column := len(before) - (strings.LastIndexByte(before, '\n') + 1)
		return fmt.Errorf("line %d, column %d: %w", line, max(column, 1), err)
	}
	if field, cause := firstBad("", reflect.TypeOf(into), data); cause != nil {
		return &FieldError{Field: field, Problem: describe(cause)}
	}
	return err
}

// describe words a decoding error of one value for someone who has not read Go.
func describe(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok && wrong.Type.Kind() == reflect.String && wrong.Value == "bool":
		return "got bool, want a string in quotes: YAML takes on, off, yes and no without them for true or false"
	case ok && wrong.Type.Kind() == reflect.String:
		return fmt.Sprintf("got %s, want a string, in quotes", wrong.Value)
	case ok:
		return fmt.Sprintf("got %s, want %s", wrong.Value, kindName(wrong.Type))
	}
	return err.Error()
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a whole number that fits " + t.Kind().String()
	}
}

// firstBad finds the first value in raw, which is syntactically right JSON, that
// does not decode into its place in t. The decoder itself loses the path when a
// type with an UnmarshalJSON of its own refuses a value.
func firstBad(path string, t reflect.Type, raw json.RawMessage) (string, error) {
	if t.Kind() == reflect.Pointer {
		return firstBad(path, t.Elem(), raw)
	}
	_, custom := reflect.TypeAssert[json.Unmarshaler](reflect.New(t))
	object := !custom && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map)
	if object {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return path, err
		}
		return firstBadMember(path, t, members)
	}
	if !custom && t.Kind() == reflect.Slice {
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return path, err
		}
		for i, item := range items {
			if field, err := firstBad(fmt.Sprintf("%s[%d]", path, i), t.Elem(), item); err != nil {
				return field, err
			}
		}
		return "", nil
	}
	return path, json.Unmarshal(raw, reflect.New(t).Interface())
}

func firstBadMember(path string, t reflect.Type, members map[string]json.RawMessage) (string, error) {
	known := fieldTypes(t)
	for _, name := range sortedKeys(members) {
		elem, ok := known[name]
		if t.Kind() == reflect.Map {
			elem, ok = t.Elem(), true
		}
		if !ok {
			continue
		}
		if field, err := firstBad(join(path, name), elem, members[name]); err != nil {
			return field, err
		}
	}
	return "", nil
}

// withHints adds to each unknown field the names that are known in its place.
func withHints(strict []error, root reflect.Type) []error {
	out := make([]error, 0, len(strict))
	for _, err := range strict {
		var fe kjson.FieldError
		if !errors.As(err, &fe) {
			out = append(out, err)
			continue
		}
		problem, _, _ := strings.Cut(err.Error(), " field")
		if problem == "unknown" {
			problem = "unknown field" + knownNames(root, fe.FieldPath())
		} else {
			problem += " field: keep one"
		}
		out = append(out, &FieldError{Field: fe.FieldPath(), Problem: problem})
	}
	return out
}

// knownNames lists the fields of the object that the path's last step is in, and those that may have been meant. It is
// empty where the path leads to what has no fixed fields.
func knownNames(t reflect.Type, path string) string {
	steps := strings.Split(path, ".")
	last := len(steps) - 1
	for _, step := range steps[:last] {
		name, _, _ := strings.Cut(step, "[")
		next, ok := fieldTypes(t)[name]
		if t.Kind() == reflect.Map {
			next, ok = t.Elem(), true
		}
		if !ok {
			return ""
		}
		t = element(next)
	}
	names := sortedKeys(fieldTypes(t))
	if len(names) == 0 {
		return ""
	}
	known := "; known here: " + strings.Join(names, ", ")
	if question := near.Question(steps[last], names); question != "" {
		known += "; " + question
	}
	return known
}

// element is what a type's values are made of, where they are pointers or lists.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// fieldTypes returns the JSON fields of a struct type, embedded structs included.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	out := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return out
	}
	for f := range t.Fields() {
		name, skip := jsonName(f)
		switch {
		case skip:
		case name == "":
			maps.Copy(out, fieldTypes(f.Type))
		default:
			out[name] = f.Type
		}
	}
	return out
}

// jsonName returns a field's name in JSON; empty means that its own fields take
// its place (an embedded struct), skip that JSON does not see it.
func jsonName(f reflect.StructField) (name string, skip bool) {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case tag == "-" || !f.IsExported():
		return "", true
	case tag != "":
		return tag, false
	case f.Anonymous:
		return "", false
	default:
		return f.Name, false
	}
}
