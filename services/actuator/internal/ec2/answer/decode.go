package answer

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	smithytime "github.com/aws/smithy-go/time"
)

// errForm is of what may well be XML, but is more than EC2 makes of it: elements, their names in ASCII, and texts
// without entities.
var errForm = errors.New("not of the form of EC2's answers")

// prolog is what EC2's answers begin with.
const prolog = `<?xml version="1.0" encoding="UTF-8"?>`

// decoder reads answers into values of the SDK's types by their fields' names, as the EC2 query protocol has them. It
// is not safe for concurrent use.
type decoder struct {
	buffer bytes.Buffer // of the answer, of whose memory the next one makes use
	rest   []byte       // of the answer
	// texts are all texts that were read: a list says the same of most of its entries, and the SDK's types point to
	// texts that no one writes to.
	texts  map[string]*string
	fields map[reflect.Type]map[string]int // by the names that have occurred; -1 for what the SDK does not know
}

func newDecoder() *decoder {
	return &decoder{texts: map[string]*string{}, fields: map[reflect.Type]map[string]int{}}
}

// readAll is what is left of r, until it is called again.
func (d *decoder) readAll(r io.Reader) ([]byte, error) {
	d.buffer.Reset()
	_, err := d.buffer.ReadFrom(r)
	return d.buffer.Bytes(), err
}

// decode reads an answer into a struct, whose fields are the elements of the answer's root.
func (d *decoder) decode(answer []byte, into any) error {
	for _, b := range answer {
		if b > unicode.MaxASCII || b < ' ' && b != '\n' && b != '\t' {
			return errForm
		}
	}
	d.rest = bytes.TrimPrefix(answer, []byte(prolog))
	_, root, err := d.next()
	switch {
	case err != nil:
		return err
	case root.kind != opens:
		return errForm
	}
	return d.value(root, reflect.ValueOf(into).Elem())
}

// A tag opens an element, closes it, or is a whole one that is empty.
type tag struct {
	name []byte
	kind tagKind
}

type tagKind int

const (
	opens tagKind = iota
	closes
	empty
)

// next is the text before the next tag, and that.
func (d *decoder) next() (text []byte, t tag, err error) {
	begin := bytes.IndexByte(d.rest, '<')
	if begin < 0 {
		return nil, t, io.ErrUnexpectedEOF
	}
	length := bytes.IndexByte(d.rest[begin:], '>')
	if length < 0 {
		return nil, t, io.ErrUnexpectedEOF
	}
	text, t.name, d.rest = d.rest[:begin], d.rest[begin+1:begin+length], d.rest[begin+length+1:]
	if inner, ok := bytes.CutPrefix(t.name, []byte{'/'}); ok {
		t.name, t.kind = inner, closes
	} else if inner, ok := bytes.CutSuffix(t.name, []byte{'/'}); ok {
		t.name, t.kind = inner, empty
	}
	if name, rest, ok := bytes.Cut(t.name, []byte(` xmlns="`)); ok && t.kind != closes {
		if space, ends := bytes.CutSuffix(rest, []byte{'"'}); ends && !bytes.ContainsAny(space, `"&<`) {
			t.name = name
		}
	}
	if bytes.ContainsAny(text, "&>") || !isName(t.name) {
		return nil, t, errForm
	}
	return text, t, nil
}

func isName(text []byte) bool {
	for i, b := range text {
		if lower := b | 0x20; (lower < 'a' || lower > 'z') && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return len(text) > 0
}

// children calls f with each element in the one that t opened, for it to read all of that, and returns when t's is closed.
func (d *decoder) children(t tag, f func(child tag) error) error {
	if t.kind == empty {
		return nil
	}
	for {
		text, child, err := d.next()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			return errForm
		}
		if child.kind == closes {
			return t.closedBy(child)
		}
		if err := f(child); err != nil {
			return err
		}
	}
}

func (t tag) closedBy(end tag) error {
	if end.kind != closes || !bytes.Equal(t.name, end.name) {
		return errForm
	}
	return nil
}

// text is that of an element without others in it.
func (d *decoder) text(t tag) (*string, error) {
	var text []byte
	if t.kind == opens {
		var end tag
		var err error
		if text, end, err = d.next(); err == nil {
			err = t.closedBy(end)
		}
		if err != nil {
			return nil, err
		}
	}
	known := d.texts[string(text)]
	if known == nil {
		s := string(text)
		known, d.texts[s] = &s, &s
	}
	return known, nil
}

func (d *decoder) skip(t tag) error {
	for t.kind == opens {
		_, child, err := d.next()
		if err == nil && child.kind == closes {
			return t.closedBy(child)
		}
		if err == nil {
			err = d.skip(child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value reads the element that t opened into v.
func (d *decoder) value(t tag, v reflect.Value) error {
	if v.Kind() == reflect.Pointer && v.Type() != reflect.TypeFor[*string]() {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		return d.children(t, func(child tag) error {
			if i := d.field(v.Type(), child.name); i >= 0 {
				return d.value(child, v.Field(i))
			}
			return d.skip(child)
		})
	case v.Kind() == reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		return d.children(t, func(child tag) error {
			if name := string(child.name); name != "item" && name != "member" { // by the list, which the SDK knows
				return errForm
			}
			v.Grow(1)
			v.SetLen(v.Len() + 1)
			last := v.Index(v.Len() - 1)
			last.SetZero()
			return d.value(child, last)
		})
	}
	text, err := d.text(t)
	if err != nil {
		return err
	}
	return set(v, text)
}

// set sets a field without others in it.
func set(v reflect.Value, text *string) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.ValueOf(text))
		return nil
	case reflect.String:
		v.SetString(*text)
		return nil
	case reflect.Bool:
		b, err := strconv.ParseBool(*text)
		v.SetBool(b)
		return err
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(*text, 10, v.Type().Bits())
		v.SetInt(n)
		return err
	case reflect.Float64:
		f, err := strconv.ParseFloat(*text, 64)
		v.SetFloat(f)
		return err
	case reflect.Struct:
		at, err := smithytime.ParseDateTime(*text)
		v.Set(reflect.ValueOf(at))
		return err
	default:
		return errForm
	}
}

// field is the index of a struct's field that an element is for.
func (d *decoder) field(of reflect.Type, name []byte) int {
	known := d.fields[of]
	if known == nil {
		known = map[string]int{}
		d.fields[of] = known
	}
	i, ok := known[string(name)]
	if !ok {
		i = find(of, string(name))
		known[string(name)] = i
	}
	return i
}

// find knows that a list "xSet" is the SDK's field X, or Xs.
func find(of reflect.Type, name string) int {
	set, isSet := strings.CutSuffix(name, "Set")
	for i := range of.NumField() {
		field := of.Field(i)
		if field.IsExported() && (strings.EqualFold(field.Name, name) || isSet && (strings.EqualFold(field.Name, set) || strings.EqualFold(field.Name, set+"s"))) {
			return i
		}
	}
	return -1
}
