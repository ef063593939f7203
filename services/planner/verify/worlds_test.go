package verify_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// dice makes clusters with a past: nodes of all ages, drifted, unhealthy or on their way out, pods that were just
// moved, owners that are being rolled out.
type dice struct {
	*rand.Rand
	in model.Input
	// idle clusters have nothing that keeps them from being consolidated.
	idle bool
}

func (d *dice) chance(percent int) bool { return d.IntN(100) < percent }

// ago is a time in the last so many minutes, at whole seconds.
func (d *dice) ago(minutes int) time.Time {
	return d.in.Now.Add(-time.Duration(d.IntN(minutes*60+1)) * time.Second)
}

func pick[T any](d *dice, of ...T) T { return of[d.IntN(len(of))] }

func zones() []string { return []string{"r-1a", "r-1b", "r-1c"} }

// world is a cluster by a seed.
func world(seed uint64) model.Input {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 5)), in: model.Input{Now: at(30)}}
	d.idle = d.chance(50)
	d.market()
	for i := range 1 + d.IntN(3) {
		d.pool(fmt.Sprintf("pool-%d", i))
	}
	for i := range 2 + d.IntN(6) {
		d.owner(fmt.Sprintf("app-%d", i))
	}
	for i := range 3 + d.IntN(15) {
		d.node(fmt.Sprintf("n-%02d", i))
	}
	d.records()
	d.policy()
	return d.in
}

func (d *dice) market() {
	s := &d.in.Snapshot
	s.Revision = 3
	s.Namespaces = []model.Namespace{{Name: "shop"}}
	cat := model.Catalog{ID: "k"}
	for i, family := range []string{"a", "b", "c", "d"} {
		for size := range 3 {
			name := fmt.Sprintf("%s.%dx", family, 1<<size)
			cpu := int64(2000) << size
			cat.InstanceTypes = append(cat.InstanceTypes, instanceType(name, "amd64", cpu, cpu/1000*4*gib))
			for j, z := range zones() {
				price := int64(100_000)<<size + int64(2000*i+300*j)
				s.Offerings = append(s.Offerings, offering(name, z, model.OnDemand, price))
				if d.chance(80) {
					s.Offerings = append(s.Offerings, offering(name, z, model.Spot, price/int64(2+d.IntN(3))))
				}
				if d.chance(5) {
					s.Offerings[len(s.Offerings)-1].UnavailableUntil = at(40)
				}
			}
		}
	}
	s.Catalogs = []model.Catalog{cat}
	s.NodeClasses = []model.NodeClass{{
		Name: "default", Catalog: "k", Zones: zones(), Hash: "class-now", Images: []model.MachineImage{{ID: "ami-1"}},
	}}
}

func (d *dice) pool(name string) {
	p := model.NodePool{
		Name: model.PoolName(name), NodeClass: "default", Hash: name + "-now", Weight: int32(d.IntN(2)),
		Requirements:        []model.Requirement{{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"on-demand", "spot"}}},
		ConsolidationPolicy: pick(d, model.WhenEmpty, model.WhenEmptyOrUnderutilized, model.WhenEmptyOrUnderutilized, model.Balanced),
		ConsolidateAfter:    pick(d, nil, ptr(time.Duration(0)), ptr(time.Minute), ptr(20*time.Minute)),
		Budgets:             pick(d, nil, []model.DisruptionBudget{{Count: int32(d.IntN(5))}}, []model.DisruptionBudget{{Count: 40, IsPercent: true}}),
	}
	if d.idle {
		p.ConsolidationPolicy, p.ConsolidateAfter, p.Budgets = model.WhenEmptyOrUnderutilized, ptr(time.Duration(0)), nil
	}
	if d.chance(25) {
		p.Requirements = append(p.Requirements, model.Requirement{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: zones()[:2]})
	}
	if d.chance(25) {
		p.Budgets = append(p.Budgets, model.DisruptionBudget{Count: 1, Reasons: []model.DisruptionReason{pick(d, model.ReasonDrifted, model.ReasonExpired, model.ReasonUnderutilized)}})
	}
	if d.chance(20) && name == "pool-0" {
		p.Replicas = ptr(int64(d.IntN(6)))
	}
	d.in.Snapshot.NodePools = append(d.in.Snapshot.NodePools, p)
}

// owner adds the classes of a workload, one for each of its revisions.
func (d *dice) owner(name string) {
	s := &d.in.Snapshot
	cpu := int64(100 + 50*d.IntN(20))
	revisions := pick(d, 1, 1, 1, 2)
	if d.idle {
		revisions = 1
	}
	for r := range revisions {
		c := class(name, cpu, cpu/1000*gib+gib/4)
		c.ID = model.ClassID(fmt.Sprintf("%s-%d", name, r))
		c.OwnerRevision = fmt.Sprint(r)
		c.Priority = pick(d, int32(0), 0, 0, 1_000_000, -5_000_000, 2_000_000_000)
		if d.chance(15) {
			c.TopologySpread = []model.TopologySpread{{TopologyKey: zone, MaxSkew: 2, Required: true, Selector: app(name)}}
		}
		if d.chance(10) {
			c.PodAntiAffinity = []model.PodAffinityTerm{term(host, name)}
		}
		if d.chance(5) {
			c.OwnerKind = ""
		}
		s.PodClasses = append(s.PodClasses, c)
	}
	if d.chance(25) {
		s.PodDisruptionBudgets = append(s.PodDisruptionBudgets, model.PodDisruptionBudget{
			ID: "shop/" + name, Namespace: "shop", Selector: app(name), DisruptionsAllowed: int32(d.IntN(4)), AllowsUnhealthy: d.chance(50),
		})
	}
}

func (d *dice) node(name string) {
	s := &d.in.Snapshot
	pool := pick(d, s.NodePools...)
	t := pick(d, s.Catalogs[0].InstanceTypes...)
	z, ct := pick(d, zones()...), pick(d, model.OnDemand, model.Spot, model.Spot)
	labels := model.Labels{
		{Key: "karpenter.k8s.aws/ec2nodeclass", Value: "default"},
		{Key: "karpenter.sh/capacity-type", Value: ct.String()},
		{Key: "karpenter.sh/nodepool", Value: string(pool.Name)},
		{Key: "kubernetes.io/arch", Value: "amd64"},
		{Key: host, Value: name},
		{Key: "node.kubernetes.io/instance-type", Value: string(t.Name)},
		{Key: zone, Value: z},
	}
	n := model.Node{
		Name: model.NodeName(name), Claim: model.ClaimID("c-" + name), Labels: labels, Allocatable: t.Allocatable, Capacity: t.Capacity,
		Ready: !d.chance(4), CreateTime: at(-600), LastPodEventTime: d.ago(60), Unschedulable: d.chance(4), DoNotDisrupt: d.chance(4),
	}
	if d.chance(12) {
		n.Conditions = []model.NodeCondition{{Type: "KernelReady", Status: "False", TransitionTime: d.ago(60)}}
	}
	c := model.Claim{
		ID: n.Claim, NodePool: pool.Name, NodeClass: "default", State: model.ClaimInitialized, PoolHash: pool.Hash, ClassHash: "class-now",
		InstanceType: t.Name, Zone: z, CapacityType: ct, Price: 90_000, InstanceID: "i-" + name, ImageID: "ami-1", Labels: labels,
		Node: n.Name, Capacity: t.Capacity, Allocatable: t.Allocatable, CreateTime: d.ago(pick(d, 300, 3000)), InitializeTime: d.ago(300),
	}
	d.fate(&c, &n)
	s.Nodes, s.Claims = append(s.Nodes, n), append(s.Claims, c)
	d.pods(n.Name, t.Allocatable.Value(model.CPU))
}

// fate is what makes a node one that may have to go.
func (d *dice) fate(c *model.Claim, n *model.Node) {
	if d.idle && d.chance(80) {
		return
	}
	switch d.IntN(12) {
	case 0:
		c.PoolHash = "old"
	case 1:
		c.ClassHash = "old"
	case 2:
		c.ImageID = "ami-0"
	case 3:
		c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "its subnet is gone"}
	case 4:
		c.State, c.Disruption, c.DisruptionReason = model.ClaimInitialized, "d-before", pick(d, model.ReasonDrifted, model.ReasonEmpty)
	case 5:
		c.State = model.ClaimRegistered
	default:
	}
	if d.chance(30) {
		c.ExpireTime = d.in.Now.Add(time.Duration(d.IntN(150)-30) * time.Minute)
	}
	if d.chance(40) {
		c.TerminationGracePeriod = ptr(time.Minute)
	}
	if d.chance(3) {
		n.Terminating = true
	}
}

func (d *dice) pods(node model.NodeName, free int64) {
	s := &d.in.Snapshot
	for i := 0; free > 0 && !d.chance(20); i++ {
		c := pick(d, s.PodClasses...)
		if free -= c.Requests.Value(model.CPU); free < 0 {
			return
		}
		p := running(fmt.Sprintf("shop/%s-%02d", node, i), string(c.ID), string(node))
		p.DeletionCost = pick(d, int32(0), 0, 0, 1<<27, -1<<27)
		p.Ready, p.DoNotDisrupt, p.Terminating = !d.chance(5), d.chance(2), d.chance(10)
		if p.Terminating && d.chance(70) {
			p.TerminationDeadline = d.in.Now.Add(time.Duration(d.IntN(60)-15) * time.Second)
		}
		if d.chance(90) {
			p.BindTime = d.ago(pick(d, 20, 300, 300))
		}
		if d.idle {
			p.BindTime, p.DoNotDisrupt = at(-90), false
		}
		s.Pods = append(s.Pods, p)
	}
}

// records are disruptions of the past, of claims that are there and of one that is gone.
func (d *dice) records() {
	s := &d.in.Snapshot
	s.Claims = append(s.Claims, model.Claim{ID: "c-gone", NodePool: "pool-0", NodeClass: "default", State: model.ClaimGone})
	for i := range d.IntN(9) {
		r := model.DisruptionRecord{
			ID:         model.DisruptionID(fmt.Sprintf("d-%d", i)),
			Reason:     pick(d, model.ReasonDrifted, model.ReasonUnderutilized, model.ReasonUnhealthy, model.ReasonExpired),
			Candidates: []model.ClaimID{pick(d, "c-gone", pick(d, s.Claims...).ID)}, AcceptTime: d.ago(120), RolledBack: d.chance(40),
		}
		if d.chance(80) {
			r.EndTime = d.ago(60)
		}
		for _, c := range s.PodClasses {
			if c.OwnerRevision == "0" && d.chance(35) {
				w := rules.WorkloadOf(&c)
				if d.chance(20) {
					w.UID = "u-before"
				}
				r.Workloads = append(r.Workloads, w.Evicts(1+d.IntN(3)))
			}
		}
		s.Disruptions = append(s.Disruptions, r)
	}
}

func (d *dice) policy() {
	p := &d.in.Policy
	p.EvictionPrice = pick(d, nil, nil, ptr(int64(0)), ptr(int64(5_000)), ptr(int64(20_000)), ptr(int64(40_000)))
	p.Payback = pick(d, nil, nil, ptr(10*time.Minute), ptr(7*time.Hour))
	p.PodRest = pick(d, nil, nil, ptr(time.Duration(0)), ptr(3*time.Hour))
	p.MinSaving = pick(d, int64(0), 0, 20_000)
	p.PerNodeOverhead = pick(d, int64(0), 0, 5_000)
	p.MaxOfferingsPerClaim = pick(d, nil, nil, ptr(4), ptr(8))
	p.Repair.MaxUnhealthyPercent = pick(d, 0, 60)
	p.Repair.Off = d.chance(10)
	p.DisruptionTrials = pick(d, nil, nil, ptr(int64(3)))
}

// known says whether a violation is one that the planner has to answer for and that is known already: what is new shall
// stand out. Each goes with its fix.
func known(v verify.Violation) bool {
	return slices.ContainsFunc([]string{
		"of the same plan takes it away", // pods are placed on an unhealthy node, and then it goes
		"it lists",                       // what takes a static pool's node's place lists more than the policy allows
		"it must be spread over",         // a later decision empties a domain that an earlier one counted on
		"that is too few",                // offerings that pay back too late are struck off after spot's diversity was judged
	}, func(text string) bool { return strings.Contains(v.Problem, text) })
}

// TestPlansForClustersWithAPastKeepTheRules plans for many of them; all reasons that the planner has must come up.
func TestPlansForClustersWithAPastKeepTheRules(t *testing.T) {
	seen := make(map[model.DisruptionReason]int)
	moved, bought := 0, 0
	for seed := range uint64(300) {
		in := world(seed)
		p := decide(t, in)
		for _, v := range verify.Plan(in, p) {
			if !known(v) {
				t.Errorf("seed %d: %s", seed, v)
			}
		}
		for _, d := range p.Disruptions {
			seen[d.Reason]++
			moved += d.Evictions
			bought += len(d.Replacements)
		}
	}
	var missing []string
	for _, r := range []model.DisruptionReason{
		model.ReasonEmpty, model.ReasonUnderutilized, model.ReasonDrifted, model.ReasonExpired, model.ReasonUnhealthy, model.ReasonSurplus,
	} {
		if seen[r] == 0 {
			missing = append(missing, r.String())
		}
	}
	slices.SortFunc(missing, cmp.Compare)
	if len(missing) > 0 || moved == 0 || bought == 0 {
		t.Errorf("the worlds show too little: no node goes for %v; %d pods move, %d nodes are bought", missing, moved, bought)
	}
	t.Logf("%v, %d pods, %d replacements", seen, moved, bought)
}
