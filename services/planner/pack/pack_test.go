package pack_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// amounts are in cores, GiB and pods.
func amounts(cpu, memory, pods int64) model.Amounts {
	return model.Amounts{{Resource: "cpu", Value: cpu * 1000}, {Resource: "memory", Value: memory << 30}, {Resource: "pods", Value: pods}}
}

// drawSnapshot has random types and prices, one or two pools with limits, and some classes with pending pods.
func drawSnapshot(t *rapid.T) *model.Snapshot {
	s := &model.Snapshot{
		Catalogs:    []model.Catalog{{ID: "k"}},
		NodeClasses: []model.NodeClass{{Name: "nc", Catalog: "k", Zones: []string{"r-1a", "r-1b"}, Images: []model.MachineImage{{ID: "i"}}}},
	}
	for i := range rapid.IntRange(1, 12).Draw(t, "types") {
		name := model.TypeName(fmt.Sprintf("t%02d", i))
		cpu, memory := rapid.Int64Range(1, 16).Draw(t, "cpu"), rapid.Int64Range(1, 64).Draw(t, "memory")
		s.Catalogs[0].InstanceTypes = append(s.Catalogs[0].InstanceTypes, model.InstanceType{
			Name: name, Capacity: amounts(cpu, memory, 20), Allocatable: amounts(cpu, memory, 20),
		})
		for _, zone := range []string{"r-1a", "r-1b"} {
			s.Offerings = append(s.Offerings, model.Offering{
				InstanceType: name, Zone: zone, CapacityType: model.OnDemand, Price: rapid.Int64Range(1, 100).Draw(t, "price") * 1000,
			})
		}
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "pools") {
		p := model.NodePool{Name: model.PoolName(fmt.Sprintf("p%d", i)), NodeClass: "nc"}
		if rapid.Bool().Draw(t, "limited") {
			p.Limits = model.Amounts{{Resource: "cpu", Value: rapid.Int64Range(0, 20).Draw(t, "limit") * 1000}}
		}
		s.NodePools = append(s.NodePools, p)
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "classes") {
		c := model.PodClass{ID: model.ClassID(fmt.Sprintf("c%d", i)), Requests: amounts(rapid.Int64Range(0, 4).Draw(t, "cores"), rapid.Int64Range(0, 8).Draw(t, "gib"), 1)}
		if rapid.Bool().Draw(t, "zonal") {
			c.NodeSelector = model.Labels{{Key: "topology.kubernetes.io/zone", Value: "r-1b"}}
		}
		s.PodClasses = append(s.PodClasses, c)
		for j := range rapid.IntRange(1, 3).Draw(t, "pods") {
			s.Pods = append(s.Pods, model.Pod{ID: model.PodID(fmt.Sprintf("x/p%d-%d", i, j)), Class: c.ID, Phase: model.PodUnschedulable})
		}
	}
	return s
}

// cheapest is the price of the cheapest node for all pods of a snapshot, found by looking at every offering.
func cheapest(s *model.Snapshot) int64 {
	sum, zonal := map[model.Resource]int64{}, false
	for _, p := range s.Pods {
		for _, c := range s.PodClasses {
			if c.ID == p.Class {
				zonal = zonal || len(c.NodeSelector) > 0
				for _, a := range c.Requests {
					sum[a.Resource] += a.Value
				}
			}
		}
	}
	best := int64(math.MaxInt64)
	for _, o := range s.Offerings {
		for _, t := range s.Catalogs[0].InstanceTypes {
			fits := t.Name == o.InstanceType && (!zonal || o.Zone == "r-1b")
			for r, v := range sum {
				fits = fits && v <= t.Allocatable.Value(r)
			}
			for _, p := range s.NodePools {
				limit, limited := p.Limits.Get("cpu")
				if fits && (!limited || t.Capacity.Value("cpu") <= limit) {
					best = min(best, o.Price)
				}
			}
		}
	}
	return best
}

func newScheduler(w *view.World, lim *market.Limits) *pack.Scheduler {
	rules, v := podrules.New(w), view.NewView(w)
	m, tally := market.NewMarket(w, rules, func() bool { return false }), topology.NewTally(rules, v, nil)
	m.EachOffer(tally.Offer)
	matcher := fit.NewMatcher(v)
	matcher.CheckPeers(tally)
	if lim == nil {
		lim = market.NewLimits(w)
	}
	return pack.NewScheduler(m, v, matcher, tally, lim)
}

func TestOneFindsTheCheapestNodeForAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		w, err := view.NewWorld(s, model.Policy{}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int, len(s.Pods))
		for i := range all {
			all[i] = i
		}
		scheduler, items, want := newScheduler(w, nil), market.Items(w, all), cheapest(s)
		b, ok := scheduler.One(items, purchase.PriceCeiling{Weighed: math.MaxInt64, List: math.MaxInt64})
		if ok != (want < math.MaxInt64) || (ok && b.Best().Offering.Price != want) {
			t.Fatalf("found %v, the cheapest costs %d", b, want)
		}
		if ok {
			if _, cheaper := newScheduler(w, nil).One(items, purchase.PriceCeiling{Weighed: want - 1, List: math.MaxInt64}); cheaper {
				t.Fatal("found one below the cheapest")
			}
		}
	})
}

func TestEachPodIsBoughtForOnceOrToldWhyNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		w, err := view.NewWorld(s, model.Policy{}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int, len(s.Pods))
		for i := range all {
			all[i] = i
		}
		lim := market.NewLimits(w)
		_, claims, left := newScheduler(w, lim).Buy(market.Items(w, all), lim)
		seen := map[int]int{}
		for _, b := range claims {
			for _, it := range b.Items {
				for _, p := range it.Pods {
					seen[p]++
				}
			}
		}
		for _, it := range left {
			for _, p := range it.Pods {
				seen[p]++
			}
			if r, _ := newScheduler(w, lim).Explain(it); r.Code != model.CodeLimit && r.Code != model.CodeResources && r.Code != model.CodeRequirements {
				t.Fatalf("a pod is left for %+v", r)
			}
		}
		for _, p := range all {
			if seen[p] != 1 {
				t.Fatalf("pod %d is there %d times", p, seen[p])
			}
		}
	})
}
