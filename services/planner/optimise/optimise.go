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

// Problem is what to pack and what into. Money is micro-dollars per hour. All vectors have one length.
type Problem struct {
	Items []Item
	Bins  []Bin
	// Rules hold within each single bin, Limits over all bins used.
	Rules  []Rule
	Limits []Limit
	// Penalties are extra prices; where none is named it is 0.
	Penalties []Penalty
	// Work bounds the effort in steps of inner loops, about a nanosecond each; it is no clock, so that the answer does not
	// depend on the machine. 0 means as much as the size of the problem warrants; negative means the greedy search alone.
	Work int64
	// GapTarget ends the search once cost is within this fraction of the bound; 0 means 0.003.
	GapTarget float64
	// BoundOnly ends the search once the bound is proven; the packing is then what the greedy search made of it.
	BoundOnly bool
	// Worth asks for Solution.Worth, and for nothing else but the bound.
	Worth bool
	// Stop ends the search early with the best answer so far; nil never stops. It is asked every few milliseconds, and does
	// not go back on its word.
	Stop func() bool
	// Drop says that after Stop no answer is wanted: the search ends before it has one, too, and pods are left.
	Drop bool
}

// Item is a number of equal pods.
type Item struct {
	Count   int
	Request []int64
}

// Bin is a kind of node.
type Bin struct {
	// Price is for one copy, with whatever a node costs beyond its list price. It is not negative.
	Price int64
	Free  []int64
	// Takes are the items that may go there.
	Takes Set
	// Most is how many copies may be used; negative means any number. An existing node has 1, and mostly the price 0.
	Most int
	// Before says what rules see on the bin before anything is packed.
	Before []Before
}

// Before is what is on a bin already, in the eyes of one rule.
type Before struct {
	// Rule is a place in Problem.Rules.
	Rule int
	// Triggers says that something there triggers the rule; Counted is how much there counts.
	Triggers bool
	Counted  int
}

// Rule says: if a bin has any pod of the items in Trigger, it has at most Most pods of the items in Counted.
type Rule struct {
	Trigger, Counted Set
	Most             int
}

// Limit bounds the sum of Amount, which is by bin, over all copies used.
type Limit struct {
	Amount []int64
	Most   int64
}

// Penalty is an extra price, not negative, for each pod of an item on a bin.
type Penalty struct {
	Item, Bin int
	Price     int64
}

// Set is a set of places in a list. The zero value is empty.
type Set []uint64

// NewSet is an empty set for places below n.
func NewSet(n int) Set { return make(Set, (n+63)/64) }

// Add puts a place in, which must be below what the set was made for.
func (s Set) Add(i int) { s[i>>6] |= 1 << (i & 63) }

// Has says whether a place is in the set.
func (s Set) Has(i int) bool { return i>>6 < len(s) && s[i>>6]&(1<<(i&63)) != 0 }

// Kind says where a bound comes from.
type Kind uint8

const (
	// KindNone is no bound.
	KindNone Kind = iota
	// KindResource is the price of resources at the cheapest bins.
	KindResource
	// KindFarley is column generation that was cut short: the duals, scaled until no filling of a bin is worth more than it.
	KindFarley
	// KindLP is column generation to its end.
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
type Work struct{ Compile, Exact, Greedy, Columns, Round, Polish int64 }

// Total is all of it.
func (w Work) Total() int64 {
	return w.Compile + w.Exact + w.Greedy + w.Columns + w.Round + w.Polish
}
