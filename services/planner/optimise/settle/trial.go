package settle

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// trialNodes is how many nodes are tried together at most.
const trialNodes = 20

// trial puts all pods on some nodes, the hardest row first, until nothing is left to try.
type trial struct {
	*Search
	// rows are those with pods, the hardest to place first. dense are their densities; worth is what those from a place
	// on are worth together.
	rows  []int32
	dense []float64
	worth []float64
	// nodes are those that are tried, each told from the one before by what it holds of rows so far, by place.
	nodes []*compact.OpenBin
	same  [][]bool
	room  [][]int32
	// most is the work when the trial ends.
	most int64
	// lack is memory for lacksRoom; units divide all that rows from a place on ask for, by place and resource.
	lack  lack
	units []int64
}

func newTrial(t *Search) *trial {
	c := t.c
	k := c.NumResources
	x := &trial{Search: t}
	need, size := make([]int64, k), make([]float64, c.NumRows)
	for i, n := range t.rest {
		for r := range k {
			need[r] += int64(n) * c.Request[i*k+r]
		}
		if n > 0 {
			x.rows = append(x.rows, int32(i))
		}
	}
	for _, i := range x.rows {
		for r := range k {
			size[i] = max(size[i], float64(c.Request[int(i)*k+r])/float64(max(1, need[r])))
		}
	}
	slices.SortStableFunc(x.rows, func(a, b int32) int { return cmp.Compare(size[b], size[a]) })
	x.dense, x.worth = t.densities(x.rows), make([]float64, len(x.rows)+1)
	for at, i := range slices.Backward(x.rows) {
		x.worth[at] = x.worth[at+1] + float64(float64(t.rest[i])*t.y[i])
	}
	x.units = make([]int64, (len(x.rows)+1)*k)
	for at, i := range slices.Backward(x.rows) {
		for r := range k {
			x.units[at*k+r] = compact.CommonDivisor(x.units[(at+1)*k+r], c.Request[int(i)*k+r])
		}
	}
	return x
}

// can is what pods of the rows from a place on can be worth on a node, with what it has left.
func (x *trial) can(n *compact.OpenBin, at int) float64 {
	least, k := math.Inf(1), x.c.NumResources
	for r := range k {
		if d := x.dense[at*k+r]; !math.IsInf(d, 1) {
			least = min(least, float64(d*float64(n.Left(r))))
		}
	}
	return least
}

// holds says whether nodes of some bins hold all pods.
func (x *trial) holds(bins []int32) bool {
	for len(x.nodes) < len(bins) {
		x.nodes = append(x.nodes, compact.NewOpenBin(x.c))
	}
	if x.same == nil {
		x.same, x.room = make([][]bool, len(x.rows)+1), make([][]int32, len(x.rows))
		for at := range x.same {
			x.same[at] = make([]bool, trialNodes)
		}
		for at := range x.room {
			x.room[at] = make([]int32, trialNodes+1)
		}
	}
	for j, b := range bins {
		x.nodes[j].Open(&x.c.Bins[b])
		x.same[0][j] = j > 0 && bins[j-1] == b
	}
	return x.place(bins, 0)
}

// place places the pods of rows from a place on.
func (x *trial) place(bins []int32, at int) bool {
	if at == len(x.rows) {
		return true
	}
	x.Work += int64(len(bins) * (x.c.NumResources + 4) * 4)
	if x.Work > x.most {
		return false
	}
	can := 0.0
	for _, n := range x.nodes[:len(bins)] {
		can += x.can(n, at)
	}
	if can+tolerance < x.worth[at] || x.lacksRoom(len(bins), at) {
		return false
	}
	i := x.rows[at]
	room := x.room[at]
	room[len(bins)] = 0
	for j := len(bins) - 1; j >= 0; j-- {
		n := int32(0)
		if x.c.Bins[bins[j]].Takes.Has(int(i)) {
			n = x.nodes[j].Capacity(i, x.rest[i])
		}
		room[j] = n + room[j+1]
	}
	return x.spread(bins, at, 0, x.rest[i])
}

// spread places so many pods of a row on the nodes from one on, most of them on the first ones.
func (x *trial) spread(bins []int32, at, j int, pods int32) bool {
	if room := x.room[at][j]; room < pods {
		return false
	}
	if j == len(bins) {
		return x.place(bins, at+1)
	}
	i := x.rows[at]
	n := min(pods, x.room[at][j]-x.room[at][j+1])
	alike := x.same[at][j]
	if alike {
		n = min(n, x.nodes[j-1].Counts[i]) // the same nodes the other way round are the same
	}
	x.nodes[j].Put(i, n)
	for q := n; ; q-- {
		x.same[at+1][j] = alike && q == x.nodes[j-1].Counts[i]
		if x.spread(bins, at, j+1, pods-q) {
			return true
		}
		x.Work += int64(8 + 2*x.c.NumResources)
		if q == 0 || x.Work > x.most {
			x.nodes[j].Put(i, -q)
			return false
		}
		x.nodes[j].Put(i, -1)
	}
}
