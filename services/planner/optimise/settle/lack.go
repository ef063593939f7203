package settle

// lack finds nodes that cannot hold pods together, because those that have room on some of the nodes alone ask for more
// than all of these have. Pods of what must be in one zone are such, and pods that rules keep apart.
type lack struct {
	// where are some of the nodes, one bit each; the first ones are those on which the pods of some row have room, the
	// others unions of these.
	where []uint32
	// need is what rows of each of the first ones ask for, of each resource and of each rule's places.
	need [][]int64
	sum  []int64
}

// mostUnions is how many parts of the nodes are looked at.
const mostUnions = 48

// lacksRoom says that the pods of rows from a place on do not fit the nodes, with what these have left. It sees only
// whole sums, and so misses much.
func (x *trial) lacksRoom(nodes, at int) bool {
	w, k := &x.lack, x.c.NumResources
	if k+len(x.c.Rules) == 0 {
		return false // nothing is asked for
	}
	w.where = w.where[:0]
	for _, i := range x.rows[at:] {
		on := x.roomFor(i, nodes)
		if on == 0 {
			return true
		}
		n := w.part(on, k+len(x.c.Rules))
		for r := range k {
			w.need[n][r] += int64(x.rest[i]) * x.c.Request[int(i)*k+r]
		}
		for _, pt := range x.c.RulesOf[i] {
			if x.c.Rules[pt.Rule].Mutual {
				w.need[n][k+int(pt.Rule)] += int64(x.rest[i])
			}
		}
	}
	unit := x.units[at*k : at*k+k]
	first := len(w.where)
	for n := 0; n < len(w.where) && len(w.where) < mostUnions; n++ {
		for m := range first {
			w.part(w.where[n]|w.where[m], 0)
		}
	}
	x.Work += int64(len(w.where) * (first + nodes) * (k + 1))
	for _, on := range w.where {
		if w.over(x, on, nodes, first, unit) {
			return true
		}
	}
	return false
}

// roomFor are the nodes that have room for a pod of a row.
func (x *trial) roomFor(row int32, nodes int) (on uint32) {
	for j, n := range x.nodes[:nodes] {
		if n.Bin().Takes.Has(int(row)) && n.Capacity(row, 1) > 0 {
			on |= 1 << j
		}
	}
	x.Work += int64(nodes * (x.c.NumResources + 2))
	return on
}

// part is the place of some nodes, with memory for so many needs where they are new.
func (w *lack) part(on uint32, needs int) int {
	for n, known := range w.where {
		if known == on {
			return n
		}
	}
	n := len(w.where)
	w.where = append(w.where, on)
	if needs > 0 {
		if n == len(w.need) {
			w.need = append(w.need, make([]int64, needs))
		}
		clear(w.need[n])
	}
	return n
}

// over says that what has room on some nodes alone is more than they have.
func (w *lack) over(x *trial, on uint32, nodes, first int, unit []int64) bool {
	k := x.c.NumResources
	w.sum = append(w.sum[:0], make([]int64, k+len(x.c.Rules))...)
	for n, part := range w.where[:first] {
		if part&^on == 0 {
			for r, q := range w.need[n] {
				w.sum[r] += q
			}
		}
	}
	for j, n := range x.nodes[:nodes] {
		if on&(1<<j) == 0 {
			continue
		}
		for r := range k {
			left := max(0, n.Left(r))
			w.sum[r] -= left - left%max(1, unit[r])
		}
		for r := range x.c.Rules {
			w.sum[k+r] -= int64(n.Places(int32(r)))
		}
	}
	for _, q := range w.sum {
		if q > 0 {
			return true
		}
	}
	return false
}
