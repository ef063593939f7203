package show_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/bench"
	"github.com/kerf-dev/kerf/test/bench/show"
	"github.com/kerf-dev/kerf/test/golden"
)

func measured(workload string, pods int, cpuMs, cost float64) bench.Line {
	var l bench.Line
	l.Workload = workload
	l.Result = bench.Result{
		Workload: workload, PendingPods: pods, NewNodes: 7, HourlyCost: cost,
		Setup: bench.Phase{CPUMs: 2}, Solve: bench.Phase{CPUMs: cpuMs, PeakHeapMiB: 33.3},
		Default: &bench.Brief{NewNodes: 5, HourlyCost: cost * 1.01}, DefaultSolve: &bench.Phase{CPUMs: cpuMs / 2},
	}
	return l
}

func TestBenchTable(t *testing.T) {
	t.Parallel()
	reached := measured("/files/W2.json", 10000, 65.4321, 27.2)
	reached.Bound, reached.Target = 26.96, bench.Target{CPU: 0.1, OverBound: 1.02}
	reached.Baseline = &bench.Baseline{CPU: 3.64, Cost: 48.692}
	missed := measured("W3", 10000, 1234, 31)
	missed.Bound, missed.Target, missed.Missed = 28, bench.Target{CPU: 0.5, OverBound: 1.03, OverBaseline: 0.75}, []string{"cpu", "cost", "pods"}
	missed.Baseline = &bench.Baseline{CPU: 30.4, Cost: 173.1}
	missed.Result.UnscheduledPods, missed.Result.Unscheduled = 2, map[string]int{"too large": 1, "too many": 1}
	missed.Result.LowerBound, missed.Result.Gap = 27, 0.148
	missed.Result.Proof = &bench.Proof{Work: 3_000_000, LowerBound: 28, HourlyCost: 30.5, CPUMs: 12_345}
	exact := measured("W7a", 5, 0.9, 0.096)
	exact.Target, exact.Baseline = bench.Target{CPU: 0.001, Optimum: 0.096}, &bench.Baseline{CPU: 0.0005}
	warm := measured("GN-1000", 200, 80, 0)
	warm.Result.ExistingNodes, warm.Result.Cold = 1000, &bench.Phase{CPUMs: 90}
	thin := measured("W2", 10000, 80, 30)
	thin.Types = 100
	thin.Baseline = &bench.Baseline{CPU: 0.5, Similar: true}
	report := bench.Report{
		Runs: 3, Lines: []bench.Line{reached, missed, exact, warm, thin},
		Growth: []bench.Growth{
			{Series: "G2", What: "pods", Sizes: []int{1000, 5000}, CPU: []float64{0.05, 0.2}, Exponent: 0.861, Last: 0.861, Total: 0.5},
			{Series: "G3", What: "pods", Sizes: []int{1000, 5000}, CPU: []float64{0.05, 0.4}, Exponent: 1.05, Last: 1.292, Total: 1.1},
			{Series: "GN", What: "nodes", Sizes: []int{10, 20}, CPU: []float64{1, 2}, Exponent: 1, Last: 1, Partial: true},
		},
	}
	var plain, bare strings.Builder
	if err := show.Suite(&plain, report); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "suite.txt", plain.String())
	if err := show.Suite(&bare, bench.Report{Runs: 1, Lines: []bench.Line{thin, warm}[1:]}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "suite-bare.txt", bare.String())
}

func TestDrawnWorkloadsAreSummedUp(t *testing.T) {
	t.Parallel()
	line := func(name string, bound float64) bench.Line {
		l := measured(name, 100, 5, 10)
		l.Job.Workload, l.Bound = name, bound
		return l
	}
	left := line("draw-4", 5)
	left.Result.UnscheduledPods = 1
	var out strings.Builder
	report := bench.Report{Runs: 1, Lines: []bench.Line{line("draw-1", 9.9), line("draw-2", 8), line("draw-3", 10), left}}
	if err := show.Drawn(&out, report); err != nil {
		t.Fatal(err)
	}
	const want = "COST OVER BOUND  of 3 workloads: median 1.01%, worst 25.00% (draw-2); 1 workload without a bound, or with pods that stay pending\n" +
		"  once more: bench -workload draw-2 -runs 1\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("ends otherwise:\n%s\nwant\n%s", out.String(), want)
	}
}

func TestBenchOfDisruption(t *testing.T) {
	t.Parallel()
	l := measured("/files/W5.json", 0, 4321, 95.97)
	l.Bound, l.Result.Gap = 94.376, 0.0169
	l.Result.Given = &bench.Given{
		NodesBefore: 1000, NodesAfter: 45, CostBefore: 263.57, CostAfter: 95.97, Passes: 2, Actions: 80, PodMoves: 9000,
		MostMoves: 1, Finished: true, Rounds: []bench.Round{
			{
				Summed: true, Candidates: 1000, Judged: 1000, Tried: 3000, Actions: 80, Removed: 990, Added: 35, Moves: 9000, AtMoves: 9000, Due: 2,
				NodesAfter: 45, CostAfter: 95.97, CPUMs: 3210, AtCPUMs: 3210, ResumeAfter: "n00045",
			},
			{Summed: true, Candidates: 45, Judged: 45, Tried: 100, AtMoves: 9000, NodesAfter: 45, CostAfter: 95.97, CPUMs: 1111, AtCPUMs: 4321},
		},
	}
	endless := l
	other := *l.Result.Given
	other.Finished, other.Rounds, other.MostMoves = false, nil, 2
	endless.Result.Given, endless.Bound = &other, 0
	var b strings.Builder
	if err := show.Disrupt(&b, bench.Report{Runs: 3, Lines: []bench.Line{l, endless}}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "disrupt.txt", b.String())
}

// consolidated is a line of the published W5 that went well.
func consolidated() bench.Line {
	l := bench.Line{Row: bench.Row{Job: bench.Job{Workload: "W5.json", Mode: bench.Disrupt}}}
	l.Result = bench.Result{
		Workload: "W5", Mode: bench.Disrupt, LowerBound: 94, Solve: bench.Phase{CPUMs: 2500},
		CatalogSHA256: "30962230ebab8f37cafe", WorkloadSHA256: "5ec90f9ee198dc88cafe",
		Given: &bench.Given{
			CostBefore: 263.57, CostAfter: 98.5, NodesBefore: 1000, NodesAfter: 300, Pods: 10000, PodMoves: 9900, MostMoves: 1, Finished: true,
			Rounds: []bench.Round{
				{Actions: 9, AtMoves: 5000, CostAfter: 105.9, AtCPUMs: 900},
				{Actions: 9, AtMoves: 9900, CostAfter: 98.5, AtCPUMs: 1800},
				{AtMoves: 9900, CostAfter: 98.5, AtCPUMs: 2500},
			},
		},
	}
	return l
}

func TestTheCurveDrawsLinesOfConsolidation(t *testing.T) {
	drift := consolidated()
	drift.Result.Workload = "W6"
	got := show.Curve([]bench.Line{consolidated(), drift})
	if !bytes.Equal(got, show.Curve([]bench.Line{consolidated(), drift})) {
		t.Error("is another one each time")
	}
	if err := xml.Unmarshal(got, &struct{}{}); err != nil {
		t.Fatalf("is no XML: %v", err)
	}
	for _, want := range []string{"W5: 1000 nodes, 10000 pods", "none twice", "bound $94.38", "baseline $105.91", "$98.50", "pods moved"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("does not say %q", want)
		}
	}
	if strings.Contains(string(got), "W6") {
		t.Error("draws a workload whose nodes do not go for money")
	}
}
