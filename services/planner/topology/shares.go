package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// mostShares is over how many domains pods are shared out at most.
const mostShares = 8

// Share is where a class's pods are in every plan, for its spread: each value has Least of them or more, none above
// Most; 0 says nothing.
type Share struct {
	Key         string
	Values      []string
	Least, Most int
}

// ShareOf is that of n pods on no site yet, by the constraint that binds most of those that count no other pods:
// counted is how many classes each counter counts. The fullest of k domains may have the skew more than the emptiest,
// and all but one may be so full, or so empty.
func ShareOf(t *Tally, c *view.Class, n int, counted map[int32]int) (out Share) {
	for _, rule := range t.nodes.r.Classes[c.Index].Spread {
		spec := &t.nodes.r.Counters[rule.Counter]
		alone := counted[rule.Counter] == 1 && slices.Contains(SpreadCounters(t, c), rule.Counter)
		if spec.Key == podrules.Hostname || !alone || t.domains.counts[rule.Counter].total > 0 || !OffersCount(t) {
			continue
		}
		all := t.domains.region(spec.Universe)
		k, skew := all.all.Len(), int(rule.MaxSkew)
		if all.unboundedAll || k == 0 || k > mostShares {
			continue
		}
		least, most := max(0, (n-(skew-1)*(k-1))/k), (n+skew*(k-1))/k
		if out.Most == 0 || least > out.Least || least == out.Least && most < out.Most {
			out = Share{t.nodes.r.TopologyKeys[spec.Key], t.nodes.namesOf(spec.Key, all.all), least, most}
		}
	}
	return out
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
func (a *nodeForms) namesOf(key int32, of bits.Set) (out []string) {
	for d, name := range a.names[key] {
		if of.Has(d) {
			out = append(out, name)
		}
	}
	return out
}
