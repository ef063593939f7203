package plan

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/plan/encoding"
	"github.com/kerf-dev/kerf/services/planner/plan/lists"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Session answers questions about a snapshot that changes. It keeps what it has worked out, so that the time for a
// plan after a small change grows with the change and the plan, and not with the cluster. Plans never show it: each is, to
// the byte, the one that Decide makes of the changed snapshot. A Session belongs to one goroutine.
type Session struct {
	// snapshot has sorted lists, which are never changed but replaced, and no pods.
	snapshot model.Snapshot
	lists    []lists.List
	// pods are sorted by id. They are the base's where there is one.
	pods   []view.Pod
	podSum encoding.Total
	digest *encoding.Encoder
	// written is memory for Snapshot.
	written []model.Pod
	// base is what was worked out; nil where that is to be done anew. Its pods, and so these, are those of buffers too.
	base *base
	// problems are the buffers that ask for nothing, as of the last question.
	problems []model.Reason
}

// Question is what is asked about a session's snapshot: an Input without its Snapshot, the contract's Decide.
type Question struct {
	Policy model.Policy
	Kinds  []model.DecisionKind
	Now    time.Time
	Seed   uint64
	// ResumeAfter is where the search for nodes to disrupt ended last time.
	ResumeAfter model.ClaimID
	// Exclude are claims to leave alone: none of them is disrupted by choice.
	Exclude []model.ClaimID
	// Stop gives the question up once it says so; nil never does. It is asked all the time, and is no part of what is
	// asked: there is a plan as if there were no Stop, or none at all and ErrStopped.
	Stop func() bool
}

// QuestionOf is the question of an input.
func QuestionOf(in *model.Input) Question {
	return Question{
		Policy: in.Policy, Kinds: in.Kinds, Now: in.Now, Seed: in.Seed, ResumeAfter: in.ResumeAfter, Exclude: in.Exclude,
	}
}

// ErrStopped says that a question was stopped. The session is as good as before.
var ErrStopped = errors.New("stopped before there was a plan")

// sticky is the question's Stop, which does not go back on its word.
func (q *Question) sticky() func() bool {
	if q.Stop == nil {
		return func() bool { return false }
	}
	stopped := false
	return func() bool {
		stopped = stopped || q.Stop()
		return stopped
	}
}

// NewSession begins with a whole snapshot, which must not be changed afterwards. Like Decide it takes lists in any order,
// and refuses inner lists that are not sorted; references that lead nowhere are found by Session.Decide.
func NewSession(snapshot *model.Snapshot) (*Session, error) {
	s := &Session{snapshot: *snapshot, lists: lists.All(), digest: encoding.New(1 << 16)}
	s.snapshot.Pods = nil
	s.snapshot.Catalogs = lists.SortTypes(s.snapshot.Catalogs)
	for _, l := range s.lists {
		l.Begin(&s.snapshot, s.digest)
	}
	pods := lists.Sorted(snapshot.Pods, func(x *model.Pod) string { return string(x.ID) })
	s.pods = make([]view.Pod, len(pods))
	for i := range pods {
		s.pods[i].Pod = &pods[i]
		s.podSum.Add(s.digest.Pod(&pods[i]))
	}
	return s, lists.CheckSorted(&s.snapshot)
}

// Apply folds a change in. The objects must not be changed afterwards. After an error, which names the object, the
// session is not to be used any more.
func (s *Session) Apply(d *model.Delta) error {
	if err := lists.CheckSorted(&d.Upserted); err != nil {
		return err
	}
	up := d.Upserted
	up.Catalogs = lists.SortTypes(up.Catalogs)
	s.snapshot.Revision, s.snapshot.InventoryRevision = up.Revision, up.InventoryRevision
	s.snapshot.Cluster, s.snapshot.ObserveTime = up.Cluster, up.ObserveTime
	classes := false
	for _, l := range s.lists {
		changed, err := l.Fold(&s.snapshot, &up, &d.Removed, s.digest)
		if err != nil {
			return err
		}
		switch {
		case !changed || s.base == nil:
		case l.Name() == lists.Disruption, l.Name() == lists.Budget: // each plan looks at them anew
			own := s.base.world.Snapshot
			own.Disruptions, own.PodDisruptionBudgets = s.snapshot.Disruptions, s.snapshot.PodDisruptionBudgets
		case s.base.world.Snapshot != &s.snapshot: // it has one of its own, in which resources are devices
			s.base = nil
		case l.Name() == lists.Class && !s.base.stale && s.base.lacks(up.PodClasses):
			classes = true
		case l.Name() == lists.Offering && len(s.snapshot.NodeOverlays) == 0:
			s.base.offers, s.base.priced = false, false
		case l.Name() == lists.Node, l.Name() == lists.Claim, l.Name() == lists.Notice:
			s.base.stale = true
		default:
			s.base = nil
		}
	}
	changes, err := s.podChanges(&d.Upserted, &d.Removed)
	if err != nil {
		return err
	}
	if classes && s.base != nil && s.base.stale {
		s.base = nil
	}
	if classes && s.base != nil {
		// Pods that go do so before their classes, those that come do so after.
		gone := func(c view.PodChange) bool { return c.Pod == nil }
		if err := s.foldPods(slices.DeleteFunc(slices.Clone(changes), func(c view.PodChange) bool { return !gone(c) })); err != nil {
			return err
		}
		changes = slices.DeleteFunc(changes, gone)
		ok, err := s.base.reclass()
		if err != nil {
			return err
		}
		if !ok {
			s.base = nil
		}
	}
	return s.foldPods(changes)
}

// foldPods puts changes of pods in.
func (s *Session) foldPods(changes []view.PodChange) error {
	if len(changes) == 0 {
		return nil
	}
	if s.base == nil || s.base.stale {
		s.pods = merge(s.pods, changes)
		return nil
	}
	err := s.base.fold(changes)
	s.pods = s.base.world.Pods
	return err
}

// podChanges lists what became of pods, by id, and brings their digest up to date.
func (s *Session) podChanges(up *model.Snapshot, gone *model.Removed) ([]view.PodChange, error) {
	out := make([]view.PodChange, 0, len(up.Pods)+len(gone.Pods))
	for _, id := range gone.Pods {
		if _, known := find(s.pods, model.PodID(id)); !known {
			return nil, fmt.Errorf("pod %s: is to be removed, and is not there", id)
		}
		out = append(out, view.PodChange{ID: model.PodID(id)})
	}
	for i := range up.Pods {
		out = append(out, view.PodChange{ID: up.Pods[i].ID, Pod: &up.Pods[i]})
	}
	slices.SortStableFunc(out, func(a, b view.PodChange) int { return cmp.Compare(a.ID, b.ID) })
	last := 0
	for i := range out { // of several changes of a pod the last one holds
		if i > 0 && out[i].ID != out[last].ID {
			last++
		}
		out[last] = out[i]
	}
	if len(out) > 0 {
		out = out[:last+1]
	}
	for _, c := range out {
		if at, known := find(s.pods, c.ID); known {
			s.podSum.Sub(s.digest.Pod(s.pods[at].Pod))
		}
		if c.Pod != nil {
			s.podSum.Add(s.digest.Pod(c.Pod))
		}
	}
	return out, nil
}

func find(pods []view.Pod, id model.PodID) (at int, ok bool) {
	return slices.BinarySearchFunc(pods, id, func(p view.Pod, id model.PodID) int { return cmp.Compare(p.ID, id) })
}

// merge is a list of pods after changes of it.
func merge(pods []view.Pod, changes []view.PodChange) []view.Pod {
	out := make([]view.Pod, 0, len(pods)+len(changes))
	from := 0
	for _, c := range changes {
		at, known := find(pods, c.ID)
		out = append(out, pods[from:at]...)
		from = at
		if known {
			from++
		}
		if c.Pod != nil {
			out = append(out, view.Pod{Pod: c.Pod})
		}
	}
	return append(out, pods[from:]...)
}

// Pods is how many pods the session holds.
func (s *Session) Pods() int { return len(realPods(s.pods)) }

// Snapshot writes down what the session holds, in lists that are sorted. Its time grows with the cluster. Its pods are good
// until the next call: they are written into the same memory.
func (s *Session) Snapshot() model.Snapshot {
	out := s.snapshot
	pods := realPods(s.pods)
	s.written = slices.Grow(s.written[:0], len(pods))
	for _, p := range pods {
		s.written = append(s.written, *p.Pod)
	}
	out.Pods = s.written
	return out
}

// Prepare works out what plans have in common, for a question's policy and time, so that the next plan need not. What the
// next plan says does not depend on it.
func (s *Session) Prepare(q Question) error {
	if q.Now.IsZero() {
		return errNoTime()
	}
	return s.ready(s.input(q), q.sticky())
}

// input is a question about what the session holds, without its pods.
func (s *Session) input(q Question) *model.Input {
	in := &model.Input{
		Snapshot: s.snapshot, Policy: q.Policy, Kinds: slices.Clone(q.Kinds), Now: q.Now.UTC(), Seed: q.Seed,
		ResumeAfter: q.ResumeAfter, Exclude: slices.Clone(q.Exclude),
	}
	slices.Sort(in.Kinds)
	in.Kinds = slices.Compact(in.Kinds)
	slices.Sort(in.Exclude)
	in.Exclude = slices.Compact(in.Exclude)
	return in
}

// Forget drops what is kept from plan to plan. It must be called after Decide panicked: nothing is known of its state then.
func (s *Session) Forget() { s.base = nil }

// Decide plans for what the session holds. See Decide, the function, for errors.
func (s *Session) Decide(q Question) (model.Plan, error) {
	if q.Now.IsZero() {
		return model.Plan{}, errNoTime()
	}
	in, stop := s.input(q), q.sticky()
	if err := s.ready(in, stop); err != nil {
		return model.Plan{}, err
	}
	mark := s.base.view.Fork()
	defer s.base.view.Revert(mark)
	c, err := s.assign(in, nil, stop)
	if err == nil && len(c.heirs) > 0 { // all is planned for with the volumes theirs from the start
		s.base.view.Revert(mark)
		c, err = s.assign(in, c.heirs, stop)
	}
	if err != nil {
		return model.Plan{}, err
	}
	steps := []func(){c.assignBuffers, c.prove, func() { c.until = rules.Earliest(c.until, c.awaited.Stay(c.tally, c.view, c.assigned)) }}
	if c.asks(model.KindDisrupt) {
		steps = append(steps, c.reserveForReturning, c.findDisruptions)
	}
	var p model.Plan
	if err := inTurn(stop, append(steps, func() { p = c.write() })...); err != nil {
		return model.Plan{}, err
	}
	if stop() { // it may have been cut short
		return model.Plan{}, ErrStopped
	}
	return p, nil
}

// assign begins a decision: it sizes static pools, and gives pods their places. Their bodies are in plan.go and static.go.
func (s *Session) assign(in *model.Input, heirs []int, stop func() bool) (*cycle, error) {
	c := newCycle(s.base, in, s.hash(in), heirs, stop)
	c.problems = s.problems
	steps := []func(){c.reserve, c.sizeStaticPools}
	if c.asks(model.KindDisrupt) {
		steps = []func(){c.reserve, c.removeUnhealthy, c.sizeStaticPools}
	}
	if err := inTurn(stop, steps...); err != nil {
		return nil, err
	}
	if len(c.staticClaims) > 0 {
		var err error
		if c, err = c.expecting(); err != nil {
			return nil, err
		}
	}
	return c, inTurn(stop, c.assign)
}

// ready works out what is not, or not for this question.
func (s *Session) ready(in *model.Input, stop func() bool) error {
	if s.base != nil && s.base.stale && s.base.suits(&in.Policy, in.Now) {
		ok, err := s.base.rehost(realPods(s.pods), stop)
		if err != nil {
			return err
		}
		if ok {
			s.pods = s.base.world.Pods
		} else {
			s.base = nil
		}
	}
	if s.base == nil || !s.base.suits(&in.Policy, in.Now) {
		s.base = nil
		b, err := newBase(&s.snapshot, realPods(s.pods), in, stop)
		if err != nil {
			return err
		}
		s.base, s.pods = b, b.world.Pods
	}
	if err := s.fillBuffers(in); err != nil {
		return err
	}
	return s.base.at(in.Now, stop)
}

// hash is the SHA-256 of an input, in hexadecimal: every field counts, the order of lists does not, and nil and empty
// lists are the same.
func (s *Session) hash(in *model.Input) string {
	e := s.digest
	e.Number(in.Snapshot.Revision)
	e.Number(uint64(in.Snapshot.InventoryRevision))
	e.Text(in.Snapshot.Cluster)
	e.Time(in.Snapshot.ObserveTime)
	e.WriteTotal(len(s.pods), &s.podSum)
	for _, l := range s.lists {
		n, sum := l.Sum(&s.snapshot)
		e.WriteTotal(n, sum)
	}
	e.Encode(reflect.ValueOf(&in.Policy).Elem())
	e.Encode(reflect.ValueOf(in.Kinds))
	e.Time(in.Now)
	e.Number(in.Seed)
	e.Text(string(in.ResumeAfter))
	if len(in.Exclude) > 0 { // it is the last: nothing more is as good a name for none
		e.Encode(reflect.ValueOf(in.Exclude))
	}
	out := e.Sum()
	return hex.EncodeToString(out[:])
}
