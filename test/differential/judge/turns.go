package judge

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// confirm tries the ways that are left with each of the offerings of each claim: what it becomes may decide about ways that
// lead elsewhere, too. And so may the pods of DaemonSets that are late on one node alone, or on all others.
func (t *trial) confirm(unplaced map[model.ClassID]*leftPending) error {
	if len(unplaced) == 0 {
		return nil
	}
	for _, x := range t.turns() {
		if err := t.play(t.turned(x), unplaced); err != nil || len(unplaced) == 0 {
			return err
		}
		// A pod that nodes on their way out keep from being placed is planned for once they are gone, and one that needs nodes
		// which replace others, or which buffers get once it has no place, when these are there.
		for _, lingers := range t.lingering() {
			w := t.turned(x)
			w.lingers = lingers
			w.withoutLater()
			if err := t.examineOnly(w, unplaced); err != nil || len(unplaced) == 0 {
				return err
			}
		}
	}
	return t.spoil(unplaced)
}

// spoil takes out the ways that are new nodes with which the plan would not work: one that joins before the others have their
// pods may be an emptier domain than these may have beside them. Such a node is for the next plan.
func (t *trial) spoil(unplaced map[model.ClassID]*leftPending) error {
	for _, id := range slices.Sorted(maps.Keys(unplaced)) {
		s := unplaced[id]
		for _, o := range t.options(t.classes[id]) {
			if !s.ways[o.name] {
				continue
			}
			ok, err := t.worksWith(o)
			if err != nil {
				return err
			}
			if !ok {
				delete(s.ways, o.name)
			}
		}
		if len(s.ways) == 0 {
			delete(unplaced, id)
		}
	}
	return nil
}

// worksWith says whether, however all turns out, all planned pods may go where they are planned where one more node is there
// from the start.
func (t *trial) worksWith(o option) (bool, error) {
	for _, x := range t.turns() {
		w := t.turned(x)
		w.nodes = append(w.nodes, w.oneMoreNode(o))
		if ok, err := t.fits(w); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// fits says whether all planned pods may go where they are planned.
func (t *trial) fits(w *world) (bool, error) {
	if err := w.reset(); err != nil {
		return false, err
	}
	for _, p := range t.order {
		pod, target := t.again(p.Pod), w.target(p)
		if pod == nil || !w.has(target) {
			continue
		}
		v, err := t.s.Schedule(pod, target)
		if err != nil || len(v.Nodes) == 0 {
			return false, err
		}
		if err := w.bind(pod, target); err != nil {
			return false, err
		}
	}
	return true, nil
}

// lingering are the ways in which nodes on their way out may be there still: none of them, all, each alone, all others.
func (t *trial) lingering() []func(model.NodeName) bool {
	out := []func(model.NodeName) bool{nil, func(model.NodeName) bool { return true }}
	for _, n := range t.c.Input.Snapshot.Nodes {
		if t.leaving(&n) {
			out = append(out, func(x model.NodeName) bool { return x == n.Name }, func(x model.NodeName) bool { return x != n.Name })
		}
	}
	return out
}

// turn is a way in which all may turn out: a draw, but what each claim is launched as, and where DaemonSets' pods are late.
type turn struct {
	draw   int
	forced map[string]int
	late   func(at int) bool
}

func (t *trial) turned(x turn) *world {
	w := t.world(x.draw, x.forced)
	if x.late != nil {
		w.late = x.late
	}
	return w
}

// turns are all ways in which all may turn out; where that are too many, those in which either the claims or the pods of
// DaemonSets are not what they are in draw 0.
func (t *trial) turns() []turn {
	claims := t.world(0, nil).offerings
	maps.DeleteFunc(claims, func(_ string, n int) bool { return n < 2 })
	lates, all := t.lates(), combinations(slices.Sorted(maps.Keys(claims)), claims)
	var alone, together []turn
	for i, forced := range all {
		for j, late := range lates {
			switch x := (turn{0, forced, late}); {
			case i == 0 || j == 0:
				alone = append(alone, x)
			case len(lates)*len(all) <= mostCombinations:
				together = append(together, x)
			}
		}
		alone = append(alone, turn{draw: 1, forced: forced})
	}
	return append(alone, together...)
}

// withoutLater takes away the nodes that are decided once no more pods are placed: those that take the place of others, and those
// that are bought for buffers alone.
func (w *world) withoutLater() {
	pods, kept := make(map[string]bool), make(map[string]bool)
	for _, p := range w.order {
		if w.virtual(p.Pod) == nil {
			pods[w.target(p)] = true
		} else {
			kept[w.target(p)] = true
		}
	}
	w.nodes = slices.DeleteFunc(w.nodes, func(n *kube.Node) bool {
		return slices.ContainsFunc(w.Plan.NodeClaims, func(c model.NodeClaim) bool {
			bought := kept[n.Name] && !pods[n.Name] && w.pool(c.NodePool).Replicas == nil
			return n.Name == "claim-"+string(c.ID) && (c.Disruption != "" || bought)
		})
	})
}

// lates are the ways in which pods of DaemonSets may be late on nodes that have joined: on all of them, on none, on one alone, on all
// others.
func (t *trial) lates() []func(at int) bool {
	out := []func(int) bool{func(int) bool { return true }}
	w := t.world(0, nil)
	w.lingers = func(model.NodeName) bool { return true }
	w.linger()
	for i, n := range w.nodes {
		if (i < w.joined || i >= w.lingering) && len(w.daemons(n)) > 0 {
			out = append(out, func(at int) bool { return at == i }, func(at int) bool { return at != i })
		}
	}
	if len(out) > 1 {
		out = append(out, func(int) bool { return false })
	}
	return out
}

// examineOnly asks which ways are left once the planned pods are where they are planned, whether they may be there or not.
func (t *trial) examineOnly(w *world, unplaced map[model.ClassID]*leftPending) error {
	if err := w.reset(); err != nil {
		return err
	}
	for _, p := range t.order {
		if pod := t.again(p.Pod); pod != nil && w.has(w.target(p)) {
			if err := w.bind(pod, w.target(p)); err != nil {
				return err
			}
		}
	}
	return w.examine(unplaced)
}

// mostCombinations is how many ways in which claims may be launched are all tried.
const mostCombinations = 256

// ways is in how many ways all claims may be launched, up to one more than are all tried.
func (t *trial) ways() int { return waysOf(t.world(0, nil).offerings) }

func waysOf(offerings map[string]int) int {
	all := 1
	for _, n := range offerings {
		all = min(all*n, mostCombinations+1)
	}
	return all
}

// combinations are all ways in which claims may be launched, by the place of an offering in each claim's list; where that are
// too many, those in which one claim is not what it lists first.
func combinations(names []string, offerings map[string]int) []map[string]int {
	all := waysOf(offerings)
	var out []map[string]int
	if all > mostCombinations {
		for _, name := range names {
			for i := range offerings[name] {
				out = append(out, map[string]int{name: i})
			}
		}
		return out
	}
	for number := range all {
		forced := make(map[string]int)
		for _, name := range names {
			forced[name] = number % offerings[name]
			number /= offerings[name]
		}
		out = append(out, forced)
	}
	return out
}
