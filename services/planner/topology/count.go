package topology

import (
	"github.com/kerf-dev/kerf/services/planner/view"
)

// count is the state of a counter.
type count struct {
	domains map[int32]pair
	// anywhere are pods that may be in any domain; total all pods.
	anywhere, total int32
	// levels says how many domains surely have how many pods, for more than none; least is the lowest such number, and
	// occupied how many domains that are altogether. Only spread asks for them.
	levels          []int32
	least, occupied int32
	// epoch is when it was last worked out how many of the occupied domains are in the region's sets.
	epoch           int32
	all, real, sure int32
}

// pair is how many pods a domain has at least, and at most.
type pair struct{ lo, hi int32 }

// region is the state of a universe: its domains.
type region struct {
	epoch int32
	// real are domains of nodes that exist or that a claim of this plan is, all are those and the ones that could be bought,
	// sure those that certainly will be there.
	all, real, sure set
	// boundless says that there can be ever more domains that way.
	boundlessAll, boundlessReal bool
	// hosts are domains of the hostname: nodes that may be in the universe, and that certainly are.
	hostEpoch       int32
	hosts, sureHost int32
}

// set is a set of domains.
type set struct {
	bits []uint64
	n    int32
}

func (s *set) has(d int32) bool { return int(d>>6) < len(s.bits) && s.bits[d>>6]&(1<<(d&63)) != 0 }

func (s *set) add(d int32) {
	for int(d>>6) >= len(s.bits) {
		s.bits = append(s.bits, 0)
	}
	if s.bits[d>>6]&(1<<(d&63)) == 0 {
		s.bits[d>>6] |= 1 << (d & 63)
		s.n++
	}
}

func (s *set) clear() {
	clear(s.bits)
	s.n = 0
}

// crowd is how pods count: those that are ending no longer do for spread; loose ones may be there or not.
type crowd struct{ ending, loose bool }

// count counts pods of a class on a site, or off it.
func (t *Tally) count(c *view.Class, s *Site, n int32, how crowd) {
	k := &t.nodes.r.kinds[t.nodes.r.kindOf[c.Index]]
	if !how.ending {
		for _, x := range k.spread {
			t.bump(x, s, n, !how.loose)
		}
	}
	for _, x := range k.pods {
		t.bump(x, s, n, !how.loose)
	}
	for _, x := range t.nodes.r.classes[c.Index].owned {
		t.bump(x, s, n, !how.loose)
	}
}

// bump changes a counter by n pods on a site, which are there for sure, or perhaps.
func (t *Tally) bump(x int32, s *Site, n int32, sure bool) {
	spec, ct := &t.nodes.r.counters[x], &t.counts[x]
	if spec.universe != nowhere {
		p := t.nodes.pass(t.nodes.r.universes[spec.universe].filter, s.form)
		if p == passNo {
			return
		}
		sure = sure && p == passSure
	}
	d := t.nodes.at(s, spec.key)
	if d == absent {
		return
	}
	ct.total += n
	switch {
	case d == unasked:
	case d == open && t.nodes.forms[s.form].endless[spec.key]:
		ct.anywhere += n
	case d == open:
		for _, m := range t.nodes.forms[s.form].maybe[spec.key] {
			t.shift(x, m, 0, n)
		}
	case sure:
		t.shift(x, d, n, n)
	default:
		t.shift(x, d, 0, n)
	}
}

// shift changes how many pods a domain has.
func (t *Tally) shift(x, d, lo, hi int32) {
	ct := &t.counts[x]
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
	if lo == 0 || t.nodes.r.counters[x].universe == nowhere {
		return
	}
	ct.move(before, p.lo)
	if (before > 0) != (p.lo > 0) {
		t.touch(x, d, p.lo > 0)
	}
}

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

// touch keeps the figures on the region's sets up to date when a domain becomes occupied or empty.
func (t *Tally) touch(x, d int32, occupied bool) {
	ct, spec := &t.counts[x], &t.nodes.r.counters[x]
	if spec.key == hostname || ct.epoch != t.now.forms {
		return // the sets are not asked, or looked through before they are asked
	}
	by := int32(1)
	if !occupied {
		by = -1
	}
	ct.tell(t.region(spec.universe), d, by)
}

func (ct *count) tell(g *region, d, by int32) {
	if g.all.has(d) {
		ct.all += by
	}
	if g.real.has(d) {
		ct.real += by
	}
	if g.sure.has(d) {
		ct.sure += by
	}
}

// sync works out how many of the occupied domains are in the region's sets, after those have changed.
func (t *Tally) sync(ct *count, g *region) {
	if ct.epoch == t.now.forms {
		return
	}
	ct.epoch = t.now.forms
	ct.all, ct.real, ct.sure = 0, 0, 0
	for d, p := range ct.domains {
		if p.lo > 0 {
			ct.tell(g, d, 1)
		}
	}
}

// region brings the domains of a universe up to date.
func (t *Tally) region(u int32) *region {
	g, spec := &t.regions[u], t.nodes.r.universes[u]
	if g.epoch != t.now.forms {
		g.epoch = t.now.forms
		t.survey(g, spec)
	}
	if spec.key == hostname && g.hostEpoch != t.now.hosts {
		g.hostEpoch = t.now.hosts
		g.hosts, g.sureHost = 0, 0
		for i := range t.nodes.forms {
			switch t.nodes.pass(spec.filter, int32(i)) {
			case passSure:
				g.sureHost += t.nodes.forms[i].nodes
				fallthrough
			case passMaybe:
				g.hosts += t.nodes.forms[i].nodes
			case passNo:
			}
		}
	}
	return g
}

// survey goes through all forms.
func (t *Tally) survey(g *region, spec universe) {
	g.all.clear()
	g.real.clear()
	g.sure.clear()
	g.boundlessAll, g.boundlessReal = false, false
	for i := range t.nodes.forms {
		f := &t.nodes.forms[i]
		if !f.offered && f.nodes == 0 {
			continue
		}
		p := t.nodes.pass(spec.filter, int32(i))
		if p == passNo {
			continue
		}
		if spec.key == hostname {
			g.boundlessAll = g.boundlessAll || f.offered
			continue
		}
		g.include(f, spec.key, p == passSure)
	}
}

func (g *region) include(f *form, key int32, sure bool) {
	actual := f.nodes > 0
	if f.endless[key] {
		g.boundlessAll = true
		g.boundlessReal = g.boundlessReal || actual
	}
	add := func(d int32) {
		g.all.add(d)
		if actual {
			g.real.add(d)
		}
	}
	for _, d := range f.maybe[key] {
		add(d)
	}
	if d := f.domains[key]; d >= 0 {
		add(d)
		if actual && sure {
			g.sure.add(d)
		}
	}
}

// minimum is the least number of pods of any domain that counts for a spread constraint; actual leaves out domains that
// nothing of this plan opens.
func (t *Tally) minimum(rule *spreadRule, actual bool) int32 {
	g := t.region(t.nodes.r.counters[rule.counter].universe)
	if (actual && g.boundlessReal) || (!actual && g.boundlessAll) {
		return 0
	}
	domains, occupied, sure := t.domainsOf(rule, g, actual)
	if sure < rule.minDomains || domains > occupied {
		return 0
	}
	return t.counts[rule.counter].least
}

// leastSeen is the minimum as a pod sees it that goes to a site. What may or may not be in the site's own domain is there on
// both sides of the comparison, so that the domain can't be emptier than it is taken to be full; and a node that is yet to
// be bought brings its domain along.
func (t *Tally) leastSeen(rule *spreadRule, s *Site, actual bool) int32 {
	spec := &t.nodes.r.counters[rule.counter]
	d := t.nodes.at(s, spec.key)
	if spec.key == hostname || d < 0 {
		return t.minimum(rule, actual)
	}
	g, ct := t.region(spec.universe), &t.counts[rule.counter]
	if (actual && g.boundlessReal) || (!actual && g.boundlessAll) {
		return 0
	}
	domains, occupied, sure := t.domainsOf(rule, g, actual)
	own, in := ct.domains[d].lo, g.all.has(d)
	if actual {
		in = g.real.has(d)
	}
	if own == 0 && !g.sure.has(d) && s.host == unasked && t.nodes.pass(t.nodes.r.universes[spec.universe].filter, s.form) == passSure {
		sure++
	}
	if sure < rule.minDomains {
		return 0
	}
	if in {
		domains--
	}
	if in && own > 0 {
		occupied--
	}
	most := t.most(rule.counter, s)
	if domains > occupied {
		return 0
	}
	if other, some := ct.leastBeside(own); some {
		return min(other, most)
	}
	return most
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

// domainsOf is how many domains count for a spread constraint, how many of them have pods, and how many there surely are.
func (t *Tally) domainsOf(rule *spreadRule, g *region, actual bool) (domains, occupied, sure int32) {
	ct := &t.counts[rule.counter]
	if t.nodes.r.counters[rule.counter].key == hostname {
		return g.hosts, ct.occupied, g.sureHost
	}
	t.sync(ct, g)
	sure = g.sure.n + ct.occupied - ct.sure
	if actual {
		return g.real.n, ct.real, sure
	}
	return g.all.n, ct.all, sure
}

// most is how many pods a domain has at most.
func (ct *count) most(d int32) int32 { return ct.domains[d].hi + ct.anywhere }
