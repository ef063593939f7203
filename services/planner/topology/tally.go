// Package topology counts pods in the domains of topology keys, and answers whether the rules about other pods (package
// podrules) allow one more pod at a site, as kube-scheduler filters by them; and how well it meets the preferred ones.
//
// A Tally counts pods on sites: hosts, claims of this plan, and segments, which stand for any number of new nodes with the
// same labels. What a node's labels and taints let in is judged by package fit, and how much capacity is free by package
// view; fit.Matcher asks all three. It must never choose a site. Start reading with NewTally, then Tally.Allows.
//
// The scheduler's semantics, which are matched one to one. Spread: domains are those of the nodes that have all
// topology keys of the pod's constraints and pass the constraint's inclusion policies; pods of the class's namespace that
// the selector picks and that are not ending are counted there; the count of the pod's domain, with the pod itself where
// the selector picks it, may be at most maxSkew above the least of all domains (zero while there are fewer than
// minDomains). An empty selector counts no pod. Affinity: a node must have the keys of all terms, and with each the
// value of a node that runs a pod that all terms pick; where there is none anywhere, a pod that picks itself is free.
// Anti-affinity: no pod that a term picks may run in the domain of its key, and no pod there may have a term that picks
// the new pod; a node without the key is in no domain. Pods that are ending still count for both.
//
// Pods of DaemonSets are on a new node before any other: they tolerate that it is not ready yet. They count on hosts that
// have not joined and on claims of this plan; a segment leaves them out.
package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Tally counts the pods on sites. It follows the view that it was made with: what is placed on a host there is counted
// here, and View.Fork and View.Revert go for both. It belongs to one goroutine.
//
// Counts err on the safe side: where it is open in which domain a pod is, it counts in all of them for rules that allow
// only so many, and in none for rules that ask for pods.
type Tally struct {
	nodes   *nodeForms
	domains *domainCounts
	hosts   []*Site
	// inFlight are the hosts that have not joined and may turn out in several ways; they can be narrowed as claims can.
	inFlight []*Site
	// outcomes remembers outcomesOf.
	outcomes map[outcomesKey][]int32
	frozen   []frozenRule
	journal  []step
}

// frozenRule is what a pod that was placed relies on: that the emptiest domain of a counter of spread has at least so
// many pods, if the pod is in a domain, or wherever it is if that is open; or, where least is 0, that a domain, or any
// if it is open, gets no more that count for required anti-affinity.
type frozenRule struct{ counter, least, domain int32 }

// Mark is a state of a Tally to go back to.
type Mark int

// step is one change, written down so that it can be taken back.
type step struct {
	kind  stepKind
	site  *Site
	class *view.Class
	// n is how many pods, or nodes, were added; the form before a site was narrowed.
	n int32
	// daemon pods are the node's own. Uncertain ones may be there or not: they count only where more is worse.
	daemon, uncertain, ending bool
	// before are the epochs before there was a claim, or before it was narrowed.
	before epochs
}

type stepKind uint8

const (
	stepAdd stepKind = iota
	stepOccupy
	stepNarrow
	stepFreeze
)

// NewTally counts the pods that are bound to the hosts of a view, those in skip (indexes into World.Pods) aside: pods that
// will not stay where they are. skip may be nil. The tally follows the view from then on.
func NewTally(r *podrules.Rules, v *view.View, skip func(pod int) bool) *Tally {
	t := &Tally{nodes: newNodeForms(r), outcomes: make(map[outcomesKey][]int32)}
	t.domains = &domainCounts{
		nodes: t.nodes, counts: make([]count, len(r.Counters)), regions: make([]region, len(r.Universes)),
		now: epochs{1, 1}, last: epochs{1, 1},
		surely: func(form, counter int32) int32 { return surelyStarts(t, form, counter) },
	}
	for i, h := range v.Hosts {
		s := t.nodes.hostSite(h)
		if s.claim = h.Node == nil && !h.Leaving && len(t.nodes.forms[s.form].shapes) > 1; s.claim {
			t.inFlight = append(t.inFlight, s)
		}
		t.hosts = append(t.hosts, s)
		t.countBound(v, i, skip, 1)
	}
	v.Follow(t)
	return t
}

// countBound counts n times what is bound to a host and the DaemonSets' pods that will be. On one that leaves they may
// be gone by the time that others come.
func (t *Tally) countBound(v *view.View, host int, skip func(pod int) bool, n int32) {
	h, s := v.Hosts[host], t.hosts[host]
	for _, p := range h.Pods {
		if skip == nil || !skip(p) {
			t.domains.count(v.Pods[p].Class, s, n, countMode{ending: v.Pods[p].Terminating, uncertain: h.Leaving})
		}
	}
	for _, w := range t.expectedDaemons(v, h, s) {
		t.domains.count(w.class, w.on(s), n, countMode{uncertain: w.uncertain || h.Leaving})
	}
}

// UncountHost forgets what is bound to a host, before View.Fold changes that; CountHost counts it anew. Neither is
// undone by Revert, and nothing may be tried out at the time.
func (t *Tally) UncountHost(v *view.View, host int) { t.countBound(v, host, nil, -1) }

// CountHost counts what is bound to a host.
func (t *Tally) CountHost(v *view.View, host int) { t.countBound(v, host, nil, 1) }

// Adopt goes on by other rules on the same nodes, if neither count anything; else it says false, and nothing is changed.
func (t *Tally) Adopt(r *podrules.Rules) bool {
	idle := func(r *podrules.Rules) bool {
		return len(r.Counters)+len(r.Filters)+len(r.Universes)+len(r.Daemons)+len(r.Labels) == 0 && !r.Taints
	}
	if !idle(t.nodes.r) || !idle(r) {
		return false
	}
	t.nodes.r = r
	return true
}

// Size is how much the tally has learned of nodes that do not exist: it only grows, so a caller that keeps a Tally for
// long makes a new one when it has become too large.
func (t *Tally) Size() int {
	return len(t.nodes.shapes) + len(t.nodes.forms) + len(t.nodes.names[podrules.Hostname]) + len(t.nodes.seen)
}

// Offer makes known what could be bought: the domains of such nodes count for the minimum of spread, as if the nodes were
// there. Offers that do not differ in what any rule looks at are cheap. All offers are made before anything else is asked.
func (t *Tally) Offer(at *fit.Place) {
	f := &t.nodes.forms[t.nodes.form(nil, at)]
	if !f.offered {
		f.offered = true
		t.domains.newForms()
	}
}

// Host is the site of a host of the view.
func (t *Tally) Host(i int) *Site { return t.hosts[i] }

// Segment is a site for pods that go to new nodes which are not cut yet, and may be many: rules on kubernetes.io/hostname
// are not judged there. The places are what the nodes may be; pin are labels that go before theirs. Here and below, places
// are remembered by their address and must not change.
func (t *Tally) Segment(pin model.Labels, places ...*fit.Place) *Site {
	return &Site{name: "a new node", form: t.nodes.form(pin, places...), host: unasked}
}

// Probe is what a Claim would be, to be asked whether it Opens and whether it Allows a first pod: the answers are those of
// the Claim. Nothing is changed, so that it is cheap where many places are tried; pods must not be added to it.
func (t *Tally) Probe(pin model.Labels, places ...*fit.Place) *Site {
	s := &Site{name: "a new node", form: t.nodes.form(pin, places...), host: t.nodes.probe, probe: true}
	s.opens = t.wouldOpen(s)
	return s
}

// Claim is the site of one node of this plan, with a hostname of its own. The places are what it may be; pin are labels
// that go before theirs. From then on its domains exist, until Revert.
func (t *Tally) Claim(pin model.Labels, places ...*fit.Place) *Site {
	return t.claim(t.nodes.form(pin, places...), t.nodes.freshHost())
}

func (t *Tally) claim(form, host int32) *Site {
	s := &Site{name: "a new node", form: form, host: host, claim: true}
	s.opens = t.wouldOpen(s)
	occupy(t, s, 1)
	t.countDaemons(s, 1)
	return s
}

// Drop takes back a Claim that has no pods: it is not bought.
func (t *Tally) Drop(s *Site) {
	t.countDaemons(s, -1)
	occupy(t, s, -1)
}

func occupy(t *Tally, s *Site, n int32) {
	t.journal = append(t.journal, step{kind: stepOccupy, site: s, n: n, before: t.domains.now})
	t.domains.occupy(s.form, n)
}

// Alike says whether no rule about other pods can tell nodes of two places apart.
func Alike(t *Tally, a, b *fit.Place) bool { return t.nodes.shapeOf(a) == t.nodes.shapeOf(b) }

// Narrow says that a claim's node may be less than it was thought. The pods on it are counted again.
func (t *Tally) Narrow(s *Site, pin model.Labels, places ...*fit.Place) {
	if f := t.nodes.form(pin, places...); f != s.form {
		become(t, s, f)
	}
}

// become narrows a claim, or a host in flight, to a form.
func become(t *Tally, s *Site, f int32) {
	pods := slices.Clone(s.pods)
	for _, p := range pods {
		t.change(step{kind: stepAdd, site: s, class: p.class, n: -p.n, uncertain: p.uncertain})
	}
	t.countDaemons(s, -1)
	t.journal = append(t.journal, step{kind: stepNarrow, site: s, n: s.form, before: t.domains.now})
	t.changeForm(s, f)
	t.countDaemons(s, 1)
	for _, p := range pods {
		t.change(step{kind: stepAdd, site: s, class: p.class, n: p.n, uncertain: p.uncertain})
	}
}

func (t *Tally) changeForm(s *Site, f int32) {
	t.domains.occupy(s.form, -1)
	t.domains.occupy(f, 1)
	s.form = f
}

// Add counts n pods of a class on a site; fewer than none takes pods away. Pods on hosts are mostly added by View.Place,
// which does it by itself; Add on a host is for pods that leave it.
func (t *Tally) Add(c *view.Class, s *Site, n int) {
	if n == 0 {
		return
	}
	t.change(step{kind: stepAdd, site: s, class: c, n: int32(n)})
}

// change adds pods and writes it down.
func (t *Tally) change(s step) {
	t.journal = append(t.journal, s)
	if s.site.claim && !s.daemon {
		s.site.pods = append(s.site.pods, podCount{s.class, s.n, s.uncertain})
	}
	t.domains.count(s.class, s.site, s.n, countMode{ending: s.ending, uncertain: s.uncertain})
}

// Freeze remembers that a pod of the class was placed on a site, and is counted there: no later claim may bring a
// DaemonSet's pod that it must be apart from into its domain; nor, where it relies on AllowsReal, open one that its
// spread would count, with fewer pods than the emptiest one must have. Where it is open which domain the site is in,
// each of them has a number of its own, and does not count as opened: the pod is there only with its node.
func (t *Tally) Freeze(c *view.Class, s *Site, relies bool) {
	for _, rule := range t.nodes.r.Classes[c.Index].Spread {
		ct, around := &t.domains.counts[rule.Counter], []int32{t.nodes.at(s, t.nodes.r.Counters[rule.Counter].Key)}
		if around[0] == open {
			around = t.nodes.around(s, rule.Counter)
		}
		for _, d := range around {
			least := ct.most(d) - rule.MaxSkew
			if len(around) == 1 {
				d = open // the pod's own node has opened it
			}
			if relies && least > 0 {
				freeze(t, frozenRule{counter: rule.Counter, least: least, domain: d})
			}
		}
	}
	for _, counter := range podrules.ApartFromDaemons(t.nodes.r, c) {
		for _, d := range t.nodes.around(s, counter) {
			freeze(t, frozenRule{counter: counter, domain: d})
		}
	}
}

func freeze(t *Tally, f frozenRule) {
	known := func(g frozenRule) bool { return g.counter == f.counter && g.domain == f.domain && g.least >= f.least }
	if !slices.ContainsFunc(t.frozen, known) {
		t.frozen = append(t.frozen, f)
		t.journal = append(t.journal, step{kind: stepFreeze})
	}
}

// Rules are those that the pods are counted for.
func (t *Tally) Rules() *podrules.Rules { return t.nodes.r }

// Frozen says whether any class was frozen.
func (t *Tally) Frozen() bool { return len(t.frozen) > 0 }

// Opens says whether a claim broke, when it was made, what pods rely on that Freeze remembers; such a claim must be
// reverted.
func (t *Tally) Opens(s *Site) bool { return s.opens != "" }

// wouldOpen says what a node like the site would do to pods that rely on what is frozen, if anything: be the first of
// its domain, and have too few pods, or bring some that they must be apart from.
func (t *Tally) wouldOpen(s *Site) string {
	for _, f := range t.frozen {
		if f.least == 0 {
			if bringsDaemons(t, s, f) {
				return "would bring pods of DaemonSets to a domain where pods of this plan rely on being apart from them"
			}
			continue
		}
		u := t.nodes.r.Counters[f.counter].Universe
		spec := t.nodes.r.Universes[u]
		if t.nodes.pass(spec.Filter, s.form) == passNo || surelyStarts(t, s.form, f.counter) >= f.least {
			continue
		}
		g := t.domains.region(u)
		domains, unbounded := t.nodes.possible(spec.Filter, s.form, spec.Key)
		opens := func(d int32) bool {
			return d != f.domain && !g.sure.Has(int(d)) && t.domains.counts[f.counter].domains[d].lo == 0
		}
		if spec.Key == podrules.Hostname || unbounded || slices.ContainsFunc(domains, opens) {
			return "would be the first in a domain that pods of this plan, by their topology spread, rely on not to exist"
		}
	}
	return ""
}

// AddUncertain counts n pods of a class that may come to a host, or may not: as there where more is worse, and as not there
// where more is better.
func (t *Tally) AddUncertain(c *view.Class, host int, n int) {
	t.change(step{kind: stepAdd, site: t.hosts[host], class: c, n: int32(n), uncertain: true})
}

// CountStaying counts n times what is still counted on a host once its movable pods have left: pods of DaemonSets, and
// those that are ending. It is -1 times since the host goes, and once more for what happens before that.
func CountStaying(t *Tally, v *view.View, host int, n int32) {
	if len(t.nodes.r.Counters) == 0 {
		return
	}
	h, s := v.Hosts[host], t.hosts[host]
	for _, p := range h.Pods {
		if pod := &v.Pods[p]; !pod.Movable() && !view.Left(v, p) {
			t.change(step{kind: stepAdd, site: s, class: pod.Class, n: n, ending: pod.Terminating, uncertain: pod.Terminating || h.Leaving})
		}
	}
	for _, w := range t.expectedDaemons(v, h, s) {
		t.change(step{kind: stepAdd, site: w.on(s), class: w.class, n: n, daemon: true, uncertain: w.uncertain || h.Leaving})
	}
}

// Occupy makes a host no domain any more with n = -1, since it is gone when pods come; 1 takes that back.
func Occupy(t *Tally, host int, n int32) { occupy(t, t.hosts[host], n) }

// DoubtEnding lets no pod that goes somewhere from then on rely on bound pods that are ending: those that come later,
// once a node is drained, come when these have gone.
func DoubtEnding(t *Tally, v *view.View) {
	if len(t.nodes.r.Counters) == 0 {
		return
	}
	for i, h := range v.Hosts {
		for _, p := range h.Pods {
			if v.Pods[p].Terminating && !view.Left(v, p) && !h.Leaving { // on those that leave they are uncertain as it is
				c := v.Pods[p].Class
				t.change(step{kind: stepAdd, site: t.hosts[i], class: c, n: -1, ending: true})
				t.change(step{kind: stepAdd, site: t.hosts[i], class: c, n: 1, ending: true, uncertain: true})
			}
		}
	}
}

// SetLeft is view.SetLeft for a pod that is being deleted, and counts it on its node no more, or again.
func SetLeft(t *Tally, v *view.View, pod int, left bool) {
	view.SetLeft(v, pod, left)
	h, n := v.Node(v.Pods[pod].Node), int32(view.Less(left))
	t.change(step{kind: stepAdd, site: t.hosts[h.Index], class: v.Pods[pod].Class, n: n, ending: true, uncertain: h.Leaving})
}

// Mark marks the present state.
func (t *Tally) Mark() Mark { return Mark(len(t.journal)) }

// Revert takes back everything since the mark: Add, Claim, Drop, Narrow and Freeze. What was reverted already is left
// alone.
func (t *Tally) Revert(m Mark) {
	if int(m) >= len(t.journal) {
		return
	}
	for i := len(t.journal) - 1; i >= int(m); i-- {
		t.undo(t.journal[i])
	}
	t.journal = t.journal[:m]
}

func (t *Tally) undo(s step) {
	switch s.kind {
	case stepAdd:
		t.domains.count(s.class, s.site, -s.n, countMode{ending: s.ending, uncertain: s.uncertain})
		if s.site.claim && !s.daemon {
			s.site.pods = s.site.pods[:len(s.site.pods)-1]
		}
	case stepOccupy:
		t.domains.occupy(s.site.form, -s.n)
		t.domains.now = s.before
	case stepNarrow:
		t.changeForm(s.site, s.n)
		t.domains.now = s.before
	case stepFreeze:
		t.frozen = t.frozen[:len(t.frozen)-1]
	}
}

// Placed counts pods that were placed in the view; with Fork and Back it makes a Tally a view.Follower.
func (t *Tally) Placed(host int, c *view.Class, count int) { t.Add(c, t.hosts[host], count) }

// Fork is Mark, for the view.
func (t *Tally) Fork() int { return int(t.Mark()) }

// Back is Revert, for the view.
func (t *Tally) Back(mark int) { t.Revert(Mark(mark)) }
