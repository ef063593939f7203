package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Settings are fields that are set beside the file, each "field=value": the field
// by its JSON path ("aws.queue"), the value as it is where the field holds text or
// a duration, in YAML where it holds anything else. They implement flag.Value, so
// that a flag may be given several times.
type Settings []string

// String implements flag.Value.
func (s *Settings) String() string { return strings.Join(*s, " ") }

// Set implements flag.Value.
func (s *Settings) Set(one string) error {
	if field, _, ok := strings.Cut(one, "="); !ok || field == "" {
		return errors.New("want FIELD=VALUE, such as listen=127.0.0.1:7400")
	}
	*s = append(*s, one)
	return nil
}

// apply reads settings over what into holds, in their order.
func apply(set []string, into any) error {
	for _, one := range set {
		field, value, _ := strings.Cut(one, "=")
		data, err := object(reflect.TypeOf(into), strings.Split(field, "."), value)
		if err == nil {
			err = decode(data, into)
		}
		if err != nil {
			return fmt.Errorf("setting %q: %w", one, err)
		}
	}
	return nil
}

// object is JSON with one field, at the path.
func object(t reflect.Type, path []string, value string) (json.RawMessage, error) {
	if len(path) == 0 {
		if t != nil && isText(t) {
			return json.Marshal(value)
		}
		return scalar(value)
	}
	var elem reflect.Type // nil where the field is not known, which is said when it is decoded
	if t != nil {
		elem = fieldTypes(t)[path[0]]
	}
	inner, err := object(elem, path[1:], value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]json.RawMessage{path[0]: inner})
}

// isText says whether JSON holds such a value in quotes.
func isText(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String || t == reflect.TypeFor[Duration]()
}
