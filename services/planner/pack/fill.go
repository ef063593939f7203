package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// filler fills one node of an option with the most value, by trying a few orders of the items.
type filler struct {
	o *Option
	// orders are the orders to try, as places in the round's items; only items that the option takes are there.
	orders [][]int
	// counts are the pods of each item on the node, and value what they are worth; from the last refill.
	counts []int
	value  int64

	free  view.Vector
	ports []model.HostPort
	trial []int
	fresh bool
	// ranked is what a claim with this filling lists; only kept for pools with minValues, which may ask for less filling.
	ranked []*Option
}

func newFiller(o *Option, r *round) *filler {
	f := &filler{o: o}
	items, values := r.items, r.values
	var taken []int
	dense, shares, sums := make([]float64, len(items)), make([]float64, len(items)), make([]float64, len(items))
	for i, it := range items {
		if values[i] == 0 || !o.takes(&it, r.wishes) || !r.enoughChoice(o, i) {
			continue
		}
		taken = append(taken, i)
		shares[i] = share(it.Class.Requested, o.Free)
		dense[i] = float64(values[i]) / shares[i]
		sums[i] = float64(values[i]) / total(it.Class.Requested, o.Free)
	}
	if len(taken) == 0 {
		return f
	}
	// The densest first; the densest by the sum of all resources first; the largest first.
	for _, key := range [][]float64{dense, sums, shares} {
		order := slices.Clone(taken)
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case key[a] > key[b]:
				return -1
			case key[a] < key[b]:
				return 1
			}
			return 0
		})
		if !slices.ContainsFunc(f.orders, func(x []int) bool { return slices.Equal(x, order) }) {
			f.orders = append(f.orders, order)
		}
	}
	f.counts, f.trial, f.free = make([]int, len(items)), make([]int, len(items)), make(view.Vector, len(o.Free))
	return f
}

func total(request, free view.Vector) float64 {
	s := 0.0
	for i, q := range request {
		if q > 0 {
			s += float64(q) / float64(free[i])
		}
	}
	return s
}

// refill finds the best filling from the pods that are left. The last one is still the best while there are enough
// pods for it, because there are only ever fewer pods.
func (f *filler) refill(r *round, lim *Limits) {
	picky := minValues(f.o.Pool)
	if f.fresh && !picky && !slices.ContainsFunc(f.orders[0], func(i int) bool { return f.counts[i] > r.rest[i] }) {
		return
	}
	f.fresh, f.value = true, 0
	clear(f.counts)
	for _, order := range f.orders {
		if v := f.try(order, r); v > f.value {
			f.value = v
			copy(f.counts, f.trial)
		}
	}
	if f.value > 0 && picky {
		f.shrink(r, lim)
	}
}

func (f *filler) try(order []int, r *round) int64 {
	clear(f.trial)
	copy(f.free, f.o.Free)
	f.ports = append(f.ports[:0], f.o.Ports...)
	var value int64
	for _, i := range order {
		c := r.items[i].Class
		n := view.Fits(f.free, c.Requested, r.rest[i])
		if n == 0 {
			continue
		}
		if len(c.HostPorts) > 0 {
			if fit.PortsClash(c.HostPorts, f.ports) {
				continue
			}
			n = 1
		}
		if n = r.book.room(i, f.trial, n); n == 0 {
			continue
		}
		f.ports = append(f.ports, c.HostPorts...)
		f.trial[i] = n
		f.free.Add(c.Requested, -int64(n))
		value += int64(n) * r.values[i]
	}
	return value
}

// shrink halves the filling until enough distinct offerings hold it and are within the limits. A claim that lists too few
// is refused, so a smaller one is the next best.
func (f *filler) shrink(r *round, lim *Limits) {
	for {
		items := make([]Item, 0, len(f.counts))
		pods := 0
		for i, k := range f.counts {
			if k > 0 {
				items = append(items, Item{Class: r.items[i].Class, Cell: r.items[i].Cell, row: i, Pods: r.items[i].Pods[:k]})
				pods += k
			}
		}
		ranked, ok := r.m.rank(f.o.variant, items, func(o *Option) bool { return lim.Room(o, 1) == 1 })
		if ok {
			f.ranked = ranked
			return
		}
		if pods == 1 {
			f.value = 0
			return
		}
		f.halve(r)
	}
}

// halve leaves half of the pods of each item, and at last a single pod, which is known to have enough choice.
func (f *filler) halve(r *round) {
	f.value = 0
	last := -1
	for i, k := range f.counts {
		if k > 0 {
			last = i
		}
		f.counts[i] = k / 2
		f.value += int64(f.counts[i]) * r.values[i]
	}
	if f.value == 0 && last >= 0 {
		f.counts[last], f.value = 1, r.values[last]
	}
}
