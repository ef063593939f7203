package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Validator is what a config type, or any type inside one, implements to check
// its own fields. It returns FieldErrors (see Errorf), several joined with
// errors.Join; their fields are relative to the type that returns them.
type Validator interface {
	Validate() error
}

// FieldError says which field is wrong and what would be right.
type FieldError struct {
	Field   string // JSON path, such as "tls.cert_file"; empty for the whole file
	Problem string
}

// Error implements error.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return e.Field + ": " + e.Problem
}

// Errorf makes a FieldError.
func Errorf(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Check calls Validate on v and on everything inside it, embedded structs too,
// and joins what they say with the fields' full paths. A type that embeds
// another and has a Validate of its own need not call the embedded one.
func Check(v any) error {
	var c checker
	c.visit("", reflect.ValueOf(v))
	return errors.Join(c.errs...)
}

// checker collects each message once: a Validate that is promoted from an
// embedded struct is met twice, through the outer and through the inner value.
type checker struct {
	errs []error
	seen map[string]bool
}

func (c *checker) visit(path string, v reflect.Value) {
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	c.validate(path, v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name, skip := jsonName(v.Type().Field(i)); !skip {
				c.visit(join(path, name), v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.visit(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return
		}
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), byString) {
			c.visit(join(path, key.String()), v.MapIndex(key))
		}
	default:
	}
}

func (c *checker) validate(path string, v reflect.Value) {
	var val any
	switch {
	case !v.IsValid() || !v.CanInterface():
		return
	case v.CanAddr():
		val = v.Addr().Interface()
	default:
		val = v.Interface()
	}
	if checks, ok := val.(Validator); ok {
		c.add(path, checks.Validate())
	}
}

func (c *checker) add(path string, err error) {
	if err == nil {
		return
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			c.add(path, one)
		}
		return
	}
	fe := &FieldError{Field: path, Problem: err.Error()}
	if inner, ok := err.(*FieldError); ok { //nolint:errorlint // a wrapped one keeps its own wording
		fe = &FieldError{Field: join(path, inner.Field), Problem: inner.Problem}
	}
	if c.seen[fe.Error()] {
		return
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[fe.Error()] = true
	c.errs = append(c.errs, fe)
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

func byString(a, b reflect.Value) int {
	switch {
	case a.String() < b.String():
		return -1
	case a.String() > b.String():
		return 1
	default:
		return 0
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
