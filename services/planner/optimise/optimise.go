// Package optimise packs counted items into priced bins at the lowest cost that it can find, and proves how far from the
// lowest possible cost it can be at most.
//
// It knows numbers only: rows of equal pods with a request vector, kinds of nodes with a price and a free vector, which
// row may go where, and rules about what may share a bin. It knows nothing of Kubernetes, clouds, clocks or goroutines,
// and the same problem always gives the same bytes. The method is a configuration linear programme: columns are fillings
// of one bin, found by pricing knapsacks (column generation); its solution is rounded by diving and polished, beside a
// greedy search that is the start and the fallback. docs/optimiser.md has the mathematics. Start reading with Solve.
//
// Products are converted before they are added, because a compiler may otherwise fuse the two on some processors and not
// on others, and the bytes would differ.
package optimise

// Kind says where a bound comes from.
type Kind uint8

const (
	// KindNone is no bound.
	KindNone Kind = iota
	// KindResource is the price of resources at the cheapest bins.
	KindResource
	// KindFarley is column generation that was cut short: the duals, scaled until no filling of a bin is worth more
	// than it.
	KindFarley
	// KindLP is column generation to its end, or a search over whole numbers of nodes.
	KindLP
	// KindExact is the optimum.
	KindExact
)

// String is the kind in lower case.
func (k Kind) String() string {
	switch k {
	case KindResource:
		return "resource"
	case KindFarley:
		return "farley"
	case KindLP:
		return "lp"
	case KindExact:
		return "exact"
	case KindNone:
		return "none"
	}
	return "unknown"
}

// Solution is a packing. Patterns are sorted by bin and content.
type Solution struct {
	Patterns []Pattern
	// Left are the pods of each item that have no bin.
	Left []int
	Cost int64
	// Bound is what no packing can cost less than; 0 where pods are left or nothing is known.
	Bound     int64
	BoundKind Kind
	// Worth is what one pod of each item adds to the bound: prices at which no filling of a bin is worth much more than the
	// bin (the duals of the programme). Items that no bin takes have 0. nil unless Problem.Worth asks for it.
	Worth []float64
	Work  Work
}

// Pattern is a filling of one bin, used Copies times.
type Pattern struct {
	Bin    int
	Counts []Count
	Copies int
}

// Count is some pods of one item.
type Count struct{ Item, Pods int }

// Work is the effort spent, by phase, in the units of Problem.Work.
type Work struct{ Compile, Exact, Greedy, Columns, Fleets, Round, Polish, Settle int64 }

// Total is all of it.
func (w Work) Total() int64 {
	return w.Compile + w.Exact + w.Greedy + w.Columns + w.Fleets + w.Round + w.Polish + w.Settle
}

func (w *Work) add(o Work) {
	w.Compile, w.Exact, w.Greedy, w.Columns = w.Compile+o.Compile, w.Exact+o.Exact, w.Greedy+o.Greedy, w.Columns+o.Columns
	w.Fleets, w.Round, w.Polish, w.Settle = w.Fleets+o.Fleets, w.Round+o.Round, w.Polish+o.Polish, w.Settle+o.Settle
}
