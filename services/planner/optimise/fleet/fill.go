package fleet

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// filler puts pods on the nodes of a fleet, and exchanges them until those that are left are few.
type filler struct {
	*Search
	bins  []int32
	nodes []*compact.OpenBin
	// rest are the pods that are on no node.
	rest []int32
	// share is, by row and resource, what part of all that is asked for one pod asks for; size is the sum.
	share []float64
	size  []float64
	order []int32
	limit int64
}

// Fill puts the pods on the nodes of a fleet, beginning with nodes of a plan that it has too; what does not fit is left.
func (s *Search) Fill(fleet []int32, from *compact.Plan, limit int64) []compact.Filling {
	c := s.c
	k := c.NumResources
	f := &filler{Search: s, rest: slices.Clone(c.Count), share: make([]float64, c.NumRows*k), size: make([]float64, c.NumRows), limit: s.Work + limit}
	need := make([]float64, k)
	for i, n := range c.Count {
		for r := range k {
			need[r] += float64(float64(n) * float64(c.Request[i*k+r]))
		}
	}
	for i := range c.Count {
		for r := range k {
			if need[r] > 0 {
				f.share[i*k+r] = float64(c.Request[i*k+r]) / need[r]
				f.size[i] += f.share[i*k+r]
			}
		}
		if c.Count[i] > 0 {
			f.order = append(f.order, int32(i))
		}
	}
	slices.SortStableFunc(f.order, func(a, b int32) int { return cmp.Compare(f.size[b], f.size[a]) })
	f.begin(fleet, from)
	f.place(need)
	f.exchange()
	return compact.Filled(f.c, f.bins, f.nodes)
}

// begin opens the nodes, those of the plan that lose least with what is on them there.
func (f *filler) begin(fleet []int32, from *compact.Plan) {
	c := f.c
	left := slices.Clone(fleet)
	order := make([]int, len(from.Fillings))
	for k := range order {
		order[k] = k
	}
	loss := func(k int) float64 { return float64(from.Fillings[k].Cost) - from.Fillings[k].Worth(f.y) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(loss(a), loss(b)) })
	for _, k := range order {
		q := &from.Fillings[k]
		for range min(q.Copies, left[q.Bin]) {
			left[q.Bin]--
			n := f.open(q.Bin)
			for x, i := range q.Rows {
				n.Put(i, q.Counts[x])
				f.rest[i] -= q.Counts[x]
			}
		}
	}
	for b := range c.Bins {
		for range left[b] {
			f.open(int32(b))
		}
	}
}

func (f *filler) open(b int32) *compact.OpenBin {
	n := compact.NewOpenBin(f.c)
	n.Open(&f.c.Bins[b])
	f.bins, f.nodes = append(f.bins, b), append(f.nodes, n)
	f.Work += int64(f.c.NumRows)
	return n
}

// place puts pods where what is free is most like what they ask for, the largest first.
func (f *filler) place(need []float64) {
	for _, i := range f.order {
		for f.rest[i] > 0 {
			best, most := -1, -1.0
			for j, n := range f.nodes {
				if !f.takes(j, i) || n.Capacity(i, 1) == 0 {
					continue
				}
				if v := f.likeness(n, i, need); v > most {
					best, most = j, v
				}
			}
			f.Work += int64(len(f.nodes) * (3*f.c.NumResources + 4))
			if best < 0 {
				break
			}
			f.nodes[best].Put(i, 1)
			f.rest[i]--
		}
	}
}

// likeness is the cosine between what is free on a node and what a pod asks for, both in shares of what all need.
func (f *filler) likeness(n *compact.OpenBin, i int32, need []float64) float64 {
	dot, size := 0.0, 0.0
	for r, all := range need {
		if all > 0 {
			v := float64(n.Left(r)) / all
			dot, size = dot+float64(v*f.share[int(i)*len(need)+r]), size+float64(v*v)
		}
	}
	return dot / math.Sqrt(size)
}

func (f *filler) takes(j int, i int32) bool { return f.c.Bins[f.bins[j]].Takes.Has(int(i)) }

// exchange makes room for what is left.
func (f *filler) exchange() {
	for again := true; again && f.Work < f.limit; {
		again = false
		for _, i := range f.order {
			for f.rest[i] > 0 && f.Work < f.limit && (f.room(i) || f.move(i) || f.swap(i) || f.replace(i)) {
				again = true
			}
		}
	}
}

// room puts a pod where there is room.
func (f *filler) room(i int32) bool {
	for j, n := range f.nodes {
		if f.takes(j, i) && n.Capacity(i, 1) > 0 {
			n.Put(i, 1)
			f.rest[i]--
			return true
		}
	}
	f.Work += int64(len(f.nodes) * (f.c.NumResources + 2))
	return false
}

// move puts a pod where another one moves away to another node.
func (f *filler) move(i int32) bool { return f.insteadOf(i, f.away) }

// swap puts a pod where another one changes places with a smaller one of another node.
func (f *filler) swap(i int32) bool { return f.insteadOf(i, f.bring) }

// insteadOf puts a pod on a node in the place of another one, for which a place is found.
func (f *filler) insteadOf(i int32, find func(j int, v int32) bool) bool {
	for j, n := range f.nodes {
		if !f.takes(j, i) {
			continue
		}
		for _, v := range f.order {
			if n.Counts[v] == 0 || v == i {
				continue
			}
			n.Put(v, -1)
			if n.Capacity(i, 1) > 0 {
				n.Put(i, 1)
				if find(j, v) {
					f.rest[i]--
					return true
				}
				n.Put(i, -1)
			}
			n.Put(v, 1)
			f.Work += int64(4 * f.c.NumResources)
			if f.Work > f.limit {
				return false
			}
		}
	}
	return false
}

// away puts v, which was on node j, on another one that has room.
func (f *filler) away(j int, v int32) bool {
	for j2, n := range f.nodes {
		if j2 != j && f.takes(j2, v) && n.Capacity(v, 1) > 0 {
			n.Put(v, 1)
			return true
		}
	}
	f.Work += int64(len(f.nodes) * (f.c.NumResources + 2))
	return false
}

// bring puts v on another node in the place of a smaller pod, which goes to node j.
func (f *filler) bring(j int, v int32) bool {
	n := f.nodes[j]
	for _, w := range f.order {
		if f.size[w] >= f.size[v] || !f.takes(j, w) || n.Capacity(w, 1) == 0 {
			continue
		}
		for j2, n2 := range f.nodes {
			if j2 == j || n2.Counts[w] == 0 || !f.takes(j2, v) {
				continue
			}
			n2.Put(w, -1)
			if n2.Capacity(v, 1) > 0 {
				n2.Put(v, 1)
				n.Put(w, 1)
				return true
			}
			n2.Put(w, 1)
			f.Work += int64(3 * f.c.NumResources)
		}
		f.Work += int64(len(f.nodes))
	}
	f.Work += int64(len(f.order) * (f.c.NumResources + 1))
	return false
}

// mostEvicted is how many pods may go for one.
const mostEvicted = 6

// replace puts a pod in the place of smaller ones, which are easier to place: of those whose sizes' squares are the
// least together.
func (f *filler) replace(i int32) bool {
	at, least := -1, f.size[i]*f.size[i]*0.98
	var out []int32
	for j := range f.nodes {
		if f.takes(j, i) {
			if some, sum := f.evict(j, i, least); sum < least {
				at, out, least = j, some, sum
			}
		}
	}
	if at < 0 {
		return false
	}
	for _, v := range out {
		f.nodes[at].Put(v, -1)
		f.rest[v]++
	}
	f.nodes[at].Put(i, 1)
	f.rest[i]--
	return true
}

// evict finds pods to take off a node so that one more fits, and the sum of the squares of their sizes; infinite where
// it finds none below most.
func (f *filler) evict(j int, i int32, most float64) (out []int32, sum float64) {
	n, k := f.nodes[j], f.c.NumResources
	for sum < most && n.Capacity(i, 1) == 0 && len(out) < mostEvicted {
		best, gain := int32(-1), 0.0
		for _, v := range f.order {
			if n.Counts[v] == 0 || f.size[v] >= f.size[i] {
				continue
			}
			helps := 1e-9 // for rules
			for r := range k {
				if lack := f.c.Request[int(i)*k+r] - n.Left(r); lack > 0 {
					q := f.c.Request[int(v)*k+r]
					helps += float64(f.share[int(v)*k+r] * float64(min(lack, q)) / float64(max(1, q)))
				}
			}
			if g := helps / (f.size[v] * f.size[v]); g > gain {
				best, gain = v, g
			}
			f.Work += int64(3 * k)
		}
		f.Work += int64(len(f.order))
		if best < 0 {
			break
		}
		n.Put(best, -1)
		out, sum = append(out, best), sum+float64(f.size[best]*f.size[best])
	}
	if n.Capacity(i, 1) == 0 {
		sum = math.Inf(1)
	}
	for _, v := range out {
		n.Put(v, 1)
	}
	return out, sum
}
