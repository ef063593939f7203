//go:build unix

package plan_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// tie gives a class constraints on other pods; i is the Deployment's number.
type tie func(c *model.PodClass, i int)

func itself(c *model.PodClass) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{string(c.ID)}}}}
}

func spread(key string, skew int32) tie {
	return func(c *model.PodClass, _ int) {
		c.TopologySpread = append(c.TopologySpread, model.TopologySpread{TopologyKey: key, MaxSkew: skew, Required: true, Selector: itself(c)})
	}
}

func together(key string) tie {
	return func(c *model.PodClass, _ int) {
		c.PodAffinity = append(c.PodAffinity, model.PodAffinityTerm{TopologyKey: key, Namespaces: []string{"shop"}, Selector: itself(c)})
	}
}

func apart(key string) tie {
	return func(c *model.PodClass, _ int) {
		c.PodAntiAffinity = append(c.PodAntiAffinity, model.PodAffinityTerm{TopologyKey: key, Namespaces: []string{"shop"}, Selector: itself(c)})
	}
}

const (
	zoneKey = "topology.kubernetes.io/zone"
	hostKey = "kubernetes.io/hostname"
)

// growths are the mixes of pods of which the growth is measured.
func growths() map[string]tie {
	both := func(ties ...tie) tie {
		return func(c *model.PodClass, i int) {
			for _, t := range ties {
				t(c, i)
			}
		}
	}
	turns := func(ties ...tie) tie {
		return func(c *model.PodClass, i int) { ties[i%len(ties)](c, i) }
	}
	free := func(*model.PodClass, int) {}
	spreads := both(spread(zoneKey, 1), spread(hostKey, 5))
	near := turns(together(zoneKey), together(hostKey), together(zoneKey))
	return map[string]tie{
		"free": free, "spread by zone and host": spreads, "affinity by zone or host": near, "anti-affinity by host": apart(hostKey),
		"all of them in turn": turns(free, spreads, apart(hostKey), near, free, both(spread(zoneKey, 1), apart(hostKey))),
	}
}

// deployments adds Deployments of 10 to 200 replicas until there are so many pods. Replicas that must share a host come
// in tens, because no host holds 200.
func deployments(w *world, pods int, t tie) {
	for i, left := 0, pods; left > 0; i++ {
		cpu := []int64{100, 250, 500, 1000}[i%4]
		id := fmt.Sprintf("app-%05d", i)
		n := []int{10, 40, 25, 200, 15, 100, 60, 80}[i%8]
		w.class(id, cpu, cpu*int64(2+i%3)*mib, func(c *model.PodClass) {
			t(c, i)
			if slices.ContainsFunc(c.PodAffinity, func(a model.PodAffinityTerm) bool { return a.TopologyKey == hostKey }) {
				n = 10
			}
		})
		n = min(n, left)
		w.pending(id, n)
		left -= n
	}
}

// exponent is the slope of a line through the logarithms, by least squares: 1 is linear, 2 is quadratic.
func exponent(sizes []int, took []time.Duration) float64 {
	var sx, sy, sxx, sxy float64
	for i := range sizes {
		x, y := math.Log(float64(sizes[i])), math.Log(took[i].Seconds())
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	n := float64(len(sizes))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

func TestExponent(t *testing.T) {
	took := []time.Duration{2 * time.Second, 8 * time.Second, 32 * time.Second}
	if got := exponent([]int{10, 20, 40}, took); math.Abs(got-2) > 1e-9 {
		t.Errorf("four times the time for twice the size is an exponent of 2, not %g", got)
	}
}

// TestGrowth prints how the processor time of a plan grows with the pods: over all sizes, and over the larger ones
// alone, where what a plan takes whatever its size (the market has 800 types) weighs less. It is a measurement, which
// no other run should disturb, and is asked for: `make bench-growth`.
func TestGrowth(t *testing.T) {
	if os.Getenv("KERF_GROWTH") == "" {
		t.Skip("a measurement of minutes: make bench-growth")
	}
	sizes := []int{1000, 5000, 20000}
	fmt.Printf("%-26s %10s %10s %10s %9s %9s %8s\n", "pods in Deployments", "1k ms", "5k ms", "20k ms", "exponent", "from 5k", "pending")
	all := growths()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if only := os.Getenv("KERF_GROWTH"); only != "all" && !strings.Contains(name, only) {
			continue
		}
		took, pending := make([]time.Duration, len(sizes)), 0
		for i, pods := range sizes {
			took[i], pending = decideTime(t, pods, all[name])
		}
		fmt.Printf("%-26s %10.0f %10.0f %10.0f %9.2f %9.2f %8d\n",
			name, ms(took[0]), ms(took[1]), ms(took[2]), exponent(sizes, took), exponent(sizes[1:], took[1:]), pending)
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// cpuTime is what the process has used of the processors so far, which says more than a clock where others use them too.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// decideTime is the least processor time of some runs, and how many pods stay pending.
func decideTime(t *testing.T, pods int, how tie) (least time.Duration, pending int) {
	t.Helper()
	w := newWorld()
	w.Kinds = []model.DecisionKind{model.KindProvision}
	market(w, 89)
	deployments(w, pods, how)
	slices.SortFunc(w.Snapshot.Pods, func(x, y model.Pod) int { return strings.Compare(string(x.ID), string(y.ID)) })
	for range 3 {
		runtime.GC()
		began := cpuTime(t)
		p, err := plan.Decide(w.Input)
		took := cpuTime(t) - began
		if err != nil {
			t.Fatal(err)
		}
		pending = len(p.Pending)
		if least == 0 || took < least {
			least = took
		}
	}
	return least, pending
}
