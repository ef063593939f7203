// Package encoding makes digests of plain values and of the model's, for the names of inputs, claims and disruptions.
// It must never know what is named by them. Start reading at Encoder.
package encoding

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"reflect"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Digest is a SHA-256.
type Digest [sha256.Size]byte

// Encoder hashes plain values, written such that different values give different bytes: lengths before contents, presence
// before what is present. It walks the types, so that a new field of the model can't be forgotten.
type Encoder struct {
	h   hash.Hash
	buf []byte
	// begun says that h has some of what is written, and buf only what came after.
	begun bool
}

// New makes an encoder with memory for so many bytes, which is not a limit.
func New(size int) *Encoder { return &Encoder{h: sha256.New(), buf: make([]byte, 0, size)} }

// Sum is the digest of what was written since the last one.
func (e *Encoder) Sum() Digest {
	if e.begun {
		return e.sumAll()
	}
	out := sha256.Sum256(e.buf) // which is all, as with most
	e.buf = e.buf[:0]
	return out
}

// sumAll is Sum where the hash has been begun.
func (e *Encoder) sumAll() (out Digest) {
	e.flush()
	e.h.Sum(out[:0])
	e.h.Reset()
	e.begun = false
	return out
}

// Strings is the digest of a list of strings, in hexadecimal.
func (e *Encoder) Strings(parts []string) string {
	e.Number(uint64(len(parts)))
	for _, p := range parts {
		e.Text(p)
	}
	sum := e.Sum()
	return hex.EncodeToString(sum[:])
}

func (e *Encoder) flush() {
	_, _ = e.h.Write(e.buf) // a hash never fails
	e.buf, e.begun = e.buf[:0], true
}

// Number writes a number.
func (e *Encoder) Number(n uint64) {
	e.buf = binary.AppendUvarint(e.buf, n)
	if len(e.buf) > 1<<15 {
		e.flush()
	}
}

// Text writes a string.
func (e *Encoder) Text(s string) {
	e.Number(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// Time writes a time.
func (e *Encoder) Time(t time.Time) {
	if t.IsZero() {
		e.Number(0)
		return
	}
	e.Number(1)
	e.Number(uint64(t.Unix()))
	e.Number(uint64(t.Nanosecond()))
}

// Encode writes a value of any plain type.
func (e *Encoder) Encode(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		e.structure(v)
	case reflect.Slice:
		e.Number(uint64(v.Len()))
		for i := range v.Len() {
			e.Encode(v.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() {
			e.Number(0)
			return
		}
		e.Number(1)
		e.Encode(v.Elem())
	case reflect.String:
		e.Text(v.String())
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		e.Number(n)
	case reflect.Float64:
		e.Number(math.Float64bits(v.Float()))
	case reflect.Uint64, reflect.Uint32, reflect.Uint:
		e.Number(v.Uint())
	default:
		e.Number(uint64(v.Int()))
	}
}

func (e *Encoder) structure(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		t, _ := reflect.TypeAssert[time.Time](v)
		e.Time(t)
		return
	}
	if v.Type() == reflect.TypeFor[model.Reason]() { // mostly there is none
		if v.IsZero() {
			e.Number(0)
			return
		}
		e.Number(1)
	}
	n := v.NumField()
	if o, ok := reflect.TypeAssert[model.Offering](v); ok {
		n -= unsaid(o)
	}
	if v.Type() == reflect.TypeFor[model.Policy]() && v.FieldByName("SchedulerNames").IsZero() {
		n-- // it is the last, and what follows a policy in an input has no letters where names have them
	}
	if v.Type() == reflect.TypeFor[model.PodClass]() && v.Field(n-1).Len() == 0 {
		n-- // of requests for extended resources
		n -= unneeded(v, n)
	} else if v.Type() == reflect.TypeFor[model.Node]() {
		n -= unneeded(v, n)
	}
	for i := range n {
		e.Encode(v.Field(i))
	}
}

// unneeded is how many of the last of n fields of a node or a class are not written, because they say nothing of
// drivers and features: as with offerings, each has a sum of its own.
func unneeded(v reflect.Value, n int) int {
	if v.Field(n-1).Len()+v.Field(n-2).Len() > 0 {
		return 0
	}
	return 2
}

// unsaid is how many of an offering's last fields are not written, because they say nothing. An offering has a sum of
// its own: nothing more is as good a name for none.
func unsaid(o model.Offering) int {
	switch {
	case o.ReservationBlock || o.ReservationInterruptible:
		return 0
	case o.Reclaimed != 0 || o.ZoneShifted:
		return 2
	case o.ZoneID != "":
		return 3
	}
	return 4
}
