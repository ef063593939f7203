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

// spotForSpot keeps spot nodes from being replaced one by one by cheaper spot nodes of fewer and fewer kinds: spot
// prices move all the time, and each move would end on an offering with less spare capacity, until the node is the one
// most often interrupted. A replacement must list enough that is cheaper than the node, and not what the node is
// itself. Several nodes may become fewer. Where it is known how often AWS takes back all of them, what need not be
// taken back more often than the node needs no such diversity.
func (j *judge) spotForSpot(d *draft.Decision) model.Reason {
	if len(d.Replacements) == 0 || len(d.Replacements) < len(d.Hosts) || !j.allSpot(d.Hosts) {
		return model.Reason{}
	}
	for _, b := range d.Replacements {
		if !maySpot(b) {
			continue
		}
		if r := j.diverse(d.Hosts, b, j.reclaims(d)); !r.OK() {
			return r
		}
	}
	return model.Reason{}
}

func (j *judge) diverse(hosts []int, b *purchase.NewClaim, taken reclaims) model.Reason {
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
	enough := n >= minOfferings && (len(zones) >= minZones || len(families) >= minFamilies)
	if (enough || n > 0 && taken.noMore()) && !same {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNoCheaper, Subject: j.v.Hosts[hosts[0]].Name(),
		Message: fmt.Sprintf("%s at %s would do, but only %s of %s in %s would be cheaper: too few for spot to take the place of spot",
			b.Best().Type.Name, b.Best().PriceText(), fit.Count(n, "spot offering"), kinds(len(families)), fit.Count(len(zones), "zone")) + taken.text(),
		Remedy: "allow more instance families or zones in the pool",
	}
}

// reclaims is how often AWS takes back the nodes of a decision that it takes back least, and what may take their place
// that it takes back most. Before is zero, which is never, where a node is not of spot.
type reclaims struct {
	before, after model.ReclaimBand
	known         bool
}

// reclaims says what is known of a decision: nothing where any band is missing, or nothing that is bought may be of spot.
func (j *judge) reclaims(d *draft.Decision) reclaims {
	out := reclaims{before: model.Above20}
	for _, h := range d.Hosts {
		c := j.v.Hosts[h].Claim
		band := j.v.Reclaimed(c)
		if c.CapacityType == model.Spot && band == 0 {
			return reclaims{}
		}
		out.before = min(out.before, band)
	}
	for _, b := range d.Replacements {
		for _, o := range b.Options {
			if o.Offering.CapacityType != model.Spot {
				continue
			}
			if o.Offering.Reclaimed == 0 {
				return reclaims{}
			}
			out.after, out.known = max(out.after, o.Offering.Reclaimed), true
		}
	}
	return out
}

// noMore says that nothing is taken back more often than before.
func (r reclaims) noMore() bool { return r.known && r.after <= r.before }

func (r reclaims) text() string {
	switch {
	case !r.known:
		return ""
	case r.before == 0:
		return fmt.Sprintf("; AWS takes back %s of such spot instances in a month", r.after)
	}
	return fmt.Sprintf("; AWS takes back %s of such spot instances in a month, and %s of what is there", r.after, r.before)
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
