// Package settings reads what users set of other programs where its form is theirs: by full names or in maps, as texts or
// as values.
//
// It must never know what is set. Start reading at Flat.
package settings

import (
	"fmt"
	"maps"
	"strconv"
)

// Flat are settings by their full names, of which a part may be written as a map: a.b: c, and a: {b: c}.
func Flat(settings map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range settings {
		inner, ok := value.(map[string]any)
		if !ok {
			out[key] = value
			continue
		}
		for rest, value := range Flat(inner) {
			out[key+"."+rest] = value
		}
	}
	return out
}

// Is is a setting that is true or false, or what it is where it is neither.
func Is(setting any, otherwise bool) bool {
	if is, err := strconv.ParseBool(fmt.Sprint(setting)); err == nil {
		return is
	}
	return otherwise
}

// Number is a setting that is a whole number, or what it is where it is none.
func Number(setting any, otherwise int64) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(setting), 10, 32)
	if err != nil {
		return otherwise
	}
	return n
}

// Over is a JSON value with another over it: fields, and the items of lists, by their places.
func Over(under, over any) any {
	switch o := over.(type) {
	case nil:
		return under
	case map[string]any:
		u, ok := under.(map[string]any)
		if !ok {
			return over
		}
		out := maps.Clone(u)
		for key, value := range o {
			out[key] = Over(u[key], value)
		}
		return out
	case []any:
		u, ok := under.([]any)
		if !ok {
			return over
		}
		out := make([]any, max(len(u), len(o)))
		copy(out, u)
		for i, value := range o {
			out[i] = Over(out[i], value)
		}
		return out
	default:
		return over
	}
}
