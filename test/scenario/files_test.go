package scenario

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/safe"
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

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func behaviour(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// TestScenarios holds each file's plan and explanation against what the planner says, and the plan against what the file
// expects. Then it plans again, and with all lists in other orders.
func TestScenarios(t *testing.T) {
	loader := NewLoader()
	for _, file := range files(t) {
		t.Run(behaviour(file), func(t *testing.T) {
			data := read(t, file)
			s, err := loader.Load(data)
			if err != nil {
				t.Fatal(err)
			}
			if s.Section(Expect) == "" {
				t.Error("the section expect is missing: what must come out, whatever else does?")
			}
			got, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range got.Failed {
				t.Errorf("expected %s", f)
			}
			compareGolden(t, file, s, got)
			for _, p := range problems(s.Input) {
				t.Error(p)
			}
		})
	}
}

func compareGolden(t *testing.T, file string, s *Scenario, got Outcome) {
	t.Helper()
	golden, err := s.Golden(got)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, golden, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(lines(s.Section(Plan)), lines(got.Plan)); diff != "" {
		t.Errorf("plan (-update accepts it):\n%s", diff)
	}
	if diff := cmp.Diff(lines(s.Section(Explain)), lines(got.Explain)); diff != "" {
		t.Errorf("explanation (-update accepts it):\n%s", diff)
	}
	if diff := cmp.Diff(lines(string(golden)), lines(string(read(t, file)))); diff != "" && !t.Failed() {
		t.Errorf("the file is not in its canonical form (-update writes it):\n%s", diff)
	}
}

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

// ask makes a plan as the planner's service does.
func ask(in model.Input) (safe.Answer, error) {
	return safe.Decide(in, func(in *model.Input) (model.Plan, error) { return plan.Decide(*in) }, plan.Decide)
}

func decide(in model.Input) (model.Plan, error) {
	a, err := ask(in)
	return a.Plan, err
}

// problems verifies the plan by other means than the planner's, and makes it again: from the same input, from one whose
// lists have another order, and from one that went through the contract once more. It says what is wrong.
func problems(in model.Input) []string {
	answer, err := ask(in)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, v := range answer.Broken {
		out = append(out, v.String())
	}
	// To exclude some claims is a way to live with a defect; to remove nothing at all is not.
	for _, t := range answer.Thrown {
		if len(t.Excluded) == 0 {
			out = append(out, "all disruptions were thrown away: "+verify.Join(t.Broken))
		}
	}
	want := answer.Plan
	through, err := convert.Input(convert.Request(in).GetSnapshot(), convert.Request(in).GetDecide())
	if err != nil {
		return append(out, err.Error())
	}
	for _, other := range []struct {
		what string
		in   model.Input
	}{
		{"the same input", in},
		{"the input with its lists reversed", shuffled(in, nil)},
		{"the input with its lists shuffled", shuffled(in, rand.New(rand.NewPCG(1, 2)))},
		{"the input through the contract", through},
	} {
		got, err := decide(other.in)
		if err != nil {
			out = append(out, other.what+": "+err.Error())
		} else if !reflect.DeepEqual(want, got) {
			out = append(out, other.what+" gives another plan:\n"+cmp.Diff(want, got))
		}
	}
	return out
}

// TestPendingFilesStillWait looks at the files that say what is to come. One that holds belongs to the others; -update
// moves it there.
func TestPendingFilesStillWait(t *testing.T) {
	loader := NewLoader()
	for _, file := range pendingFiles(t) {
		s, err := loader.Load(read(t, file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got, err := s.Run(t.Context())
		if missing := append(got.Failed, problems(s.Input)...); err != nil || len(missing) > 0 {
			t.Logf("%s waits: %v\n  %s", behaviour(file), err, strings.Join(missing, "\n  "))
			continue
		}
		if !*update {
			t.Errorf("%s holds now: -update moves it out of %s", file, pendingFolder)
			continue
		}
		golden, err := s.Golden(got)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("testdata", filepath.Base(file)), golden, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// shuffled gives all lists of a snapshot another order; without a source of chance the reverse one.
func shuffled(in model.Input, r *rand.Rand) model.Input {
	v := reflect.ValueOf(&in.Snapshot).Elem()
	for _, f := range v.Fields() {
		if f.Kind() != reflect.Slice {
			continue
		}
		list := reflect.MakeSlice(f.Type(), f.Len(), f.Len())
		order := make([]int, f.Len())
		for j := range order {
			order[j] = len(order) - 1 - j
		}
		if r != nil {
			order = r.Perm(len(order))
		}
		for to, from := range order {
			list.Index(to).Set(f.Index(from))
		}
		f.Set(list)
	}
	return in
}

func TestWhatIsWrongInAFileIsNamed(t *testing.T) {
	tests := map[string]struct{ file, want string }{
		"no paragraph":                          {"-- snapshot --\n", "the paragraph is missing"},
		"another section":                       {"x\n-- nodes --\n", `section "nodes" is not known`},
		"a section twice":                       {"x\n-- policy --\n-- policy --\n", "is there twice"},
		"another verb":                          {"x\n-- snapshot --\n\npods web\n", `snapshot, line 2: "pods" is not known; want buffer, claim, class`},
		"another word":                          {"x\n-- snapshot --\npod web cup=2\n", `snapshot, line 1: pod web: "cup" is not known; known are affinity`},
		"a flag with a value":                   {"x\n-- snapshot --\npod web waiting=yes\n", "waiting takes no value"},
		"a word without value":                  {"x\n-- snapshot --\npod web cpu\n", "cpu needs a value"},
		"a quantity of words":                   {"x\n-- snapshot --\npod web cpu=lots\n", "cpu=lots is not a quantity"},
		"an open quote":                         {"x\n-- snapshot --\npod web \"cpu=2\n", "a quote is not closed"},
		"no name":                               {"x\n-- snapshot --\npod cpu=2\n", "the name is missing"},
		"a pool of no policy":                   {"x\n-- snapshot --\npool p policy=Never\n", `"Never" is not a policy`},
		"a node of no pool":                     {"x\n-- snapshot --\nnode n\n", "pool default is not declared before"},
		"a node of no type":                     {"x\n-- snapshot --\npool default\nnode n type=m9.large\n", "type m9.large is not in the catalog"},
		"pods of nowhere":                       {"x\n-- snapshot --\npool default\nnode n pods=web\n", "pod default/web is not declared before"},
		"a broken range":                        {"x\n-- snapshot --\npool default\nnode n pods=web-4..1\n", "is not a range"},
		"no such bundled type":                  {"x\n-- catalog --\nbundled types=m9.large\n", "has no type m9.large"},
		"no such offering":                      {"x\n-- catalog --\nunavailable m5.large/a/spot\n", "there is no such offering"},
		"another operator":                      {"x\n-- snapshot --\npool p require=\"zone is a\"\n", `"is" is not an operator`},
		"a kind of its own":                     {"x\n-- policy --\nkinds all\n", "want provision, disrupt"},
		"another policy":                        {"x\n-- policy --\nspeed 9\n", `policy, line 1: "speed" is not known; want default-spread`},
		"another preference":                    {"x\n-- policy --\npreferences some\n", "want enforced, ignored, priced"},
		"a case of words":                       {"case: fifty\nx\n", `"fifty" is not a list of numbers`},
		"another subject":                       {"about: life\nx\n", `"life" is not a subject; want order, unhealthy`},
		"differs for nothing":                   {"differs: of course\nx\n", "does not say once: because …"},
		"a word in a spread":                    {"x\n-- snapshot --\npod web spread=\"zone slack=2\"\n", `snapshot, line 1: spread zone: "slack" is not known`},
		"a spread over nothing":                 {"x\n-- snapshot --\npod web spread=\"skew=2\"\n", "does not begin with a name"},
		"a selector of nothing":                 {"x\n-- snapshot --\npod web apart=\"zone of==web\"\n", "does not select by"},
		"a preference without weight":           {"x\n-- snapshot --\npod web prefer=\"zone In a\"\n", "is not a weight from 1 to 100"},
		"a port of words":                       {"x\n-- snapshot --\npod web port=http\n", "is not of the form 80"},
		"a volume of no name":                   {"x\n-- snapshot --\npod web volume=data\n", "is not of the form"},
		"a device of no class":                  {"x\n-- snapshot --\npod web devices=gpu\n", "is not of the form"},
		"too many devices":                      {"x\n-- snapshot --\npod web devices=gpu=99*a100\n", "from 1 to 32"},
		"another expectation":                   {"x\n-- expect --\nhopes web\n", `expect, line 1: "hopes" is not known; want apart, before`},
		"a pod of nowhere":                      {"x\n-- expect --\nplaced web\n", "there is no pod web"},
		"a node of nowhere":                     {"x\n-- expect --\nstays n1\n", "there is no node n1"},
		"a code of its own":                     {"x\n-- expect --\npending 1 TIRED\n", `"TIRED" is not the code of a reason`},
		"a word too many":                       {"x\n-- expect --\nsaves > $0 now\n", `"now" is one word too many`},
		"an operator of words":                  {"x\n-- expect --\ncost below $1\n", `"below" is not an operator`},
		"a broken manifest":                     {"x\n-- manifests --\nkind: Pod\n", "manifests, document 1"},
		"another field":                         {"x\n-- manifests --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {cups: 2}\n", "cups"},
		"evictions for nothing":                 {"x\n-- policy --\neviction-price $0\n", "want an amount such as $0.001, or free"},
		"a rest of words":                       {"x\n-- policy --\npod-rest long\n", "want a duration such as 30m"},
		"a repair of words":                     {"x\n-- policy --\nrepair never\n", "want off, or conditions"},
		"a share of words":                      {"x\n-- policy --\nrepair max=some\n", "is not a share such as 20%"},
		"an unhealthy condition of no duration": {"x\n-- policy --\nrepair Ready=False\n", "is not a condition and a duration"},
		"a condition of words":                  {"x\n-- snapshot --\npool default\nnode n condition=unhealthy\n", "is not a condition and a duration"},
		"a reason of its own":                   {"x\n-- snapshot --\nrecord d-1 reason=Bored\n", "is not why nodes are disrupted"},
		"a workload of no kind":                 {"x\n-- snapshot --\nrecord d-1 workloads=web=3\n", "is not a workload and how many of its pods"},
		"a search without end":                  {"x\n-- expect --\nresumes never\n", "is not after or nowhere"},
		"a payback of money":                    {"x\n-- expect --\npayback < $1\n", "is not a duration such as 30m"},
		"a section in a text":                   {"x -- y\n", "begins a section"},
	}
	loader := NewLoader()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := loader.Load([]byte(tc.file))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// FuzzParse holds the parser against the formatter: what can be read has one canonical form, which reads as the same.
func FuzzParse(f *testing.F) {
	for _, file := range files(f) {
		if data := read(f, file); len(data) < 2048 && bytes.Contains(data, []byte("-- catalog --")) {
			f.Add(data)
		}
	}
	loader := NewLoader()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 || !bytes.Contains(data, []byte("-- catalog --")) || bytes.Contains(data, []byte("bundled")) {
			return // the bundled catalogue takes its time
		}
		s, err := loader.Load(data)
		if err != nil {
			return
		}
		first, err := Format(data)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Format(first)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v: the canonical form is not canonical:\n%s\nbut\n%s", err, first, second)
		}
		again, err := loader.Load(first)
		if err != nil {
			t.Fatalf("the canonical form can't be read: %v\n%s", err, first)
		}
		if !reflect.DeepEqual(s.Input, again.Input) {
			t.Fatalf("the canonical form means something else:\n%s", cmp.Diff(s.Input, again.Input))
		}
	})
}
