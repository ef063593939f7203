package plan_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/model"
)

// optimum is the least price of nodes for a few pods, found by trying all ways to put them together.
func optimum(w *world) int64 {
	pods := w.Snapshot.Pods
	requests := make(map[model.ClassID]model.Amounts)
	for _, c := range w.Snapshot.PodClasses {
		requests[c.ID] = c.Requests
	}
	least := make([]int64, 1<<len(pods))
	for set := 1; set < len(least); set++ {
		least[set] = math.MaxInt64
		for part := set; part > 0; part = (part - 1) & set {
			if rest := least[set&^part]; rest < math.MaxInt64 {
				if price := w.oneNode(part, requests); price < math.MaxInt64 {
					least[set] = min(least[set], rest+price)
				}
			}
		}
	}
	return least[len(least)-1]
}

// oneNode is the price of the cheapest node that holds a set of the pods.
func (w *world) oneNode(set int, requests map[model.ClassID]model.Amounts) int64 {
	sum := map[model.Resource]int64{}
	for i, p := range w.Snapshot.Pods {
		if set&(1<<i) != 0 {
			for _, a := range requests[p.Class] {
				sum[a.Resource] += a.Value
			}
		}
	}
	best := int64(math.MaxInt64)
	for _, t := range w.Snapshot.Catalogs[0].InstanceTypes {
		fits := true
		for r, v := range sum {
			fits = fits && v <= t.Allocatable.Value(r)
		}
		for _, o := range w.Snapshot.Offerings {
			if fits && o.InstanceType == t.Name {
				best = min(best, o.Price)
			}
		}
	}
	return best
}

func TestPlansComeNearTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		n := 0
		for i := range rapid.IntRange(1, 3).Draw(t, "shapes") {
			id := fmt.Sprintf("shape-%d", i)
			w.class(id, rapid.Int64Range(1, 15).Draw(t, "cpu")*125, rapid.Int64Range(1, 24).Draw(t, "memory")*256*mib, nil)
			more := rapid.IntRange(1, 3).Draw(t, "pods")
			w.pending(id, more)
			n += more
		}
		p, best := w.plan(t), optimum(w)
		if len(p.Pending) > 0 || p.CostAfter < best {
			t.Fatalf("%d of %d pods are pending, and the plan costs %d, less than the optimum %d", len(p.Pending), n, p.CostAfter, best)
		}
		if p.LowerBound.Price > best {
			t.Fatalf("the bound %d is above the optimum %d", p.LowerBound.Price, best)
		}
		if p.CostAfter*2 > best*3 {
			t.Fatalf("the plan costs %d, half as much again as the optimum %d", p.CostAfter, best)
		}
	})
}
