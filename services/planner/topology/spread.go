package topology

import (
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
)

// minimum is the least number of pods of any domain that counts for a spread constraint; actual leaves out domains that
// nothing of this plan opens.
func (dc *domainCounts) minimum(rule *podrules.SpreadRule, actual bool) int32 {
	g := dc.region(dc.nodes.r.Counters[rule.Counter].Universe)
	unlisted := dc.leastUnlisted(rule, g, actual)
	domains, occupied, sure := dc.domainsOf(rule, g, actual)
	if unlisted == 0 || sure < rule.MinDomains {
		return 0
	}
	least := unlisted
	if occupied > 0 {
		least = min(least, dc.counts[rule.Counter].least)
	}
	if domains > occupied {
		return dc.leastLoose(rule, absent, least, actual)
	}
	return least
}

// leastUnlisted is the least number of pods of a domain that nothing lists: each new node has a hostname of its own.
func (dc *domainCounts) leastUnlisted(rule *podrules.SpreadRule, g *region, actual bool) int32 {
	spec := &dc.nodes.r.Counters[rule.Counter]
	switch {
	case (actual && !g.unboundedReal) || (!actual && !g.unboundedAll):
		return math.MaxInt32
	case actual || spec.Key != podrules.Hostname || g.unboundedReal:
		return 0
	}
	least, filter := int32(math.MaxInt32), dc.nodes.r.Universes[spec.Universe].Filter
	for i := range dc.nodes.forms {
		if dc.nodes.forms[i].offered && dc.nodes.pass(filter, int32(i)) != passNo {
			least = min(least, dc.surely(int32(i), rule.Counter))
		}
	}
	return least
}

// leastLoose is the least number of pods of any domain but one, where there may be domains that have none for sure, or of a
// number that is given for the others. Such a domain is there only if one of the nodes that may be in it is, with its pods:
// so each of these nodes must have some.
func (dc *domainCounts) leastLoose(rule *podrules.SpreadRule, but, least int32, actual bool) int32 {
	ct, spec := &dc.counts[rule.Counter], &dc.nodes.r.Counters[rule.Counter]
	if len(ct.loose)+len(dc.nodes.r.Daemons) == 0 || spec.Key == podrules.Hostname {
		return 0
	}
	filter := dc.nodes.r.Universes[spec.Universe].Filter
	for i := range dc.nodes.forms {
		f := dc.nodes.forms[i]
		if f.nodes == 0 && (actual || !f.offered) || dc.nodes.pass(filter, int32(i)) == passNo {
			continue
		}
		domains, _ := dc.nodes.possible(filter, int32(i), spec.Key)
		domains, times := slices.Clone(domains), int32(1)
		if slices.Contains(domains, but) {
			times = 2 // pods that are there anyway are then not in the one that is left out either, where they were counted
		}
		domains = slices.DeleteFunc(domains, func(d int32) bool { return d == but || ct.domains[d].lo > 0 })
		if len(domains) == 0 {
			continue
		}
		starts := dc.startsIn(int32(i), spec.Key, domains, rule.Counter)
		if f.offered && !actual {
			least = min(least, starts)
		}
		more := starts - dc.surely(int32(i), rule.Counter) // those are there anyway
		if f.joined {
			more = 0
		}
		nodes := int32(0)
		for on, n := range ct.loose {
			if on.form == int32(i) && n > 0 {
				nodes++
				least = min(least, times*n+more)
			}
		}
		if nodes < f.nodes {
			least = min(least, more)
		}
	}
	return least
}

// startsIn is how many pods of DaemonSets that a counter counts a new node of a form has for sure in whichever of some
// domains it is.
func (dc *domainCounts) startsIn(form, key int32, domains []int32, counter int32) int32 {
	least := int32(math.MaxInt32)
	for _, d := range domains {
		least = min(least, dc.surely(dc.nodes.within(form, key, d), counter))
	}
	return least
}

// leastSeen is the minimum as a pod sees it that goes to a site. What may or may not be in the site's own domain is
// there on both sides of the comparison, so that the domain can't be emptier than it is taken to be full; and a node
// that is yet to be bought brings its domain along.
func (dc *domainCounts) leastSeen(rule *podrules.SpreadRule, s *Site, actual bool) int32 {
	spec := &dc.nodes.r.Counters[rule.Counter]
	d := dc.nodes.at(s, spec.Key)
	if d < 0 || s.probe && spec.Key == podrules.Hostname {
		return dc.minimum(rule, actual)
	}
	g, ct := dc.region(spec.Universe), &dc.counts[rule.Counter]
	unlisted := dc.leastUnlisted(rule, g, actual)
	domains, occupied, sure := dc.domainsOf(rule, g, actual)
	own, counts := ct.domains[d].lo, dc.nodes.pass(dc.nodes.r.Universes[spec.Universe].Filter, s.form)
	in := g.all.Has(int(d))
	switch {
	case spec.Key == podrules.Hostname:
		in = counts != passNo
	case actual:
		in = g.real.Has(int(d))
	}
	if own == 0 && !g.sure.Has(int(d)) && (spec.Key != podrules.Hostname || s.probe || s.host == unasked) && counts == passSure {
		sure++
	}
	if unlisted == 0 || sure < rule.MinDomains {
		return 0
	}
	if in {
		domains--
	}
	if in && own > 0 {
		occupied--
	}
	least := min(unlisted, dc.most(rule.Counter, s))
	if other, some := ct.leastBeside(own); some {
		least = min(other, least)
	}
	if domains > occupied {
		return dc.leastLoose(rule, d, least, actual)
	}
	return least
}

// domainsOf is how many domains count for a spread constraint, how many of them have pods, and how many there surely are.
func (dc *domainCounts) domainsOf(rule *podrules.SpreadRule, g *region, actual bool) (domains, occupied, sure int32) {
	ct := &dc.counts[rule.Counter]
	if dc.nodes.r.Counters[rule.Counter].Key == podrules.Hostname {
		return g.hosts, ct.occupied, g.sureHost
	}
	dc.sync(ct, g)
	sure = int32(g.sure.Len()) + ct.occupied - ct.sure
	if actual {
		return int32(g.real.Len()), ct.real, sure
	}
	return int32(g.all.Len()), ct.all, sure
}

func (dc *domainCounts) spreadHolds(rule *podrules.SpreadRule, s *Site, actual bool) bool {
	d := dc.nodes.at(s, dc.nodes.r.Counters[rule.Counter].Key)
	switch d {
	case unasked:
		return true
	case absent:
		return false
	}
	return dc.most(rule.Counter, s)+rule.Self-dc.leastSeen(rule, s, actual) <= rule.MaxSkew
}
