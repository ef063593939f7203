package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"math/bits"
	"reflect"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// digestSum is the sum of the digests of a list's objects, modulo 2 to the 256th. It does not depend on the order of the
// objects, and when one of them changes it is brought up to date without the others.
//
// As a name for the list it is sound enough: ids make the objects of a list differ, so that lists of other content have
// the same sum only where digests happen to add up to the same, which does not happen by chance. Who could choose
// millions of objects at will might construct such lists, and would gain no more than two inputs with plans of one
// name: the actuator goes by what a plan says, and by the pods of claims, not by the name.
type digestSum [4]uint64

type digest256 [sha256.Size]byte

func (s *digestSum) add(d digest256) {
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(d[8*i:]), carry)
	}
}

func (s *digestSum) sub(d digest256) {
	var borrow uint64
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], binary.LittleEndian.Uint64(d[8*i:]), borrow)
	}
}

// digester makes digests of objects.
type digester struct{ e encoder }

func newDigester() *digester {
	return &digester{encoder{h: sha256.New(), buf: make([]byte, 0, 1<<16)}}
}

// object is the digest of a value; every field counts.
func (d *digester) object(v any) digest256 {
	d.e.encode(reflect.ValueOf(v).Elem())
	return d.sum()
}

func (d *digester) sum() (out digest256) {
	d.e.flush()
	d.e.h.Sum(out[:0])
	d.e.h.Reset()
	return out
}

// pod is object for a pod, of which there are so many that it is worth writing the fields down.
func (d *digester) pod(p *model.Pod) digest256 {
	e := &d.e
	for _, s := range [...]string{string(p.ID), p.UID, string(p.Class), string(p.Node), string(p.NominatedNode)} {
		e.text(s)
	}
	for _, t := range [...]time.Time{p.CreateTime, p.BindTime, p.UnschedulableTime, p.DoNotDisruptUntil} {
		e.time(t)
	}
	flags := uint64(0)
	for i, b := range [...]bool{p.Terminating, p.Ready, p.DoNotDisrupt} {
		if b {
			flags |= 1 << i
		}
	}
	e.number(flags)
	e.number(uint64(p.Phase))
	e.number(uint64(p.DeletionCost))
	e.number(uint64(len(p.Devices)))
	for i := range p.Devices {
		e.text(p.Devices[i].Driver)
		e.text(p.Devices[i].Pool)
		e.text(p.Devices[i].Name)
	}
	if p.ExpectedNode != "" { // it is the last: nothing more is as good a name for none
		e.text(string(p.ExpectedNode))
	}
	return d.sum()
}

// hash is the SHA-256 of an input, in hexadecimal: every field counts, the order of lists does not, and nil and empty
// lists are the same.
func (s *Session) hash(in *model.Input) string {
	e := &s.digest.e
	e.number(in.Snapshot.Revision)
	e.number(uint64(in.Snapshot.InventoryRevision))
	e.text(in.Snapshot.Cluster)
	e.time(in.Snapshot.ObserveTime)
	e.sum(len(s.pods), &s.podSum)
	for _, l := range s.lists {
		n, sum := l.sum(&s.snapshot)
		e.sum(n, sum)
	}
	e.encode(reflect.ValueOf(&in.Policy).Elem())
	e.encode(reflect.ValueOf(in.Kinds))
	e.time(in.Now)
	e.number(in.Seed)
	e.text(string(in.ResumeAfter))
	if len(in.Exclude) > 0 { // it is the last: nothing more is as good a name for none
		e.encode(reflect.ValueOf(in.Exclude))
	}
	out := s.digest.sum()
	return hex.EncodeToString(out[:])
}

func newEncoder() *encoder { return &encoder{h: sha256.New(), buf: make([]byte, 0, 1<<10)} }

// digest is the SHA-256 of a list of strings, in hexadecimal.
func (e *encoder) digest(parts []string) string {
	e.number(uint64(len(parts)))
	for _, p := range parts {
		e.text(p)
	}
	e.flush()
	var sum digest256
	e.h.Sum(sum[:0])
	e.h.Reset()
	return hex.EncodeToString(sum[:])
}

// encoder writes plain values such that different values give different bytes: lengths before contents, presence before
// what is present. It walks the types, so that a new field of the model can't be forgotten.
type encoder struct {
	h   hash.Hash
	buf []byte
}

func (e *encoder) flush() {
	_, _ = e.h.Write(e.buf) // a hash never fails
	e.buf = e.buf[:0]
}

func (e *encoder) number(n uint64) {
	e.buf = binary.AppendUvarint(e.buf, n)
	if len(e.buf) > 1<<15 {
		e.flush()
	}
}

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.number(0)
		return
	}
	e.number(1)
	e.number(uint64(t.Unix()))
	e.number(uint64(t.Nanosecond()))
}

func (e *encoder) sum(n int, s *digestSum) {
	e.number(uint64(n))
	for _, x := range s {
		e.number(x)
	}
}

func (e *encoder) encode(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		e.structure(v)
	case reflect.Slice:
		e.number(uint64(v.Len()))
		for i := range v.Len() {
			e.encode(v.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() {
			e.number(0)
			return
		}
		e.number(1)
		e.encode(v.Elem())
	case reflect.String:
		e.text(v.String())
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		e.number(n)
	case reflect.Float64:
		e.number(math.Float64bits(v.Float()))
	case reflect.Uint64, reflect.Uint32, reflect.Uint:
		e.number(v.Uint())
	default:
		e.number(uint64(v.Int()))
	}
}

func (e *encoder) structure(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		t, _ := reflect.TypeAssert[time.Time](v)
		e.time(t)
		return
	}
	if v.Type() == reflect.TypeFor[model.Reason]() { // mostly there is none
		if v.IsZero() {
			e.number(0)
			return
		}
		e.number(1)
	}
	n := v.NumField()
	if v.Type() == reflect.TypeFor[model.Offering]() && v.FieldByName("ZoneID").IsZero() {
		n-- // it is the last, and an offering has a sum of its own: nothing more is as good a name for none
	}
	for i := range n {
		e.encode(v.Field(i))
	}
}
