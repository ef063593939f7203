package safe_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/safe"
)

// input has some claims without nodes, and asks.
func input(kinds ...model.DecisionKind) model.Input {
	in := model.Input{Kinds: kinds, Now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
	for i := range 5 {
		in.Snapshot.Claims = append(in.Snapshot.Claims, model.Claim{ID: model.ClaimID(fmt.Sprintf("c-%d", i)), State: model.ClaimInitialized})
	}
	return in
}

// emptyPlan is a plan without anything in it.
func emptyPlan(in *model.Input) model.Plan {
	return model.Plan{ID: "p-0000000000000000", InputHash: strings.Repeat("0", 64), Now: in.Now}
}

// breaks lets a disruption take claims, which have no nodes: none may go by choice, nor as unhealthy.
func breaks(p *model.Plan, in *model.Input, why model.DisruptionReason, claims ...model.ClaimID) {
	if why != model.ReasonUnhealthy && slices.ContainsFunc(claims, func(id model.ClaimID) bool { return slices.Contains(in.Exclude, id) }) {
		return
	}
	p.Disruptions = append(p.Disruptions, model.Disruption{
		ID: model.DisruptionID(fmt.Sprintf("d-%d", len(p.Disruptions))), Reason: why, Candidates: claims,
	})
}

func TestWhatBreaksARuleIsLeftOutStepByStep(t *testing.T) {
	const why = model.ReasonDrifted
	provision := func(in *model.Input) bool { return slices.Equal(in.Kinds, []model.DecisionKind{model.KindProvision}) }
	tests := map[string]struct {
		kinds  []model.DecisionKind
		decide func(*model.Input, *model.Plan)
		thrown [][]model.ClaimID
		broken bool
		kinded bool
	}{
		"nothing is wrong": {decide: func(*model.Input, *model.Plan) {}},
		"one decision is": {
			decide: func(in *model.Input, p *model.Plan) { breaks(p, in, why, "c-1", "c-2") },
			thrown: [][]model.ClaimID{{"c-1", "c-2"}},
		},
		"one of two may be right without the other": {
			decide: func(in *model.Input, p *model.Plan) {
				if len(in.Exclude) == 0 {
					breaks(p, in, why, "c-3")
					breaks(p, in, why, "c-1")
				}
			},
			thrown: [][]model.ClaimID{{"c-3"}},
		},
		"both are wrong": {
			decide: func(in *model.Input, p *model.Plan) { breaks(p, in, why, "c-3"); breaks(p, in, why, "c-1") },
			thrown: [][]model.ClaimID{{"c-3"}, {"c-1"}},
		},
		"the third time all are left alone": {
			decide: func(in *model.Input, p *model.Plan) {
				for i := range 5 {
					if len(p.Disruptions) < 2 && !provision(in) {
						breaks(p, in, why, model.ClaimID(fmt.Sprintf("c-%d", i)))
					}
				}
			},
			thrown: [][]model.ClaimID{{"c-1"}, {"c-2"}, {"c-0", "c-3"}, nil}, kinded: true,
		},
		"no decision is to blame": {
			decide: func(in *model.Input, p *model.Plan) {
				if !provision(in) {
					p.CostAfter = 1
				}
			},
			thrown: [][]model.ClaimID{nil}, kinded: true,
		},
		"it goes by no choice": {
			decide: func(in *model.Input, p *model.Plan) {
				if !provision(in) {
					breaks(p, in, model.ReasonUnhealthy, "c-0")
				}
			},
			thrown: [][]model.ClaimID{nil}, kinded: true,
		},
		"others help what goes by no choice": {
			decide: func(in *model.Input, p *model.Plan) {
				breaks(p, in, why, "c-1")
				if len(p.Disruptions) > 0 {
					breaks(p, in, model.ReasonUnhealthy, "c-0")
				}
			},
			thrown: [][]model.ClaimID{{"c-1"}},
		},
		"a request for disruptions alone gets no other plan": {
			kinds:  []model.DecisionKind{model.KindDisrupt},
			decide: func(_ *model.Input, p *model.Plan) { p.CostAfter = 1 },
			broken: true,
		},
		"not even pods get a plan": {
			decide: func(_ *model.Input, p *model.Plan) { p.CostAfter = 1 },
			thrown: [][]model.ClaimID{nil}, kinded: true, broken: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(tc.kinds...)
			a, err := safe.Decide(in, func(in *model.Input) (model.Plan, error) {
				p := emptyPlan(in)
				tc.decide(in, &p)
				return p, nil
			}, func(in model.Input) (model.Plan, error) {
				p := emptyPlan(&in)
				tc.decide(&in, &p)
				return p, nil
			})
			if err != nil || len(a.Broken) > 0 != tc.broken || provision(&a.Input) != tc.kinded {
				t.Errorf("%v: %v is broken, asked was %v", err, a.Broken, a.Input.Kinds)
			}
			if soon := a.Plan.ReconsiderTime; len(tc.thrown)+len(a.Broken) > 0 != soon.Equal(in.Now.Add(15*time.Second)) {
				t.Errorf("%d plans were thrown away, and the next one is asked for at %s", len(a.Thrown), soon)
			}
			var all []model.ClaimID
			var got [][]model.ClaimID
			for _, x := range a.Thrown {
				if len(x.Broken) == 0 {
					t.Error("a plan was thrown away for nothing")
				}
				got, all = append(got, x.Excluded), append(all, x.Excluded...)
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.thrown) {
				t.Errorf("excluded %v, want %v", got, tc.thrown)
			}
			slices.Sort(all)
			if !slices.Equal(all, a.Input.Exclude) || len(in.Exclude) > 0 {
				t.Errorf("the last plan excluded %v, want %v", a.Input.Exclude, all)
			}
		})
	}
}

func TestWhatWasToBeSparedStaysSo(t *testing.T) {
	in := input()
	in.Exclude = []model.ClaimID{"c-4"}
	a, err := safe.Decide(in, func(in *model.Input) (model.Plan, error) {
		p := emptyPlan(in)
		breaks(&p, in, model.ReasonEmpty, "c-1")
		return p, nil
	}, nil)
	if err != nil || !slices.Equal(a.Input.Exclude, []model.ClaimID{"c-1", "c-4"}) || len(in.Exclude) != 1 {
		t.Errorf("%v: excluded %v", err, a.Input.Exclude)
	}
}

func TestAnErrorEndsIt(t *testing.T) {
	stop, asked := errors.New("stopped"), 0
	_, err := safe.Decide(input(), func(in *model.Input) (model.Plan, error) {
		p := emptyPlan(in)
		if asked++; asked > 1 {
			return p, stop
		}
		breaks(&p, in, model.ReasonEmpty, "c-1")
		return p, nil
	}, nil)
	if !errors.Is(err, stop) || asked != 2 {
		t.Errorf("%v after %d plans", err, asked)
	}
}
