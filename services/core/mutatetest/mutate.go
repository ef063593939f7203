// Package mutatetest changes messages at random, for tests that ask what a service does with a message that no one
// wrote on purpose. A change is small and mostly leaves a message that can still be read: a field is emptied, takes the
// value of another field or one at the edge of what is allowed; an entry of a list is left out, doubled or moved.
//
// The choices are a fuzzer's bytes, so that the same bytes make the same message. Start reading at Message.
package mutatetest

import (
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Choices reads bytes as a row of numbers; when they are used up, all further ones are 0.
type Choices []byte

// Pick is the next number, at least 0 and less than n, which may be up to 65536.
func (c *Choices) Pick(n int) int {
	v := c.next()
	if n > 256 {
		v = v<<8 | c.next()
	}
	return v % n
}

func (c *Choices) next() int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	return b
}

// Message changes m as often as there are choices for, at most a number of times.
func Message(c *Choices, m proto.Message, most int) {
	for range most {
		if len(*c) == 0 {
			return
		}
		s := &fields{}
		s.message(m.ProtoReflect())
		place := s.places[c.Pick(len(s.places))]
		s.change(c, place.message, place.field)
	}
}

// place is one field of one message within the message that is changed.
type place struct {
	message protoreflect.Message
	field   protoreflect.FieldDescriptor
}

// fields collects all fields, and all texts: a text that stands elsewhere may be an id that leads somewhere.
type fields struct {
	places []place
	texts  []string
}

func (s *fields) message(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		s.places = append(s.places, place{m, f})
		if !m.Has(f) {
			continue
		}
		switch {
		case f.IsMap():
			// The contract has none.
		case f.IsList():
			list := m.Get(f).List()
			for j := range list.Len() {
				s.value(f, list.Get(j))
			}
		default:
			s.value(f, m.Get(f))
		}
	}
}

func (s *fields) value(f protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		s.message(v.Message())
	case protoreflect.StringKind:
		s.texts = append(s.texts, v.String())
	default:
	}
}

func (s *fields) change(c *Choices, m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch {
	case f.IsMap():
	case f.IsList():
		s.list(c, m, f)
	case f.Message() != nil && c.Pick(2) == 0, c.Pick(6) == 0:
		m.Clear(f)
	case f.Message() != nil:
		m.Set(f, m.NewField(f))
	default:
		m.Set(f, s.scalar(c, f, m.Get(f)))
	}
}

// list leaves an entry out, doubles one, moves one or adds one.
func (s *fields) list(c *Choices, m protoreflect.Message, f protoreflect.FieldDescriptor) {
	list := m.Mutable(f).List()
	n := list.Len()
	if n == 0 {
		s.appended(c, list, f)
		return
	}
	i, j := c.Pick(n), c.Pick(n)
	a, b := list.Get(i), list.Get(j)
	switch c.Pick(5) {
	case 0:
		list.Set(i, list.Get(n-1))
		list.Truncate(n - 1)
	case 1:
		list.Append(copied(f, a))
	case 2:
		list.Set(i, b)
		list.Set(j, a)
	case 3:
		list.Set(i, copied(f, b))
	default:
		s.appended(c, list, f)
	}
}

func (s *fields) appended(c *Choices, list protoreflect.List, f protoreflect.FieldDescriptor) {
	if f.Message() != nil {
		list.Append(list.NewElement())
		return
	}
	list.Append(s.scalar(c, f, list.NewElement()))
}

func copied(f protoreflect.FieldDescriptor, v protoreflect.Value) protoreflect.Value {
	if f.Message() == nil {
		return v
	}
	return protoreflect.ValueOfMessage(proto.Clone(v.Message().Interface()).ProtoReflect())
}

// scalar is another value for a field that holds one now.
func (s *fields) scalar(c *Choices, f protoreflect.FieldDescriptor, now protoreflect.Value) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(!now.Bool())
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(c.Pick(f.Enum().Values().Len()+2) - 1))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(s.text(c))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(number(c, now.Int(), math.MinInt32, math.MaxInt32)))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(number(c, now.Int(), math.MinInt64, math.MaxInt64))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(number(c, int64(now.Uint()), 0, math.MaxUint32)))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(number(c, int64(now.Uint()), 0, math.MaxInt64)))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, -1, 0.5, 1, 2, math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64}[c.Pick(8)])
	default: // the contract has no others
		return now
	}
}

func number(c *Choices, now, least, most int64) int64 {
	all := []int64{0, 1, 2, 3, 10, 100, 1000, 1 << 30, now + 1, now - 1, now / 2, now * 2, -1, -now, least, most, most - 1, most / 2}
	return min(max(all[c.Pick(len(all))], least), most)
}

func (s *fields) text(c *Choices) string {
	own := []string{
		"", "a", "1", "-1", "3.5", "9223372036854775807", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "cpu", "nodes", "* * * * *",
		"é\x00", "karpenter.sh/nodepool",
	}
	i := c.Pick(len(own) + len(s.texts))
	if i < len(own) {
		return own[i]
	}
	return s.texts[i-len(own)]
}
