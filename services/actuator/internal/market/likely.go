package market

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// anticipate finds what the classes' pools would launch, where pools or shapes have changed. A class for which that is
// something else than before is resolved again, as other launches may be allowed.
func (s *Classes) anticipate(pools []cluster.Pool) {
	changed := !reflect.DeepEqual(pools, s.pools)
	s.pools = pools
	for _, c := range s.All() {
		if !changed && c.likelyOf == c.catalogue {
			continue
		}
		c.likelyOf = c.catalogue
		if likely := s.likely(c); !slices.Equal(likely, c.likely) {
			c.likely, c.due = likely, c.due || s.leads
		}
	}
}

// candidate is a type that a pool allows.
type candidate struct {
	name   model.TypeName
	family string
	// accelerators is how many kinds of them it has.
	accelerators int
	price        int64
}

// likely are the types that pools of the class allow: of each family the cheapest, those without accelerators first.
func (s *Classes) likely(c *Class) []model.TypeName {
	if c.catalogue == nil {
		return nil
	}
	var pools []require.Set
	for _, p := range s.pools {
		if p.NodeClass == c.Spec.Name && !p.Terminating {
			pools = append(pools, require.NewSet(p.Requirements...))
		}
	}
	var all []candidate
	for _, t := range c.catalogue.inventory.InstanceTypes {
		if !slices.ContainsFunc(pools, func(r require.Set) bool { return allows(r, t.Labels) }) {
			continue
		}
		family, _ := t.Labels.Get(labels.InstanceFamily)
		accelerators := 0
		for _, key := range []string{labels.InstanceGPUCount, labels.InstanceAcceleratorCount} {
			if _, has := t.Labels.Get(key); has {
				accelerators++
			}
		}
		price := cmp.Or(s.market.onDemand[t.Name], s.market.bundled(string(t.Name)).OnDemandMicroUSD, math.MaxInt64)
		all = append(all, candidate{t.Name, family, accelerators, price})
	}
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.accelerators, y.accelerators), cmp.Compare(x.price, y.price), cmp.Compare(x.name, y.name))
	})
	var out []model.TypeName
	seen := map[string]bool{}
	for _, t := range all {
		if !seen[t.family] {
			seen[t.family] = true
			out = append(out, t.name)
		}
	}
	return out
}

// ofType is how labels begin that say something of the instance type, so that a type without one lacks it.
const ofType = labels.KarpenterAWS + "/instance-"

// allows says that nodes of a type with the labels may be of a pool. What a type does not decide, as the zone, is left
// open.
func allows(pool require.Set, own model.Labels) bool {
	for _, r := range pool {
		value, present := own.Get(r.Key)
		if (present || strings.HasPrefix(r.Key, ofType)) && !r.Matches(value, present) {
			return false
		}
	}
	return true
}
