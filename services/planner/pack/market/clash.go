package market

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// clash is what stands between a pool and the instance types, zones and capacity types that its class could have.
type clash struct {
	pool *view.Pool
	// rules are the pool's requirements that types and places decide; the class's images are one more, the last.
	rules []require.Requirement
	// values are what there is for each rule.
	values []map[string]bool
	// types counts instance types by the rules that all of their offerings break, the fewest each.
	types map[uint64]int
}

// clashOf names the requirements that leave a pool nothing to buy: those but for which the most instance types would do.
// It is the zero Reason where nothing would.
func clashOf(w *view.World, p *view.Pool, byType map[model.TypeName][]*model.Offering) model.Reason {
	c := clash{pool: p, types: map[uint64]int{}}
	const most = 63 // with the images, as many as a word has bits
	for _, r := range p.Requirements {
		if (labels.OfPlace(r.Key) || labels.WellKnown(r.Key) || p.Catalog.Defines(r.Key)) && len(c.rules) < most {
			c.rules = append(c.rules, r)
			c.values = append(c.values, map[string]bool{})
		}
	}
	for _, t := range p.Catalog.Types {
		c.add(w, t, byType[t.Name])
	}
	ways := slices.SortedFunc(maps.Keys(c.types), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(bits.OnesCount64(a), bits.OnesCount64(b)), cmp.Compare(c.types[b], c.types[a]), cmp.Compare(a, b))
	})
	if len(ways) == 0 || ways[0] == 0 {
		return model.Reason{}
	}
	text := c.but(ways[0])
	if len(ways) > 1 && bits.OnesCount64(ways[1]) == bits.OnesCount64(ways[0]) {
		text += "; " + c.but(ways[1]) // two rules that exclude each other
	}
	return model.Reason{
		Code: model.CodeRequirements, Subject: "nodepool/" + string(p.Name),
		Message: "no instance type and zone satisfies both the pool and its node class; " + text,
		Remedy:  "widen spec.template.spec.requirements of the pool, or the node class's subnets and images",
	}
}

// add looks how near a type comes, where it is sold in the class's zones.
func (c *clash) add(w *view.World, t *view.Type, offerings []*model.Offering) {
	carried := view.NewNodeLabels(c.pool, t)
	var ofType uint64
	for i, r := range c.rules {
		if labels.OfPlace(r.Key) {
			continue
		}
		value, defined := carried.Get(r.Key)
		if defined {
			c.values[i][value] = true
		}
		if !r.Matches(value, defined) {
			ofType |= 1 << i
		}
	}
	boots := func(im model.MachineImage) bool {
		_, ok := require.NewSet(im.Requirements...).Matches(carried)
		return ok
	}
	if !slices.ContainsFunc(c.pool.Class.Images, boots) {
		ofType |= 1 << len(c.rules)
	}
	nearest, found := uint64(0), false
	for _, o := range offerings {
		if !slices.Contains(c.pool.Class.Zones, o.Zone) {
			continue
		}
		broken := ofType | c.place(w, o)
		if !found || bits.OnesCount64(broken) < bits.OnesCount64(nearest) {
			nearest, found = broken, true
		}
	}
	if found {
		c.types[nearest]++
	}
}

// place is the rules that an offering's zone and capacity type break.
func (c *clash) place(w *view.World, o *model.Offering) (broken uint64) {
	has := w.Places.Labels(o.Zone, o.CapacityType, o.ReservationID)
	for i, r := range c.rules {
		if !labels.OfPlace(r.Key) {
			continue
		}
		value, defined := has.Get(r.Key)
		if defined {
			c.values[i][value] = true
		}
		if !r.Matches(value, defined) {
			broken |= 1 << i
		}
	}
	return broken
}

// but is how many types would do, but for some rules.
func (c *clash) but(broken uint64) string {
	var names []string
	for i, r := range c.rules {
		if broken&(1<<i) != 0 {
			names = append(names, r.String()+c.question(i))
		}
	}
	if broken&(1<<len(c.rules)) != 0 {
		names = append(names, "the images of EC2NodeClass "+string(c.pool.Class.Name))
	}
	types := "1 instance type"
	if count := c.types[broken]; count > 1 {
		types = fmt.Sprintf("%d instance types", count)
	}
	return types + " would, but for " + strings.Join(names, " and ")
}

// question asks whether a value was meant that there is, where the rule lists one that there is not.
func (c *clash) question(rule int) string {
	r := c.rules[rule]
	values, ok := r.Values()
	if !ok || slices.Contains([]string{labels.Arch, labels.OS, labels.CapacityType}, r.Key) {
		return ""
	}
	all := make([]string, 0, len(c.values[rule]))
	for v := range c.values[rule] {
		all = append(all, v)
	}
	slices.Sort(all)
	for _, v := range values {
		if q := near.Value(v, all); q != "" && !c.values[rule][v] {
			return " (" + q + ")"
		}
	}
	return ""
}
