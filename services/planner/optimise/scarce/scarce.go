// Package scarce is what there is only so much of, as rows of a linear programme: limits, stocks of bins, and numbers of
// nodes.
//
// It knows what fillings take of them and what a plan has left, and nothing of the programme. Start reading with Row.
package scarce

import "github.com/kerf-dev/kerf/services/planner/optimise/compact"

// Row is a limit, or the stock of a bin with a price, as a row of the programme: what fillings take of it is at most
// what is left.
type Row struct {
	// Limit is a place in compact.Problem.Limits, Bin one in its Bins; one of them is -1, or both where it is a number
	// of nodes.
	Limit, Bin int32
	Nodes      NodeCount
	// Unit is what is counted as one.
	Unit float64
	// Left is what is left, in units.
	Left float64
}

// NodeCount says how many nodes there are of some bins: so many of them at most, or at least. Dual is what one less or
// one more would cost.
type NodeCount struct {
	In    []bool
	Nodes float64
	Least bool
	Dual  float64
}

// CountsNodes says that it is a number of nodes.
func (s *Row) CountsNodes() bool { return s.Nodes.In != nil }

// LeftIn is what a plan has left, in units.
func (s *Row) LeftIn(pl *compact.Plan) float64 {
	if s.CountsNodes() {
		if s.Nodes.Least {
			return -s.Nodes.Nodes
		}
		return s.Nodes.Nodes
	}
	if s.Limit >= 0 {
		return max(0, float64(pl.LimitLeft[s.Limit])/s.Unit)
	}
	return max(0, float64(pl.Problem.Bins[s.Bin].Copies-int(pl.Used[s.Bin])))
}

// Taken is what one copy of a bin, which is at a place, takes, in units.
func (s *Row) Taken(b *compact.Bin, at int32) float64 {
	switch {
	case s.Limit >= 0:
		return float64(b.Amount[s.Limit]) / s.Unit
	case s.Bin == at:
		return 1
	case s.CountsNodes() && s.Nodes.In[at] && s.Nodes.Least:
		return -1
	case s.CountsNodes() && s.Nodes.In[at]:
		return 1
	}
	return 0
}
