package verify

import (
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Where a spot node takes the place of one, it may become any of so many, so that the risk of losing it does not rise.
const (
	leastSpots    = 5
	leastZones    = 2
	leastFamilies = 3
)

// spotForSpot checks that a spot node which replaces one keeps as many ways to be launched as it takes not to walk down,
// step by step, to the one type that is interrupted most.
func (c *checker) spotForSpot(subject string, d *model.Disruption) {
	if d.Reason != model.ReasonUnderutilized || len(d.Candidates) != 1 || len(d.Replacements) != 1 {
		return
	}
	claim, fresh := c.live[d.Candidates[0]], c.fresh[d.Replacements[0]]
	if claim == nil || fresh == nil || claim.CapacityType != model.Spot {
		return
	}
	spots := 0
	zones, families := make(map[string]bool), make(map[string]bool)
	for _, o := range fresh.Offerings {
		if o.CapacityType != model.Spot {
			continue
		}
		spots++
		zones[o.Zone] = true
		family, _, _ := strings.Cut(string(o.InstanceType), ".")
		families[family] = true
		if o.InstanceType == claim.InstanceType && o.Zone == claim.Zone {
			c.fail(subject, "the spot node in its place may be what it is: %s in %s", o.InstanceType, o.Zone)
		}
		if o.Price >= c.price(claim) {
			c.fail(subject, "the spot node in its place may be %s in %s, which is no cheaper", o.InstanceType, o.Zone)
		}
	}
	if spots > 0 && (spots < leastSpots || (len(zones) < leastZones && len(families) < leastFamilies)) {
		c.fail(subject, "the spot node in its place may be one of %d, in %d zones, of %d families: that is too few", spots, len(zones), len(families))
	}
}
