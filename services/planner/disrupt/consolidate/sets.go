package consolidate

import (
	"math/bits"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// sets removes nodes together.
func (t *trials) sets(hosts []int) {
	for len(hosts) > 0 {
		var set []int
		set, hosts = t.nextSet(hosts)
		// Nodes that are kept wait for better pods only as long as there are others to come.
		t.lastSet = len(hosts) == 0 && !t.waiting
		if len(set) > 1 {
			t.trySet(set)
		}
	}
}

// nextSet takes as many nodes as may go together, in their order; those that may not go are left out.
func (t *trials) nextSet(hosts []int) (set, rest []int) {
	pods := 0
	going := make(map[*view.Pool]int)
	for i, h := range hosts {
		if len(set) == maxSetNodes || pods >= maxSetPods {
			return set, hosts[i:]
		}
		if t.v.Removed(h) {
			continue
		}
		p := t.v.Hosts[h].Pool
		if !t.mayGo(h).OK() || !t.inOneSet(p, going[p]+1) {
			t.waiting = true
			continue
		}
		if !t.draft.PodBudgets.Reason(t.draft.Movable(append(slices.Clone(set), h)...)).OK() {
			continue
		}
		going[p]++
		pods += len(t.draft.Moving[h])
		set = append(set, h)
	}
	return set, nil
}

// inOneSet says that so many nodes of a pool may go together.
func (t *trials) inOneSet(p *view.Pool, nodes int) bool {
	if t.staged {
		nodes = (nodes + mostStages - 1) / mostStages
	}
	return t.draft.NodeBudgets.Reason(p, model.ReasonUnderutilized, nodes).OK()
}

// atOnce are those of a set that budgets let go at once, in its order.
func (t *trials) atOnce(set []int) []int {
	going := make(map[*view.Pool]int)
	return slices.DeleteFunc(slices.Clone(set), func(h int) bool {
		p := t.v.Hosts[h].Pool
		going[p]++
		return !t.draft.NodeBudgets.Reason(p, model.ReasonUnderutilized, going[p]).OK()
	})
}

// trySet removes what it can of a set, less those nodes that are kept by now: pods may have been sent there, and
// another half of the set may have used up budgets.
func (t *trials) trySet(set []int) {
	set = slices.DeleteFunc(slices.Clone(set), func(h int) bool { return !t.leaving[h] || !t.mayGo(h).OK() })
	if len(set) < 2 || !t.try() {
		return
	}
	worth, ok := t.together(set)
	switch {
	case ok:
	case worth == nil && len(set) >= 4: // some rule forbids it
		t.trySet(set[:len(set)/2])
		t.trySet(set[len(set)/2:])
	case len(worth) > 1 && len(worth) < len(set): // without those that do not pay for themselves
		t.trySet(worth)
	case len(set) >= 2*minSetNodes:
		t.trySet(set[:len(set)/2])
		t.trySet(set[len(set)/2:])
	}
}

// together removes a set as a whole, in as many decisions as have nothing to do with each other. If it does not, it says
// which of its nodes would go by decisions that are worth it.
func (t *trials) together(set []int) (worth []int, ok bool) {
	mark := t.draft.Scheduler.Mark()
	d, ok := t.fillAndBuy(set)
	if !ok {
		t.draft.Scheduler.Revert(mark)
		return nil, false
	}
	parts := t.draft.Parts(d)
	if same := t.replacesItself(parts); len(same) > 0 { // then it may as well stay
		t.draft.Scheduler.Revert(mark)
		for _, h := range same {
			t.leaving[h] = false
		}
		return slices.DeleteFunc(slices.Clone(set), func(h int) bool { return slices.Contains(same, h) }), false
	}
	first := t.atOnce(set)
	if len(first) < len(set) && len(d.Replacements) == 0 { // nothing is bought that others could fill
		t.draft.Scheduler.Revert(mark)
		return first, false
	}
	if len(first) < len(set) && !slices.ContainsFunc(parts, func(p draft.Decision) bool { return !t.judge.approve(&p).OK() }) {
		d.Staged = true // as one: parts would each take their share of the budgets
		parts = []draft.Decision{t.draft.InTurn(d)}
	}
	if t.accept(parts).OK() {
		return set, true
	}
	worth = []int{}
	for _, p := range parts {
		if t.judge.approve(&p).OK() {
			worth = append(worth, p.Hosts...)
		}
	}
	t.draft.Scheduler.Revert(mark)
	return worth, false
}

// replacesItself finds nodes that would go, with others, for one that is no cheaper and the same: they may as well
// stay, and take the others' pods.
func (t *trials) replacesItself(parts []draft.Decision) []int {
	var out []int
	for i := range parts {
		if len(parts[i].Replacements) == 1 {
			b := parts[i].Replacements[0]
			k := slices.IndexFunc(parts[i].Hosts, func(h int) bool {
				c := t.v.Hosts[h].Claim
				return c.InstanceType == b.Best().Type.Name && t.v.WeighedPrice(c) <= b.Best().Price && !slices.Contains(out, h)
			})
			if k >= 0 {
				out = append(out, parts[i].Hosts[k])
			}
		}
	}
	return out
}

// few tries all sets of a few nodes, of which some cost more than their pods are worth, and removes the one that saves
// most, as long as there is one. What pods are worth is what they would cost among many others: of so few it says
// little about which go together.
func (t *trials) few(hosts []int) {
	t.lastSet = true
	for {
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return t.v.Removed(h) || !t.mayGo(h).OK() })
		if len(hosts) > mostFew {
			return
		}
		best := t.bestOf(hosts)
		if best == nil {
			return
		}
		t.remove(best)
	}
}

// bestOf is the set of some nodes that saves most, whether or not its pods have settled; nil where none is worth it.
func (t *trials) bestOf(hosts []int) (best []int) {
	defer func(target, waiting bool) { t.target, t.waiting = target, waiting }(t.target, t.waiting)
	t.target = true
	most := int64(0)
	for members := range 1 << len(hosts) {
		var set []int
		wastes := false
		for i, h := range hosts {
			if members&(1<<i) != 0 {
				set, wastes = append(set, h), wastes || t.appraisal.Waste[h] > 0
			}
		}
		if set, _ = t.nextSet(set); len(set) != bits.OnesCount(uint(members)) || len(set) == 0 || !wastes {
			continue
		}
		if t.left <= 0 || len(set) > 1 && !t.try() { // a single node counts as it is tried
			break
		}
		before, verdicts := t.draft.Mark(), slices.Clone(t.draft.Verdicts)
		t.remove(set)
		saved := saves(t.draft, before)
		t.draft.Revert(before)
		copy(t.draft.Verdicts, verdicts)
		if saved > most {
			best, most = set, saved
		}
	}
	return best
}

// remove removes a set, if that is worth it.
func (t *trials) remove(set []int) {
	if len(set) == 1 {
		t.single(set[0])
		return
	}
	for _, h := range set {
		t.leaving[h] = true
	}
	t.together(set)
	clear(t.leaving)
}
