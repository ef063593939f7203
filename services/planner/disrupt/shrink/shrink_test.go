package shrink

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// cluster is nodes of one pool, node i of price(i), in one of three zones, with the pods that hold(i) says, as numbers
// of workloads. Every fourth workload spreads over zones, and every fifth is a StatefulSet.
func cluster(tb testing.TB, nodes, workloads int, price func(i int) int64, hold func(i int) []int) *draft.Draft {
	tb.Helper()
	s := &model.Snapshot{
		NodePools: []model.NodePool{{Name: "default", ConsolidateAfter: new(time.Duration(0))}},
	}
	for i := range workloads {
		c := model.PodClass{ID: model.ClassID(fmt.Sprintf("app-%04d", i)), Namespace: "shop", OwnerKind: "Deployment", OwnerName: fmt.Sprintf("app-%d", i)}
		if i%4 == 1 {
			c.TopologySpread = []model.TopologySpread{{TopologyKey: labels.Zone, MaxSkew: 1, Selector: &model.Selector{}}}
		}
		if i%5 == 4 {
			c.OwnerKind = "StatefulSet"
		}
		s.PodClasses = append(s.PodClasses, c)
	}
	for i := range nodes {
		name := fmt.Sprintf("n%05d", i)
		s.Claims = append(s.Claims, model.Claim{
			ID: model.ClaimID(name), NodePool: "default", State: model.ClaimInitialized, Node: model.NodeName(name), InstanceType: "m5.large",
			Zone: fmt.Sprintf("z%d", i%3), CapacityType: model.OnDemand, Price: price(i),
		})
		s.Nodes = append(s.Nodes, model.Node{Name: model.NodeName(name), Claim: model.ClaimID(name)})
		for k, w := range hold(i) {
			s.Pods = append(s.Pods, model.Pod{
				ID: model.PodID(fmt.Sprintf("shop/%s-%d", name, k)), Class: s.PodClasses[w].ID, Phase: model.PodRunning, Node: model.NodeName(name),
			})
		}
	}
	w, err := view.NewWorld(s, model.Policy{}, time.Unix(0, 0))
	if err != nil {
		tb.Fatal(err)
	}
	v := view.NewView(w)
	dr := &draft.Draft{Params: draft.Params{View: v}, Moving: make([][]int, len(v.Hosts))}
	for i, h := range v.Hosts {
		dr.Moving[i] = h.Pods
	}
	return dr
}

// worthOf is some worth of each class.
func worthOf(c *view.Class) float64 { return float64(1000 + 37*c.Index) }

// oneByOne is the ranking as Costs says it, with nothing held for later: each time all nodes are compared.
func oneByOne(dr *draft.Draft) []int32 {
	type one struct {
		class *view.Class
		zone  string
	}
	of := func(host, pod int) one {
		c := dr.View.Pods[pod].Class
		if len(c.TopologySpread) == 0 {
			return one{class: c}
		}
		return one{c, dr.View.Hosts[host].Claim.Zone}
	}
	size, ranked, costs := map[one]int{}, map[one]int{}, make([]int32, len(dr.View.Hosts))
	var left []int
	for i := range dr.View.Hosts {
		left = append(left, i)
		for _, p := range dr.Moving[i] {
			size[of(i, p)]++
		}
	}
	best := 0.0
	for len(left) > 0 {
		next, most := 0, -1.0
		for k, host := range left {
			sum, held := 0.0, map[one]int{}
			for _, p := range dr.Moving[host] {
				o, share := of(host, p), 1.0
				if scales(o.class.OwnerKind) {
					share = 1 - float64(ranked[o]+held[o])/float64(size[o])
					held[o]++
				}
				sum += worthOf(o.class) * eager(share)
			}
			if score := sum / float64(dr.View.WeighedPrice(dr.View.Hosts[host].Claim)); score > most*(1+1e-9) {
				next, most = k, score
			}
		}
		best = max(best, most)
		costs[left[next]] = least + 1 + int32(math.Round(math.Sqrt(math.Sqrt(most/best))*(-1-least-2)))
		for _, p := range dr.Moving[left[next]] {
			ranked[of(left[next], p)]++
		}
		left = slices.Delete(left, next, next+1)
	}
	return costs
}

func TestNodesRankAsIfAllWereComparedEachTime(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		kinds := make([][]int, 1+r.IntN(12)) // few kinds of nodes are many alike nodes
		for i := range kinds {
			for range 1 + r.IntN(10) {
				kinds[i] = append(kinds[i], r.IntN(9))
			}
		}
		// Nodes of a kind and zone are alike. Others have another price, so that rounding decides nothing.
		of, price := make([]int, 60), func(i, kind int) int64 { return 96000 + 101*int64(kind*3+i%3) }
		for i := range of {
			of[i] = r.IntN(len(kinds))
		}
		dr := cluster(t, 1+r.IntN(60), 9, func(i int) int64 { return price(i, of[i]) }, func(i int) []int { return kinds[of[i]] })
		if got, want := Costs(dr, nil, worthOf), oneByOne(dr); !slices.Equal(got, want) {
			t.Errorf("seed %d: costs\n%v, want\n%v", seed, got, want)
		}
	}
}

// BenchmarkCosts says how long the ranking takes, and how it grows with the nodes: nodes that hold the same of some
// workloads, and nodes no two of which do.
func BenchmarkCosts(b *testing.B) {
	loads := map[string]func(r *rand.Rand) func(i int) []int{
		"alike": func(*rand.Rand) func(i int) []int {
			return func(i int) []int { return []int{0, 1, 2, 3, 5, 6, 7, 8, 10 + i%5, 10 + i%5} }
		},
		"different": func(r *rand.Rand) func(i int) []int {
			return func(int) []int {
				pods := make([]int, 10)
				for k := range pods {
					pods[k] = r.IntN(50)
				}
				return pods
			}
		},
	}
	for name, load := range loads {
		var small float64
		for _, nodes := range []int{500, 2000} {
			b.Run(fmt.Sprintf("%s/%d", name, nodes), func(b *testing.B) {
				dr := cluster(b, nodes, 50, func(int) int64 { return 96000 }, load(rand.New(rand.NewPCG(1, 2))))
				b.ReportAllocs()
				for b.Loop() {
					Costs(dr, nil, worthOf)
				}
				took := float64(b.Elapsed()) / float64(b.N)
				if b.ReportMetric(took/1e6, "ms/op"); nodes == 500 {
					small = took
				} else if small > 0 {
					b.ReportMetric(math.Log(took/small)/math.Log(float64(nodes)/500), "exponent")
				}
			})
		}
	}
}
