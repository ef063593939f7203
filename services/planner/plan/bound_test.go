package plan_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// spreading is a small cluster whose pods are spread, with nodes and buffers that have pods which count.
type spreading struct {
	*world
	*rand.Rand
}

func drawSpreading(seed uint64) *spreading {
	d := &spreading{newWorld(), rand.New(rand.NewPCG(seed, 0x626f756e64))}
	s := &d.Snapshot
	s.NodeClasses[0].Zones = append(s.NodeClasses[0].Zones, "us-east-1c")
	s.Offerings = nil
	for _, name := range []string{"c5.large", "m5.large", "m5.xlarge"} {
		price := int64(50+d.IntN(200)) * 1000
		for _, zone := range s.NodeClasses[0].Zones {
			if d.IntN(3) > 0 || zone == "us-east-1a" {
				d.offer(name, zone, model.OnDemand, price+int64(d.IntN(3))*1000)
			}
			if d.IntN(3) == 0 {
				d.offer(name, zone, model.Spot, price/3)
			}
		}
	}
	if d.IntN(2) == 0 {
		s.NodePools[0].Requirements = nil
	}
	if d.IntN(4) == 0 {
		s.NodePools = append(s.NodePools, pool("other"))
		s.NodePools[1].Weight = int32(d.IntN(2))
	}
	names := []string{"a", "b", "c"}[:1+d.IntN(3)]
	for _, name := range names {
		d.drawClass(name, names)
	}
	if d.IntN(6) == 0 {
		d.class("daemon", 100, 100*mib, func(c *model.PodClass) { c.Daemon, c.OwnerKind = true, "DaemonSet" })
		s.DaemonSets = []model.DaemonSet{{ID: "shop/daemon", Class: "daemon"}}
	}
	anyOf := func(list ...string) string { return list[d.IntN(len(list))] }
	for i := range d.IntN(3) {
		n := d.node(fmt.Sprintf("n%d", i), anyOf("c5.large", "m5.xlarge"), anyOf(names...), d.IntN(3))
		switch d.IntN(4) {
		case 0:
			n.Conditions = []model.NodeCondition{{Type: "Ready", Status: "False", TransitionTime: now().Add(-time.Hour)}}
			n.Ready = false
		case 1:
			n.Unschedulable = true
		case 2:
			d.claim("c-" + string(n.Name)).State = model.ClaimDraining
		}
	}
	for i := range s.Pods {
		s.Pods[i].Terminating = d.IntN(6) == 0
	}
	for range 1 + d.IntN(9) {
		d.pending(anyOf(names...), 1)
	}
	if d.IntN(3) == 0 {
		s.CapacityBuffers = []model.CapacityBuffer{{ID: "shop/spare", Class: model.ClassID(anyOf(names...)), Replicas: int64(1 + d.IntN(3)), CreateTime: now()}}
	}
	return d
}

func (d *spreading) drawClass(name string, names []string) {
	d.class(name, []int64{300, 900, 1500}[d.IntN(3)], 100*mib, func(c *model.PodClass) {
		for range d.IntN(3) {
			of := []string{name}
			if d.IntN(3) == 0 {
				of = []string{names[d.IntN(len(names))], names[d.IntN(len(names))]}
			}
			c.TopologySpread = append(c.TopologySpread, model.TopologySpread{
				TopologyKey: []string{labels.Zone, labels.Hostname, labels.CapacityType}[d.IntN(3)], MaxSkew: int32(1 + d.IntN(2)), Required: true,
				Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: of}}},
			})
		}
		if d.IntN(4) == 0 {
			c.HostPorts = []model.HostPort{{Protocol: "TCP", Port: 8080}}
		}
	})
}

// bought is what the nodes for pending pods cost, and which pods they are for.
func bought(p *model.Plan) (cost int64, pods []model.PodID) {
	for i := range p.NodeClaims {
		if c := &p.NodeClaims[i]; c.Disruption == "" {
			cost += c.Price
			pods = append(pods, c.Pods...)
		}
	}
	slices.Sort(pods)
	return cost, pods
}

// TestNoPlanIsCheaperThanABound holds the bound of each plan against what it pays itself, and against what a plan pays
// for the same pods that was made with no search. KERF_CASES is how many clusters are drawn.
func TestNoPlanIsCheaperThanABound(t *testing.T) {
	cases := 600
	if n, err := strconv.Atoi(os.Getenv("KERF_CASES")); err == nil {
		cases = n
	}
	proven := 0
	for seed := range uint64(cases) {
		d := drawSpreading(seed)
		p, err := plan.Decide(d.Input)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if vs := verify.Plan(d.Input, p); len(vs) > 0 {
			t.Errorf("seed %d: the plan breaks rules: %s", seed, verify.Join(vs))
		}
		if p.LowerBound == nil {
			continue
		}
		proven++
		_, pods := bought(&p)
		d.Policy.Work, d.Kinds = new(int64(0)), []model.DecisionKind{model.KindProvision}
		quick := d.decide(t)
		if cost, same := bought(&quick); slices.Equal(pods, same) && cost < p.LowerBound.Price {
			t.Errorf("seed %d: the bound %d is above what another plan pays, %d", seed, p.LowerBound.Price, cost)
		}
	}
	if proven < cases/2 {
		t.Errorf("only %d of %d plans have a bound", proven, cases)
	}
}
