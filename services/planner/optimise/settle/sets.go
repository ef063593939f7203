package settle

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

const (
	// setNodes is how many nodes a set has at most that is tried as a whole, listedSets how many sets are listed at a time. With more of
	// either there are too many sets that cost about as much.
	setNodes, listedSets = 20, 1 << 13
	// setShare is the part of the work that a single set may take: 1 of so many.
	setShare = 16
)

// sets looks through sets of nodes, the cheapest first, for one that holds all pods. A set must cost no less than the bound and less than the
// best plan, have as much of each resource as all pods ask for, and by the duals its nodes must be able to hold what all pods are worth.
type sets struct {
	*Search
	// rows are those with pods, the hardest to place first. dense are their densities; worth is what those from a place
	// on are worth together.
	rows  []int32
	dense []float64
	worth []float64
	// need is what all pods ask for, by resource.
	need []int64
	// bins have what they offer at most, alone and among those up to a place.
	bins []offered
	list []set
	set  []int32
	// deep says that there may be sets of too many nodes.
	deep bool
	low  int64
	high int64
	// nodes are those of the set that is tried, each told from the one before by what it holds of rows so far, by place.
	nodes []*compact.OpenBin
	same  [][]bool
	room  [][]int32
	most  int64
	// lack is memory for lacksRoom; units divide all that rows from a place on ask for, by place and resource.
	lack  lack
	units []int64
}

// offered is what a bin can be worth, and what it and the cheaper ones offer at most: worth, worth for each unit of price, and of each resource for
// each unit of price.
type offered struct {
	worth, worthPerPrice float64
	perPrice             []float64
}

// set is some nodes by their bins, the most expensive first, and what they cost together.
type set struct {
	bins  []int32
	price int64
}

func newSets(t *Search, worth []float64) *sets {
	c := t.c
	k := c.NumResources
	x := &sets{Search: t, need: make([]int64, k)}
	size := make([]float64, c.NumRows)
	for i, n := range t.rest {
		for r := range k {
			x.need[r] += int64(n) * c.Request[i*k+r]
		}
		if n > 0 {
			x.rows = append(x.rows, int32(i))
		}
	}
	for _, i := range x.rows {
		for r := range k {
			size[i] = max(size[i], float64(c.Request[int(i)*k+r])/float64(max(1, x.need[r])))
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
			x.units[at*k+r] = commonDivisor(x.units[(at+1)*k+r], c.Request[int(i)*k+r])
		}
	}
	x.offer(worth)
	return x
}

// offer finds what bins offer, from what their pods can be worth.
func (x *sets) offer(worth []float64) {
	x.bins = make([]offered, len(x.c.Bins))
	var last offered
	last.perPrice = make([]float64, x.c.NumResources)
	for b := range x.c.Bins {
		bin := &x.c.Bins[b]
		o := offered{worth: min(float64(bin.Price), worth[b]), perPrice: slices.Clone(last.perPrice)}
		for r, f := range bin.Free {
			o.perPrice[r] = max(o.perPrice[r], float64(min(max(0, f), x.need[r]))/float64(max(1, bin.Price)))
		}
		o.worthPerPrice = max(last.worthPerPrice, o.worth/float64(max(1, bin.Price)))
		x.bins[b], last = o, o
	}
}

// can is what pods of the rows from a place on can be worth on a node, with what it has left.
func (x *sets) can(n *compact.OpenBin, at int) float64 {
	least, k := math.Inf(1), x.c.NumResources
	for r := range k {
		if d := x.dense[at*k+r]; !math.IsInf(d, 1) {
			least = min(least, float64(d*float64(n.Left(r))))
		}
	}
	return least
}

// search tries the sets that cost no less than low and less than high. It says below which price none holds the pods, and what it found.
func (x *sets) search(low, high int64) (refuted int64, found []compact.Filling) {
	x.low, x.high, x.list, x.deep = low, high, x.list[:0], false
	x.extend(len(x.c.Bins)-1, 0, 0, make([]int64, len(x.need)))
	refuted = high
	if x.over() {
		refuted, x.deep = low, true // not all of them are listed
	}
	slices.SortStableFunc(x.list, func(a, b set) int { return cmp.Compare(a.price, b.price) })
	for _, s := range x.list {
		x.most = min(x.limit, x.Work+(x.limit-x.Work)/setShare)
		if x.holds(s.bins) {
			return min(refuted, s.price), x.filled(s.bins)
		}
		if x.Work > x.most || x.Search.over() {
			refuted = min(refuted, s.price)
		}
		if x.Search.over() {
			break
		}
	}
	return refuted, nil
}

func (x *sets) over() bool { return x.Search.over() || len(x.list) > listedSets || x.deep }

// extend lists the sets that have some nodes and more of bins up to a place.
func (x *sets) extend(upTo int, price int64, worth float64, free []int64) {
	x.Work += int64(8 + 2*len(free))
	if x.over() {
		return
	}
	lacks := x.worth[0] - worth
	enough := lacks <= tolerance
	for r, q := range x.need {
		enough = enough && free[r] >= q
	}
	if enough && price >= x.low {
		x.list = append(x.list, set{slices.Clone(x.set), price})
		x.Work += int64(16 + len(x.set))
	}
	left := x.high - 1 - price
	if float64(left)+tolerance < lacks || left < x.c.Bins[0].Price {
		return
	}
	if len(x.set) == setNodes {
		x.deep = true // there may be sets of more nodes, which are not listed
		return
	}
	sum := make([]int64, len(free))
	for b := upTo; b >= 0; b-- {
		o := &x.bins[b]
		x.Work += 4
		if float64(left)*o.worthPerPrice+tolerance < lacks || !x.reaches(o, left, free) {
			return
		}
		p := x.c.Bins[b].Price
		if p > left {
			continue
		}
		for r, f := range x.c.Bins[b].Free {
			sum[r] = free[r] + min(max(0, f), x.need[r])
		}
		x.set = append(x.set, int32(b))
		x.extend(b, price+p, worth+o.worth, sum)
		x.set = x.set[:len(x.set)-1]
		if x.over() {
			return
		}
	}
}

// reaches says whether what is left of the price buys what is lacking of each resource.
func (x *sets) reaches(o *offered, left int64, free []int64) bool {
	for r, q := range x.need {
		if q > free[r] && float64(float64(left)*o.perPrice[r])*(1+1e-9) < float64(q-free[r]) {
			return false
		}
	}
	return true
}

// holds says whether a set of nodes holds all pods.
func (x *sets) holds(bins []int32) bool {
	for len(x.nodes) < len(bins) {
		x.nodes = append(x.nodes, compact.NewOpenBin(x.c))
	}
	if x.same == nil {
		x.same, x.room = make([][]bool, len(x.rows)+1), make([][]int32, len(x.rows))
		for at := range x.same {
			x.same[at] = make([]bool, setNodes)
		}
		for at := range x.room {
			x.room[at] = make([]int32, setNodes+1)
		}
	}
	for j, b := range bins {
		x.nodes[j].Open(&x.c.Bins[b])
		x.same[0][j] = j > 0 && bins[j-1] == b
	}
	return x.place(bins, 0)
}

// place places the pods of rows from a place on.
func (x *sets) place(bins []int32, at int) bool {
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
func (x *sets) spread(bins []int32, at, j int, pods int32) bool {
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

// filled are the nodes of a set with what they hold.
func (x *sets) filled(bins []int32) []compact.Filling {
	var out []compact.Filling
	for j, b := range bins {
		f := compact.Filling{Bin: b, Copies: 1, Cost: x.c.Bins[b].Price}
		for i, q := range x.nodes[j].Counts {
			if q > 0 {
				f.Rows, f.Counts = append(f.Rows, int32(i)), append(f.Counts, q)
			}
		}
		if len(f.Rows) > 0 {
			out = append(out, f)
		}
	}
	return out
}
