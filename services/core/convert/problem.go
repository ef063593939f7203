package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Problem is one thing that is wrong with a message.
type Problem struct {
	// Object is what it is about, for example `pod "shop/web-0"`.
	Object string
	// Path leads to the field in the request, for example `snapshot.pods["shop/web-0"].class_id`.
	Path string
	// Text names the field and says what is wrong, for example `class_id "c-1" is not in the snapshot`.
	Text string
}

// String is the problem on one line.
func (p Problem) String() string { return p.Object + ": " + p.Text }

// Error is a message that can't be used.
type Error struct {
	// Problems are at most 100, in the order of the message.
	Problems []Problem
	// More is how many further ones there are.
	More int
}

// Error implements error.
func (e *Error) Error() string {
	texts := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		texts = append(texts, p.String())
	}
	if e.More > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(texts, "; ")
}

const mostProblems = 100

// reader collects problems. The place is that of the object that is being read.
type reader struct {
	list, kind, id string
	found          Error
	// tolerant readers understand what an older or a newer version wrote: what is merely untidy (see there) is passed over.
	tolerant bool
}

// at says which object the next problems are about: one of a list by its id, or with an empty id the list itself.
func (r *reader) at(list, kind, id string) { r.list, r.kind, r.id = list, kind, id }

// bad notes a problem with a field of the object, "" for the object as a whole.
func (r *reader) bad(field, format string, args ...any) {
	if len(r.found.Problems) == mostProblems {
		r.found.More++
		return
	}
	p := Problem{Object: r.kind, Path: r.list, Text: fmt.Sprintf(format, args...)}
	if r.id != "" {
		p.Object = fmt.Sprintf("%s %q", r.kind, r.id)
		p.Path = fmt.Sprintf("%s[%q]", r.list, r.id)
	}
	if field != "" {
		p.Path = strings.TrimPrefix(p.Path+"."+field, ".")
		p.Text = field + " " + p.Text
	}
	r.found.Problems = append(r.found.Problems, p)
}

// untidy notes a problem with something that has a meaning all the same, such as an entry that is there twice.
func (r *reader) untidy(field, format string, args ...any) {
	if !r.tolerant {
		r.bad(field, format, args...)
	}
}

func (r *reader) err() error {
	if len(r.found.Problems) == 0 {
		return nil
	}
	return &r.found
}

// enum checks that a value is one of the contract's, and not the unspecified one.
func enum[E ~int32](r *reader, field string, v E, names map[int32]string) E {
	if v == 0 {
		r.bad(field, "is unspecified; want one of %s", known(names))
	} else if _, ok := names[int32(v)]; !ok {
		r.bad(field, "%d is not known; want one of %s", v, known(names))
	}
	return v
}

// optionalEnum is enum where unspecified has a meaning.
func optionalEnum[E ~int32](r *reader, field string, v E, names map[int32]string) E {
	if v == 0 {
		return v
	}
	return enum(r, field, v, names)
}

func known(names map[int32]string) string {
	const most = 10
	var out []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if n != 0 {
			out = append(out, names[n])
		}
	}
	if len(out) > most {
		return strings.Join(out[:most], ", ") + " and others"
	}
	return strings.Join(out, ", ")
}

func (r *reader) notNegative(field string, v int64) int64 {
	if v < 0 {
		r.bad(field, "%d is negative", v)
	}
	return v
}

// perhaps reads a number that need not be there; nil is none.
func (r *reader) perhaps(field string, v *int64) *int64 {
	if v == nil {
		return nil
	}
	return new(r.notNegative(field, *v))
}

// required checks a name or an id.
func (r *reader) required(field, v string) string {
	if v == "" {
		r.untidy(field, "is missing")
	}
	return v
}

// time reads a time; absent is the zero time.
func (r *reader) time(field string, t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	if err := t.CheckValid(); err != nil {
		r.bad(field, "is no valid time: %v", err)
		return time.Time{}
	}
	out := t.AsTime()
	if out.IsZero() {
		r.bad(field, "is the year 1; leave it out when there is no time")
	}
	return out
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// duration reads a span of time; absent is nil.
func (r *reader) duration(field string, d *durationpb.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	if err := d.CheckValid(); err != nil {
		r.bad(field, "is no valid duration: %v", err)
		return nil
	}
	// AsDuration saturates; what does not come back the same is longer than 292 years.
	out := d.AsDuration()
	if back := durationpb.New(out); back.GetSeconds() != d.GetSeconds() || back.GetNanos() != d.GetNanos() {
		r.bad(field, "%ds is too long", d.GetSeconds())
	}
	if out < 0 {
		r.bad(field, "%s is negative", out)
	}
	return &out
}

func span(d *time.Duration) *durationpb.Duration {
	if d == nil {
		return nil
	}
	return durationpb.New(*d)
}
