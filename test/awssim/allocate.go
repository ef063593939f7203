package awssim

import (
	"cmp"
	"slices"
)

// candidate is one override of a fleet request as a capacity pool. Plain data; nothing here touches the world.
type candidate struct {
	price    int64 // micro-dollars per hour
	priority float64
	pool     Pool
	stock    int64 // free instances of the pool; -1 without end
	// depth breaks ties between pools that would all hold the request, for strategies that ask for capacity only.
	depth int64
	// group is the type, the zone, or both, that all instances must share when the request says so; else the same for all.
	group string
}

// The allocation strategies.
const (
	lowestPrice         = "lowest-price"
	prioritized         = "prioritized"
	priceCapacity       = "price-capacity-optimized"
	capacityOptimized   = "capacity-optimized"
	capacityPrioritized = "capacity-optimized-prioritized"
	diversified         = "diversified"
)

// allocation says how many instances each candidate gives, and which were asked and could not give all they should.
type allocation struct {
	take  []int64
	short []bool
}

func (a allocation) total() int64 {
	var n int64
	for _, t := range a.take {
		n += t
	}
	return n
}

// allocate spreads target instances over the candidates by strategy. When they form groups, all come from the first
// group, in the strategy's order, that holds the target, or else from the group that holds the most.
func allocate(cands []candidate, target int64, strategy string) allocation {
	order := rank(cands, target, strategy)
	var best allocation
	tried := map[string]bool{}
	for _, i := range order {
		g := cands[i].group
		if tried[g] {
			continue
		}
		tried[g] = true
		var members []int
		for _, j := range order {
			if cands[j].group == g {
				members = append(members, j)
			}
		}
		a := fill(cands, members, target, strategy)
		if best.take == nil || a.total() > best.total() {
			best = a
		}
		if best.total() == target {
			break
		}
	}
	if best.take == nil {
		best = fill(cands, nil, target, strategy)
	}
	return best
}

// rank orders the candidates by strategy, ties by price and then by their place in the request.
func rank(cands []candidate, target int64, strategy string) []int {
	order := make([]int, len(cands))
	for i := range order {
		order[i] = i
	}
	stock := func(c candidate) int64 {
		if c.stock < 0 {
			return target
		}
		return min(c.stock, target)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := cands[i], cands[j]
		byPrice, byPriority, byStock := cmp.Compare(a.price, b.price), cmp.Compare(a.priority, b.priority), cmp.Compare(stock(b), stock(a))
		switch strategy {
		case prioritized:
			return cmp.Or(byPriority, byPrice)
		case priceCapacity:
			return cmp.Or(byStock, byPrice)
		case capacityOptimized:
			return cmp.Or(byStock, cmp.Compare(b.depth, a.depth), byPrice)
		case capacityPrioritized:
			return cmp.Or(byStock, byPriority, byPrice)
		default:
			return byPrice
		}
	})
	return order
}

// fill takes from the candidates in order, as much as each gives; diversified takes one by one in turn.
func fill(cands []candidate, order []int, target int64, strategy string) allocation {
	a := allocation{take: make([]int64, len(cands)), short: make([]bool, len(cands))}
	step := target
	if strategy == diversified {
		step = 1
	}
	left, given := target, map[Pool]int64{} // two candidates may draw on one pool
	for left > 0 {
		before := left
		for _, i := range order {
			want := min(step, left)
			if want == 0 {
				break
			}
			got := want
			if cands[i].stock >= 0 {
				got = min(want, cands[i].stock-given[cands[i].pool])
			}
			a.short[i] = a.short[i] || got < want
			a.take[i] += got
			given[cands[i].pool] += got
			left -= got
		}
		if left == before {
			break
		}
	}
	return a
}
