package bench_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/bench"
)

// givenLine is a line of the published W5 that went well.
func givenLine() bench.Line {
	r := bench.Result{
		Workload: "W5", Mode: bench.Disrupt, ExistingNodes: 1000, LowerBound: 94, Solve: bench.Phase{CPUMs: 2500},
		CatalogSHA256: "30962230ebab8f37cafe", WorkloadSHA256: "5ec90f9ee198dc88cafe",
		Given: &bench.Given{
			CostBefore: 263.57, CostAfter: 98.5, NodesBefore: 1000, NodesAfter: 300, Pods: 10000, PodMoves: 9900, MostMoves: 1, Finished: true,
			Rounds: []bench.Round{
				{Summed: true, Candidates: 1000, Judged: 1000, Tried: 40, Actions: 9, Moves: 5000, AtMoves: 5000, CostAfter: 105.9, CPUMs: 900, AtCPUMs: 900},
				{Summed: true, Candidates: 700, Judged: 700, Tried: 40, Actions: 9, Moves: 4900, AtMoves: 9900, CostAfter: 98.5, CPUMs: 900, AtCPUMs: 1800},
				{Summed: true, AtMoves: 9900, CostAfter: 98.5, CPUMs: 700, AtCPUMs: 2500},
			},
		},
	}
	return bench.Line{Row: bench.Row{Job: bench.Job{Workload: "W5.json", Mode: bench.Disrupt}}, Result: r}
}

func missed(l bench.Line) []string {
	var out []string
	for _, c := range l.Checks() {
		if !c.Reached {
			out = append(out, c.What)
		}
	}
	return out
}

func TestWhatIsAskedOfDisruptionIsJudged(t *testing.T) {
	tests := map[string]struct {
		change func(*bench.Result)
		want   []string
	}{
		"all is reached":              {func(*bench.Result) {}, nil},
		"a pod was moved twice":       {func(r *bench.Result) { r.MostMoves = 2 }, []string{"most moves of a pod"}},
		"a candidate was not judged":  {func(r *bench.Result) { r.Rounds[1].Judged-- }, []string{"candidates judged"}},
		"a plan does not tell":        {func(r *bench.Result) { r.Rounds[2].Summed = false }, []string{"candidates judged"}},
		"too expensive":               {func(r *bench.Result) { r.CostAfter = 99.5 }, []string{"$/hour in the end", "cost over the bound"}},
		"too many moves":              {func(r *bench.Result) { r.PodMoves = 10001 }, []string{"pods moved"}},
		"too slow":                    {func(r *bench.Result) { r.Solve.CPUMs = 4001 }, []string{"CPU s of all plans"}},
		"one plan is too slow":        {func(r *bench.Result) { r.Rounds[2].CPUMs = 1001 }, []string{"CPU s of the most expensive plan"}},
		"overtaken with more moves":   {func(r *bench.Result) { r.Rounds[0].AtMoves = 8053 }, []string{"pods moved until $105.91"}},
		"overtaken with too much CPU": {func(r *bench.Result) { r.Rounds[0].AtCPUMs = 22000 }, []string{"less CPU than the baseline until $105.91"}},
		"never overtaken": {func(r *bench.Result) {
			for i := range r.Rounds {
				r.Rounds[i].CostAfter = 106
			}
		}, []string{"the baseline's cost"}},
		"of another file nothing is known": {func(r *bench.Result) { r.WorkloadSHA256, r.CostAfter = "beef", 200 }, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := givenLine()
			tt.change(&l.Result)
			if diff := cmp.Diff(tt.want, missed(l)); diff != "" {
				t.Errorf("missed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDriftedAndEmptyNodesMustBeGoneSoon(t *testing.T) {
	l := givenLine()
	l.Result.Workload, l.Result.WorkloadSHA256 = "W6", "e45968f7f881fbe6"
	for i := range l.Result.Rounds {
		l.Result.Rounds[i].Due = 2 - i
	}
	if diff := cmp.Diff([]string{"CPU s until all empty and drifted nodes are gone"}, missed(l)); diff != "" {
		t.Errorf("2.5 CPU s, (-want +got):\n%s", diff)
	}
	l.Result.Rounds[2].AtCPUMs = 900
	if got := missed(l); got != nil {
		t.Errorf("0.9 CPU s: missed %v", got)
	}
	l.Result.Rounds[2].Due = 1
	if diff := cmp.Diff([]string{"CPU s until all empty and drifted nodes are gone"}, missed(l)); diff != "" {
		t.Errorf("never, (-want +got):\n%s", diff)
	}
}

func TestARunThatMovesAPodTwiceEndsWithAnError(t *testing.T) {
	r := bench.Report{Lines: []bench.Line{givenLine()}}
	if err := r.Broken(); err != nil {
		t.Error(err)
	}
	r.Lines[0].Result.MostMoves = 2
	if err := r.Broken(); err == nil || !strings.Contains(err.Error(), "W5: a pod was moved 2 times") {
		t.Errorf("said %v", err)
	}
	r.Lines[0].Result.MostMoves, r.Lines[0].Result.Rounds[0].Judged = 1, 999
	if err := r.Broken(); err == nil || !strings.Contains(err.Error(), "plan 1 judged 999 of 1000") {
		t.Errorf("said %v", err)
	}
}

func TestGrowthOfOneRoundIsOfTheDearestPlans(t *testing.T) {
	small, large := givenLine(), givenLine()
	small.Result.Workload, small.Result.ExistingNodes = "W5-100", 100
	given := *small.Result.Given
	given.Rounds = []bench.Round{{CPUMs: 40}, {CPUMs: 90}}
	small.Result.Given = &given
	r := bench.Report{Lines: []bench.Line{small, large}}
	g, ok := r.Turns()
	if !ok || !slices.Equal(g.Sizes, []int{100, 1000}) || !slices.Equal(g.CPU, []float64{0.09, 0.9}) || g.Exponent < 0.99 || g.Exponent > 1.01 {
		t.Errorf("%+v, %v; want exponent 1 from 0.09 to 0.9 CPU s", g, ok)
	}
}
