// Package problem states what to pack and into what, in numbers only: rows of equal pods, kinds of nodes with prices, and
// rules. It has no method of its own, and must never know what an item or a bin is. Start reading with Problem.
package problem

import (
	"github.com/kerf-dev/kerf/services/planner/bits"
)

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
	// GapTarget ends the search once cost is within this fraction of the bound; 0 means once nothing can be cheaper.
	GapTarget float64
	// BoundOnly ends the search once the bound is proven; the packing is then what the greedy search made of it.
	BoundOnly bool
	// Known is what a plan costs that is known, for BoundOnly: no higher bound is looked for. 0 is none.
	Known int64
	// Tried says that the packing is one of many that are tried: what takes longest for the last per cent is left out.
	Tried bool
	// Loose says that its bound is not asked for: what does nothing but raise it is left out.
	Loose bool
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
	Takes bits.Set
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
	Trigger, Counted bits.Set
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
