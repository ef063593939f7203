// Package settled says whether pods may be where a plan has them once all of its nodes are known: the pods of DaemonSets are on each
// of these before any other, and so on those, too, that were added after a pod was placed.
//
// It counts nothing for good, and chooses no place. Start reading with Allows.
package settled

import (
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Placed is a pod that a plan has on a site, and counts there.
type Placed struct {
	Class *view.Class
	Site  *topology.Site
}

// Allows says whether one more pod may be on a site, whatever becomes of it and of the nodes of which something is open that matters to
// its class.
func Allows(t *topology.Tally, p Placed, open func(*view.Class) []*topology.Site) bool {
	return t.AllowsEither(p.Class, p.Site, podrules.AnyKey) || topology.AllowsInEach(t, p.Class, p.Site, podrules.AnyKey, open(p.Class))
}

// AllowBeside says whether pods, in the order in which they get their places, may all be where they are if there were a node at a place, too.
func AllowBeside(t *topology.Tally, at *fit.Place, placed []Placed, open func(*view.Class) []*topology.Site) bool {
	mark := t.Mark()
	defer t.Revert(mark)
	for _, p := range placed {
		t.Add(p.Class, p.Site, -1)
	}
	t.Claim(nil, at)
	for _, p := range placed {
		if !Allows(t, p, open) {
			return false
		}
		t.Add(p.Class, p.Site, 1)
	}
	return true
}
