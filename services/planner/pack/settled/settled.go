// Package settled says whether pods may be where a plan has them once all of its nodes are known: the pods of
// DaemonSets are on each of these before any other, and so on those, too, that were added after a pod was placed.
//
// It counts nothing for good, and chooses no place. Start reading with Allows.
package settled

import (
	"slices"

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

// Allows says whether one more pod may be on a site, whatever becomes of it and of the nodes of which something is open
// that matters to its class.
func Allows(t *topology.Tally, p Placed, open func(*view.Class) []*topology.Site) bool {
	return t.AllowsEither(p.Class, p.Site, podrules.AnyKey) || topology.AllowsInEach(t, p.Class, p.Site, podrules.AnyKey, open(p.Class))
}

// StillAllowed says whether a pod that was placed could be placed there still, after what changed since.
func StillAllowed(t *topology.Tally, p Placed) bool {
	if p.Site == nil {
		return true
	}
	defer t.Revert(t.Mark())
	t.Add(p.Class, p.Site, -1)
	return t.Allows(p.Class, p.Site)
}

// Likeness is the same for placed pods of which pod rules allow one more exactly if they allow one more of any other.
type Likeness struct {
	class      int
	form, host int32
}

// LikenessOf is that of a pod.
func LikenessOf(t *topology.Tally, p Placed) Likeness {
	form, host, decided := topology.Like(t, p.Site)
	if decided && !slices.Contains(t.Rules().Classes[p.Class.Index].Keys, podrules.Hostname) {
		host = podrules.None
	}
	return Likeness{p.Class.Index, form, host}
}

// AllowBeside says whether pods, in the order in which they get their places, may all be where they are if there were a
// node at a place, too.
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
