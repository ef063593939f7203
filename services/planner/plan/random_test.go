package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// draw builds a random cluster: pools with taints, limits, labels and preferences, pods with all kinds of constraints,
// nodes and claims in all states.
type draw struct {
	*rapid.T
	*world
}

func drawWorld(t *rapid.T) *world {
	d := &draw{t, newWorld()}
	d.Snapshot.Offerings = nil
	d.offerings()
	d.Snapshot.NodePools = nil
	for i := range d.n("pools", 1, 3) {
		d.drawPool(fmt.Sprintf("pool-%d", i))
	}
	for i := range d.n("classes", 1, 6) {
		d.drawClass(fmt.Sprintf("class-%d", i))
	}
	d.class("daemon", 100, 200*mib, func(c *model.PodClass) {
		c.Daemon, c.OwnerKind = true, "DaemonSet"
		if d.chance("picky daemon") {
			c.NodeSelector = model.Labels{{Key: "karpenter.sh/capacity-type", Value: "spot"}}
		}
		if d.chance("daemon with a port") {
			c.HostPorts = []model.HostPort{{Protocol: "TCP", Port: 8080}}
		}
	})
	if d.chance("has daemon") {
		d.Snapshot.DaemonSets = []model.DaemonSet{{ID: "shop/daemon", Class: "daemon"}}
	}
	for i := range d.n("nodes", 0, 6) {
		d.drawNode(fmt.Sprintf("n%d", i))
	}
	for i := range d.n("flights", 0, 3) {
		d.drawFlight(fmt.Sprintf("f%d", i))
	}
	for range d.n("pending", 0, 25) {
		d.drawPending()
	}
	for i := range d.n("budgets", 0, 2) {
		d.Snapshot.PodDisruptionBudgets = append(d.Snapshot.PodDisruptionBudgets, model.PodDisruptionBudget{
			ID: fmt.Sprintf("shop/pdb-%d", i), Namespace: "shop", DisruptionsAllowed: int32(d.n("allowed", 0, 4)),
			Selector:        &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{d.anyClass("budget")}}}},
			AllowsUnhealthy: d.chance("unhealthy"),
		})
	}
	d.Policy.MinSaving = int64(d.n("min saving", 0, 1)) * 20000
	d.Policy.PerNodeOverhead = int64(d.n("overhead", 0, 1)) * 5000
	if n := d.n("most", 0, 5); n > 0 {
		d.Policy.MaxOfferingsPerClaim = &n
	}
	if d.n("supply", 0, 1) == 0 {
		d.drawSupply()
	}
	return d.world
}

func (d *draw) n(label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(d.T, label)
}
func (d *draw) chance(label string) bool { return d.n(label, 0, 3) == 0 }

func (d *draw) anyClass(label string) string {
	return fmt.Sprintf("class-%d", d.n(label, 0, 5))
}

func (d *draw) offerings() {
	prices := []int64{85000, 96000, 192000, 126000}
	for i, name := range []string{"c5.large", "m5.large", "m5.xlarge", "r5.large"} {
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			d.offer(name, zone, model.OnDemand, prices[i])
			if d.n("spot", 0, 2) > 0 {
				d.offer(name, zone, model.Spot, prices[i]/int64(d.n("discount", 2, 4)))
			}
			last := &d.Snapshot.Offerings[len(d.Snapshot.Offerings)-1]
			if d.chance("sold out") {
				last.UnavailableUntil = now().Add(time.Minute)
			}
		}
	}
	if d.chance("zone ids") {
		for i := range d.Snapshot.Offerings {
			o := &d.Snapshot.Offerings[i]
			o.ZoneID = "id-of-" + o.Zone
		}
	}
}

func (d *draw) drawPool(name string) {
	p := pool(name)
	p.Weight = int32(d.n("weight", 0, 1)) * 10
	if d.chance("any capacity type") {
		p.Requirements = nil
	}
	if d.chance("open label") {
		p.Requirements = append(p.Requirements, model.Requirement{Key: "team", Operator: model.In, Values: []string{"a", "b"}})
	} else if d.chance("endless label") {
		p.Requirements = append(p.Requirements, model.Requirement{Key: "team", Operator: model.Exists})
	}
	if d.chance("min values") {
		p.Requirements = append(p.Requirements, model.Requirement{Key: "node.kubernetes.io/instance-type", Operator: model.Exists, MinValues: 2})
	}
	slices.SortFunc(p.Requirements, func(a, b model.Requirement) int { return strings.Compare(a.Key, b.Key) })
	if d.chance("taint") {
		p.Taints = []model.Taint{{Key: "dedicated", Effect: model.TaintEffect(d.n("effect", 1, 3))}}
	}
	if d.chance("limits") {
		p.Limits = model.Amounts{{Resource: "cpu", Value: int64(d.n("cpu limit", 0, 16)) * 1000}}
	}
	if d.chance("node limit") {
		p.Limits = append(p.Limits, model.Amount{Resource: "nodes", Value: int64(d.n("nodes", 0, 5))})
	}
	if d.chance("tight budget") {
		p.Budgets = []model.DisruptionBudget{{Count: int32(d.n("budget", 0, 2))}}
	}
	switch d.n("policy", 0, 4) {
	case 0:
		p.ConsolidationPolicy = model.WhenEmpty
	case 1:
		p.ConsolidationPolicy = model.Balanced
	}
	d.Snapshot.NodePools = append(d.Snapshot.NodePools, p)
}

func (d *draw) drawClass(id string) {
	cpu := rapid.SampledFrom([]int64{100, 250, 900, 1500, 3000}).Draw(d.T, "cpu")
	memory := rapid.SampledFrom([]int64{128, 512, 1024, 3000, 9000}).Draw(d.T, "memory") * mib
	d.class(id, cpu, memory, func(c *model.PodClass) {
		c.Priority = int32(d.n("priority", 0, 1)) * 100
		switch d.n("selector", 0, 9) {
		case 0:
			c.NodeSelector = model.Labels{{Key: "team", Value: "a"}}
		case 1:
			c.NodeSelector = model.Labels{{Key: "topology.kubernetes.io/zone", Value: "us-east-1b"}}
		case 2:
			c.NodeAffinity = []model.NodeAffinityTerm{
				{Requirements: []model.Requirement{{Key: "team", Operator: model.NotIn, Values: []string{"a"}}}},
				{Requirements: []model.Requirement{{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"spot"}}}},
			}
		case 3:
			c.NodeAffinity = []model.NodeAffinityTerm{{Requirements: []model.Requirement{{Key: "team", Operator: model.Exists}}}}
		case 4:
			c.Volumes = []model.VolumeTopology{{Name: "shop/data", Terms: []model.NodeAffinityTerm{
				{Requirements: []model.Requirement{{Key: "topology.ebs.csi.aws.com/zone", Operator: model.In, Values: []string{"us-east-1a"}}}},
			}}}
			c.VolumeAttachments = model.Amounts{{Resource: "ebs.csi.aws.com", Value: 1}}
			if d.chance("and keep off nodes without the driver") {
				c.NeededDrivers = []string{"ebs.csi.aws.com"}
			}
		case 5:
			c.NodeSelector = model.Labels{{Key: "topology.k8s.aws/zone-id", Value: "id-of-us-east-1a"}}
		}
		if d.chance("tolerates") {
			c.Tolerations = []model.Toleration{{Key: "dedicated", Exists: true}}
		}
		if d.chance("port") {
			c.HostPorts = []model.HostPort{{Protocol: "TCP", Port: int32(d.n("port number", 8080, 8081))}}
		}
		if d.n("spread", 0, 7) == 0 {
			c.PodAntiAffinity = []model.PodAffinityTerm{{
				TopologyKey: "kubernetes.io/hostname", Namespaces: []string{"shop"},
				Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{d.anyClass("repels")}}}},
			}}
		}
		if d.n("orphan", 0, 7) == 0 {
			c.OwnerKind = ""
		}
	})
}

func (d *draw) drawNode(name string) {
	n := d.node(name, rapid.SampledFrom([]string{"c5.large", "m5.large", "m5.xlarge", "r5.large"}).Draw(d.T, "type"), "none", 0)
	if d.chance("attach limit") {
		n.VolumeLimits = model.Amounts{{Resource: "ebs.csi.aws.com", Value: int64(d.n("limit", 0, 2))}}
	}
	if d.chance("drivers and features") {
		n.Drivers, n.Features, n.CreateTime = []string{"ebs.csi.aws.com"}, []string{"Restarts"}, now().Add(-time.Duration(d.n("age", 0, 20))*time.Minute)
	}
	n.Ready, n.DoNotDisrupt, n.Unschedulable = d.n("ready", 0, 7) > 0, d.n("protected", 0, 7) == 0, d.n("cordoned", 0, 7) == 0
	c := d.claim("c-" + name)
	c.NodePool = model.PoolName(fmt.Sprintf("pool-%d", d.n("pool", 0, 2)))
	switch d.n("state", 0, 11) {
	case 0:
		c.State, c.Reached = model.ClaimDraining, model.ClaimInitialized
	case 1:
		c.State = model.ClaimRegistered
	case 2:
		c.Disruption = "d-0"
	case 3:
		d.Snapshot.Notices = append(d.Snapshot.Notices, model.Notice{ID: "m-" + name, Kind: model.NoticeSpotInterruption, InstanceID: c.InstanceID})
	case 4:
		c.ExpireTime = now().Add(-time.Hour)
	case 5:
		n.Claim, c.Node, c.State = "", "", model.ClaimGone
	case 6:
		c.ExpireTime = now().Add(-time.Hour)
		c.TerminationGracePeriod = new(time.Duration)
	}
	for range d.n("bound", 0, 4) {
		class := d.Snapshot.PodClasses[d.n("class", 0, len(d.Snapshot.PodClasses)-1)].ID
		p := model.Pod{ID: d.podID(string(class)), Class: class, Node: n.Name, Phase: model.PodRunning, Ready: d.n("healthy", 0, 3) > 0}
		p.Terminating, p.DoNotDisrupt = d.n("going", 0, 3) == 0, d.n("keep", 0, 9) == 0
		if p.Terminating && d.n("deadline", 0, 2) > 0 {
			p.TerminationDeadline = now().Add(time.Duration(d.n("ends", -15, 45)) * time.Second)
		}
		d.Snapshot.Pods = append(d.Snapshot.Pods, p)
	}
}

func (d *draw) drawFlight(name string) {
	c := model.Claim{
		ID: model.ClaimID(name), NodePool: "pool-0", NodeClass: "default", State: model.ClaimPlanned,
		Requirements: []model.Requirement{{Key: "team", Operator: model.In, Values: []string{"a", "b"}[:d.n("teams", 1, 2)]}},
		Taints:       d.Snapshot.NodePools[0].Taints,
	}
	for i, t := range []model.TypeName{"c5.large", "m5.large"}[d.n("smallest", 0, 1):] {
		c.Offerings = append(c.Offerings, model.RankedOffering{
			InstanceType: t, Zone: rapid.SampledFrom([]string{"us-east-1a", "us-east-1b"}).Draw(d.T, "zone"), CapacityType: model.OnDemand, Price: 85000 + int64(i),
		})
	}
	d.Snapshot.Claims = append(d.Snapshot.Claims, c)
}

func (d *draw) drawPending() {
	class := d.Snapshot.PodClasses[d.n("pending class", 0, len(d.Snapshot.PodClasses)-2)].ID
	d.pending(string(class), 1)
	p := &d.Snapshot.Pods[len(d.Snapshot.Pods)-1]
	switch d.n("pending kind", 0, 9) {
	case 0:
		p.Phase = model.PodWaiting
	case 1:
		p.NominatedNode = "n0"
	case 3, 4:
		p.ExpectedNode = model.NodeName(fmt.Sprintf("n%d", d.n("expected", 0, 3)))
	case 2:
		if i := slices.IndexFunc(d.Snapshot.Claims, func(c model.Claim) bool { return c.State == model.ClaimPlanned }); i >= 0 {
			d.Snapshot.Claims[i].Pods = append(d.Snapshot.Claims[i].Pods, p.ID)
		}
	}
}

func TestEveryPlanKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		p, err := plan.Decide(w.Input)
		if err != nil {
			t.Fatalf("decide: %v", err)
		}
		if vs := verify.Plan(w.Input, p); len(vs) > 0 {
			t.Fatalf("the plan breaks rules: %s", verify.Join(vs))
		}
	})
}

func TestTheOrderOfListsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		first, err := plan.Decide(w.Input)
		if err != nil {
			t.Fatalf("decide: %v", err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffle(r, &w.Snapshot)
		second, err := plan.Decide(w.Input)
		if err != nil {
			t.Fatalf("decide after shuffling: %v", err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("another order gives another plan (-first +second):\n%s", diff)
		}
	})
}

func shuffle(r *rand.Rand, s *model.Snapshot) {
	mix(r, s.PodClasses)
	mix(r, s.Pods)
	mix(r, s.DaemonSets)
	mix(r, s.Nodes)
	mix(r, s.PodDisruptionBudgets)
	mix(r, s.NodePools)
	mix(r, s.Catalogs[0].InstanceTypes)
	mix(r, s.Offerings)
	mix(r, s.Claims)
	mix(r, s.Notices)
}

func mix[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// TestAnAcceptedPlanIsNotBoughtAgain plans twice, the second time with the first plan under way: its claims are in flight,
// its candidates wait for their replacements, and all pods are where they were.
func TestAnAcceptedPlanIsNotBoughtAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		p := w.plan(t)
		for _, c := range p.NodeClaims {
			i := slices.IndexFunc(w.Snapshot.NodePools, func(x model.NodePool) bool { return x.Name == c.NodePool })
			pool := &w.Snapshot.NodePools[i]
			w.Snapshot.Claims = append(w.Snapshot.Claims, model.Claim{
				ID: c.ID, NodePool: c.NodePool, NodeClass: c.NodeClass, State: model.ClaimLaunching, Requirements: c.Requirements,
				Offerings: c.Offerings, Requests: c.Requests, Pods: c.Pods, Labels: pool.Labels, Taints: pool.Taints, Replaces: c.Disruption,
			})
		}
		for _, d := range p.Disruptions {
			if d.Reason == model.ReasonSurplus {
				return // it goes whether its pods have a place or not: they get theirs now
			}
			for _, id := range d.Candidates {
				w.claim(string(id)).Disruption, w.claim(string(id)).DisruptionReason = d.ID, d.Reason
			}
		}
		for _, c := range w.plan(t).NodeClaims {
			if c.Disruption == "" && !mayFollow(&c, &p) {
				t.Fatalf("a %s is bought for %v, which the first plan had a place for: %v", c.Offerings[0].InstanceType, c.Pods, types(p))
			}
		}
	})
}

// mayFollow says whether a claim may be what an accepted plan leads to: capacity of a buffer that real pods have moved
// on to is made again, and a static pool gets a node for one that goes.
func mayFollow(c *model.NodeClaim, before *model.Plan) bool {
	if len(c.Pods) == 0 {
		return len(before.Disruptions) > 0
	}
	return !slices.ContainsFunc(c.Pods, func(id model.PodID) bool { return !id.Virtual() })
}
