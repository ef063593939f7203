// Package bench measures the planner: what a plan for a workload costs, how far that is from what can be proven, and how
// much CPU time and memory it took to find.
//
// Package workload has what is measured; a Result has the fields that any planner under test prints (result.go). Run
// measures one workload in this process; Rows is the list of workloads with what is to be reached, each of which a
// Runner measures in a process of its own. Every plan is checked by the planner's second opinion, package verify; one
// that breaks a rule is an error, however cheap.
//
// The package decides nothing and prints nothing: cmd/bench asks it, package show prints what it found. Start
// reading at Run, then suite.go.
package bench

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
	"github.com/kerf-dev/kerf/test/bench/workload"
)

// The modes of a run.
const (
	// Schedule plans once for the pods that are pending.
	Schedule = "schedule"
	// Disrupt removes nodes, plan by plan, until there is nothing more to gain.
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

// nodeOverhead is what the watcher has one more node cost where its config does not say, micro-dollars per hour.
const nodeOverhead = 1000

// standard is the policy of a cluster that has none of its own.
func standard() model.Policy { return model.Policy{PerNodeOverhead: nodeOverhead} }

// Run measures the plan for a workload's pending pods on a catalogue, which goes so far; see Job.Work. A plan that
// breaks a rule is an error.
func Run(c *workload.Catalog, w *workload.Workload, work int64) (Result, error) {
	x, err := workload.New(c, w)
	if err != nil {
		return Result{}, err
	}
	in := x.Input
	in.Policy, in.Kinds = bare(), []model.DecisionKind{model.KindProvision}
	if work > 0 {
		in.Policy.Work = &work
	}
	r := Result{
		Workload: w.Name, Mode: Schedule, Threads: runtime.GOMAXPROCS(0), PendingPods: count(w.Pending),
		ExistingNodes: len(w.Nodes), InstanceTypes: len(c.Types), Work: work,
	}
	p, err := r.decide(in)
	if err != nil {
		return Result{}, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	if err := check(in, p); err != nil {
		return Result{}, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	r.describe(x, &p)
	in.Policy = standard()
	other, err := inSession(in, r.ExistingNodes > 0)
	if err == nil {
		err = check(in, other.plan)
	}
	if err != nil {
		return Result{}, fmt.Errorf("workload %s: under the default policy: %w", w.Name, err)
	}
	r.Default, r.DefaultSolve = brief(&other.plan), &other.solve
	return r, nil
}

// decide measures the decision. One from nothing must make the same plan.
func (r *Result) decide(in model.Input) (model.Plan, error) {
	d, err := inSession(in, r.ExistingNodes > 0)
	if err != nil {
		return model.Plan{}, err
	}
	r.Setup, r.Solve = d.setup, d.solve
	var alone model.Plan
	one, err := measure(func() error {
		alone, err = plan.Decide(in)
		return err
	})
	r.Cold = &one
	if err == nil && !reflect.DeepEqual(d.plan, alone) {
		err = errors.New("the plan of a session differs from that of one decision")
	}
	return d.plan, err
}

// decision is what a session decided, with what that took.
type decision struct {
	setup, solve Phase
	plan         model.Plan
}

// inSession measures the decision of a session that has read and indexed the whole snapshot, which is the set-up; where
// there are nodes, of one that knew them before the pending pods came.
func inSession(in model.Input, nodes bool) (d decision, err error) {
	before, news := in.Snapshot, model.Delta{}
	if nodes {
		before, news = apart(in.Snapshot)
	}
	var s *plan.Session
	d.setup, err = measure(func() error {
		s, err = prepared(&before, in)
		if err == nil && nodes {
			_, err = s.Decide(question(in))
		}
		return err
	})
	if err != nil {
		return d, err
	}
	d.solve, err = measure(func() error {
		if nodes {
			err = s.Apply(&news)
		}
		if err == nil {
			d.plan, err = s.Decide(question(in))
		}
		return err
	})
	return d, err
}

// prepared is a session that has worked out all that does not depend on which plan is asked for.
func prepared(before *model.Snapshot, in model.Input) (*plan.Session, error) {
	s, err := plan.NewSession(before)
	if err != nil {
		return nil, err
	}
	return s, s.Prepare(question(in))
}

func question(in model.Input) plan.Question {
	return plan.Question{Policy: in.Policy, Kinds: in.Kinds, Now: in.Now, Seed: in.Seed, ResumeAfter: in.ResumeAfter}
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

func check(in model.Input, p model.Plan) error {
	if broken := verify.Plan(in, p); len(broken) > 0 {
		return fmt.Errorf("the plan breaks a rule: %s", verify.Join(broken))
	}
	return nil
}
