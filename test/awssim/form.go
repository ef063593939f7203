package awssim

import (
	"encoding/base64"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// form reads the parameters of one Query request and remembers which were asked for, so that a parameter that no one
// understands can be refused. The first malformed value is kept in bad; readers return zero from then on.
type form struct {
	values url.Values
	used   map[string]bool
	bad    error
}

func newForm(v url.Values) *form {
	f := &form{values: v, used: map[string]bool{}}
	f.str("Action")
	f.str("Version")
	return f
}

func (f *form) str(key string) string {
	f.used[key] = true
	return f.values.Get(key)
}

func (f *form) has(key string) bool { return f.values.Has(key) }

func (f *form) int(key string, absent int64) int64 {
	s := f.str(key)
	if s == "" {
		return absent
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f.reject(key, s)
	}
	return n
}

func (f *form) float(key string, absent float64) float64 {
	s := f.str(key)
	if s == "" {
		return absent
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		f.reject(key, s)
	}
	return n
}

func (f *form) bool(key string) bool {
	switch s := f.str(key); s {
	case "", "false":
		return false
	case "true":
		return true
	default:
		f.reject(key, s)
		return false
	}
}

func (f *form) base64(key string) []byte {
	s := f.str(key)
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		f.bad = fail("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	return b
}

func (f *form) reject(key, value string) {
	if f.bad == nil {
		f.bad = fail("InvalidParameterValue", "Value (%s) for parameter %s is invalid.", value, key)
	}
}

// list reads key.1, key.2, … in order.
func (f *form) list(key string) []string {
	var out []string
	for _, k := range f.items(key) {
		out = append(out, f.str(k))
	}
	return out
}

// items are the prefixes key.1, key.2, … of the members that the request has, in order of their numbers.
func (f *form) items(key string) []string {
	seen := map[int]bool{}
	for k := range f.values {
		rest, ok := strings.CutPrefix(k, key+".")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); err == nil {
			seen[n] = true
		}
	}
	numbers := make([]int, 0, len(seen))
	for n := range seen {
		numbers = append(numbers, n)
	}
	sort.Ints(numbers)
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = key + "." + strconv.Itoa(n)
	}
	return out
}

// tags reads key.N.Key and key.N.Value.
func (f *form) tags(key string) map[string]string {
	out := map[string]string{}
	for _, t := range f.items(key) {
		k := f.str(t + ".Key")
		if _, twice := out[k]; twice && f.bad == nil {
			f.bad = fail("InvalidParameterValue", "Duplicate tag key '%s' specified.", k)
		}
		out[k] = f.str(t + ".Value")
	}
	if err := checkTags(out); err != nil && f.bad == nil {
		f.bad = err
	}
	return out
}

func checkTags(tags map[string]string) error {
	if len(tags) > 50 {
		return fail("TagLimitExceeded", "More than 50 tags specified.")
	}
	for k, v := range tags {
		switch {
		case k == "" || len(k) > 128:
			return fail("InvalidParameterValue", "Tag key '%s' must have between 1 and 128 characters.", k)
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			return fail("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case strings.ContainsFunc(k+v, unicode.IsControl):
			return fail("InvalidParameterValue", "Tag '%q' contains invalid characters.", k)
		case len(v) > 256:
			return fail("InvalidParameterValue", "Tag value of '%s' exceeds 256 characters.", k)
		}
	}
	return nil
}

// ignore marks everything below the prefix as understood: it changes nothing in the simulated world.
func (f *form) ignore(prefixes ...string) {
	for k := range f.values {
		for _, p := range prefixes {
			if k == p || strings.HasPrefix(k, p+".") {
				f.used[k] = true
			}
		}
	}
}

// finish returns what was wrong with the parameters: a malformed value, or one that no one read.
func (f *form) finish() error {
	if f.bad != nil {
		return f.bad
	}
	var unknown []string
	for k := range f.values {
		if !f.used[k] {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) > 0 {
		sort.Strings(unknown)
		return fail("UnknownParameter", "The parameter %s is not recognized by this simulator", unknown[0])
	}
	return nil
}
