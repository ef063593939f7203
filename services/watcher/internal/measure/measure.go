// Package measure turns what a watcher sees, asks and is told into metrics.
//
// Gauges are counted when somebody collects, from the newest snapshot and from what was kept of the newest plans; the loop
// only leaves them here. Only the watcher that drives shows what it sees of the cluster, so that sums over all watchers are
// right. A nil Measure measures nothing. Start reading at Measure; count.go has what is counted in a snapshot.
package measure

import (
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// Measure is what one watcher measures. Safe for concurrent use.
type Measure struct {
	recorder *metrics.Recorder
	now      func() time.Time

	driver   atomic.Bool
	snapshot atomic.Pointer[snapshot.Snapshot]
	// Of the newest plan, of the newest for everything, and of the newest that buys with a proven bound.
	plan, everything, bought atomic.Pointer[facts]
}

// facts are what is kept of a plan.
type facts struct {
	left, kept, problems map[string]int // by reason
	waste                map[string]float64
	// pending are the pods that it left pending, with the reason, and waits what the others wait for that it has places
	// for.
	pending, waits map[string]string
	// tried are pods that are unschedulable and that it, or a plan of the hour before, had a place for, and when one
	// had it last.
	tried         map[string]time.Time
	cost, planned float64
	floor, bound  *float64
	gap           float64
}

// tried is for how long a pod that a plan had a place for waits for that, whatever plans have said since: where
// launches of a class are refused, it is held and tried in turn, and its pods are left pending in turn.
const tried = time.Hour

// New makes a Measure; nil where nothing is recorded.
func New(r *metrics.Recorder, now func() time.Time) (*Measure, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // a nil Measure works
	}
	m := &Measure{recorder: r, now: now}
	return m, r.Observe(m.observe)
}

// Drives notes whether this watcher drives.
func (m *Measure) Drives(driver bool) {
	if m != nil {
		m.driver.Store(driver)
	}
}

// Saw notes the newest snapshot.
func (m *Measure) Saw(s snapshot.Snapshot) {
	if m != nil {
		m.snapshot.Store(&s)
	}
}

// Changed notes what has changed since a snapshot: pods that were unschedulable are bound.
func (m *Measure) Changed(was *snapshot.Snapshot, d snapshot.Delta) {
	if m == nil || !m.driver.Load() {
		return
	}
	for _, o := range d.Upserted {
		if p, ok := o.Payload.(*clusterpb.Pod); ok && p.GetNode() != "" {
			if since := Unschedulable(was, o.ID); !since.IsZero() {
				m.recorder.Record(metrics.PodBoundDuration, m.now().Sub(since).Seconds())
			}
		}
	}
}

// Unschedulable is since when a pod that is not bound has been unschedulable in a snapshot; zero where it is not.
func Unschedulable(s *snapshot.Snapshot, pod string) time.Time {
	o, ok := s.Get(snapshot.Pod, pod)
	if !ok {
		return time.Time{}
	}
	p, ok := o.Payload.(*clusterpb.Pod)
	if !ok || p.GetNode() != "" || p.GetUnschedulableTime() == nil {
		return time.Time{}
	}
	return p.GetUnschedulableTime().AsTime()
}

// Planned notes the newest plan.
func (m *Measure) Planned(p *plannerpb.Plan, everything bool) {
	if m == nil {
		return
	}
	f := &facts{
		left: byReason(p.GetPending()), pending: make(map[string]string, len(p.GetPending())), waits: waits(p), cost: dollars(p.GetCostBeforeMicroUsdPerHour()), planned: dollars(p.GetCostAfterMicroUsdPerHour()),
	}
	for _, pod := range p.GetPending() {
		f.pending[pod.GetPod()] = convert.CodeText(pod.GetReason().GetCode())
	}
	f.tried = m.tries(p)
	if b := p.GetLowerBound(); b != nil && len(p.GetNodeClaims()) > 0 {
		f.bound, f.gap = new(dollars(b.GetMicroUsdPerHour())), b.GetGap()
		m.bought.Store(f)
	}
	if everything {
		stay := slices.DeleteFunc(slices.Clone(p.GetNodes()), func(v *plannerpb.NodeVerdict) bool { return v.GetDisruption() != "" })
		f.kept, f.waste, f.problems = byReason(stay), map[string]float64{}, map[string]int{}
		for _, v := range stay {
			if v.GetReason() != nil {
				f.waste[convert.CodeText(v.GetReason().GetCode())] += dollars(v.GetWasteMicroUsdPerHour())
			}
		}
		for _, r := range p.GetProblems() {
			f.problems[convert.CodeText(r.GetCode())]++
		}
		if s := p.GetDisruptionSummary(); s != nil && s.FloorMicroUsdPerHour != nil {
			f.floor = new(dollars(s.GetFloorMicroUsdPerHour() + m.askedFor(p.GetNodes())))
		}
		m.everything.Store(f)
	}
	m.plan.Store(f)
}

// waits says of the pods that a plan has places for what they wait for.
func waits(p *plannerpb.Plan) map[string]string {
	out := make(map[string]string, len(p.GetPlacements()))
	for _, x := range p.GetPlacements() {
		switch {
		case x.GetWaitUntil() != nil:
			out[x.GetPod()] = metrics.ForRoom
		case x.GetNode() != "":
			out[x.GetPod()] = metrics.ForScheduler
		default:
			out[x.GetPod()] = metrics.ForNode
		}
	}
	return out
}

// askedFor is what nodes of static pools cost beyond what their pods would elsewhere: the pools ask for them, pods or not.
func (m *Measure) askedFor(nodes []*plannerpb.NodeVerdict) (micro int64) {
	s := m.snapshot.Load()
	if s == nil {
		return 0
	}
	for _, v := range nodes {
		if static(s, v.GetNode()) {
			micro += min(v.GetWasteMicroUsdPerHour(), v.GetPriceMicroUsdPerHour())
		}
	}
	return micro
}

// static says that a node is of a static pool.
func static(s *snapshot.Snapshot, node string) bool {
	o, _ := s.Get(snapshot.Node, node)
	n, ok := o.Payload.(*clusterpb.Node)
	if !ok {
		return false
	}
	o, _ = s.Get(snapshot.NodePool, labelsOf(n)[labels.NodePool])
	p, ok := o.Payload.(*clusterpb.NodePool)
	return ok && p.Replicas != nil
}

// tries are the pods that a plan, or one of the hour before, had a place for.
func (m *Measure) tries(p *plannerpb.Plan) map[string]time.Time {
	out, now, s := map[string]time.Time{}, m.now(), m.snapshot.Load()
	if s == nil {
		return out
	}
	note := func(pod string, at time.Time) {
		if !Unschedulable(s, pod).IsZero() {
			out[pod] = at
		}
	}
	if before := m.plan.Load(); before != nil {
		for pod, at := range before.tried {
			if now.Sub(at) < tried {
				note(pod, at)
			}
		}
	}
	for _, c := range p.GetNodeClaims() {
		for _, pod := range c.GetPods() {
			note(pod, now)
		}
	}
	for _, x := range p.GetPlacements() {
		note(x.GetPod(), now)
	}
	return out
}

// byReason counts the entries of a plan that have a reason, by it.
func byReason[T interface{ GetReason() *clusterpb.Reason }](entries []T) map[string]int {
	out := map[string]int{}
	for _, e := range entries {
		if r := e.GetReason(); r != nil {
			out[convert.CodeText(r.GetCode())]++
		}
	}
	return out
}

func dollars(micro int64) float64 { return float64(micro) / 1e6 }

// Cycle is one plan from question to answer.
type Cycle struct {
	Everything bool
	// Waited is how long the first event waited until the question, Took how long it took from there.
	Waited, Took time.Duration
	// Failed is what failed; "" is nothing.
	Failed string
	// Accepted and Rejected are what the actuator said to the plan's decisions.
	Accepted, Rejected int
}

// The values of Cycle.Failed.
const (
	FailedPlan  = "plan"
	FailedApply = "apply"
)

// Cycled records a cycle.
func (m *Measure) Cycled(c Cycle) {
	if m == nil {
		return
	}
	scope := metrics.Scope.String(metrics.ScopePods)
	if c.Everything {
		scope = metrics.Scope.String(metrics.ScopeEverything)
	}
	took := []attribute.KeyValue{scope}
	if c.Failed != "" {
		took = append(took, metrics.ErrorType.String(c.Failed))
	}
	m.recorder.Record(metrics.CycleDelay, c.Waited.Seconds(), scope)
	m.recorder.Record(metrics.CycleDuration, c.Took.Seconds(), took...)
	m.recorder.Add(metrics.Decisions, float64(c.Accepted), metrics.Result.String(metrics.Accepted))
	m.recorder.Add(metrics.Decisions, float64(c.Rejected), metrics.Result.String(metrics.Rejected))
}

// observe sets the gauges.
func (m *Measure) observe(o metrics.Observation) {
	if !m.driver.Load() {
		o.Set(metrics.Driver, 0)
		return
	}
	o.Set(metrics.Driver, 1)
	if s := m.snapshot.Load(); s != nil {
		f := m.plan.Load()
		if f == nil {
			f = &facts{}
		}
		count(s, f, m.now()).set(o)
	}
	if f := m.plan.Load(); f != nil {
		set(o, metrics.PodsLeft, f.left)
		o.Set(metrics.ClusterCost, f.cost)
		o.Set(metrics.ClusterCostPlanned, f.planned)
	}
	if f := m.bought.Load(); f != nil {
		o.Set(metrics.PlanBound, *f.bound)
		o.Set(metrics.PlanGap, f.gap)
	}
	if f := m.everything.Load(); f != nil {
		set(o, metrics.NodesKept, f.kept)
		for reason, waste := range f.waste {
			o.Set(metrics.KeptWaste, waste, metrics.Reason.String(reason))
		}
		set(o, metrics.Problems, f.problems)
		if f.floor != nil {
			o.Set(metrics.ClusterCostFloor, *f.floor)
		}
	}
}

func set(o metrics.Observation, id metrics.ID, by map[string]int) {
	for reason, n := range by {
		o.Set(id, float64(n), metrics.Reason.String(reason))
	}
}
