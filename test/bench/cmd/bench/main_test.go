package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/bench"
)

// TestMain lets a measurement start this program as the process that it measures in.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-in-process" {
		main()
		return
	}
	os.Exit(m.Run())
}

// result is what a command line did.
type result struct {
	err      error
	out, log string
}

func invoke(t *testing.T, args ...string) result {
	t.Helper()
	var out, log strings.Builder
	err := run(t.Context(), args, &out, &log)
	return result{err, out.String(), log.String()}
}

const (
	tinyCatalog  = "../../testdata/catalog.json"
	tinyWorkload = "../../testdata/tiny.json"
)

func TestBenchOfAFile(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"one dash":        {"-catalog", tinyCatalog, "-workload", tinyWorkload, "-runs", "2", "-o", "json"},
		"two dashes":      {"--catalog=" + tinyCatalog, "--workload", tinyWorkload, "--runs=2", "-o=json"},
		"one dash and =":  {"-catalog=" + tinyCatalog, "-workload=" + tinyWorkload, "-runs=1", "-o", "json"},
		"in this process": {"--in-process", "--catalog", tinyCatalog, "--workload", tinyWorkload, "--runs", "1", "-o", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := invoke(t, args...)
			if got.err != nil {
				t.Fatalf("%v, said %q", got.err, got.log)
			}
			var r bench.Result
			if err := json.Unmarshal([]byte(got.out), &r); err != nil {
				t.Fatalf("%v in %s", err, got.out)
			}
			if r.Workload != "tiny" || r.PendingPods != 9 || r.NewNodes != len(r.Claims) || r.Solve.CPUMs <= 0 {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(name, "this process") && r.Threads != 1 {
				t.Errorf("measured with %d threads, want 1", r.Threads)
			}
		})
	}
}

func TestBenchOfSeveralIsAList(t *testing.T) {
	t.Parallel()
	got := invoke(t, "--runs", "1", "-o", "json", "--catalog", "sizes-400", "--workload", "mix-5", "preferences-5")
	var list []bench.Result
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 2 || list[1].Workload != "preferences-5" {
		t.Errorf("%v, said %q, %v, %d results", got.err, got.log, err, len(list))
	}
	if !strings.Contains(got.log, "2 of 2: preferences-5") {
		t.Errorf("said %q, want progress", got.log)
	}
	table := invoke(t, "--runs", "1", "--catalog", tinyCatalog, "--workload", tinyWorkload)
	if table.err != nil || !strings.Contains(table.out, "tiny") || !strings.Contains(table.out, "BOUND") {
		t.Errorf("%v, printed %s", table.err, table.out)
	}
}

func TestBenchOfDisruption(t *testing.T) {
	t.Parallel()
	args := []string{"-mode", "disrupt", "-runs", "1", "-catalog", tinyCatalog, "-workload", tinyWorkload}
	table, data := invoke(t, args...), invoke(t, append(args, "-o", "json")...)
	if table.err != nil || !strings.Contains(table.out, "POD MOVES") {
		t.Errorf("%v, printed %s", table.err, table.out)
	}
	var r bench.Result
	if err := json.Unmarshal([]byte(data.out), &r); err != nil || r.Mode != bench.Disrupt || r.Given == nil || !r.Finished {
		t.Errorf("%v, %v: %s", data.err, err, data.out)
	}
}

func TestScaleDownsCostMoreWhereEvictionsWeighMore(t *testing.T) {
	t.Parallel()
	args := []string{"-mode", "disrupt", "-runs", "1", "-draw", "1", "-seed", "8"}
	table, data := invoke(t, args...), invoke(t, append(args, "-o", "json", "-eviction-price", "20000")...)
	if table.err != nil || !strings.Contains(table.out, "once more: bench -mode disrupt -workload shrink-8 -runs 1") {
		t.Errorf("%v, printed %s", table.err, table.out)
	}
	var dear, usual bench.Result
	if err := json.Unmarshal([]byte(data.out), &dear); err != nil {
		t.Fatalf("%v, %v: %s", data.err, err, data.out)
	}
	usually := invoke(t, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(usually.out), &usual); err != nil || usual.Given == nil || dear.Given == nil {
		t.Fatalf("%v, %v: %s", usually.err, err, usually.out)
	}
	if usual.LowerBound <= 0 || usual.CostAfter < usual.LowerBound || usual.CostAfter >= dear.CostAfter || usual.PodMoves <= dear.PodMoves {
		t.Errorf("$%.3f after %d moves, at least $%.3f are needed; where an eviction weighs twenty times as much $%.3f after %d",
			usual.CostAfter, usual.PodMoves, usual.LowerBound, dear.CostAfter, dear.PodMoves)
	}
	if usual.Pods == 0 || usual.Pods >= usual.PendingPods || usual.MostMoves != 1 || !usual.Finished {
		t.Errorf("%d pods of %d are left, one was moved %d times; finished: %v", usual.Pods, usual.PendingPods, usual.MostMoves, usual.Finished)
	}
}

func TestBenchTakesWorkloadsOfTheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "workloads"), 0o750); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{tinyCatalog: "catalog.json", tinyWorkload: "workloads/W2.json"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for workload, want := range map[string]string{"W2": "tiny", "W7a": "W7a"} {
		got := invoke(t, "-files", dir, "-workload", workload, "-in-process", "-runs", "1", "-o", "json")
		var r bench.Result
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.Workload != want || r.InstanceTypes != 4 {
			t.Errorf("%s: %v, %v; workload %s, %d types", workload, got.err, err, r.Workload, r.InstanceTypes)
		}
	}
}

func TestBenchRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"name":"x","shapes":[{"gpus":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"a mode that is unknown":   {[]string{"--mode", "sleep"}, `-mode: "sleep" is not known`},
		"no runs":                  {[]string{"--runs", "0"}, "-runs 0: want 1 or more"},
		"a price of less than 0":   {[]string{"-mode", "disrupt", "-eviction-price", "-1"}, "0 or more"},
		"a price for nothing":      {[]string{"-eviction-price", "1"}, "-eviction-price are for -mode disrupt"},
		"plain for nothing":        {[]string{"-plain"}, "-plain says what -draw draws"},
		"no threads":               {[]string{"--threads", "0"}, "-threads 0: want 1 or more"},
		"two catalogues":           {[]string{"--files", "x", "--catalog", "y"}, "both name a catalogue"},
		"a catalogue for nothing":  {[]string{"-catalog", tinyCatalog}, "add -workload"},
		"an argument for nothing":  {[]string{"W2"}, `unexpected argument "W2"`},
		"a name that is unknown":   {[]string{"--workload", "W99", "--in-process"}, `no built-in workload "W99"; there are W1`},
		"a file that is not there": {[]string{"--workload", "./gone.json", "--in-process"}, "./gone.json"},
		"a field that is unknown":  {[]string{"--workload", bad, "--in-process"}, `bad.json: workload: shapes[0]: unknown field "gpus"; known are cpu`},
		"the same in its process":  {[]string{"--workload", bad}, `unknown field "gpus"; known are cpu`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := invoke(t, tt.args...)
			if got.err == nil || !strings.Contains(got.err.Error(), tt.want) || got.out != "" {
				t.Errorf("error %v, printed %q; want an error with %q", got.err, got.out, tt.want)
			}
		})
	}
}
