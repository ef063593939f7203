package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
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
	return t.judgeSite(c, s, false).ruling == rulingFine
}

// AllowsReal is Allows where only those domains count for the minimum of spread that exist or that a claim of this plan
// opens. Who relies on it must Freeze the class, and make no claim after that Opens.
func (t *Tally) AllowsReal(c *view.Class, s *Site) bool {
	return t.judgeSite(c, s, true).ruling == rulingFine
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

func (t *Tally) judgeSite(c *view.Class, s *Site, actual bool) verdict {
	if s.probe && len(t.staff(s.form)) > 0 {
		mark := t.Mark()
		defer t.Revert(mark)
		s = t.claim(s.form, s.host) // the pods that such a node has from the start count
	}
	x := &t.nodes.r.classes[c.Index]
	if !t.nodes.r.CanRefuse(c) {
		return verdict{} // whoever counts the pods takes them for being wherever they may be
	}
	for i, key := range x.keys {
		if t.nodes.at(s, key) == open {
			return verdict{rulingOpen, i}
		}
	}
	for i := range x.spread {
		if !t.spreads(&x.spread[i], s, actual) {
			return verdict{rulingSpread, i}
		}
	}
	if i, ok := t.attracts(x, s); !ok {
		return verdict{rulingAffinity, i}
	}
	for i, a := range x.anti {
		if t.most(a.counter, s) > 0 {
			return verdict{rulingAnti, i}
		}
	}
	for _, n := range t.nodes.r.kinds[t.nodes.r.kindOf[c.Index]].repelled {
		if t.most(n, s) > 0 {
			return verdict{rulingInverse, int(n)}
		}
	}
	return verdict{}
}

// most is how many pods there are at most in the domain of a site; none where it is in no domain.
func (t *Tally) most(counter int32, s *Site) int32 {
	d := t.nodes.at(s, t.nodes.r.counters[counter].key)
	if d < 0 {
		return 0
	}
	return t.counts[counter].most(d)
}

func (t *Tally) spreads(rule *spreadRule, s *Site, actual bool) bool {
	d := t.nodes.at(s, t.nodes.r.counters[rule.counter].key)
	switch d {
	case unasked:
		return true
	case absent:
		return false
	}
	return t.most(rule.counter, s)+rule.self-t.leastSeen(rule, s, actual) <= rule.maxSkew
}

// attracts says whether required affinity holds, or the rule that does not.
func (t *Tally) attracts(x *classRules, s *Site) (rule int, ok bool) {
	lonely := -1
	none := true
	for i, a := range x.affinity {
		none = none && t.counts[a.counter].total == 0
		d := t.nodes.at(s, t.nodes.r.counters[a.counter].key)
		switch {
		case d == unasked:
		case d == absent:
			return i, false
		case t.counts[a.counter].domains[d].lo == 0 && lonely < 0:
			lonely = i
		}
	}
	return lonely, lonely < 0 || (none && x.attracted)
}

// Why is Allows with the reason; the zero Reason means that the pod may go there.
func (t *Tally) Why(c *view.Class, s *Site) model.Reason {
	if s.probe && len(t.staff(s.form)) > 0 {
		mark := t.Mark()
		defer t.Revert(mark)
		s = t.claim(s.form, s.host)
	}
	v := t.judgeSite(c, s, false)
	if v.ruling == rulingFine {
		return model.Reason{}
	}
	x := &t.nodes.r.classes[c.Index]
	var r model.Reason
	switch v.ruling {
	case rulingSpread:
		r = t.spreadReason(&x.spread[v.rule], s)
	case rulingAffinity:
		r = t.affinityReason(x, v.rule, s)
	case rulingAnti:
		r = t.antiReason(x.anti[v.rule], s)
	case rulingInverse:
		r = t.inverseReason(c, int32(v.rule), s)
	case rulingOpen, rulingFine:
		r = t.openReason(c, x.keys[v.rule], s)
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

func (t *Tally) spreadReason(rule *spreadRule, s *Site) model.Reason {
	key := t.nodes.r.counters[rule.counter].key
	name := t.nodes.r.keys[key]
	d := t.nodes.at(s, key)
	if d == absent {
		return model.Reason{
			Code:    model.CodeTopologySpread,
			Message: fmt.Sprintf("the topology spread constraint needs the label %s, which %s does not have", name, s.name),
			Remedy:  fmt.Sprintf("label the nodes with %s, or spread over another label", name),
		}
	}
	has, least := t.most(rule.counter, s), t.leastSeen(rule, s, false)
	message := fmt.Sprintf("%s has %d of the pods with %s, and one more is beyond maxSkew %d: the emptiest %s has %d",
		t.where(key, s), has, selectorText(rule.spec.Selector), rule.maxSkew, name, least)
	remedy := fmt.Sprintf("raise maxSkew, or let the pods run where there are fewer of them, by another %s", name)
	if _, _, sure := t.domainsOf(rule, t.region(t.nodes.r.counters[rule.counter].universe), false); sure < rule.minDomains {
		message = fmt.Sprintf("%s has %d of the pods with %s, and may not have more than maxSkew %d while there are %d of the %d domains of minDomains",
			t.where(key, s), has, selectorText(rule.spec.Selector), rule.maxSkew, sure, rule.minDomains)
		remedy = fmt.Sprintf("lower minDomains, or allow nodes with more values of %s", name)
	}
	return model.Reason{Code: model.CodeTopologySpread, Message: message, Remedy: remedy}
}

func (t *Tally) affinityReason(x *classRules, i int, s *Site) model.Reason {
	a := x.affinity[i]
	key := t.nodes.r.counters[a.counter].key
	name := t.nodes.r.keys[key]
	if t.nodes.at(s, key) == absent {
		return model.Reason{
			Code:    model.CodePodAffinity,
			Message: fmt.Sprintf("the required pod affinity needs the label %s, which %s does not have", name, s.name),
			Remedy:  fmt.Sprintf("label the nodes with %s, or use another topologyKey", name),
		}
	}
	if t.counts[a.counter].total == 0 {
		return model.Reason{
			Code:    model.CodePodAffinity,
			Message: fmt.Sprintf("the required pod affinity asks for a pod with %s in the same %s, and no such pod runs", selectorText(a.spec.Selector), name),
			Remedy:  "start a pod that the affinity selects, or change the affinity",
		}
	}
	return model.Reason{
		Code: model.CodePodAffinity,
		Message: fmt.Sprintf("the required pod affinity asks for a pod with %s, and %s has none",
			selectorText(a.spec.Selector), t.where(key, s)),
		Remedy: fmt.Sprintf("make room where such pods run, or change the required affinity on %s", name),
	}
}

func (t *Tally) antiReason(a antiRule, s *Site) model.Reason {
	key := t.nodes.r.counters[a.counter].key
	return model.Reason{
		Code: model.CodePodAntiAffinity,
		Message: fmt.Sprintf("the required pod anti-affinity keeps away from pods with %s, and %s has %d",
			selectorText(a.spec.Selector), t.where(key, s), t.most(a.counter, s)),
		Remedy: fmt.Sprintf("allow nodes with another %s, or change the required anti-affinity", t.nodes.r.keys[key]),
	}
}

func (t *Tally) inverseReason(c *view.Class, counter int32, s *Site) model.Reason {
	key := t.nodes.r.counters[counter].key
	owner := t.ownerOf(counter)
	return model.Reason{
		Code: model.CodePodAntiAffinity,
		Message: fmt.Sprintf("pods in %s (%d, such as those of %s %s/%s) keep pods like those of %s/%s away by required anti-affinity",
			t.where(key, s), t.most(counter, s), owner.OwnerKind, owner.Namespace, owner.OwnerName, c.Namespace, c.OwnerName),
		Remedy: fmt.Sprintf("allow nodes with another %s, or change the anti-affinity of %s/%s", t.nodes.r.keys[key], owner.Namespace, owner.OwnerName),
	}
}

// ownerOf is the first class whose required anti-affinity a counter counts.
func (t *Tally) ownerOf(counter int32) *view.Class {
	i := slices.IndexFunc(t.nodes.r.classes, func(x classRules) bool { return slices.Contains(x.owned, counter) })
	return t.nodes.r.w.Classes[i]
}

func (t *Tally) openReason(c *view.Class, key int32, s *Site) model.Reason {
	code := model.CodeTopologySpread
	x := &t.nodes.r.classes[c.Index]
	switch {
	case len(x.spread) > 0:
	case len(x.affinity) > 0:
		code = model.CodePodAffinity
	default:
		code = model.CodePodAntiAffinity
	}
	return model.Reason{
		Code:    code,
		Message: fmt.Sprintf("it is not decided yet which %s %s will have, and rules about other pods depend on it", t.nodes.r.keys[key], s.name),
	}
}

// where names the domain of a site.
func (t *Tally) where(key int32, s *Site) string {
	if key == hostname || t.nodes.at(s, key) < 0 {
		return s.name
	}
	return fmt.Sprintf("%s %s", t.nodes.r.keys[key], t.nodes.names[key][t.nodes.at(s, key)])
}

// selectorText is a selector as people write it.
func selectorText(s *model.Selector) string {
	if s == nil {
		return "no labels at all"
	}
	if len(s.Requirements) == 0 {
		return "any labels"
	}
	parts := make([]string, len(s.Requirements))
	for i, r := range s.Requirements {
		switch {
		case r.Operator == model.In && len(r.Values) == 1:
			parts[i] = r.Key + "=" + r.Values[0]
		case len(r.Values) > 0:
			parts[i] = fmt.Sprintf("%s %s [%s]", r.Key, r.Operator, strings.Join(r.Values, " "))
		default:
			parts[i] = fmt.Sprintf("%s %s", r.Key, r.Operator)
		}
	}
	return strings.Join(parts, ", ")
}
