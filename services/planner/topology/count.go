package topology

import (
	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// domainCounts counts pods in the domains of topology keys. It belongs to its Tally.
type domainCounts struct {
	nodes *nodeForms
	// counts are by counter, regions by universe.
	counts  []count
	regions []region
	now     epochs
	// last are the highest epochs so far: after Revert an epoch that was is back, and is never used for anything else.
	last epochs
	// surely is how many pods of DaemonSets that a counter counts each new node of a form has for sure.
	surely func(form, counter int32) int32
}

// epochs are numbers of the sets of forms that nodes have, and of the numbers of nodes: what was worked out from either
// holds as long as its number does.
type epochs struct{ forms, hosts int32 }

// count is the state of a counter.
type count struct {
	domains map[int32]pair
	// anywhere are pods that may be in any domain; total all pods but outside, which are or may be on nodes without the
	// key.
	anywhere, total, outside int32
	// levels says how many domains surely have how many pods, for more than none; least is the lowest such number, and
	// occupied how many domains that are altogether. Only spread asks for them.
	levels          []int32
	least, occupied int32
	// loose are, by node, pods that are there for sure, on nodes of which it is open in which domain they are, or whether
	// spread looks at them. Only spread over domains other than the hostname asks for them.
	loose map[node]int32
	// epoch is when it was last worked out how many of the occupied domains are in the region's sets.
	epoch           int32
	all, real, sure int32
}

// node is one node, as long as it has that form.
type node struct{ form, host int32 }

// pair is how many pods a domain has at least, and at most.
type pair struct{ lo, hi int32 }

// region is the state of a universe: its domains.
type region struct {
	epoch int32
	// real are domains of nodes that exist or that a claim of this plan is, all are those and the ones that could be
	// bought, sure those that certainly will be there.
	all, real, sure bits.Set
	// unboundedAll and unboundedReal say that there can be ever more domains of that kind.
	unboundedAll, unboundedReal bool
	// hosts are domains of the hostname: nodes that may be in the universe, and that certainly are.
	hostEpoch       int32
	hosts, sureHost int32
}

// countMode is how pods count: those that are ending no longer do for spread; uncertain ones may be there or not.
type countMode struct{ ending, uncertain bool }

// move notes that a domain has another number of pods.
func (ct *count) move(from, to int32) {
	for int(to) >= len(ct.levels) {
		ct.levels = append(ct.levels, 0)
	}
	if from > 0 {
		ct.levels[from]--
		ct.occupied--
	}
	if to > 0 {
		ct.levels[to]++
		ct.occupied++
	}
	switch {
	case ct.occupied == 0:
		ct.least = 0
	case to > 0 && (ct.least == 0 || to < ct.least):
		ct.least = to
	default:
		for ct.levels[ct.least] == 0 {
			ct.least++
		}
	}
}

func (ct *count) countIn(g *region, d, by int32) {
	if g.all.Has(int(d)) {
		ct.all += by
	}
	if g.real.Has(int(d)) {
		ct.real += by
	}
	if g.sure.Has(int(d)) {
		ct.sure += by
	}
}

// include adds the domains that nodes of a form may be in; sure says that they pass the universe's filter for sure.
func (g *region) include(f *form, domains []int32, unbounded, sure bool) {
	actual := f.nodes > 0
	if unbounded {
		g.unboundedAll = true
		g.unboundedReal = g.unboundedReal || actual
	}
	for _, d := range domains {
		g.all.Add(int(d))
		if actual {
			g.real.Add(int(d))
		}
	}
	if actual && sure {
		g.sure.Add(int(domains[0]))
	}
}

// leastBeside is the least number of pods of an occupied domain, one that has so many aside.
func (ct *count) leastBeside(own int32) (least int32, some bool) {
	if ct.occupied == 0 || (ct.occupied == 1 && own > 0) {
		return 0, false
	}
	if own != ct.least || ct.levels[own] > 1 {
		return ct.least, true
	}
	for least = own + 1; ct.levels[least] == 0; {
		least++
	}
	return least, true
}

// most is how many pods a domain has at most, or any if it is open.
func (ct *count) most(d int32) int32 {
	if d == open {
		return ct.total
	}
	return ct.domains[d].hi + ct.anywhere
}

// count counts pods of a class on a site, or off it.
func (dc *domainCounts) count(c *view.Class, s *Site, n int32, how countMode) {
	k := &dc.nodes.r.Kinds[dc.nodes.r.KindOf[c.Index]]
	if !how.ending {
		for _, x := range k.Spread {
			dc.addTo(x, s, n, !how.uncertain)
		}
	}
	for _, x := range k.Pods {
		dc.addTo(x, s, n, !how.uncertain)
	}
	for _, x := range dc.nodes.r.Classes[c.Index].Owned {
		dc.addTo(x, s, n, !how.uncertain)
	}
}

// addTo changes a counter by n pods on a site, which are there for sure, or perhaps.
func (dc *domainCounts) addTo(x int32, s *Site, n int32, there bool) {
	spec, ct, filter := &dc.nodes.r.Counters[x], &dc.counts[x], podrules.None
	sure := there
	if spec.Universe != podrules.None {
		filter = dc.nodes.r.Universes[spec.Universe].Filter
		p := dc.nodes.pass(filter, s.form)
		if p == passNo {
			return
		}
		// A hostname that does not count is no domain at all, so that one that is has the pods that are there for sure.
		sure = sure && (p == passSure || spec.Key == podrules.Hostname)
	}
	d := dc.nodes.at(s, spec.Key)
	if d == absent || d == open && dc.nodes.forms[s.form].lacks[spec.Key] {
		ct.outside += n
	}
	if d == absent {
		return
	}
	ct.total += n
	if there && (d == open || !sure) && spec.Universe != podrules.None && spec.Key != podrules.Hostname {
		ct.loosen(node{s.form, s.host}, n)
	}
	switch {
	case d == unasked:
	case d == open:
		domains, unbounded := dc.nodes.possible(filter, s.form, spec.Key)
		if unbounded {
			ct.anywhere += n
			return
		}
		for _, m := range domains {
			dc.shift(x, m, 0, n)
		}
	case sure:
		dc.shift(x, d, n, n)
	default:
		dc.shift(x, d, 0, n)
	}
}

// loosen changes how many pods are on a node of which something is open.
func (ct *count) loosen(on node, n int32) {
	if ct.loose == nil {
		ct.loose = make(map[node]int32)
	}
	if ct.loose[on] += n; ct.loose[on] == 0 {
		delete(ct.loose, on)
	}
}

// shift changes how many pods a domain has.
func (dc *domainCounts) shift(x, d, lo, hi int32) {
	ct := &dc.counts[x]
	if ct.domains == nil {
		ct.domains = make(map[int32]pair)
	}
	p := ct.domains[d]
	before := p.lo
	p.lo += lo
	p.hi += hi
	if p == (pair{}) {
		delete(ct.domains, d)
	} else {
		ct.domains[d] = p
	}
	if lo == 0 || dc.nodes.r.Counters[x].Universe == podrules.None {
		return
	}
	ct.move(before, p.lo)
	if (before > 0) != (p.lo > 0) {
		dc.noteOccupied(x, d, p.lo > 0)
	}
}

// noteOccupied keeps the figures on the region's sets up to date when a domain becomes occupied or empty.
func (dc *domainCounts) noteOccupied(x, d int32, occupied bool) {
	ct, spec := &dc.counts[x], &dc.nodes.r.Counters[x]
	if spec.Key == podrules.Hostname || ct.epoch != dc.now.forms {
		return // the sets are not asked, or looked through before they are asked
	}
	by := int32(1)
	if !occupied {
		by = -1
	}
	ct.countIn(dc.region(spec.Universe), d, by)
}

// sync works out how many of the occupied domains are in the region's sets, after those have changed.
func (dc *domainCounts) sync(ct *count, g *region) {
	if ct.epoch == dc.now.forms {
		return
	}
	ct.epoch = dc.now.forms
	ct.all, ct.real, ct.sure = 0, 0, 0
	for d, p := range ct.domains {
		if p.lo > 0 {
			ct.countIn(g, d, 1)
		}
	}
}

// region brings the domains of a universe up to date.
func (dc *domainCounts) region(u int32) *region {
	g, spec := &dc.regions[u], dc.nodes.r.Universes[u]
	if g.epoch != dc.now.forms {
		g.epoch = dc.now.forms
		dc.survey(g, spec)
	}
	if spec.Key == podrules.Hostname && g.hostEpoch != dc.now.hosts {
		g.hostEpoch = dc.now.hosts
		g.hosts, g.sureHost = 0, 0
		for i := range dc.nodes.forms {
			switch dc.nodes.pass(spec.Filter, int32(i)) {
			case passSure:
				g.sureHost += dc.nodes.forms[i].nodes
				fallthrough
			case passMaybe:
				g.hosts += dc.nodes.forms[i].nodes
			case passNo:
			}
		}
	}
	return g
}

// survey goes through all forms.
func (dc *domainCounts) survey(g *region, spec podrules.Universe) {
	clear(g.all)
	clear(g.real)
	clear(g.sure)
	g.unboundedAll, g.unboundedReal = false, false
	for i := range dc.nodes.forms {
		f := &dc.nodes.forms[i]
		if !f.offered && f.nodes == 0 {
			continue
		}
		p := dc.nodes.pass(spec.Filter, int32(i))
		if p == passNo {
			continue
		}
		if spec.Key == podrules.Hostname {
			g.unboundedAll = g.unboundedAll || f.offered
			continue
		}
		domains, unbounded := dc.nodes.possible(spec.Filter, int32(i), spec.Key)
		g.include(f, domains, unbounded, p == passSure && f.domains[spec.Key] >= 0)
	}
}

// most is how many pods there are at most in the domain of a site; none where it is in no domain.
func (dc *domainCounts) most(counter int32, s *Site) int32 {
	d := dc.nodes.at(s, dc.nodes.r.Counters[counter].Key)
	if d < 0 {
		return 0
	}
	return dc.counts[counter].most(d)
}

// affinityHolds says whether required affinity holds, or the rule that does not. The first of its kind may go anywhere; and
// where it is open whether it is the first, to where the others are if there are any: by all keys, if there are several.
func (dc *domainCounts) affinityHolds(x *podrules.ClassRules, s *Site) (rule int, ok bool) {
	unmet, first, joins := -1, x.SelfAffine, x.SelfAffine
	for i, a := range x.Affinity {
		ct := &dc.counts[a.Counter]
		first = first && ct.total == 0
		joins = joins && (ct.outside == 0 || len(x.Affinity) == 1)
		d := dc.nodes.at(s, dc.nodes.r.Counters[a.Counter].Key)
		switch {
		case d == unasked:
			joins = false
		case d == absent:
			return i, false
		case ct.domains[d].lo == 0:
			joins = joins && ct.nowhereBut(d)
			if unmet < 0 {
				unmet = i
			}
		}
	}
	return unmet, unmet < 0 || first || joins
}

// nowhereBut says whether all pods that there are, or may be, are in one domain.
func (ct *count) nowhereBut(d int32) bool {
	return ct.anywhere == 0 && len(ct.domains) == 1 && ct.domains[d].hi == ct.total
}

// occupy notes that there are more, or fewer, nodes of a form.
func (dc *domainCounts) occupy(f, n int32) {
	before := dc.nodes.forms[f].nodes
	dc.nodes.forms[f].nodes += n
	dc.last.hosts++
	dc.now.hosts = dc.last.hosts
	if before == 0 || dc.nodes.forms[f].nodes == 0 {
		dc.newForms()
	}
}

func (dc *domainCounts) newForms() {
	dc.last.forms++
	dc.now.forms = dc.last.forms
}

func (dc *domainCounts) skewPenalty(rule *podrules.SpreadRule, s *Site) int32 {
	d := dc.nodes.at(s, dc.nodes.r.Counters[rule.Counter].Key)
	switch d {
	case unasked:
		return 0
	case absent, open:
		return softSpread
	}
	excess := dc.most(rule.Counter, s) + rule.Self - dc.leastSeen(rule, s, false) - rule.MaxSkew
	if excess <= 0 {
		return 0
	}
	return softSpread * excess / (excess + rule.MaxSkew)
}

func (dc *domainCounts) preferenceHolds(p podrules.Preference, s *Site) bool {
	ct := &dc.counts[p.Counter]
	if ct.total == 0 && !p.Anti {
		return true
	}
	d := dc.nodes.at(s, dc.nodes.r.Counters[p.Counter].Key)
	switch {
	case d == unasked:
		return true
	case d == open:
		return false
	case d == absent:
		return p.Anti
	case p.Anti:
		return dc.most(p.Counter, s) == 0
	}
	return ct.domains[d].lo > 0
}
