// Package bench measures the planner: what a plan for a workload costs, how far that is from what can be proven, and how
// much CPU time and memory it took to find.
//
// It reads workloads and catalogues of instance types in a schema of plain facts (schema.go), which any planner can be
// measured on, and prints what such planners print (result.go); generate.go makes files of the same form from a seed, so
// that the repository needs none. Run measures one workload in this process; Suite is the list of workloads with what is
// to be reached, each of which a Runner measures in a process of its own. Every plan is checked by the planner's second
// opinion, package verify; one that breaks a rule is an error, however cheap.
//
// The package decides nothing and writes to nobody: package cli asks it, package render prints what it found. Start
// reading at Run, then suite.go.
package bench

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/verify"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// The modes of a run.
const (
	// Schedule plans once for the pods that are pending.
	Schedule = "schedule"
	// Disrupt gives nodes back, plan by plan, until there is nothing more to gain.
	Disrupt = "disrupt"
)

// CheckMode refuses what is not a mode.
func CheckMode(mode string) error {
	if mode == Schedule || mode == Disrupt {
		return nil
	}
	return fmt.Errorf("%q is not known; want %s or %s", mode, Schedule, Disrupt)
}

// bare is the policy that is measured: only prices count, and nothing caps what is on a node, so that costs compare with
// those of other planners and with bounds.
func bare() model.Policy { return model.Policy{} }

// standard is the policy of a cluster that has none of its own.
func standard() model.Policy { return model.Policy{} }

// Run measures the plan for a workload's pending pods on a catalogue. A plan that breaks a rule is an error.
func Run(c *Catalog, w *Workload) (Result, error) {
	x, err := newWorld(c, w)
	if err != nil {
		return Result{}, err
	}
	in := x.input
	in.Policy, in.Kinds = bare(), []model.DecisionKind{model.KindProvision}
	r := Result{
		Workload: w.Name, Mode: Schedule, Threads: runtime.GOMAXPROCS(0), PendingPods: count(w.Pending),
		ExistingNodes: len(w.Nodes), InstanceTypes: len(c.Types),
	}
	p, err := r.decide(in)
	if err != nil {
		return Result{}, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	if err := check(in, p); err != nil {
		return Result{}, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	r.describe(x, &p)
	other, err := under(standard(), in, p)
	r.Default = &other
	if err != nil {
		return Result{}, fmt.Errorf("workload %s: under the default policy: %w", w.Name, err)
	}
	return r, nil
}

// decide measures the decision: from nothing and, where there are nodes, by a session that knew them before the pending
// pods came. Both make the same plan.
func (r *Result) decide(in model.Input) (p model.Plan, err error) {
	one, err := measure(func() error {
		p, err = plan.Decide(in)
		return err
	})
	if err != nil {
		return p, err
	}
	if r.ExistingNodes == 0 {
		r.Solve = one
		r.Setup, err = measure(func() error { return index(in) })
		return p, err
	}
	r.Cold = &one
	before, news := apart(in.Snapshot)
	question := plan.Question{Policy: in.Policy, Kinds: in.Kinds, Now: in.Now, Seed: in.Seed}
	var s *plan.Session
	r.Setup, err = measure(func() error {
		if s, err = plan.NewSession(&before); err == nil {
			_, err = s.Decide(question)
		}
		return err
	})
	if err != nil {
		return p, err
	}
	var warm model.Plan
	r.Solve, err = measure(func() error {
		if err = s.Apply(&news); err == nil {
			warm, err = s.Decide(question)
		}
		return err
	})
	if err == nil && !reflect.DeepEqual(p, warm) {
		err = errors.New("the plan of a session differs from that of one decision")
	}
	return p, err
}

// apart is a snapshot without its pending pods, and the delta that brings them.
func apart(s model.Snapshot) (before model.Snapshot, news model.Delta) {
	before, all := s, s.Pods
	before.Pods = nil
	news.Upserted = model.Snapshot{
		Revision: s.Revision, InventoryRevision: s.InventoryRevision, Cluster: s.Cluster, ObserveTime: s.ObserveTime,
	}
	for _, p := range all {
		if p.Node == "" {
			news.Upserted.Pods = append(news.Upserted.Pods, p)
			continue
		}
		before.Pods = append(before.Pods, p)
	}
	return before, news
}

// index makes what a decision looks things up in. The snapshot is in order already, as the planner wants it.
func index(in model.Input) error {
	w, err := view.NewWorld(&in.Snapshot, in.Policy, in.Now)
	if err != nil {
		return err
	}
	runtime.KeepAlive(view.NewView(w))
	runtime.KeepAlive(pack.NewMarket(w, topology.New(w)))
	return nil
}

func check(in model.Input, p model.Plan) error {
	if broken := verify.Plan(in, p); len(broken) > 0 {
		return fmt.Errorf("the plan breaks a rule: %s", verify.Join(broken))
	}
	return nil
}

// under is the plan under another policy.
func under(policy model.Policy, in model.Input, p model.Plan) (Brief, error) {
	if reflect.DeepEqual(policy, in.Policy) {
		return brief(&p), nil
	}
	in.Policy = policy
	p, err := plan.Decide(in)
	if err != nil {
		return Brief{}, err
	}
	return brief(&p), check(in, p)
}
