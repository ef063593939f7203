package consolidate

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

// Diversity that a spot node must leave to the one that takes its place alone.
const (
	minOfferings = 5
	minZones     = 2
	minFamilies  = 3
)

// spotForSpot keeps spot nodes from being replaced one by one by cheaper spot nodes of fewer and fewer kinds: spot prices
// move all the time, and each move would end on an offering with less spare capacity, until the node is the one most often
// interrupted. A replacement must list enough that is cheaper than the node, and not what the node is itself. Several nodes
// may become fewer.
func (j *judge) spotForSpot(d *draft.Decision) model.Reason {
	if len(d.Replacements) == 0 || len(d.Replacements) < len(d.Hosts) || !j.allSpot(d.Hosts) {
		return model.Reason{}
	}
	for _, b := range d.Replacements {
		if !maySpot(b) {
			continue
		}
		if r := j.diverse(d.Hosts, b); !r.OK() {
			return r
		}
	}
	return model.Reason{}
}

func (j *judge) diverse(hosts []int, b *purchase.NewClaim) model.Reason {
	highest := int64(0)
	for _, h := range hosts {
		highest = max(highest, j.v.WeighedPrice(j.v.Hosts[h].Claim))
	}
	zones, families, n, same := make(map[string]bool), make(map[string]bool), 0, false
	for _, o := range b.Options {
		if o.Offering.CapacityType != model.Spot || o.Price >= highest {
			continue
		}
		n++
		zones[o.Offering.Zone] = true
		families[family(o.Type.Name)] = true
		same = same || slices.ContainsFunc(hosts, func(h int) bool {
			c := j.v.Hosts[h].Claim
			return c.InstanceType == o.Type.Name && c.Zone == o.Offering.Zone
		})
	}
	if n >= minOfferings && (len(zones) >= minZones || len(families) >= minFamilies) && !same {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNoCheaper, Subject: j.v.Hosts[hosts[0]].Name(),
		Message: fmt.Sprintf("%s at %s would do, but only %s of %s in %s would be cheaper: too few for spot to take the place of spot",
			b.Best().Type.Name, fit.Money(b.Best().Price), fit.Count(n, "spot offering"), kinds(len(families)), fit.Count(len(zones), "zone")),
		Remedy: "allow more instance families or zones in the pool",
	}
}

func kinds(n int) string {
	if n == 1 {
		return "1 family"
	}
	return fmt.Sprintf("%d families", n)
}

// family is the part of a type's name before the dot.
func family(t model.TypeName) string {
	for i := range t {
		if t[i] == '.' {
			return string(t[:i])
		}
	}
	return string(t)
}
