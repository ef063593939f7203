// Package judge holds a plan against the real scheduler.
//
// It lets the planner plan for a case, adds the planned nodes to the cluster, each as one of the offerings that its claim
// lists, and has the scheduler place the pods. A plan fails where a pod that is placed in the planned order may not run
// where the plan says (Misfit), where a pod is left pending that the scheduler could place on one more node that some pool
// allows, or on one that is there (Missed), and where the actuator refuses any of it (Refused). What the planner refuses to
// plan for is counted apart, so that nothing hides behind it. Start reading with Try.
package judge

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// Kind is how a plan fails.
type Kind string

// The kinds.
const (
	// Misfit is a pod that may not run where the plan sends it.
	Misfit Kind = "misfit"
	// Missed is a pod that is left pending though there is a way to place it.
	Missed Kind = "missed"
	// Forbidden is a plan that does what pools, budgets or pods forbid, or that says nothing about a pod.
	Forbidden Kind = "forbidden"
	// Violation is a plan that the planner's own verifier objects to.
	Violation Kind = "violation"
	// Refused is a decision that the actuator does not accept, though nothing has changed.
	Refused Kind = "refused"
	// Restless is a cluster that plans go on to change for ever, though nothing else does.
	Restless Kind = "restless"
	// Broken is an input that the planner returns an error for, or panics on.
	Broken Kind = "broken"
)

// Failure is one way in which a plan is wrong.
type Failure struct {
	Kind Kind
	Pod  model.PodID
	// Rule is the scheduler's plugin that objects, or the planner's code for leaving the pod out.
	Rule   string
	Detail string
}

// String is the failure on one line.
func (f Failure) String() string {
	return fmt.Sprintf("%s %s (%s): %s", f.Kind, f.Pod, f.Rule, f.Detail)
}

// Same says whether two failures are likely of one cause.
func (f Failure) Same(g Failure) bool { return f.Kind == g.Kind && f.Rule == g.Rule }

// Result is what became of one case.
type Result struct {
	Placed, Pending, Unsupported int
	// Cautious are pods that are left pending though they could run on a claim in flight, whatever that becomes: what ties
	// them to other pods depends on what it is. That is no failure.
	Cautious int
	// Unjudged are pods that are left pending though nothing that was tried shows why, where all may turn out in more
	// ways together than are tried: one of the others may. That is no failure either.
	Unjudged int
	// Misses are pods that the scheduler, free to choose in a random order, did not place, of Free tries.
	Misses, Free int
	Failures     []Failure
	Plan         model.Plan
}

// Count is how many failures are of a kind.
func (r Result) Count(k Kind) int {
	n := 0
	for _, f := range r.Failures {
		if f.Kind == k {
			n++
		}
	}
	return n
}

// Options say how thorough a trial is.
type Options struct {
	// Orders are how many random orders the scheduler places the pods in.
	Orders int
	// Worlds are how many draws of what the claims are launched as the planned order is tried in; at least 1.
	Worlds int
	// Believe changes what the planner gets; nil for the truth.
	Believe func(*model.Input)
}

// mostWorlds is how many draws a missed pod must be placeable in, in the same way: what needs luck is not missed.
const mostWorlds = 6

// trial is one case under way.
type trial struct {
	Result
	c       gen.Case
	s       *kube.Scheduler
	objects *kube.Objects
	classes map[model.ClassID]*model.PodClass
	pods    map[model.PodID]*model.Pod
	order   []model.Placement
	said    map[string]bool
	made    made
}

// Try plans for a case and holds the plan against the scheduler. An error is a defect of the test, not of the plan.
func Try(s *kube.Scheduler, c gen.Case, o Options) (Result, error) {
	t := &trial{
		c: c, s: s, objects: kube.NewObjects(&c.Input), said: make(map[string]bool),
		classes: make(map[model.ClassID]*model.PodClass), pods: make(map[model.PodID]*model.Pod), made: nothing(),
	}
	for i := range c.Input.Snapshot.PodClasses {
		t.classes[c.Input.Snapshot.PodClasses[i].ID] = &c.Input.Snapshot.PodClasses[i]
	}
	for i := range c.Input.Snapshot.Pods {
		t.pods[c.Input.Snapshot.Pods[i].ID] = &c.Input.Snapshot.Pods[i]
	}
	if !t.decide(o.Believe) {
		return t.Result, nil
	}
	if o.Believe == nil {
		t.rest(plan.Decide)
	}
	unplaced := t.unplaced()
	for i := range max(1, o.Worlds) {
		if err := t.play(t.world(i, nil), unplaced); err != nil {
			return t.Result, err
		}
	}
	for i := o.Worlds; i < mostWorlds && len(unplaced) > 0; i++ {
		if err := t.play(t.world(i, nil), unplaced); err != nil {
			return t.Result, err
		}
	}
	if err := t.confirm(unplaced); err != nil {
		return t.Result, err
	}
	t.report(unplaced)
	for i := range o.Orders {
		if err := t.free(i); err != nil {
			return t.Result, err
		}
	}
	return t.Result, nil
}

// fail notes a failure once.
func (t *trial) fail(f Failure) {
	key := string(f.Kind) + string(f.Pod) + f.Rule
	if !t.said[key] {
		t.said[key] = true
		t.Failures = append(t.Failures, f)
	}
}

// decide makes the plan; false when there is none.
func (t *trial) decide(believe func(*model.Input)) (ok bool) {
	in := t.c.Input
	if believe != nil {
		in = t.c.Clone().Input
		believe(&in)
	}
	defer func() {
		if r := recover(); r != nil {
			t.fail(Failure{Kind: Broken, Rule: "panic", Detail: fmt.Sprint(r)})
		}
	}()
	p, err := plan.Decide(in)
	if err != nil {
		t.fail(Failure{Kind: Broken, Rule: "error", Detail: err.Error()})
		return false
	}
	t.Plan, t.Placed, t.Pending = p, len(p.Placements), len(p.Pending)
	if believe == nil {
		for _, v := range verify.Plan(in, p) {
			what, _, _ := strings.Cut(v.Subject, " ")
			t.fail(Failure{Kind: Violation, Rule: what, Detail: v.String()})
		}
	}
	t.permitted()
	t.refused()
	t.order = slices.Clone(p.Placements)
	slices.SortStableFunc(t.order, func(a, b model.Placement) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Pod, b.Pod))
	})
	return true
}

// play places the pods in the planned order, and asks for each class left pending which of the ways that are left would
// place it.
func (t *trial) play(w *world, unplaced map[model.ClassID]*leftPending) error {
	if err := w.reset(); err != nil {
		return err
	}
	for _, p := range t.order {
		pod, target := t.again(p.Pod), w.target(p)
		if pod == nil {
			t.fail(Failure{Kind: Broken, Pod: p.Pod, Rule: "unknown pod", Detail: "the plan places a pod that there is not"})
			continue
		}
		if !w.has(target) {
			t.fail(Failure{Kind: Misfit, Pod: p.Pod, Rule: "no such node", Detail: target + " is not there, or on its way out"})
			continue
		}
		v, err := t.s.Schedule(pod, target)
		if err != nil {
			return err
		}
		if len(v.Nodes) == 0 {
			r := v.Refusal(target)
			t.fail(Failure{Kind: Misfit, Pod: p.Pod, Rule: r.Plugin, Detail: fmt.Sprintf("on %s: %s", w.describe(target), r.Message)})
		}
		if err := w.bind(pod, target); err != nil {
			return err
		}
	}
	if err := w.examine(unplaced); err != nil {
		return err
	}
	return w.remove()
}

// free lets the scheduler place the planned pods as it likes, in a random order.
func (t *trial) free(number int) error {
	w := t.world(number, nil)
	if err := w.reset(); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(t.c.Seed, uint64(1000+number))) //nolint:gosec // not a secret
	order := slices.Clone(t.order)
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, p := range order {
		pod := t.again(p.Pod)
		if pod == nil || !w.has(w.target(p)) {
			continue
		}
		v, err := t.s.Schedule(pod)
		if err != nil {
			return err
		}
		t.Free++
		if len(v.Nodes) == 0 {
			t.Misses++
			continue
		}
		node, err := t.s.Best(pod, v, r)
		if err != nil {
			return err
		}
		if err := w.bind(pod, node); err != nil {
			return err
		}
	}
	return nil
}
