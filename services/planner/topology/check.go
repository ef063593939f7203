package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// verdict is why a pod may not go to a site.
type verdict struct {
	ruling ruling
	// rule is a place in the list of the class's rules of that kind; a counter for ruleInverse, a key for ruleOpen.
	rule int
}

type ruling uint8

const (
	rulingFine ruling = iota
	rulingOpen
	rulingSpread
	rulingAffinity
	rulingAnti
	rulingInverse
)

// Allows says whether one more pod of a class may go to a site, whatever nodes that are on offer are bought later. It is
// false where the site is undecided on a label that matters to the class.
func (t *Tally) Allows(c *view.Class, s *Site) bool {
	return t.judgeSite(c, s, 0).ruling == rulingFine
}

// AllowsReal is Allows where for spread over some labels only those domains count for the minimum that exist or that a
// claim of this plan opens. Who relies on it must Freeze the class, and make no claim after that Opens.
func (t *Tally) AllowsReal(c *view.Class, s *Site, over podrules.Keys) bool {
	return t.judgeSite(c, s, over).ruling == rulingFine
}

// AllowsEither is AllowsReal for a site that may be undecided on labels that matter to the class: the pod may go there
// whatever they become.
func (t *Tally) AllowsEither(c *view.Class, s *Site, over podrules.Keys) bool {
	shapes := t.nodes.forms[s.form].shapes
	if len(shapes) == 1 || !t.nodes.r.CanRefuse(c) {
		return t.AllowsReal(c, s, over)
	}
	if s.probe && len(t.daemonsOn(s.form)) > 0 {
		mark := t.Mark()
		defer t.Revert(mark)
		s = t.claim(s.form, s.host)
	}
	for _, id := range shapes {
		as := &Site{name: s.name, form: t.nodes.formOf([]int32{id}), host: s.host, claim: s.claim}
		if t.judgeSite(c, as, over).ruling != rulingFine {
			return false
		}
	}
	return true
}

// Undecided says whether a site may be in several domains that matter to the class.
func Undecided(t *Tally, c *view.Class, s *Site) bool {
	return slices.ContainsFunc(t.nodes.r.Classes[c.Index].Keys, func(key int32) bool { return t.nodes.at(s, key) == open })
}

// Capacity is how many pods of a class, up to limit, may go to a site one after the other.
func (t *Tally) Capacity(c *view.Class, s *Site, limit int) int {
	if !t.nodes.r.CanRefuse(c) {
		if limit > 0 && !t.Allows(c, s) {
			return 0
		}
		return limit
	}
	mark := t.Mark()
	defer t.Revert(mark)
	for i := range limit {
		if !t.Allows(c, s) {
			return i
		}
		if i+1 < limit {
			t.Add(c, s, 1)
		}
	}
	return limit
}

func (t *Tally) judgeSite(c *view.Class, s *Site, over podrules.Keys) verdict {
	if s.probe && len(t.daemonsOn(s.form)) > 0 {
		mark := t.Mark()
		defer t.Revert(mark)
		s = t.claim(s.form, s.host) // the pods that such a node has from the start count
	}
	x := &t.nodes.r.Classes[c.Index]
	if !t.nodes.r.CanRefuse(c) {
		return verdict{} // the count of pods takes them for being wherever they may be
	}
	for i, key := range x.Keys {
		if t.nodes.at(s, key) == open {
			return verdict{rulingOpen, i}
		}
	}
	for i := range x.Spread {
		if !t.domains.spreadHolds(&x.Spread[i], s, over.Has(t.nodes.r.Counters[x.Spread[i].Counter].Key)) {
			return verdict{rulingSpread, i}
		}
	}
	if i, ok := t.domains.affinityHolds(x, s); !ok {
		return verdict{rulingAffinity, i}
	}
	for i, a := range x.Anti {
		if t.domains.most(a.Counter, s) > 0 {
			return verdict{rulingAnti, i}
		}
	}
	for _, n := range t.nodes.r.Kinds[t.nodes.r.KindOf[c.Index]].RepelledBy {
		if t.domains.most(n, s) > 0 {
			return verdict{rulingInverse, int(n)}
		}
	}
	return verdict{}
}

// Why is Allows with the reason; the zero Reason means that the pod may go there.
func (t *Tally) Why(c *view.Class, s *Site) model.Reason {
	if s.probe && len(t.daemonsOn(s.form)) > 0 {
		mark := t.Mark()
		defer t.Revert(mark)
		s = t.claim(s.form, s.host)
	}
	if t.Opens(s) {
		return opensReason(s)
	}
	v := t.judgeSite(c, s, 0)
	if v.ruling == rulingFine {
		return model.Reason{}
	}
	x := &t.nodes.r.Classes[c.Index]
	var r model.Reason
	switch v.ruling {
	case rulingSpread:
		r = spreadReason(t, &x.Spread[v.rule], s)
	case rulingAffinity:
		r = affinityReason(t, x, v.rule, s)
	case rulingAnti:
		r = antiReason(t, x.Anti[v.rule], s)
	case rulingInverse:
		r = inverseReason(t, c, int32(v.rule), s)
	case rulingOpen, rulingFine:
		r = openReason(t, c, x.Keys[v.rule], s)
	}
	r.Subject = s.name
	return r
}

// OnHost is Why for a host of the view; it makes a Tally the fit.Peers of a fit.Matcher.
func (t *Tally) OnHost(c *view.Class, host int) model.Reason { return t.Why(c, t.hosts[host]) }

// CapacityOn is Capacity for a host of the view.
func (t *Tally) CapacityOn(c *view.Class, host, limit int) int {
	return t.Capacity(c, t.hosts[host], limit)
}
