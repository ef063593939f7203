package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
)

// statement is one line: a verb, mostly a name, and words of the form key=value or flag. What is wrong with it is kept
// and returned by done.
type statement struct {
	where string
	verb  string
	name  string
	args  []arg
	known []string
	err   error
}

type arg struct {
	key, value string
	flag       bool
	used       bool
}

// parse reads the lines of a section. Empty lines and what follows a # at the start of a line are left out.
func parse(section, text string) ([]*statement, error) {
	var out []*statement
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		where := fmt.Sprintf("%s, line %d", section, i+1)
		words, err := split(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		out = append(out, newStatement(where, words))
	}
	return out, nil
}

// split cuts a line at spaces; double quotes keep words together and are taken off.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for _, c := range line {
		switch {
		case c == '"':
			quoted, begun = !quoted, true
		case unicode.IsSpace(c) && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed: %s", line)
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" || strings.HasPrefix(words[0], "#") {
		return nil, fmt.Errorf("the verb is missing: %s", line)
	}
	return words, nil
}

// sub reads the value of a word that has words of its own: spread="zone skew=2".
func (s *statement) sub(key, text string, read func(*statement)) {
	words, err := split(text)
	if err != nil {
		s.fail("%s: %w", key, err)
		return
	}
	inner := newStatement(s.where, append([]string{key}, words...))
	if inner.name == "" {
		s.fail("%s=%q does not begin with a name", key, text)
		return
	}
	read(inner)
	if err := inner.done(); err != nil && s.err == nil {
		s.err = err
	}
}

func newStatement(where string, words []string) *statement {
	s := &statement{where: where, verb: words[0]}
	words = words[1:]
	if len(words) > 0 && !strings.Contains(words[0], "=") {
		s.name, words = words[0], words[1:]
	}
	for _, w := range words {
		key, value, pair := strings.Cut(w, "=")
		s.args = append(s.args, arg{key: key, value: value, flag: !pair})
	}
	return s
}

// fail keeps the first problem.
func (s *statement) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%s: %s %s: %w", s.where, s.verb, s.name, fmt.Errorf(format, args...))
	}
}

// done tells what was wrong, words that no one asked for included.
func (s *statement) done() error {
	for _, a := range s.args {
		if !a.used {
			slices.Sort(s.known)
			s.fail("%q is not known; known are %s", a.key, strings.Join(slices.Compact(s.known), ", "))
		}
	}
	return s.err
}

// texts returns all values of a key, in order.
func (s *statement) texts(key string) []string {
	s.known = append(s.known, key)
	var out []string
	for i := range s.args {
		if a := &s.args[i]; a.key == key && !a.used {
			a.used = true
			if a.flag {
				s.fail("%s needs a value: %s=…", key, key)
			}
			out = append(out, a.value)
		}
	}
	return out
}

// text returns the value of a key, or what stands in for it.
func (s *statement) text(key, otherwise string) string {
	values := s.texts(key)
	switch len(values) {
	case 0:
		return otherwise
	case 1:
		return values[0]
	}
	s.fail("%s is there %d times", key, len(values))
	return values[0]
}

// list returns the values of a key, split at commas.
func (s *statement) list(key string) []string {
	var out []string
	for _, v := range s.texts(key) {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

// is says whether a flag is there.
func (s *statement) is(flag string) bool {
	s.known = append(s.known, flag)
	for i := range s.args {
		if a := &s.args[i]; a.key == flag {
			a.used = true
			if !a.flag {
				s.fail("%s takes no value", flag)
			}
			return true
		}
	}
	return false
}

// has says whether a word is there, used or not.
func (s *statement) has(key string) bool {
	return slices.ContainsFunc(s.args, func(a arg) bool { return a.key == key })
}

func (s *statement) number(key string, otherwise int) int {
	v := s.text(key, strconv.Itoa(otherwise))
	n, err := strconv.Atoi(v)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		s.fail("%s=%s is not a number", key, v)
	}
	return n
}

func (s *statement) duration(key, otherwise string) time.Duration {
	v := s.text(key, otherwise)
	d, err := time.ParseDuration(v)
	if err != nil {
		s.fail("%s=%s is not a duration such as 30s or 720h", key, v)
	}
	return d
}

// quantity reads an amount as Kubernetes writes it: millicores where it is of cpu, else whole units.
func (s *statement) quantity(key, v string) int64 {
	q, err := resource.ParseQuantity(v)
	if err != nil || q.Sign() < 0 {
		s.fail("%s=%s is not a quantity such as 250m or 1Gi", key, v)
		return 0
	}
	if key == "cpu" {
		return q.MilliValue()
	}
	return q.Value()
}

// money reads dollars, and returns micro-dollars.
func (s *statement) money(key, v string) int64 {
	f, err := strconv.ParseFloat(strings.TrimPrefix(v, "$"), 64)
	if err != nil || !(f >= 0 && f <= 1e6) {
		s.fail("%s=%s is not an amount of dollars such as $0.096", key, v)
		return 0
	}
	return int64(f*1e6 + 0.5)
}

// count reads the name as a number between two bounds.
func (s *statement) count(least, most int) int {
	n, err := atoi(s.name)
	if err != nil || n < least || n > most {
		s.fail("want a number from %d to %d", least, most)
	}
	return n
}

// fraction reads 5% or 0.05.
func (s *statement) fraction(v string) float64 {
	percent, isPercent := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(percent, 64)
	if isPercent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1000) {
		s.fail("%q is not a share such as 5%%", v)
		return 0
	}
	return f
}

// atoi reads a plain number: digits only, so that it has one form.
func atoi(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}
