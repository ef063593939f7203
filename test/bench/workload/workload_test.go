package workload_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/bench"
	"github.com/kerf-dev/kerf/test/bench/workload"
)

func TestFilesAreReadAsTheyAreWritten(t *testing.T) {
	c, err := workload.BuiltInCatalog(workload.Sizes400)
	if err != nil {
		t.Fatal(err)
	}
	gotCatalog, err := workload.ReadCatalog(encode(t, c))
	if diff := cmp.Diff(c, gotCatalog); err != nil || diff != "" {
		t.Errorf("%v, catalogue (-written +read):\n%s", err, diff)
	}
	w := builtIn(t, "G3-60")
	w.Nodes = []workload.Node{{Name: "n", Type: "m5.large", Zone: "z", CapacityType: "spot", Pool: "default", Pods: []workload.Count{{0, 2}}, Drifted: true}}
	w.Shapes[0].PreferredAntiAffinity = []workload.Preference{{Key: "k", Selector: map[string]string{"a": "b"}, Weight: 3}}
	got, err := workload.ReadWorkload(encode(t, w))
	if diff := cmp.Diff(w, got); err != nil || diff != "" {
		t.Errorf("%v, workload (-written +read):\n%s", err, diff)
	}
}

func TestWrongFilesAreErrorsThatNameTheField(t *testing.T) {
	const pool, shape = `"pools":[{"name":"p"}]`, `"shapes":[{"cpu":1,"mem":1}]`
	tests := map[string]struct{ file, want string }{
		"a field that is unknown":             {`{"name":"x","volumes":[]}`, `unknown field "volumes"; known are name, note`},
		"a field of a shape that is unknown":  {`{"name":"x","shapes":[{"cpu":1},{"gpus":2}]}`, `shapes[1]: unknown field "gpus"; known are cpu, mem`},
		"a field of a pool that is unknown":   {`{"name":"x","pools":[{"name":"p","limits":{}}]}`, `pools[0]: unknown field "limits"`},
		"a field of a node that is unknown":   {`{"name":"x","nodes":[{"labels":{}}]}`, `nodes[0]: unknown field "labels"`},
		"a field deep inside that is unknown": {`{"name":"x","shapes":[{"spread":[{"key":"z","minDomains":3}]}]}`, `shapes[0]: unknown field "minDomains"`},
		"no name":                             {`{}`, `name: want one`},
		"no object":                           {`[]`, `not a JSON object`},
		"pods of a shape that is not there":   {`{"name":"x",` + shape + `,"pending":[[1,5]]}`, `pending: [0]: there is no shape 1`},
		"a count that is none":                {`{"name":"x",` + shape + `,"pending":[[0,5,6]]}`, `[0,5,6] is not a shape and a count`},
		"fewer than no pods":                  {`{"name":"x",` + shape + `,"pending":[[0,-1]]}`, `-1 pods`},
		"an operator that is unknown":         {`{"name":"x","shapes":[{"requirements":[{"key":"a","op":"Is"}]}]}`, `shapes[0]: requirements[0] (a): op: "Is"`},
		"In without values":                   {`{"name":"x","pools":[{"name":"p","requirements":[{"key":"a","op":"In"}]}]}`, `pools[0] (p): requirements[0] (a): values`},
		"Gt of no number":                     {`{"name":"x","pools":[{"name":"p","requirements":[{"key":"a","op":"Gt","values":["x"]}]}]}`, `want one whole number for Gt`},
		"a taint without effect":              {`{"name":"x","pools":[{"name":"p","taints":[{"Key":"a"}]}]}`, `taints[0]: Effect: ""`},
		"a budget that is none":               {`{"name":"x","pools":[{"name":"p","budget":"200%"}]}`, `budget: "200%"`},
		"a duration that is none":             {`{"name":"x","pools":[{"name":"p","consolidateAfter":"soon"}]}`, `consolidateAfter: "soon"`},
		"a skew of nothing":                   {`{"name":"x","shapes":[{"spread":[{"key":"z"}]}]}`, `spread[0]: want a key, and a maxSkew`},
		"a node of no pool":                   {`{"name":"x",` + pool + `,"nodes":[{"name":"n","pool":"q"}]}`, `nodes[0] (n): pool: there is no pool "q"`},
		"a node that no one sells":            {`{"name":"x",` + pool + `,"nodes":[{"name":"n","pool":"p","ct":"lent"}]}`, `nodes[0] (n): ct: "lent"; want on-demand or spot`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := workload.ReadWorkload([]byte(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("said %v, want it to contain %s", err, tt.want)
			}
		})
	}
}

func TestWrongCataloguesAreErrorsThatNameTheField(t *testing.T) {
	tests := map[string]struct{ types, want string }{
		"a field that is unknown": {`[{"n":"a","disks":1}]`, `types[0]: unknown field "disks"; known are n, arch`},
		"no types":                {`[]`, `types: want at least one`},
		"no capacity":             {`[{"n":"a","od":[1],"spot":[1]}]`, `types[0] (a): acpu, amem and pods`},
		"a price too few":         {`[{"n":"a","acpu":1,"amem":1,"pods":1,"od":[],"spot":[1]}]`, `types[0] (a): od and spot: want a price for each of the 1 zones`},
		"a price below zero":      {`[{"n":"a","acpu":1,"amem":1,"pods":1,"od":[-1],"spot":[1]}]`, `types[0] (a): od and spot: a price is below 0`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := workload.ReadCatalog([]byte(`{"zones":["z"],"types":` + tt.types + `}`))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("said %v, want it to contain %s", err, tt.want)
			}
		})
	}
}

func TestNodesMustBeOfTheCatalogue(t *testing.T) {
	c, err := workload.ReadCatalog(file(t, "../testdata/catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[string]string{`"type":"m5.large"|"type":"z9.large"`: `"z9.large"`, `"zone":"us-east-1a"|"zone":"mars"`: `"mars"`} {
		from, to, _ := strings.Cut(change, "|")
		w, err := workload.ReadWorkload([]byte(strings.Replace(string(file(t, "../testdata/tiny.json")), from, to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = bench.Run(c, w, 0); err == nil || !strings.Contains(err.Error(), "node n1") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: said %v, want it to name the node and %s", change, err, want)
		}
	}
}

func TestBuiltInWorkloadsAreWhatTheyAreCalled(t *testing.T) {
	tests := map[string]struct{ pods, shapes, nodes int }{
		"W1": {1000, 1, 0}, "W1-od": {1000, 1, 0}, "W2": {10000, 50, 0}, "W2-od": {10000, 50, 0}, "W2-cap": {10000, 50, 0},
		"W3": {10000, 0, 0}, "W4": {50000, 200, 0}, "W5-100-fresh": {0, 44, 0}, "W7a": {5, 1, 0}, "W7b": {5, 1, 0}, "W7c": {5, 1, 0},
		"W5": {0, 44, 1000}, "W5-100": {0, 44, 100}, "W6": {0, 44, 2000},
		"G2-500": {500, 50, 0}, "G3-500": {500, 0, 0}, "GC-1250": {1250, 50, 0}, "GN-30": {200, 64, 30}, "GF-30": {200, 46, 30},
		"draw-7": {0, 0, 0}, "plain-7": {0, 0, 0}, "shrink-7": {0, 0, 0}, "mix-1000": {1000, 0, 0}, "preferences-400": {400, 30, 0},
		"requests-402": {402, 101, 0},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			w := builtIn(t, name)
			if got, err := workload.ReadWorkload(encode(t, w)); err != nil || got.Name != name {
				t.Fatalf("is no workload file: %v", err)
			}
			if diff := cmp.Diff(w, builtIn(t, name)); diff != "" {
				t.Errorf("is another one each time:\n%s", diff)
			}
			if got := pods(w.Pending); want.pods > 0 && got != want.pods || want.shapes > 0 && len(w.Shapes) != want.shapes || len(w.Nodes) != want.nodes {
				t.Errorf("%d pods, %d shapes, %d nodes; want %+v", got, len(w.Shapes), len(w.Nodes), want)
			}
		})
	}
	if n := pods(builtIn(t, "W5-100-fresh").Pending); n < 900 || n > 1100 {
		t.Errorf("%d pods for 100 nodes, want about ten a node", n)
	}
}

func TestASeriesHasOneMix(t *testing.T) {
	if diff := cmp.Diff(builtIn(t, "G2-500").Shapes, builtIn(t, "W2").Shapes); diff != "" {
		t.Errorf("the series of W2 has other shapes:\n%s", diff)
	}
}

func TestClassesOfDiversePodsAreEqual(t *testing.T) {
	w := builtIn(t, "G3-600")
	n := map[string]int{}
	for _, c := range w.Pending {
		s := w.Shapes[c.Shape]
		switch {
		case len(s.Spread) > 0:
			n["spread "+s.Spread[0].Key] += c.Pods
		case len(s.Affinity) > 0:
			n["together"] += c.Pods
		case len(s.AntiAffinity) > 0:
			n["apart"] += c.Pods
		case len(s.NodeSelector)+len(s.Requirements) > 0:
			n["selecting"] += c.Pods
		default:
			n["free"] += c.Pods
		}
	}
	want := map[string]int{
		"free": 100, "spread topology.kubernetes.io/zone": 100, "spread kubernetes.io/hostname": 100, "together": 100, "apart": 100, "selecting": 100,
	}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Error(diff)
	}
}

func TestNodesOfABusyClusterAreFullAsTold(t *testing.T) {
	w := builtIn(t, "GN-200")
	types := map[string]workload.Type{}
	for _, typ := range market(t).Types {
		types[typ.Name] = typ
	}
	var used, free int64
	for _, n := range w.Nodes {
		var cpu, memory, count int64
		for _, c := range n.Pods {
			s := w.Shapes[c.Shape]
			cpu, memory, count = cpu+s.CPU*int64(c.Pods), memory+s.Memory*int64(c.Pods), count+int64(c.Pods)
		}
		typ := types[n.Type]
		if cpu > typ.FreeCPU || memory > typ.FreeMemory || count > typ.Pods {
			t.Errorf("node %s, a %s, holds %dm, %d MiB, %d pods", n.Name, n.Type, cpu, memory, count)
		}
		used, free = used+cpu, free+typ.FreeCPU
	}
	if part := float64(used) / float64(free); math.Abs(part-0.70) > 0.01 {
		t.Errorf("%.3f of the CPU is asked for, want 0.70", part)
	}
}

func TestMarketIsOfRealTypes(t *testing.T) {
	c := market(t)
	if _, err := workload.ReadCatalog(encode(t, c)); err != nil {
		t.Fatal(err)
	}
	if len(c.Types) < 700 || len(c.Zones) != 3 {
		t.Errorf("%d types in %d zones", len(c.Types), len(c.Zones))
	}
	for _, typ := range c.Types {
		for z := range c.Zones {
			if od, spot := typ.OnDemand[z], typ.Spot[z]; (od == 0) != (spot == 0) || spot > od*0.4502+0.0001 || spot < od*0.2498-0.0001 {
				t.Errorf("%s in %s: on-demand %g, spot %g", typ.Name, c.Zones[z], od, spot)
			}
		}
	}
	if thin := c.Thin(100); len(thin.Types) != 100 || len(c.Types) < 700 {
		t.Errorf("thinned to 100 of the types there are %d, and %d before", len(thin.Types), len(c.Types))
	}
}

func TestUnknownNamesAreErrorsThatListTheKnown(t *testing.T) {
	for name, want := range map[string]string{"W99": "W2-cap", "G2": "G2-N", "G2-0": "G2-N", "W2-77": "W2-cap"} {
		if _, err := workload.BuiltIn(name, market(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: said %v, want it to list %s", name, err, want)
		}
	}
	if _, err := workload.BuiltInCatalog("moon"); err == nil || !strings.Contains(err.Error(), workload.Sizes400) {
		t.Errorf("said %v, want it to list %s", err, workload.Sizes400)
	}
}

func market(t *testing.T) *workload.Catalog {
	t.Helper()
	c, err := workload.BuiltInCatalog(workload.Market)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func builtIn(t *testing.T, name string) *workload.Workload {
	t.Helper()
	w, err := workload.BuiltIn(name, market(t))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func pods(counts []workload.Count) int {
	n := 0
	for _, c := range counts {
		n += c.Pods
	}
	return n
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
