// Package miss says how near pools come to running a pod: by how many changes each is away, and which of them is nearest.
//
// A pool is away by as many changes as rules of it are broken, as far as one can tell without the others changed. It knows
// nothing of what the rules are. Start reading with Miss, then Nearest.
package miss

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Stage is which rule a pool breaks first, in their order: a miss of a later one is nearer, where it takes as many changes.
type Stage int

// The stages.
const (
	Pool Stage = iota
	Taint
	Labels
	Ready // the pool would take the pod, if it or its class were in order
	Size
	Devices // it was to have them, and none come
	Offering
	Choice
	Limit
	Peers // all is well but for other pods
)

// Miss is why a pool can't help, and how near it comes.
type Miss struct {
	Pool *view.Pool
	// Other says that the pod names pools that there are, and that this is none of them.
	Other bool
	Stage Stage
	// Lack is how far the pool is from what its first broken rule asks for, where that can be measured.
	Lack float64
	// changes is how many rules it breaks.
	changes int
	model.PoolMiss
}

// mostRemedies is how many remedies one reason has.
const mostRemedies = 3

// Break notes the rules that a pool breaks: the first is the reason, and as its remedy alone would not help where there
// are more, it has theirs, too.
func (m *Miss) Break(stage Stage, broken ...model.Reason) {
	m.Stage, m.changes, m.Reason = stage, len(broken), broken[0]
	if m.Reason.Remedy == "" { // what nothing helps against, more changes do not
		return
	}
	for i, r := range broken[1:] {
		if i+1 == mostRemedies {
			m.Reason.Remedy += fmt.Sprintf("; and %d more", len(broken)-mostRemedies)
			break
		}
		m.Reason.Remedy += "; also " + cmp.Or(r.Remedy, r.Message)
	}
}

// Nearest is the miss that takes the fewest changes; of equals that of the later rule, then that which lacks least, then
// that of the pool of the highest weight. A pod that names pools hears of those.
func Nearest(misses []Miss) Miss {
	return slices.MinFunc(misses, func(a, b Miss) int {
		return cmp.Or(
			cmp.Compare(last(a), last(b)), cmp.Compare(a.changes, b.changes), cmp.Compare(b.Stage, a.Stage), cmp.Compare(a.Lack, b.Lack), cmp.Compare(a.Pool.Index, b.Pool.Index),
		)
	})
}

// last is 1 of a miss that comes after all others.
func last(m Miss) int {
	if m.Other {
		return 1
	}
	return 0
}
