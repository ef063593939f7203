// Package advise finds the few changes that would make a plan cheaper, or that would make pods fit which stay pending:
// allow a family, drop a zone rule, lower a request.
//
// Nothing is guessed. What could be changed is read from the input (the rules of its pools, what its costliest workloads
// ask for); then each change is made to a copy of the input, the planner decides anew, and the difference between the two
// plans is the answer. A change after which a pod that had a place stays pending is never advised. The package is pure:
// no clock, no I/O, the same input gives the same advice; effort is a number of plans, not a time.
//
// Start reading at For; pool.go and workload.go hold the changes that are tried, narrow.go how they become precise.
package advise

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/safe"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// Advice is one change that a user could make, by itself, and what the plan would be with it.
type Advice struct {
	// Change is what to do, as an imperative: "allow arm64 in pool default".
	Change string
	// Subject is the object to change, as "kind/name".
	Subject string
	// Field is where in the object.
	Field string
	// Note is what to make sure of first, because the plan buys with the change what it did not buy; "" when there is
	// nothing.
	Note string
	// Saving is by how much the cluster costs less, micro-dollars per hour; negative where it costs more, which is advised
	// only where MorePods is above 0.
	Saving int64
	// CostAfter is what the claims cost once the plan with the change is carried out, micro-dollars per hour.
	CostAfter int64
	// MorePods is how many pods get a place that would stay pending.
	MorePods int
	// Estimated says that prices are estimates, in the plan or in that with the change.
	Estimated bool
}

// Decider makes plans.
type Decider func(model.Input) (model.Plan, error)

// Options are how hard to look. The zero value shows nothing.
type Options struct {
	// Most is how many changes to return at most.
	Most int
	// Effort is how many plans are made at most; 0 means DefaultEffort, fewer where a plan takes long.
	Effort int
	// Decide makes the plans; nil is the planner, with its second opinion on every plan.
	Decide Decider
	// Stop is asked before each plan whether to give up, for callers that wait no longer; nil never does.
	Stop func() bool
	// Halt is asked all the time during a plan of the planner whether to give that up; nil never does. What was found
	// before remains.
	Halt func() bool
}

// DefaultEffort is how many plans are made to find advice.
const DefaultEffort = 24

// Where the pods and nodes of an input are many, plans are made with less work: what they cost is then an upper bound,
// and the advice claims less than it saves. Where they are very many, fewer are made.
const (
	many, manyWork     = 1_000, 50_000
	more, fewerPlans   = 10_000, DefaultEffort / 2
	veryMany, fewPlans = 50_000, DefaultEffort / 6
)

// For finds the changes that help most: first those with which more pods run, then those that save the most money. base
// is the plan for in. Neither is changed.
func For(in model.Input, base model.Plan, o Options) []Advice {
	if o.Most <= 0 {
		return nil
	}
	s := newAdviser(in, base, o)
	s.try(s.candidates())
	return s.choose()
}

// candidate is a change that could be tried.
type candidate struct {
	Advice
	// group is what it is an alternative in: of a group only the best is shown.
	group string
	apply func(*model.Snapshot)
	// narrow finds the smallest change that gives the same plan: nil when it turns out to be none, one that applies nothing
	// when it can't be put in fewer words. It is nil itself when the change is as small as it can be.
	narrow func(model.Plan) *candidate
	// places are the pods that get a place, sorted; known once it was tried.
	places []model.PodID
}

type adviser struct {
	*facts
	o     Options
	plans int // that may still be made
	keep  int // of them, those kept back for narrowing
	found []candidate
}

func newAdviser(in model.Input, base model.Plan, o Options) *adviser {
	if o.Decide == nil {
		o.Decide = decider(o.Halt)
	}
	size := len(base.Placements) + len(base.Pending) + len(base.Nodes)
	switch {
	case o.Effort > 0:
	case size > veryMany:
		o.Effort = fewPlans
	case size > more:
		o.Effort = fewerPlans
	default:
		o.Effort = DefaultEffort
	}
	if size > many && (in.Policy.Work == nil || *in.Policy.Work > manyWork) {
		in.Policy.Work = new(int64(manyWork))
	}
	return &adviser{facts: learn(in, base), o: o, plans: o.Effort, keep: o.Effort / 4}
}

// decider is the planner with its second opinion, as its service has it, which gives up when it is halted.
func decider(halt func() bool) Decider {
	return func(in model.Input) (model.Plan, error) {
		a, err := safe.Decide(in, func(in *model.Input) (model.Plan, error) {
			session, err := plan.NewSession(&in.Snapshot)
			if err != nil {
				return model.Plan{}, err
			}
			q := plan.QuestionOf(in)
			q.Stop = halt
			return session.Decide(q)
		}, nil)
		if err != nil {
			return model.Plan{}, err
		}
		if len(a.Broken) > 0 {
			return model.Plan{}, fmt.Errorf("plan %s breaks %d rules: %s", a.Plan.ID, len(a.Broken), verify.Join(a.Broken))
		}
		return a.Plan, nil
	}
}

// try evaluates candidates in their order for as long as the effort lasts.
func (s *adviser) try(list []candidate) {
	for _, c := range list {
		if s.plans <= s.keep {
			return
		}
		if c, p, ok := s.evaluate(c); ok {
			s.add(c, p)
		}
	}
}

// add keeps what helps; its narrower form is made from the plan now, so that the plan need not be kept.
func (s *adviser) add(c candidate, p model.Plan) {
	if narrow := c.narrow; narrow != nil {
		n := narrow(p)
		if n == nil {
			return
		}
		c.narrow = func(model.Plan) *candidate { return n }
	}
	s.found = append(s.found, c)
}

// evaluate decides with a change. It is false for one that does not help.
func (s *adviser) evaluate(c candidate) (candidate, model.Plan, bool) {
	if s.plans <= 0 || (s.o.Stop != nil && s.o.Stop()) {
		s.plans = 0
		return c, model.Plan{}, false
	}
	s.plans--
	in := s.in
	c.apply(&in.Snapshot)
	p, err := s.o.Decide(in)
	if err != nil {
		return c, p, false // what the planner refuses is no advice
	}
	left := make(map[model.PodID]bool, len(p.Pending))
	for _, q := range p.Pending {
		if !s.pending[q.Pod] {
			return c, p, false
		}
		left[q.Pod] = true
	}
	c.places = nil
	for _, q := range s.base.Pending {
		if !left[q.Pod] {
			c.places = append(c.places, q.Pod)
		}
	}
	c.CostAfter = p.CostAfter
	c.Saving = s.base.CostAfter - p.CostAfter
	c.MorePods = len(c.places)
	c.Note = s.caution(p)
	c.Estimated = s.base.CostEstimated || p.CostEstimated
	return c, p, c.MorePods > 0 || worthIt(c.Saving, s.base.CostAfter)
}

// worthIt leaves out what saves less than half a per cent: such differences come and go with the order of the search.
func worthIt(saving, cost int64) bool {
	const share = 200
	return saving > 0 && saving >= cost/share
}

// choose picks what to show, and makes it precise: a rule that was dropped to see what would be bought becomes a rule that
// allows just that. A change that is no good when precise is replaced by the next.
func (s *adviser) choose() []Advice {
	for {
		picked := s.pick()
		i := slices.IndexFunc(picked, func(i int) bool { return s.found[i].narrow != nil })
		if i < 0 {
			out := make([]Advice, len(picked))
			for j, k := range picked {
				out[j] = s.found[k].Advice
			}
			return out
		}
		wide := &s.found[picked[i]]
		n := wide.narrow(model.Plan{})
		wide.narrow = nil
		if n.apply == nil {
			continue
		}
		if c, _, ok := s.evaluate(*n); ok && (c.MorePods > 0) == (wide.MorePods > 0) {
			*wide = c
		}
	}
}

// pick is the indexes of the best that was found, one of each group. Changes that cost money to place pods leave a
// place for those that save.
func (s *adviser) pick() []int {
	var places, saves []int
	for i := range s.found {
		if s.found[i].MorePods > 0 {
			places = append(places, i)
		} else {
			saves = append(saves, i)
		}
	}
	better := func(a, b int) int {
		x, y := &s.found[a], &s.found[b]
		return cmp.Or(cmp.Compare(y.MorePods, x.MorePods), cmp.Compare(y.Saving, x.Saving))
	}
	places, saves = s.various(s.distinct(places, better)), s.distinct(saves, better)
	places = places[:min(len(places), s.o.Most-min(len(saves), s.o.Most/2))]
	return append(places, saves[:min(len(saves), s.o.Most-len(places))]...)
}

// distinct sorts by what is better, and keeps the best of each group.
func (s *adviser) distinct(list []int, better func(a, b int) int) []int {
	slices.SortStableFunc(list, better)
	seen := make(map[string]bool)
	return slices.DeleteFunc(list, func(i int) bool {
		c := &s.found[i]
		was := seen[c.group] || seen[c.Change]
		seen[c.group], seen[c.Change] = true, true
		return was
	})
}

// various puts first what helps pods that nothing before it helps: a more expensive way for the same pods comes after.
func (s *adviser) various(list []int) []int {
	var first, rest []int
	helped := make(map[model.PodID]bool)
	for _, i := range list {
		into := &rest
		for _, pod := range s.found[i].places {
			if !helped[pod] {
				into = &first
				helped[pod] = true
			}
		}
		*into = append(*into, i)
	}
	return append(first, rest...)
}
