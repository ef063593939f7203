package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/planner/convert"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

var update = flag.Bool("update", false, "write plans and explanations into the files")

func files(tb testing.TB) []string {
	tb.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		tb.Fatalf("no scenarios: %v", err)
	}
	return names
}

func load(tb testing.TB, file string) *Scenario {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := Load(data)
	if err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return s
}

func TestScenarios(t *testing.T) {
	for _, file := range files(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			s := load(t, file)
			got, why, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(file, s.Golden(got, why), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(lines(s.Section(Plan)), lines(got)); diff != "" {
				t.Errorf("plan (-update accepts it):\n%s", diff)
			}
			if diff := cmp.Diff(lines(s.Section(Explain)), lines(why)); diff != "" {
				t.Errorf("explanation (-update accepts it):\n%s", diff)
			}
		})
	}
}

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

// TestOrderDoesNotMatter gives each scenario's lists to the planner the other way round.
func TestOrderDoesNotMatter(t *testing.T) {
	for _, file := range files(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			in := load(t, file).Input
			want, err := plan.Decide(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range verify.Plan(in, want) {
				t.Error(v)
			}
			got, err := plan.Decide(reversed(in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			through, err := convert.Input(convert.Request(in).GetSnapshot(), convert.Request(in).GetDecide())
			if err != nil {
				t.Fatal(err)
			}
			if got, err = plan.Decide(through); err != nil || got.InputHash != want.InputHash {
				t.Errorf("through the contract the input is another one: %v", err)
			}
		})
	}
}

func reversed(in model.Input) model.Input {
	s := &in.Snapshot
	s.Pods, s.PodClasses, s.Nodes, s.Claims = back(s.Pods), back(s.PodClasses), back(s.Nodes), back(s.Claims)
	s.NodePools, s.Offerings, s.DaemonSets = back(s.NodePools), back(s.Offerings), back(s.DaemonSets)
	s.PodDisruptionBudgets = back(s.PodDisruptionBudgets)
	return in
}

func back[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

func TestWhatIsWrongInAFileIsNamed(t *testing.T) {
	tests := map[string]struct{ file, want string }{
		"no paragraph":         {"-- snapshot --\n", "the paragraph is missing"},
		"another section":      {"x\n-- nodes --\n", `section "nodes" is not known`},
		"a section twice":      {"x\n-- policy --\n-- policy --\n", "is there twice"},
		"another verb":         {"x\n-- snapshot --\n\npods web\n", `snapshot, line 2: "pods" is not known; want class`},
		"another word":         {"x\n-- snapshot --\npod web cup=2\n", `snapshot, line 1: pod web: "cup" is not known; known are affinity`},
		"a flag with a value":  {"x\n-- snapshot --\npod web waiting=yes\n", "waiting takes no value"},
		"a word without value": {"x\n-- snapshot --\npod web cpu\n", "cpu needs a value"},
		"a quantity of words":  {"x\n-- snapshot --\npod web cpu=lots\n", "cpu=lots is not a quantity"},
		"an open quote":        {"x\n-- snapshot --\npod web \"cpu=2\n", "a quote is not closed"},
		"no name":              {"x\n-- snapshot --\npod cpu=2\n", "the name is missing"},
		"a pool of no policy":  {"x\n-- snapshot --\npool p policy=Never\n", `"Never" is not a policy`},
		"a node of no pool":    {"x\n-- snapshot --\nnode n\n", "pool default is not declared before"},
		"a node of no type":    {"x\n-- snapshot --\npool default\nnode n type=m9.large\n", "type m9.large is not in the catalog"},
		"pods of nowhere":      {"x\n-- snapshot --\npool default\nnode n pods=web\n", "pod default/web is not declared before"},
		"a broken range":       {"x\n-- snapshot --\npool default\nnode n pods=web-4..1\n", "is not a range"},
		"no such bundled type": {"x\n-- catalog --\nbundled types=m9.large\n", "has no type m9.large"},
		"no such offering":     {"x\n-- catalog --\nunavailable m5.large/a/spot\n", "there is no such offering"},
		"another operator":     {"x\n-- snapshot --\npool p require=\"zone is a\"\n", `"is" is not an operator`},
		"a kind of its own":    {"x\n-- policy --\nkinds all\n", "want provision, disrupt"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Load([]byte(tc.file))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	for _, file := range files(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 || strings.Contains(string(data), "bundled") {
			return // the catalogue takes its time to read
		}
		s, err := Load(data)
		if err == nil && s.Input.Now.IsZero() {
			t.Fatal("an input without a time")
		}
	})
}
