package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// mostShares is over how many domains pods are shared out at most.
const mostShares = 8

// LeastShares says how many of n pods of a class each of some values of a label has at least in any plan, because the class's required
// spread counts them. The pods are on no site now, and counted says of how many classes with such pods each counter counts any. Where
// the constraint counts any other pod, nothing is said: each is 0.
//
// With k domains and a skew of s the fullest may have s pods more than the emptiest, and all but that one may be so full.
func LeastShares(t *Tally, c *view.Class, n int, counted map[int32]int) (key string, values []string, each int) {
	if !OffersCount(t) {
		return "", nil, 0
	}
	for i := range t.nodes.r.Classes[c.Index].Spread {
		rule := &t.nodes.r.Classes[c.Index].Spread[i]
		spec := &t.nodes.r.Counters[rule.Counter]
		alone := counted[rule.Counter] == 1 && slices.Contains(SpreadCounters(t, c), rule.Counter)
		if spec.Key == podrules.Hostname || !alone || t.domains.counts[rule.Counter].total > 0 {
			continue
		}
		all := t.domains.region(spec.Universe)
		k := int(all.all.n)
		if all.unboundedAll || k == 0 || k > mostShares {
			continue
		}
		if least := (n - int(rule.MaxSkew)*(k-1) + k - 1) / k; least > each {
			key, values, each = t.nodes.r.TopologyKeys[spec.Key], t.nodes.namesOf(spec.Key, &all.all), least
		}
	}
	return key, values, each
}

// OffersCount says that every pod was placed as if each node that can be bought were there, with no pods.
func OffersCount(t *Tally) bool { return len(t.nodes.r.Daemons) == 0 && !t.Frozen() }

// SpreadCounters are the counters of spread that count pods of a class.
func SpreadCounters(t *Tally, c *view.Class) []int32 {
	return t.nodes.r.Kinds[t.nodes.r.KindOf[c.Index]].Spread
}

// Unsure says whether nodes of a site may or may not be such that some required spread of a class looks at them.
func Unsure(t *Tally, c *view.Class, s *Site) bool {
	return slices.ContainsFunc(t.nodes.r.Classes[c.Index].Spread, func(rule podrules.SpreadRule) bool {
		return t.nodes.pass(t.nodes.r.Universes[t.nodes.r.Counters[rule.Counter].Universe].Filter, s.form) == passMaybe
	})
}

// namesOf are the values of a topology key in a set of its domains.
func (a *nodeForms) namesOf(key int32, of *set) []string {
	var out []string
	for d, name := range a.names[key] {
		if of.has(int32(d)) {
			out = append(out, name)
		}
	}
	return out
}
