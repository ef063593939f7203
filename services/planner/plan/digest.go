package plan

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"reflect"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan/encoding"
)

// digestSum is the sum of the digests of a list's objects, modulo 2 to the 256th. It does not depend on the order of the
// objects, and when one of them changes it is brought up to date without the others.
//
// As a name for the list it is sound enough: ids make the objects of a list differ, so that lists of other content have
// the same sum only where digests happen to add up to the same, which does not happen by chance. Who could choose
// millions of objects at will might construct such lists, and would gain no more than two inputs with plans of one
// name: the actuator goes by what a plan says, and by the pods of claims, not by the name.
type digestSum [4]uint64

func (s *digestSum) add(d encoding.Digest) {
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(d[8*i:]), carry)
	}
}

func (s *digestSum) sub(d encoding.Digest) {
	var borrow uint64
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], binary.LittleEndian.Uint64(d[8*i:]), borrow)
	}
}

// digester makes digests of objects.
type digester struct{ e *encoding.Encoder }

func newDigester() *digester { return &digester{encoding.New(1 << 16)} }

// object is the digest of a value; every field counts.
func (d *digester) object(v any) encoding.Digest {
	d.e.Encode(reflect.ValueOf(v).Elem())
	return d.e.Sum()
}

// pod is object for a pod, of which there are so many that it is worth writing the fields down.
func (d *digester) pod(p *model.Pod) encoding.Digest {
	e := d.e
	for _, s := range [...]string{string(p.ID), p.UID, string(p.Class), string(p.Node), string(p.NominatedNode)} {
		e.Text(s)
	}
	for _, t := range [...]time.Time{p.CreateTime, p.BindTime, p.UnschedulableTime, p.DoNotDisruptUntil} {
		e.Time(t)
	}
	flags := uint64(0)
	for i, b := range [...]bool{p.Terminating, p.Ready, p.DoNotDisrupt} {
		if b {
			flags |= 1 << i
		}
	}
	e.Number(flags)
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
	return d.e.Sum()
}

// hash is the SHA-256 of an input, in hexadecimal: every field counts, the order of lists does not, and nil and empty
// lists are the same.
func (s *Session) hash(in *model.Input) string {
	e := s.digest.e
	e.Number(in.Snapshot.Revision)
	e.Number(uint64(in.Snapshot.InventoryRevision))
	e.Text(in.Snapshot.Cluster)
	e.Time(in.Snapshot.ObserveTime)
	writeSum(e, len(s.pods), &s.podSum)
	for _, l := range s.lists {
		n, sum := l.sum(&s.snapshot)
		writeSum(e, n, sum)
	}
	e.Encode(reflect.ValueOf(&in.Policy).Elem())
	e.Encode(reflect.ValueOf(in.Kinds))
	e.Time(in.Now)
	e.Number(in.Seed)
	e.Text(string(in.ResumeAfter))
	if len(in.Exclude) > 0 { // it is the last: nothing more is as good a name for none
		e.Encode(reflect.ValueOf(in.Exclude))
	}
	out := s.digest.e.Sum()
	return hex.EncodeToString(out[:])
}

func writeSum(e *encoding.Encoder, n int, s *digestSum) {
	e.Number(uint64(n))
	for _, x := range s {
		e.Number(x)
	}
}
