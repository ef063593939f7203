package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/planner/model"
)

// normalize sorts the lists of an input, so that their order does not matter, and refuses inner lists that are not
// sorted as the contract has them.
func normalize(in model.Input) (model.Input, error) {
	if in.Now.IsZero() {
		return in, errors.New("now is not set: the time to plan for is the caller's to say")
	}
	in.Now = in.Now.UTC()
	in.Kinds = slices.Clone(in.Kinds)
	slices.Sort(in.Kinds)
	in.Kinds = slices.Compact(in.Kinds)
	s := &in.Snapshot
	s.PodClasses = sorted(s.PodClasses, func(x *model.PodClass) string { return string(x.ID) })
	s.Pods = sorted(s.Pods, func(x *model.Pod) string { return string(x.ID) })
	s.DaemonSets = sorted(s.DaemonSets, func(x *model.DaemonSet) string { return x.ID })
	s.Nodes = sorted(s.Nodes, func(x *model.Node) string { return string(x.Name) })
	s.Namespaces = sorted(s.Namespaces, func(x *model.Namespace) string { return x.Name })
	s.PodDisruptionBudgets = sorted(s.PodDisruptionBudgets, func(x *model.PodDisruptionBudget) string { return x.ID })
	s.NodePools = sorted(s.NodePools, func(x *model.NodePool) string { return string(x.Name) })
	s.NodeClasses = sorted(s.NodeClasses, func(x *model.NodeClass) string { return string(x.Name) })
	s.Catalogs = sorted(s.Catalogs, func(x *model.Catalog) string { return string(x.ID) })
	s.Catalogs = sortTypes(s.Catalogs)
	s.Offerings = sorted(s.Offerings, offeringKey)
	s.Claims = sorted(s.Claims, func(x *model.Claim) string { return string(x.ID) })
	s.Notices = sorted(s.Notices, func(x *model.Notice) string { return x.ID })
	s.Disruptions = sorted(s.Disruptions, func(x *model.DisruptionRecord) string { return string(x.ID) })
	return in, checkSorted(s)
}

func offeringKey(o *model.Offering) string {
	return fmt.Sprintf("%s/%s/%d/%s", o.InstanceType, o.Zone, o.CapacityType, o.ReservationID)
}

// sorted is the list in the order of its ids; the list itself is not changed.
func sorted[T any](list []T, id func(*T) string) []T {
	keys := make([]string, len(list))
	order := make([]int, len(list))
	for i := range list {
		keys[i], order[i] = id(&list[i]), i
	}
	if slices.IsSorted(keys) {
		return list
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	out := make([]T, len(list))
	for i, j := range order {
		out[i] = list[j]
	}
	return out
}

func sortTypes(catalogs []model.Catalog) []model.Catalog {
	out := slices.Clone(catalogs)
	for i := range out {
		out[i].InstanceTypes = sorted(out[i].InstanceTypes, func(x *model.InstanceType) string { return string(x.Name) })
	}
	return out
}

// checkSorted makes sure that labels and amounts can be looked up.
func checkSorted(s *model.Snapshot) error {
	var errs []error
	labels := func(ls model.Labels, object string) {
		if !slices.IsSortedFunc(ls, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) }) {
			errs = append(errs, fmt.Errorf("%s: labels: not sorted by key", object))
		}
	}
	amounts := func(as model.Amounts, object, field string) {
		if !slices.IsSortedFunc(as, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) }) {
			errs = append(errs, fmt.Errorf("%s: %s: not sorted by resource", object, field))
		}
	}
	for i := range s.PodClasses {
		c := &s.PodClasses[i]
		labels(c.Labels, "pod class "+string(c.ID))
		amounts(c.Requests, "pod class "+string(c.ID), "requests")
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		labels(n.Labels, "node "+string(n.Name))
		amounts(n.Allocatable, "node "+string(n.Name), "allocatable")
		amounts(n.VolumeLimits, "node "+string(n.Name), "volume_limits")
	}
	for i := range s.NodePools {
		labels(s.NodePools[i].Labels, "node pool "+string(s.NodePools[i].Name))
	}
	for i := range s.Claims {
		labels(s.Claims[i].Labels, "claim "+string(s.Claims[i].ID))
	}
	for i := range s.Catalogs {
		for j := range s.Catalogs[i].InstanceTypes {
			t := &s.Catalogs[i].InstanceTypes[j]
			labels(t.Labels, "instance type "+string(t.Name))
		}
	}
	for i := range s.Namespaces {
		labels(s.Namespaces[i].Labels, "namespace "+s.Namespaces[i].Name)
	}
	return errors.Join(errs...)
}

// inputHash is the SHA-256 of a normalised input, in hexadecimal. Every field counts; nil and empty lists are the same.
func inputHash(in *model.Input) string {
	h := sha256.New()
	e := &encoder{h: h, buf: make([]byte, 0, 1<<16)}
	e.encode(reflect.ValueOf(in).Elem())
	e.flush()
	return hex.EncodeToString(h.Sum(nil))
}

// digest is the SHA-256 of a list of strings, in hexadecimal.
func digest(parts []string) string {
	h := sha256.New()
	e := &encoder{h: h, buf: make([]byte, 0, 1<<10)}
	e.number(uint64(len(parts)))
	for _, p := range parts {
		e.number(uint64(len(p)))
		e.buf = append(e.buf, p...)
	}
	e.flush()
	return hex.EncodeToString(h.Sum(nil))
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
	e.buf = binary.LittleEndian.AppendUint64(e.buf, n)
	if len(e.buf) > 1<<15 {
		e.flush()
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
		e.number(uint64(v.Len()))
		e.buf = append(e.buf, v.String()...)
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
		if t.IsZero() {
			e.number(0)
			return
		}
		e.number(1)
		e.number(uint64(t.Unix()))
		e.number(uint64(t.Nanosecond()))
		return
	}
	for _, field := range v.Fields() {
		e.encode(field)
	}
}
