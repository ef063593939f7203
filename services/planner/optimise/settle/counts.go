package settle

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/pricing"
	"github.com/kerf-dev/kerf/services/planner/optimise/scarce"
)

const (
	// mostPool is up to how many fillings are kept from one half to the next.
	mostPool = 600
	// firstWork is the part of the work that may go by before the bound rises, 1 of so many, and as many times as much
	// as the gap is wide. More of it is there as more of the gap is closed.
	firstWork = 16
	// countGap is how near to its bound the programme of a half must come.
	countGap = 2e-4
	// triedWork is how much work a set of nodes may take that a half has.
	triedWork = 1 << 15
)

// Root is the programme of all pods, as column generation has left it: its fillings, and what its duals prove.
type Root struct {
	x     *pricing.Columns
	pool  []compact.Filling
	duals []float64
	bound float64
}

// RootOf is what some columns have now.
func RootOf(x *pricing.Columns) Root {
	return Root{x, slices.Clone(x.Pool), slices.Clone(x.BestDuals), x.Bound}
}

// counts is a search by how many nodes there are of some bins: branch and bound over the programme of all fillings,
// that half first of which the least is proven. Where few nodes are needed that cost much, whole ones cost more than
// parts. It needs no list of fillings, so there may be many pods.
type counts struct {
	*Search
	x    *pricing.Columns
	base *compact.Plan
	// pool are the fillings that halves have found, each once; seen are they by keyOf.
	pool []compact.Filling
	seen map[string]bool
	// tried are the sets of nodes that were tried, by their bins.
	tried [][]int32
	// open are the halves that may have a plan that costs less than the best, the lowest bound first.
	open []half
	// most is the columns' work at which to end.
	most int64
}

// half is a part of all plans: those with so many nodes of some bins, which cost so much at least, as its duals prove.
// It is split by how many nodes of some more bins there are; in is nil where its solution has whole numbers of all.
type half struct {
	counts []scarce.NodeCount
	duals  []float64
	bound  float64
	in     []bool
	nodes  float64
}

// ByCounts raises the bound as far as all halves allow that are open when its work ends, and looks for a plan on the
// nodes that halves have where one is asked for. The root is of what base, an empty plan, has left.
func (t *Search) ByCounts(base *compact.Plan, root Root, limit int64) {
	x := root.x
	before, low := x.Work(), t.Bound
	first := min(limit, int64(float64(limit/firstWork)*max(1, t.Wide())))
	x.Program.WorkLimit, t.Found = before+limit, nil
	s := &counts{Search: t, x: x, base: base, seen: make(map[string]bool), most: before + first}
	s.keep(root.pool)
	x.CountNodes(nil, root.duals)
	x.Begin(base, s.pool)
	s.open = append(s.open, half{duals: root.duals, bound: root.bound})
	s.choose(&s.open[0])
	for !t.Closed() && s.open[0].in != nil && x.Work() < s.most && !t.c.Stopped() {
		h := s.open[0]
		up := math.Ceil(h.nodes)
		more, fewer := s.look(&h, scarce.NodeCount{In: h.in, Nodes: up, Least: true}), s.look(&h, scarce.NodeCount{In: h.in, Nodes: up - 1})
		if t.c.Stopped() {
			break
		}
		s.open = s.open[1:]
		for _, n := range []half{more, fewer} {
			at, _ := slices.BinarySearchFunc(s.open, n.bound, func(o half, bound float64) int { return cmp.Compare(o.bound, bound) })
			s.open = slices.Insert(s.open, at, n)
		}
		t.Bound = max(t.Bound, min(t.Cost, int64(s.open[0].bound*(1-1e-9))))
		closed := float64(t.Bound-low) / float64(max(1, t.Cost-low))
		s.most = before + first + int64(closed*float64(limit-first))
	}
	t.Work += x.Work() - before
}

// look finds out what the plans of a half cost at least that have so many nodes, too.
func (s *counts) look(of *half, n scarce.NodeCount) half {
	x := s.x
	x.CountNodes(append(slices.Clone(of.counts), n), of.duals)
	x.Begin(s.base, s.pool)
	x.Generate(pricing.Effort{Gap: countGap, Limit: s.most, Depth: 2, Slack: countGap, Enough: float64(s.Cost) * (1 + 1e-8), Stop: s.c.Stopped})
	out := half{counts: x.Counted(), duals: slices.Clone(x.BestDuals), bound: max(of.bound, x.Bound)}
	s.keep(x.Pool)
	s.choose(&out)
	if !s.c.Source.BoundOnly {
		s.tryNodes()
	}
	return out
}

// tryNodes looks for a plan on the nodes that the solution has: so many of each bin, with one more for a part of one,
// where that is large enough.
func (s *counts) tryNodes() {
	have := make([]float64, len(s.c.Bins))
	for k, j := range s.x.Program.Basis {
		if j >= 0 && s.x.Pool[j].Bin >= 0 {
			have[s.x.Pool[j].Bin] += s.x.Program.X[k]
		}
	}
	for _, least := range []float64{leastNodePart, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8} {
		var bins []int32
		price := int64(0)
		for b, n := range slices.Backward(have) {
			for range int(n + 1 - least) {
				bins = append(bins, int32(b))
				price += s.c.Bins[b].Price
			}
		}
		if price < s.Bound || price >= s.Cost || len(bins) > trialNodes {
			continue
		}
		if slices.ContainsFunc(s.tried, func(t []int32) bool { return slices.Equal(t, bins) }) {
			continue
		}
		s.tried = append(s.tried, bins)
		if s.trial.most = s.Work + triedWork; s.trial.holds(bins) {
			s.Found = compact.Filled(s.c, bins, s.trial.nodes)
			s.Cost = costOf(s.Found) // some may be empty
		}
	}
}

// keep adds fillings to the pool that it has not, as long as there is room.
func (s *counts) keep(all []compact.Filling) {
	for _, f := range all {
		if f.Bin < 0 || len(s.pool) >= mostPool {
			continue
		}
		if key := string(keyOf(&f)); !s.seen[key] {
			s.seen[key] = true
			s.pool = append(s.pool, f)
		}
	}
}

// keyOf tells a filling from all others.
func keyOf(f *compact.Filling) []byte {
	key := binary.AppendUvarint(nil, uint64(f.Bin))
	for k, i := range f.Rows {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(i)), uint64(f.Counts[k]))
	}
	return key
}

// choose finds by what a half is split whose programme was solved last: the bins of which there is the largest part of
// a node, for its price. They are all, those that cost or have so much at least, or one.
func (s *counts) choose(h *half) {
	have := make([]float64, len(s.c.Bins))
	var used []int32
	for k, j := range s.x.Program.Basis {
		if j < 0 || s.x.Pool[j].Bin < 0 || s.x.Program.X[k] < leastNode {
			continue
		}
		b := s.x.Pool[j].Bin
		if have[b] += s.x.Program.X[k]; !slices.Contains(used, b) {
			used = append(used, b)
		}
	}
	slices.Sort(used)
	best := 0.0
	var in func(b int32) bool
	try := func(price int64, among func(b int32) bool) {
		sum := 0.0
		for _, b := range used {
			if among(b) {
				sum += have[b]
			}
		}
		if p := part(sum); p > leastNodePart && p*float64(price) > best {
			in, best, h.nodes = among, p*float64(price), sum
		}
	}
	bins := s.c.Bins
	try(bins[0].Price, func(int32) bool { return true })
	for _, u := range used {
		try(bins[u].Price, func(b int32) bool { return bins[b].Price >= bins[u].Price })
		try(bins[u].Price/8, func(b int32) bool { return b == u })
		for r := range s.c.NumResources {
			try(bins[u].Price, func(b int32) bool { return bins[b].Free[r] >= bins[u].Free[r] })
		}
	}
	s.Work += int64(4 * len(used) * len(used) * (2 + s.c.NumResources))
	if in == nil {
		return
	}
	h.in = make([]bool, len(bins))
	for b := range h.in {
		h.in[b] = in(int32(b))
	}
}

const (
	// leastNode is what part of a node a solution has at least; leastNodePart how far a number of nodes is from a whole
	// one at least.
	leastNode, leastNodePart = 1e-4, 0.01
)
