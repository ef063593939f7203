package encoding

import (
	"encoding/binary"
	"math/bits"
	"reflect"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Total is the sum of the digests of a list's objects, modulo 2 to the 256th. It does not depend on the order of the
// objects, and when one of them changes it is brought up to date without the others.
//
// As a name for the list it is sound enough: ids make the objects of a list differ, so that lists of other content have
// the same sum only where digests happen to add up to the same, which does not happen by chance. Who could choose
// millions of objects at will might construct such lists, and would gain no more than two inputs with plans of one
// name: the actuator goes by what a plan says, and by the pods of claims, not by the name.
type Total [4]uint64

// Add puts an object in.
func (s *Total) Add(d Digest) {
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(d[8*i:]), carry)
	}
}

// Sub takes an object out.
func (s *Total) Sub(d Digest) {
	var borrow uint64
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], binary.LittleEndian.Uint64(d[8*i:]), borrow)
	}
}

// WriteTotal writes the total of a list of so many objects.
func (e *Encoder) WriteTotal(n int, s *Total) {
	e.Number(uint64(n))
	for _, x := range s {
		e.Number(x)
	}
}

// Object is the digest of the value that v points to; every field counts.
func (e *Encoder) Object(v any) Digest {
	e.Encode(reflect.ValueOf(v).Elem())
	return e.Sum()
}

// Pod is Object for a pod, of which there are so many that it is worth writing the fields down.
func (e *Encoder) Pod(p *model.Pod) Digest {
	for _, s := range [...]string{string(p.ID), p.UID, string(p.Class), string(p.Node), string(p.NominatedNode)} {
		e.Text(s)
	}
	for _, t := range [...]time.Time{p.CreateTime, p.BindTime, p.UnschedulableTime, p.DoNotDisruptUntil} {
		e.Time(t)
	}
	flags := uint64(0)
	for i, b := range [...]bool{p.Terminating, p.Ready, p.DoNotDisrupt, !p.TerminationDeadline.IsZero()} {
		if b {
			flags |= 1 << i
		}
	}
	e.Number(flags)
	if !p.TerminationDeadline.IsZero() {
		e.Time(p.TerminationDeadline)
	}
	e.Number(uint64(p.Phase))
	e.Number(uint64(p.DeletionCost))
	e.Number(uint64(len(p.Devices)))
	for i := range p.Devices {
		e.Text(p.Devices[i].Driver)
		e.Text(p.Devices[i].Pool)
		e.Text(p.Devices[i].Name)
	}
	if p.ExpectedNode != "" { // it is the last: nothing more is as good a name for none
		e.Text(string(p.ExpectedNode))
	}
	return e.Sum()
}
