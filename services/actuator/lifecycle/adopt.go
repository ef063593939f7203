package lifecycle

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Adopt makes a claim anew that the store has lost: c is what its object says, and i the instance with its tag, nil
// when there is none any more; then what may be left of the claim is cleaned up. Leaving says that its node was being
// emptied by choice, for a disruption that nothing is known of now: such a node opens again. When the user has deleted
// the object, it says so again.
func Adopt(c model.Claim, i *Instance, leaving bool, now time.Time) model.Claim {
	c.Attempt = 1                 // it was launched, so there was at least one
	c.Drifted = model.Reason{}    // which is looked at again
	c.DrainDeadline = time.Time{} // which the drain sets again
	if i == nil {
		return enter(c, model.ClaimTerminating, now)
	}
	capacity, allocatable := c.Capacity, c.Allocatable
	c = enter(record(c, *i, now), max(c.Reached, model.ClaimLaunched), now)
	if c.State >= model.ClaimRegistered && len(allocatable) > 0 {
		c.Capacity, c.Allocatable = capacity, allocatable // the node has told
	}
	if leaving {
		c.Disruption = model.DisruptionID("lost-with-" + string(c.ID)) // there is no record of it, so that it is rolled back
	}
	return c
}
