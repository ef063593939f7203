// Package safe is a plan that may leave the planner: decided, judged by verify, and decided again without what breaks a
// rule, for as long as that helps.
//
// A plan that breaks a rule is a defect of the planner, and so is a panic. It must not stop all other decisions, in
// this plan and in every one after it: what can be told apart is left out (model.Input.Exclude), and what can't takes
// all disruptions with it, so that pods still get their nodes. Where that is not enough, the pods and pools that are to
// blame are looked for and left out (leave.go). The package decides nothing itself and is pure, as what it calls is.
// Start reading with Decide.
package safe

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// mostExclusions is how many times claims are excluded before a plan goes without disruptions; the last time it is all
// those that were to go by choice.
const mostExclusions = 3

// retry is how long after a plan that does without something another one is worth a try: it may be better, as panics come
// and go with what they come from, and nothing else need happen meanwhile.
const retry = 15 * time.Second

// Answer is what came of an input.
type Answer struct {
	// Plan is the last plan. It may leave if Broken is empty.
	Plan model.Plan
	// Input is what Plan was made from: what was asked, with more excluded, or with less asked for.
	Input model.Input
	// Broken are the rules that Plan breaks.
	Broken []verify.Violation
	// Thrown are the plans before it, in order, that were thrown away.
	Thrown []Thrown
	// LeftOut are the classes whose pods the plan leaves pending, and LeftPools the pools that it buys nothing from,
	// because the planner fails on them. Both are in the order of the snapshot.
	LeftOut   []model.ClassID
	LeftPools []model.PoolName
	// Failed is the first input that the planner failed on: it panicked, or its plan broke a rule. nil where it did
	// neither.
	Failed *model.Input
}

// Thrown is a plan that was thrown away.
type Thrown struct {
	// Broken are the rules that it breaks.
	Broken []verify.Violation
	// Excluded are the claims that the next plan was to leave alone in addition; with none it was to give nothing back.
	Excluded []model.ClaimID
}

// Decide asks decide for a plan, and again as long as the plan breaks a rule: without the claims of those disruptions
// that are to blame, a few times, then without any disruptions by choice, and then without any at all. What asks for
// one kind of decision alone gets that kind, or a plan that is broken. decide may fill in of the input what it knows
// better, as a session does with the snapshot, also when it panics. anew decides about a whole input, with nothing kept
// from before; it is asked to find the pods and pools that the planner fails on, unless it is nil. A plan that does without
// something asks for another one soon. The error is theirs.
func Decide(in model.Input, decide func(*model.Input) (model.Plan, error), anew func(model.Input) (model.Plan, error)) (Answer, error) {
	a := Answer{Input: in}
	err := a.find(decide, anew)
	if a.Failed != nil {
		a.Plan.ReconsiderTime = rules.Earliest(a.Plan.ReconsiderTime, in.Now.Add(retry))
	}
	return a, err
}

func (a *Answer) find(decide func(*model.Input) (model.Plan, error), anew func(model.Input) (model.Plan, error)) error {
	for {
		if err := a.try(decide); err != nil || len(a.Broken) == 0 {
			return err
		}
		if a.Failed == nil {
			first := a.Input
			a.Failed = &first
		}
		next := exclude(a)
		switch {
		case len(next) > 0:
			a.Input.Exclude = slices.Sorted(slices.Values(slices.Concat(a.Input.Exclude, next)))
		case len(a.Input.Kinds) != 1:
			a.Input.Kinds = []model.DecisionKind{model.KindProvision}
		case a.Input.Kinds[0] == model.KindProvision && anew != nil:
			return a.leaveOut(anew)
		default:
			return nil
		}
		a.Thrown = append(a.Thrown, Thrown{Broken: a.Broken, Excluded: next})
	}
}

// try makes a plan and judges it. A panic counts as a rule that is broken.
func (a *Answer) try(decide func(*model.Input) (model.Plan, error)) (err error) {
	defer func() {
		if v := recover(); v != nil {
			a.Plan, a.Broken = model.Plan{}, []verify.Violation{{Subject: "planner", Problem: fmt.Sprintf("it panicked: %v", v)}}
		}
	}()
	if a.Plan, err = decide(&a.Input); err == nil {
		a.Broken = verify.Plan(a.Input, a.Plan)
	}
	return err
}

// exclude lists the claims that the next plan is to leave alone in addition: those of the disruptions by choice that
// break a rule, or of all where none is to blame, or where that was tried often enough. Of several that are to blame
// one stays: each may be right without the others, and if all waited for each other, none would ever go.
func exclude(a *Answer) []model.ClaimID {
	if len(a.Thrown) >= mostExclusions {
		return nil
	}
	var all []model.ClaimID
	var blamed [][]model.ClaimID
	for i := range a.Plan.Disruptions {
		d := &a.Plan.Disruptions[i]
		if !d.Reason.ByChoice() {
			continue
		}
		all = append(all, d.Candidates...)
		if slices.ContainsFunc(a.Broken, func(v verify.Violation) bool { return v.Disruption == d.ID }) {
			blamed = append(blamed, d.Candidates)
		}
	}
	out := all
	if len(blamed) > 0 && len(a.Thrown) < mostExclusions-1 {
		slices.SortFunc(blamed, slices.Compare) // ids of disruptions are a matter of chance
		out = slices.Concat(blamed[min(1, len(blamed)-1):]...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(id model.ClaimID) bool { return slices.Contains(a.Input.Exclude, id) })
}
