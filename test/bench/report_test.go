package bench_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/bench"
)

// fake answers with results by workload.
func fake(results map[string]bench.Result) bench.Runner {
	return func(_ context.Context, j bench.Job) (bench.Result, error) {
		r, ok := results[j.Workload]
		if !ok {
			return r, errors.New("no such workload")
		}
		r.Workload = j.Workload
		return r, nil
	}
}

func result(cpu, cost, bound float64) bench.Result {
	return bench.Result{Solve: bench.Phase{CPUMs: cpu * 1000}, HourlyCost: cost, LowerBound: bound}
}

func TestTargetsAreJudged(t *testing.T) {
	published := func(r bench.Result, workload string) bench.Result {
		r.CatalogSHA256, r.WorkloadSHA256 = "30962230ebab8f37cafe", workload+"cafe"
		return r
	}
	pending := result(0.1, 26, 26)
	pending.UnscheduledPods = 3
	tests := map[string]struct {
		workload string
		result   bench.Result
		missed   []string
		bound    float64
		baseline bool
	}{
		"reached":                                {"W2", result(0.05, 26.1, 26), nil, 26, false},
		"too slow":                               {"W2", result(0.2, 26.1, 26), []string{"cpu"}, 26, false},
		"too dear":                               {"W2", result(0.05, 27, 26), []string{"cost"}, 26, false},
		"pods are left":                          {"W2", pending, []string{"pods"}, 26, false},
		"no bound at all":                        {"W2", result(0.05, 27, 0), []string{"cost"}, 0, false},
		"the published file, by its bound":       {"W2", published(result(0.05, 27.05, 25), "35a9f2580c675662"), nil, 26.960, true},
		"another file of the same name":          {"W2", published(result(9, 99, 25), "beef"), nil, 25, false},
		"exact":                                  {"W7b", result(0.0001, 0.17, 0.1), nil, 0.1, false},
		"not exact":                              {"W7b", result(0.0001, 0.192, 0.1), []string{"cost"}, 0.1, false},
		"by the baseline, of the published file": {"W3", published(result(0.1, 129, 100), "dc98713ce4d58887"), nil, 100, true},
		"by the baseline, of no file":            {"W3", result(0.1, 129, 100), []string{"cost"}, 100, false},
		"the same mix as the baseline's":         {"mix-10000", result(0.1, 129, 100), nil, 100, true},
		"no target":                              {"W1-od", result(9, 999, 1), nil, 1, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			run := fake(map[string]bench.Result{tt.workload: tt.result})
			got, err := run.Measure(t.Context(), []bench.Row{{Job: bench.Job{Workload: tt.workload}}}, 1, silent)
			if err != nil {
				t.Fatal(err)
			}
			l := got.Lines[0]
			if diff := cmp.Diff(tt.missed, l.Missed); diff != "" || l.Bound != tt.bound || (l.Baseline != nil) != tt.baseline {
				t.Errorf("missed %v, bound %g, baseline %v; want %+v", l.Missed, l.Bound, l.Baseline, tt)
			}
		})
	}
	r := published(result(0.05, 27.4, 27.3), "35a9f2580c675662")
	_, err := fake(map[string]bench.Result{"W2": r}).Measure(t.Context(), []bench.Row{{Job: bench.Job{Workload: "W2"}}}, 1, silent)
	if err == nil || !strings.Contains(err.Error(), "the bound is wrong") {
		t.Errorf("a lower bound above a plan that is known was taken: %v", err)
	}
}

func silent(int, int, int, bench.Job) {}

func TestALongerSearchProvesWhatAPlanDoesNot(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		usual, longer bench.Result
		prove         int64
		runs          int
		bound         float64
		missed        []string
		says          string
	}{
		"near enough":             {result(1, 104, 103.9), result(9, 104, 104), 50, 1, 103.9, nil, ""},
		"proven":                  {result(1, 104, 98), result(9, 103, 101), 50, 2, 101, nil, ""},
		"not proven":              {result(1, 109, 98), result(9, 103, 101), 50, 2, 101, []string{"cost"}, ""},
		"it proves less":          {result(1, 104, 99.5), result(9, 103, 90), 50, 2, 99.5, nil, ""},
		"not asked for":           {result(1, 109, 98), result(9, 103, 101), 0, 1, 98, []string{"cost"}, ""},
		"above what a plan costs": {result(1, 104, 98), result(9, 120, 110), 50, 2, 0, nil, "the bound is wrong"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			run := bench.Runner(func(_ context.Context, j bench.Job) (bench.Result, error) {
				ran++
				r := tt.usual
				if j.Work > 0 {
					r = tt.longer
				}
				r.Workload = j.Workload
				return r, nil
			})
			got, err := run.Measure(t.Context(), []bench.Row{{Job: bench.Job{Workload: "G3-1000"}, Prove: tt.prove}}, 1, silent)
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("said %v, want %q", err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			l := got.Lines[0]
			if diff := cmp.Diff(tt.missed, l.Missed); diff != "" || l.Bound != tt.bound || ran != tt.runs || l.Result.Solve.CPUMs != 1000 {
				t.Errorf("missed %v, bound %g after %d runs, of %g ms; want %+v", l.Missed, l.Bound, ran, l.Result.Solve.CPUMs, tt)
			}
			if p := l.Result.Proof; (p != nil) != (tt.runs == 2) || p != nil && (p.Work != tt.prove || p.HourlyCost != tt.longer.HourlyCost) {
				t.Errorf("proof %+v", p)
			}
		})
	}
}

func TestTheBestOfSeveralRunsCounts(t *testing.T) {
	cpu := []float64{3, 1, 2}
	var i int
	run := bench.Runner(func(context.Context, bench.Job) (bench.Result, error) {
		i++
		return result(cpu[i-1], 5, 4), nil
	})
	got, err := run.Measure(t.Context(), []bench.Row{{}}, 3, silent)
	if err != nil || got.Lines[0].Result.Solve.CPUMs != 1000 {
		t.Errorf("%v, %v CPU ms", err, got.Lines[0].Result.Solve.CPUMs)
	}
}

func TestRunsThatDisagreeAreAnError(t *testing.T) {
	var cost float64
	run := bench.Runner(func(context.Context, bench.Job) (bench.Result, error) {
		cost++
		return result(1, cost, 1), nil
	})
	if _, err := run.Measure(t.Context(), []bench.Row{{}}, 2, silent); err == nil || !strings.Contains(err.Error(), "two plans") {
		t.Errorf("said %v", err)
	}
}

func TestGrowthIsTheSlopeOfTheSeries(t *testing.T) {
	results := map[string]bench.Result{}
	var rows []bench.Row
	for name, size := range map[string]int{"G2-1000": 1000, "G2-10000": 10000, "G2-100": 100} {
		results[name] = result(math.Pow(float64(size), 1.5)*1e-6, 1, 1)
		rows = append(rows, bench.Row{Job: bench.Job{Workload: name}, Series: []bench.Place{{Series: "G2", Size: size}}})
	}
	got, err := fake(results).Measure(t.Context(), rows, 1, silent)
	if err != nil || len(got.Growth) != 1 {
		t.Fatalf("%v, %d series", err, len(got.Growth))
	}
	if g := got.Growth[0]; math.Abs(g.Exponent-1.5) > 1e-3 || math.Abs(g.Last-1.5) > 1e-3 || g.Sizes[0] != 100 || g.Sizes[2] != 10000 {
		t.Errorf("%+v", g)
	}
}
