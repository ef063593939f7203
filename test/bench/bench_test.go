package bench_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/bench"
	"github.com/kerf-dev/kerf/test/bench/workload"
	"github.com/kerf-dev/kerf/test/golden"
)

func TestRunOfATinyWorkloadIsWhatPeopleReviewed(t *testing.T) {
	r, err := bench.Measure(bench.Job{Catalog: "testdata/catalog.json", Workload: "testdata/tiny.json"})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*bench.Phase{"setup": &r.Setup, "solve": &r.Solve, "cold": r.Cold, "defaultSolve": r.DefaultSolve} {
		if p.CPUMs <= 0 || p.WallMs <= 0 || p.AllocMiB <= 0 || p.Mallocs == 0 || p.PeakHeapMiB < p.BaseHeapMiB {
			t.Errorf("%s took %+v", name, *p)
		}
		*p = bench.Phase{}
	}
	if r.LowerBound <= 0 || r.LowerBound > r.HourlyCost || math.Abs(r.HourlyCost/r.LowerBound-1-r.Gap) > 1e-6 || len(r.Unscheduled) != 1 {
		t.Errorf("bound %g, gap %g, cost %g, unscheduled %v", r.LowerBound, r.Gap, r.HourlyCost, r.Unscheduled)
	}
	// What the planner gets better at, or words otherwise, is not for this test to hold.
	r.LowerBound, r.Gap, r.Unscheduled, r.Threads = 0, 0, nil, 0
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "tiny.golden.json", string(data)+"\n")
}

func TestWrittenFilesAreFoundAgain(t *testing.T) {
	dir := t.TempDir()
	if err := bench.Write(dir); err != nil {
		t.Fatal(err)
	}
	rows, err := bench.Rows(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, r := range rows {
		if strings.HasPrefix(r.Workload, dir) {
			files++
		}
		if r.Name() == "W2" {
			if _, w, digests, err := r.Load(); err != nil || w.Name != "W2" || digests[0] == "" || digests[1] == "" {
				t.Errorf("%v: %v, digests %q", r.Job, err, digests)
			}
		}
	}
	if files < 20 {
		t.Errorf("%d of %d rows are of files", files, len(rows))
	}
}

func TestAnUnknownModeIsRefusedInWords(t *testing.T) {
	if err := bench.CheckMode("sleep"); err == nil || !strings.Contains(err.Error(), bench.Disrupt) {
		t.Errorf("said %v", err)
	}
}

func TestDisruptRemovesUntilNothingMoreComes(t *testing.T) {
	c, err := workload.ReadCatalog(file(t, "testdata/catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	w := &workload.Workload{
		Name: "idle", Pools: []workload.Pool{{Name: "default", Budget: "100%"}}, Shapes: []workload.Shape{{CPU: 500, Memory: 512}},
		Nodes: []workload.Node{
			{Name: "n1", Type: "m5.xlarge", Zone: "us-east-1a", CapacityType: "on-demand", Pool: "default", Pods: []workload.Count{{Shape: 0, Pods: 2}}},
			{Name: "n2", Type: "m5.xlarge", Zone: "us-east-1a", CapacityType: "on-demand", Pool: "default", Pods: []workload.Count{{Shape: 0, Pods: 1}}},
			{Name: "n3", Type: "m5.xlarge", Zone: "us-east-1b", CapacityType: "on-demand", Pool: "default"},
		},
	}
	r, err := bench.RunDisrupt(c, w)
	if err != nil {
		t.Fatal(err)
	}
	g := r.Given
	if !g.Finished || g.NodesBefore != 3 || g.CostBefore != 0.576 || g.NodesAfter != 1 || g.CostAfter >= 0.192 || g.Actions != len(g.Steps) {
		t.Errorf("%+v", *g)
	}
	if last := g.Steps[len(g.Steps)-1]; last.NodesAfter != g.NodesAfter || last.CostAfter != g.CostAfter || g.MethodActions["Empty"] != 1 {
		t.Errorf("the last step is %+v; in all %+v", last, *g)
	}
	if r.LowerBound <= 0 || r.LowerBound > g.CostAfter || len(w.Nodes) != 3 || w.Nodes[0].Pods[0].Pods != 2 {
		t.Errorf("bound %g of %g; the workload is now %+v", r.LowerBound, g.CostAfter, w.Nodes)
	}
	var back bench.Result
	if err := json.Unmarshal(encode(t, r), &back); err != nil || back.Given == nil || back.NodesAfter != 1 {
		t.Errorf("its JSON is not read back: %v, %+v", err, back.Given)
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPriceAloneNeverCostsMoreThanTheDefaultPolicy(t *testing.T) {
	// Where these are packed for price alone at once, they cost up to 1 % more than what is packed as if a node cost a
	// tenth of a cent.
	workloads := []string{"W2-od", "G3-1000"} // of many pods, and of many items
	for _, seed := range []int{105006, 105013, 105018, 105026, 105029, 120002, 120005, 120013, 121002, 121018} {
		workloads = append(workloads, workload.Drawn(seed))
	}
	// Those without rules cost up to 0.13 % more where only plans with little to lose were packed so, too.
	for _, seed := range []int{170017, 180013, 180053, 190013, 190029} {
		workloads = append(workloads, workload.Plain(seed))
	}
	for _, name := range workloads {
		r, err := bench.Measure(bench.Job{Catalog: "market", Workload: name})
		if err != nil {
			t.Fatal(err)
		}
		if r.HourlyCost > r.Default.HourlyCost+1e-9 {
			t.Errorf("%s costs %g, and %g under the default policy", r.Workload, r.HourlyCost, r.Default.HourlyCost)
		}
	}
}

func TestLoadsWithoutRulesAreNearTheirBound(t *testing.T) {
	// With the work of one budget the first were 0.9 and 0.7 % above it. The others are more than 2,048 pods on few nodes,
	// 0.8 and 0.7 % above it where whole numbers of nodes were not looked for.
	for _, seed := range []int{504, 522, 170026, 200014} {
		r, err := bench.Measure(bench.Job{Catalog: "market", Workload: workload.Plain(seed)})
		if err != nil {
			t.Fatal(err)
		}
		if r.HourlyCost > 1.005*r.LowerBound {
			t.Errorf("%s costs %g, %.2f %% more than its bound", r.Workload, r.HourlyCost, 100*(r.HourlyCost/r.LowerBound-1))
		}
	}
}

func TestLoadsWithManyRulesAreNearTheirBound(t *testing.T) {
	// These were 6.0 and 5.1 % above it: pods went where each is cheapest by itself, away from nodes that others keep half
	// empty, and the bound knew less of those. G3-450 was 7.3 % above: a few hundred pods, and more requests than a
	// programme takes, had a tenth of the work that some fewer requests have.
	for _, load := range []string{"G3-450", "G3-2000", "mix-2000"} {
		r, err := bench.Measure(bench.Job{Catalog: "market", Workload: load})
		if err != nil {
			t.Fatal(err)
		}
		if r.HourlyCost > 1.05*r.LowerBound {
			t.Errorf("%s costs %g, %.2f %% more than its bound", r.Workload, r.HourlyCost, 100*(r.HourlyCost/r.LowerBound-1))
		}
	}
}
