package awssim

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// filter is one Filter.N of a Describe call: the item passes when any of its attribute's values matches any pattern.
type filter struct {
	name     string
	patterns []*regexp.Regexp
}

// attributes gives the values of an item by filter name. Filters named tag:<key> and tag-key are answered from tags.
type attributes[T any] struct {
	by   map[string]func(T) []string
	tags func(T) map[string]string
}

// mostFilterValues is how many values all filters of a call may have together.
const mostFilterValues = 200

// filters reads Filter.N and refuses names that the call has not.
func filters[T any](f *form, a attributes[T]) []filter {
	var out []filter
	count := 0
	for _, p := range f.items("Filter") {
		fl := filter{name: f.str(p + ".Name")}
		values := f.list(p + ".Value")
		tagged := a.tags != nil && (strings.HasPrefix(fl.name, "tag:") || fl.name == "tag-key")
		if _, ok := a.by[fl.name]; !ok && !tagged && f.bad == nil {
			f.bad = fail("InvalidParameterValue", "The filter '%s' is invalid", fl.name)
		}
		if count += len(values); count > mostFilterValues && f.bad == nil {
			f.bad = fail("FilterLimitExceeded", "The maximum number of filter values specified on a single call is %d", mostFilterValues)
		}
		for _, v := range values {
			fl.patterns = append(fl.patterns, wildcard(v))
		}
		out = append(out, fl)
	}
	return out
}

// passes reports whether the item passes all filters.
func (a attributes[T]) passes(item T, fs []filter) bool {
	for _, f := range fs {
		if !f.matches(a.values(item, f.name)) {
			return false
		}
	}
	return true
}

func (a attributes[T]) values(item T, name string) []string {
	if get, ok := a.by[name]; ok {
		return get(item)
	}
	tags := a.tags(item)
	if name == "tag-key" {
		return sortedKeys(tags)
	}
	if v, ok := tags[strings.TrimPrefix(name, "tag:")]; ok {
		return []string{v}
	}
	return nil
}

func (f filter) matches(values []string) bool {
	for _, v := range values {
		for _, p := range f.patterns {
			if p.MatchString(v) {
				return true
			}
		}
	}
	return false
}

// wildcard is EC2's pattern language: * and ?, backslash takes them literally.
func wildcard(p string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	escaped := false
	for _, r := range p {
		switch {
		case escaped:
			b.WriteString(regexp.QuoteMeta(string(r)))
			escaped = false
		case r == '\\':
			escaped = true
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile("(?s)" + b.String() + "$")
}

// pageBounds are the limits of MaxResults. Absent is used when the caller names none; zero means everything.
type pageBounds struct {
	min, max, absent int64
}

// page cuts one page out of items, which must be sorted by key. The token holds the key of the last item seen, so that
// a page neither repeats nor skips what stays while other items come and go.
func page[T any](f *form, items []T, key func(T) string, b pageBounds) ([]T, string) {
	size := f.int("MaxResults", b.absent)
	if f.has("MaxResults") && (size < b.min || size > b.max) && f.bad == nil {
		f.bad = fail("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", size, b.min, b.max)
	}
	after, ok := decodeToken(f.str("NextToken"))
	if !ok && f.bad == nil {
		f.bad = fail("InvalidParameterValue", "Unable to parse pagination token")
	}
	return cut(items, key, after, size)
}

// cut returns up to size items behind the key after, and the token for the rest.
func cut[T any](items []T, key func(T) string, after string, size int64) ([]T, string) {
	if after != "" {
		i := sort.Search(len(items), func(i int) bool { return key(items[i]) > after })
		items = items[i:]
	}
	if size <= 0 || int64(len(items)) <= size {
		return items, ""
	}
	return items[:size], encodeToken(key(items[size-1]))
}

func encodeToken(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("after:" + key))
}

func decodeToken(token string) (string, bool) {
	if token == "" {
		return "", true
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(b), "after:")
}

func one(s string) []string { return []string{s} }

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
