package judge

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// confirm tries the ways that are left however all turns out: what a claim becomes, or which pods of DaemonSets are
// late, may decide about ways that lead elsewhere, too, and one of these alone may not.
func (t *trial) confirm(unplaced map[model.ClassID]*leftPending) error {
	if len(unplaced) == 0 {
		return nil
	}
	for _, x := range t.turns() {
		if !x.lingers() {
			if err := t.play(t.turned(x), unplaced); err != nil || len(unplaced) == 0 {
				return err
			}
		}
		// A pod that nodes on their way out keep from being placed is planned for once they are gone, and one that
		// needs nodes which replace others, or which buffers get once it has no place, when these are there.
		w := t.turned(x)
		w.withoutLater()
		if err := t.examineOnly(w, unplaced); err != nil || len(unplaced) == 0 {
			return err
		}
	}
	return t.spoil(unplaced)
}

// spoil takes out the ways that are new nodes with which the plan would not work: one that joins before the others have
// their pods may be an emptier domain than these may have beside them. Such a node is for the next plan.
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

// worksWith says whether, however all turns out, all planned pods that may go where they are planned still may where
// one more node is there from the start.
func (t *trial) worksWith(o option) (bool, error) {
	for _, x := range t.turns() {
		without, err := t.fits(t.turned(x))
		if err != nil {
			return false, err
		}
		w := t.turned(x)
		w.nodes = append(w.nodes, w.oneMoreNode(o))
		if with, err := t.fits(w); err != nil || without && !with {
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

// withoutLater takes away the nodes that are decided once no more pods are placed: those that take the place of others,
// and those that are bought for buffers alone.
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

// choice is something that may turn out in several ways.
type choice struct {
	name string
	ways int
}

// The names of choices beside claims, before that of a node: whether its DaemonSets' pods are late, and whether it is there
// still, on its way out.
const (
	late   = "late on "
	linger = "still there: "
)

// choices are all that may turn out in several ways.
func (t *trial) choices() (out []choice) {
	w := t.world(0, nil)
	for _, name := range slices.Sorted(maps.Keys(w.offerings)) {
		out = append(out, choice{name, w.offerings[name]})
	}
	for _, n := range t.c.Input.Snapshot.Nodes {
		if t.leaving(&n) {
			out = append(out, choice{linger + string(n.Name), 2})
		}
	}
	w.lingers = func(model.NodeName) bool { return true }
	w.linger()
	for i, n := range w.nodes {
		if (i < w.joined || i >= w.lingering) && len(w.daemons(n)) > 0 {
			out = append(out, choice{late + n.Name, 2})
		}
	}
	return slices.DeleteFunc(out, func(c choice) bool { return c.ways < 2 })
}

// turn is a way in which all may turn out: a draw, and what each choice is.
type turn struct {
	draw int
	is   map[string]int
}

func (x turn) lingers() bool {
	for name, is := range x.is {
		if is > 0 && strings.HasPrefix(name, linger) {
			return true
		}
	}
	return false
}

func (t *trial) turned(x turn) *world {
	w := t.world(x.draw, x.is)
	w.late = func(i int) bool { return x.is[late+w.nodes[i].Name] == 0 }
	w.lingers = func(name model.NodeName) bool { return x.is[linger+string(name)] > 0 }
	return w
}

// mostTurns is in how many ways all is tried.
const mostTurns = 1024

// fewestTurns is how many draws there are at least: some things are drawn that are no choice, such as labels that
// claims leave open.
const fewestTurns = 16

// combinations is in how many ways all may turn out, up to one more than are all tried.
func combinations(choices []choice) int {
	all := 1
	for _, c := range choices {
		all = min(all*c.ways, mostTurns+1)
	}
	return all
}

// turns are all ways in which all may turn out; where that are too many, those in which one choice is not what all
// others are, the first or the last, and some at random.
func (t *trial) turns() (out []turn) {
	choices := t.choices()
	add := func(is func(c choice) int) {
		x := turn{len(out), make(map[string]int)}
		for _, c := range choices {
			x.is[c.name] = is(c)
		}
		out = append(out, x)
	}
	if all := combinations(choices); all <= mostTurns {
		for number := range max(all, fewestTurns) {
			add(func(c choice) int {
				is := number % c.ways
				number /= c.ways
				return is
			})
		}
		return out
	}
	for _, one := range choices {
		for is := range one.ways {
			for _, last := range []int{0, 1} {
				add(func(c choice) int {
					if c == one {
						return is
					}
					return last * (c.ways - 1)
				})
			}
		}
	}
	r := rand.New(rand.NewPCG(t.c.Seed, uint64(mostTurns))) //nolint:gosec // not a secret
	for len(out) < mostTurns {
		add(func(c choice) int { return r.IntN(c.ways) })
	}
	return out
}
