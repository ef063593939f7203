// Package lists keeps the lists of a snapshot that changes, pods aside: each sorted by id, and with the sum of its
// objects' digests. A list is never changed but replaced. It must not know what plans make of it. Start reading at All.
package lists

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan/encoding"
)

// List is one of a snapshot's lists.
type List interface {
	Name() string
	// Begin sorts the list and adds the digests up.
	Begin(s *model.Snapshot, d *encoding.Encoder)
	// Fold puts a change in; the snapshot gets a new list where there is one.
	Fold(s, up *model.Snapshot, gone *model.Removed, d *encoding.Encoder) (changed bool, err error)
	// Sum is how many objects there are, and the sum of their digests.
	Sum(s *model.Snapshot) (n int, sum *encoding.Total)
}

// All are all lists of a snapshot but its pods.
func All() []List {
	return []List{
		of(Class, func(s *model.Snapshot) *[]model.PodClass { return &s.PodClasses },
			func(x *model.PodClass) string { return string(x.ID) }, func(r *model.Removed) []string { return r.PodClasses }),
		of("daemon set", func(s *model.Snapshot) *[]model.DaemonSet { return &s.DaemonSets },
			func(x *model.DaemonSet) string { return x.ID }, func(r *model.Removed) []string { return r.DaemonSets }),
		of(Node, func(s *model.Snapshot) *[]model.Node { return &s.Nodes },
			func(x *model.Node) string { return string(x.Name) }, func(r *model.Removed) []string { return r.Nodes }),
		of("namespace", func(s *model.Snapshot) *[]model.Namespace { return &s.Namespaces },
			func(x *model.Namespace) string { return x.Name }, func(r *model.Removed) []string { return r.Namespaces }),
		of(Budget, func(s *model.Snapshot) *[]model.PodDisruptionBudget { return &s.PodDisruptionBudgets },
			func(x *model.PodDisruptionBudget) string { return x.ID }, func(r *model.Removed) []string { return r.PodDisruptionBudgets }),
		of("node pool", func(s *model.Snapshot) *[]model.NodePool { return &s.NodePools },
			func(x *model.NodePool) string { return string(x.Name) }, func(r *model.Removed) []string { return r.NodePools }),
		of("node class", func(s *model.Snapshot) *[]model.NodeClass { return &s.NodeClasses },
			func(x *model.NodeClass) string { return string(x.Name) }, func(r *model.Removed) []string { return r.NodeClasses }),
		of("catalog", func(s *model.Snapshot) *[]model.Catalog { return &s.Catalogs },
			func(x *model.Catalog) string { return string(x.ID) }, func(r *model.Removed) []string { return r.Catalogs }),
		of(Offering, func(s *model.Snapshot) *[]model.Offering { return &s.Offerings },
			offeringKey, func(r *model.Removed) []string { return r.Offerings }),
		of(Claim, func(s *model.Snapshot) *[]model.Claim { return &s.Claims },
			func(x *model.Claim) string { return string(x.ID) }, func(r *model.Removed) []string { return r.Claims }),
		of(Notice, func(s *model.Snapshot) *[]model.Notice { return &s.Notices },
			func(x *model.Notice) string { return x.ID }, func(r *model.Removed) []string { return r.Notices }),
		of(Disruption, func(s *model.Snapshot) *[]model.DisruptionRecord { return &s.Disruptions },
			func(x *model.DisruptionRecord) string { return string(x.ID) }, func(r *model.Removed) []string { return r.Disruptions }),
		of("node overlay", func(s *model.Snapshot) *[]model.NodeOverlay { return &s.NodeOverlays },
			func(x *model.NodeOverlay) string { return x.Name }, func(r *model.Removed) []string { return r.NodeOverlays }),
		of("capacity buffer", func(s *model.Snapshot) *[]model.CapacityBuffer { return &s.CapacityBuffers },
			func(x *model.CapacityBuffer) string { return string(x.ID) }, func(r *model.Removed) []string { return r.CapacityBuffers }),
	}
}

// Names of lists that not all depends on.
const (
	Node       = "node"
	Claim      = "claim"
	Notice     = "notice"
	Class      = "pod class"
	Offering   = "offering"
	Budget     = "pod disruption budget"
	Disruption = "disruption"
)

func offeringKey(o *model.Offering) string {
	return strings.Join([]string{string(o.InstanceType), o.Zone, o.CapacityType.String(), o.ReservationID}, "/")
}

// objects is the list of one kind of objects.
type objects[T any] struct {
	kind   string
	list   func(*model.Snapshot) *[]T
	id     func(*T) string
	gone   func(*model.Removed) []string
	digest encoding.Total
}

func of[T any](kind string, list func(*model.Snapshot) *[]T, id func(*T) string, gone func(*model.Removed) []string) *objects[T] {
	return &objects[T]{kind: kind, list: list, id: id, gone: gone}
}

func (o *objects[T]) Name() string { return o.kind }

func (o *objects[T]) Begin(s *model.Snapshot, d *encoding.Encoder) {
	l := o.list(s)
	*l = Sorted(*l, o.id)
	for i := range *l {
		o.digest.Add(d.Object(&(*l)[i]))
	}
}

func (o *objects[T]) Sum(s *model.Snapshot) (int, *encoding.Total) { return len(*o.list(s)), &o.digest }

func (o *objects[T]) Fold(s, up *model.Snapshot, gone *model.Removed, d *encoding.Encoder) (changed bool, err error) {
	added, removed := o.last(Sorted(*o.list(up), o.id)), o.gone(gone)
	if len(added)+len(removed) == 0 {
		return false, nil
	}
	l := *o.list(s)
	out := make([]T, 0, len(l)+len(added))
	drop := make([]bool, len(l))
	find := func(id string) (int, bool) {
		return slices.BinarySearchFunc(l, id, func(x T, id string) int { return cmp.Compare(o.id(&x), id) })
	}
	for _, id := range removed {
		at, known := find(id)
		if !known {
			return false, fmt.Errorf("%s %s: is to be removed, and is not there", o.kind, id)
		}
		drop[at] = true
	}
	ends := make([]int, len(added))
	for i := range added {
		at, known := find(o.id(&added[i]))
		ends[i] = at
		if known {
			drop[at] = true
		}
		o.digest.Add(d.Object(&added[i]))
	}
	next := 0
	for i := range l {
		for ; next < len(added) && ends[next] <= i; next++ {
			out = append(out, added[next])
		}
		if drop[i] {
			o.digest.Sub(d.Object(&l[i]))
			continue
		}
		out = append(out, l[i])
	}
	*o.list(s) = append(out, added[next:]...)
	return true, nil
}

// last keeps, of objects that are sorted, the last of each id.
func (o *objects[T]) last(list []T) []T {
	var out []T
	for i := range list {
		if i+1 < len(list) && o.id(&list[i]) == o.id(&list[i+1]) {
			continue
		}
		out = append(out, list[i])
	}
	return out
}

// Sorted is the list in the order of its ids; the list itself is not changed.
func Sorted[T any](list []T, id func(*T) string) []T {
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

// SortTypes are catalogs with their types in the order of their names.
func SortTypes(catalogs []model.Catalog) []model.Catalog {
	out := slices.Clone(catalogs)
	for i := range out {
		out[i].InstanceTypes = Sorted(out[i].InstanceTypes, func(x *model.InstanceType) string { return string(x.Name) })
	}
	return out
}
