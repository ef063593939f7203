package topology

import (
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Leniency is by what pods are judged that Allows lets go nowhere. The zero Leniency is Allows.
type Leniency struct {
	// Over are the labels for which domains count for spread only if they exist or are planned; see AllowsReal.
	Over podrules.Keys
	// Several says that only those are placed that must be spread over several labels.
	Several bool
	// Undecided says that pods go to where several outcomes are possible that matter to them, and each of them is right. A
	// node that is decided is better: others that count such pods count them in each outcome.
	Undecided bool
	// Jointly says that what is open of several nodes is judged together; Open are these nodes, for the pod whose turn
	// it is.
	Jointly bool
	Open    []*Site
}

// Lets says whether one more pod of a class may go to a site.
func (l *Leniency) Lets(t *Tally, c *view.Class, s *Site) bool {
	switch {
	case l.Jointly:
		return AllowsInEach(t, c, s, l.Over, l.Open)
	case l.Undecided:
		return t.AllowsEither(c, s, l.Over)
	}
	return t.AllowsReal(c, s, l.Over)
}

// Leniencies are how pods of some classes are judged in turn, as long as some are left.
func Leniencies(r *podrules.Rules, classes []*view.Class) []Leniency {
	out := []Leniency{{}}
	for _, x := range r.GivesWay(classes) {
		for _, how := range []Leniency{{}, {Undecided: true}, {Jointly: true}, {Undecided: true, Jointly: true}} {
			how.Over, how.Several = x.Over, x.Several
			out = append(out, how)
		}
	}
	return out
}
