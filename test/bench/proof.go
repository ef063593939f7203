package bench

import (
	"context"
	"fmt"
)

// Proof is what a longer search for the same workload proves: of the two plans the usual one counts, of the two bounds the
// higher one. So the distance that is told is more of the plan's, and less of what the usual work leaves unproven.
type Proof struct {
	// Work is how far the search was to go, as Job.Work says.
	Work int64 `json:"work"`
	// LowerBound is what it proves, HourlyCost what its own plan costs, and CPUMs what both took.
	LowerBound float64 `json:"lowerBound"`
	HourlyCost float64 `json:"hourlyCost"`
	CPUMs      float64 `json:"cpuMs"`
}

// closeEnough is a cost over the bound that needs no further proof.
const closeEnough = 1.005

// prove looks further where the row asks for it and the line leaves room. It costs the usual plan's figures nothing.
func (run Runner) prove(ctx context.Context, row Row, l Line) (Line, error) {
	cost := l.Result.HourlyCost
	switch {
	case row.Prove == 0, l.Bound == 0, l.Result.UnscheduledPods > 0, cost <= closeEnough*l.Bound:
		return l, nil
	}
	job := row.Job
	job.Work = row.Prove
	r, err := run(ctx, job)
	if err != nil {
		return l, err
	}
	if r.LowerBound > cost*(1+slack) {
		return l, fmt.Errorf("%s: the lower bound $%.3f of a longer search is above $%.3f, which the usual plan reaches: the bound is wrong",
			row.Name(), r.LowerBound, cost)
	}
	proven := l.Result
	proven.Proof = &Proof{Work: row.Prove, LowerBound: r.LowerBound, HourlyCost: r.HourlyCost, CPUMs: r.Solve.CPUMs}
	return judge(row, proven)
}
