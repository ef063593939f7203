package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/kerf/internal/bench"
	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
)

// TestMain lets kerf bench start this program as the process that it measures in.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.System()))
	}
	os.Exit(m.Run())
}

const (
	tinyCatalog  = "../bench/testdata/catalog.json"
	tinyWorkload = "../bench/testdata/tiny.json"
)

func TestBenchOfAFile(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"as the issue spells it": {"bench", "-catalog", tinyCatalog, "-workload", tinyWorkload, "-runs", "2", "-o", "json"},
		"as cobra spells it":     {"bench", "--catalog=" + tinyCatalog, "--workload", tinyWorkload, "--runs=2", "-ojson"},
		"one dash and =":         {"bench", "-catalog=" + tinyCatalog, "-workload=" + tinyWorkload, "-runs=1", "--output", "json"},
		"in this process":        {"bench", "--in-process", "--catalog", tinyCatalog, "--workload", tinyWorkload, "--runs", "1", "-o", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", args...)
			if got.code != cli.ExitOK {
				t.Fatalf("exit code %d, said %q", got.code, got.err)
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
	got := run(t, "", "bench", "--runs", "1", "-o", "json", "--catalog", "sizes-400", "--workload", "mix-5", "wishes-5")
	var list []bench.Result
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 2 || list[1].Workload != "wishes-5" {
		t.Errorf("exit code %d, said %q, %v, %d results", got.code, got.err, err, len(list))
	}
	if !strings.Contains(got.err, "2 of 2: wishes-5") {
		t.Errorf("said %q, want progress", got.err)
	}
	table := run(t, "", "bench", "--runs", "1", "--catalog", tinyCatalog, "--workload", tinyWorkload)
	if table.code != cli.ExitOK || !strings.Contains(table.out, "tiny") || !strings.Contains(table.out, "BOUND") {
		t.Errorf("exit code %d, printed %s", table.code, table.out)
	}
}

func TestBenchGivesNodesBack(t *testing.T) {
	t.Parallel()
	args := []string{"bench", "-mode", "disrupt", "-runs", "1", "-catalog", tinyCatalog, "-workload", tinyWorkload}
	table, data := run(t, "", args...), run(t, "", append(args, "-o", "json")...)
	if table.code != cli.ExitOK || !strings.Contains(table.out, "POD MOVES") {
		t.Errorf("exit code %d, said %q, printed %s", table.code, table.err, table.out)
	}
	var r bench.Result
	if err := json.Unmarshal([]byte(data.out), &r); err != nil || r.Mode != bench.Disrupt || r.Given == nil || !r.Finished {
		t.Errorf("said %q, %v: %s", data.err, err, data.out)
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
		got := run(t, "", "bench", "-files", dir, "-workload", workload, "-in-process", "-runs", "1", "-o", "json")
		var r bench.Result
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.Workload != want || r.InstanceTypes != 4 {
			t.Errorf("%s: said %q, %v; workload %s, %d types", workload, got.err, err, r.Workload, r.InstanceTypes)
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
		"a mode that nobody knows":  {[]string{"--mode", "sleep"}, `--mode: "sleep" is not known`},
		"no runs":                   {[]string{"--runs", "0"}, "--runs 0: want 1 or more"},
		"no threads":                {[]string{"--threads", "0"}, "--threads 0: want 1 or more"},
		"two catalogues":            {[]string{"--files", "x", "--catalog", "y"}, "both name a catalogue"},
		"a catalogue for nothing":   {[]string{"-catalog", tinyCatalog}, "add --workload"},
		"an argument for nothing":   {[]string{"W2"}, `unexpected argument "W2"`},
		"a name that nobody knows":  {[]string{"--workload", "W99", "--in-process"}, `no built-in workload "W99"; there are W1`},
		"a file that is not there":  {[]string{"--workload", "./gone.json", "--in-process"}, "./gone.json"},
		"a field that nobody knows": {[]string{"--workload", bad, "--in-process"}, `bad.json: workload: shapes[0]: unknown field "gpus"; known are cpu`},
		"the same in its process":   {[]string{"--workload", bad}, `unknown field "gpus"; known are cpu`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", append([]string{"bench"}, tt.args...)...)
			if got.code != cli.ExitError || !strings.Contains(got.err, tt.want) || got.out != "" {
				t.Errorf("exit code %d, said %q; want it to contain %q", got.code, got.err, tt.want)
			}
		})
	}
}

func TestLongFlagsMayHaveOneDash(t *testing.T) {
	t.Parallel()
	two := run(t, "", story(inflate+"inflate-5.yaml", "--zones", "us-east-1a", "--output", "json")...)
	one := run(t, "", story(inflate+"inflate-5.yaml", "-zones=us-east-1a", "-output", "json")...)
	if one.code != cli.ExitOK || reviewable(one.out) != reviewable(two.out) {
		t.Errorf("with one dash: exit code %d, said %q, printed %d bytes; with two %d", one.code, one.err, len(one.out), len(two.out))
	}
	if got := run(t, "", "plan", "-f", "-", "--", "-zones"); got.code != cli.ExitError || !strings.Contains(got.err, "-zones") {
		t.Errorf("what follows -- was taken for a flag: %q", got.err)
	}
}
