package optimise_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// market is generated offerings: families of four ratios of memory to cpu, each in eight sizes, in three zones, on demand
// and spot, with prices that differ a little everywhere, as they do.
func market(items int, r *rand.Rand) []problem.Bin {
	takes := bits.New(items)
	for i := range items {
		takes.Add(i)
	}
	var bins []problem.Bin
	for family := range 32 {
		gib := []int64{2, 4, 8, 16}[family%4]
		perCPU := (20_000 + 2_500*gib) * int64(80+r.IntN(50)) / 100
		for size := range 8 {
			cpu := int64(2) << size
			pods := min(int64(29)<<size, 234)
			free := []int64{cpu*1000 - 80 - cpu*2, (cpu*gib*1024*925/1000 - 255 - 11*pods - 100), pods}
			for range 3 {
				od := perCPU * cpu * int64(98+r.IntN(5)) / 100
				spot := od * int64(25+r.IntN(20)) / 100
				bins = append(bins, problem.Bin{Price: od, Free: free, Takes: takes, Most: -1},
					problem.Bin{Price: spot, Free: free, Takes: takes, Most: -1})
			}
		}
	}
	return bins
}

// generated is pods of so many shapes for a generated market; small ones are frequent.
func generated(pods, shapes int, seed uint64) *problem.Problem {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &problem.Problem{Items: make([]problem.Item, shapes), GapTarget: model.DefaultGapTarget}
	for i := range p.Items {
		cpu := int64(50 * math.Pow(2, 8*r.Float64()*r.Float64()))
		mem := cpu * int64(500+r.IntN(7500)) / 1000
		p.Items[i] = problem.Item{Request: []int64{cpu, mem, 1}}
	}
	for range pods {
		p.Items[r.IntN(shapes)].Count++
	}
	p.Bins = market(shapes, r)
	return p
}

func BenchmarkSolve(b *testing.B) {
	for _, x := range []struct{ pods, shapes int }{{1000, 1}, {1000, 40}, {10_000, 50}, {50_000, 200}} {
		p := generated(x.pods, x.shapes, 7)
		b.Run(fmt.Sprintf("%dpods/%dshapes", x.pods, x.shapes), func(b *testing.B) {
			b.ReportAllocs()
			var s optimise.Solution
			for b.Loop() {
				s = optimise.Solve(p)
			}
			b.ReportMetric(float64(s.Cost)/float64(max(1, s.Bound)), "cost/bound")
		})
	}
}

// BenchmarkFiles measures workloads of files: KERF_BENCH names the folder of catalog.json, KERF_WORKLOADS which ones.
func BenchmarkFiles(b *testing.B) {
	dir := os.Getenv("KERF_BENCH")
	if dir == "" {
		b.Skip("KERF_BENCH names no folder")
	}
	for name := range strings.SplitSeq(os.Getenv("KERF_WORKLOADS"), ",") {
		p := workload(b, dir, name)
		if w, err := strconv.ParseInt(os.Getenv("KERF_WORK"), 10, 64); err == nil {
			p.Work = w
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var s optimise.Solution
			start := cpu()
			for b.Loop() {
				s = optimise.Solve(p)
			}
			b.ReportMetric((cpu()-start)*1e3/float64(b.N), "cpu-ms/op")
			if bad := check(p, s); bad != "" {
				b.Error(bad)
			}
			nodes := 0
			for _, x := range s.Patterns {
				nodes += x.Copies
			}
			b.ReportMetric(float64(s.Cost)/1e6, "$/h")
			b.ReportMetric(float64(s.Bound)/1e6, "bound")
			b.ReportMetric(float64(nodes), "nodes")
			b.ReportMetric(float64(s.Work.Total())/1e6, "Mwork")
			if os.Getenv("KERF_VERBOSE") != "" {
				b.Logf("%+v %v", s.Work, s.BoundKind)
			}
		})
	}
}

// cpu is the time that the process has had of all processors, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

type catalogFile struct {
	Zones []string `json:"zones"`
	Types []struct {
		N, Arch, Cat, Size string
		ACPU, AMem, Pods   int64
		OD, Spot           [3]float64
	} `json:"types"`
}

type workloadFile struct {
	Pools []struct {
		Requirements []struct {
			Key, Op string
			Values  []string
		}
	}
	Shapes  []struct{ CPU, Mem int64 }
	Pending [][2]int
	Nodes   []struct{ Pods [][2]int }
}

// workload reads a workload without constraints and with one pool.
func workload(tb testing.TB, dir, name string) *problem.Problem {
	tb.Helper()
	var cat catalogFile
	var w workloadFile
	read(tb, filepath.Join(dir, "catalog.json"), &cat)
	// The pods of W5-fresh are those that run on the nodes of W5.
	file := filepath.Join(dir, "workloads", name+".json")
	if base, fresh := strings.CutSuffix(name, "-fresh"); fresh {
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(dir, "workloads", base+".json")
		}
	}
	read(tb, file, &w)
	for _, n := range w.Nodes {
		w.Pending = append(w.Pending, n.Pods...)
	}
	ok := func(key, value string) bool {
		for _, r := range w.Pools[0].Requirements {
			if r.Key == key && slices.Contains(r.Values, value) != (r.Op == "In") {
				return false
			}
		}
		return true
	}
	p := &problem.Problem{GapTarget: model.DefaultGapTarget}
	for _, s := range w.Shapes {
		p.Items = append(p.Items, problem.Item{Request: []int64{s.CPU, s.Mem, 1}})
	}
	for _, x := range w.Pending {
		p.Items[x[0]].Count += x[1]
	}
	takes := bits.New(len(p.Items))
	for i := range p.Items {
		takes.Add(i)
	}
	for _, t := range cat.Types {
		if !ok("kubernetes.io/arch", t.Arch) || !ok("karpenter.k8s.aws/instance-category", t.Cat) ||
			!ok("karpenter.k8s.aws/instance-size", t.Size) || !ok("node.kubernetes.io/instance-type", t.N) {
			continue
		}
		for ct, prices := range map[string][3]float64{"on-demand": t.OD, "spot": t.Spot} {
			for _, price := range prices {
				if price > 0 && ok("karpenter.sh/capacity-type", ct) {
					p.Bins = append(p.Bins, problem.Bin{
						Price: int64(math.Round(price * 1e6)),
						Free:  []int64{t.ACPU, t.AMem, t.Pods}, Takes: takes, Most: -1,
					})
				}
			}
		}
	}
	return p
}

func read(tb testing.TB, path string, into any) {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
