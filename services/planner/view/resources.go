package view

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Vector holds one value for each resource of an Index. Vectors of one World have one length.
type Vector []int64

// Index gives each resource that a World mentions a place in its vectors.
type Index struct {
	names []model.Resource
	pos   map[model.Resource]int
}

// NewIndex numbers the resources in the order of their names.
func NewIndex(names []model.Resource) *Index {
	ix := &Index{names: slices.Clone(names), pos: make(map[model.Resource]int)}
	slices.Sort(ix.names)
	ix.names = slices.Compact(ix.names)
	for i, n := range ix.names {
		ix.pos[n] = i
	}
	return ix
}

// Len is the length of vectors.
func (ix *Index) Len() int { return len(ix.names) }

// Name is the resource at a place.
func (ix *Index) Name(i int) model.Resource { return ix.names[i] }

// Place finds a resource; ok is false for one that nothing in the World mentions.
func (ix *Index) Place(r model.Resource) (i int, ok bool) {
	i, ok = ix.pos[r]
	return i, ok
}

// Vector spreads amounts over their places. Resources that the index does not know are left out: no pod asks for them.
func (ix *Index) Vector(a model.Amounts) Vector {
	v := make(Vector, len(ix.names))
	for _, x := range a {
		if i, ok := ix.pos[x.Resource]; ok {
			v[i] = x.Value
		}
	}
	return v
}

// Amounts lists what is not zero, sorted by resource.
func (ix *Index) Amounts(v Vector) model.Amounts {
	var a model.Amounts
	for i, x := range v {
		if x != 0 {
			a = append(a, model.Amount{Resource: ix.names[i], Value: x})
		}
	}
	return a
}

// Add adds n times w to v in place.
func (v Vector) Add(w Vector, n int64) {
	for i := range v {
		v[i] += n * w[i]
	}
}

// Fits returns the most copies of request, up to limit, that fits into free. What a pod does not ask for does not
// matter, even where it is overdrawn.
func Fits(free, request Vector, limit int) int {
	n := int64(limit)
	for i, q := range request {
		if q <= 0 {
			continue
		}
		if free[i] < q {
			return 0
		}
		n = min(n, free[i]/q)
	}
	return int(n)
}

// Within says that v is nowhere above w.
func (v Vector) Within(w Vector) bool {
	for i := range v {
		if v[i] > w[i] {
			return false
		}
	}
	return true
}
