// Package gen makes small random clusters from a seed: pools, types, nodes, claims in flight and pods, with all the
// constraints that Kubernetes knows in combination.
//
// A Case is written in the planner's own nouns, which say all that a scheduler looks at; package kube turns the same
// Case into Kubernetes objects. So there is one description, and a smaller Case is made by leaving out parts of it. The
// same seed and families give the same Case. Start reading with New.
package gen

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Case is one random cluster and what decides the rest of its trial.
type Case struct {
	Seed     uint64
	Families Family
	Input    model.Input
}

// Now is the time that all cases plan for.
func Now() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

// Labels that cases use.
const (
	keyEBSZone = labels.EBSZone

	// EBS is the CSI driver of all volumes.
	EBS = "ebs.csi.aws.com"
	gpu = "example.com/gpu"

	gib = int64(1) << 30
)

// builder draws one Case.
type builder struct {
	*rand.Rand
	// later draws the families from Roomy on, latest those from Kinds on, newest those from Ending on, needs Needs, backs
	// Backed: without these, a seed is the case that it was before there were any.
	later, latest, newest, needs, backs *rand.Rand

	on    Family
	in    *model.Input
	zones []string
	// classes are those of pods; those of pods with volumes have one pod each.
	classes []model.ClassID
	pods    int
}

// New draws the case of a seed. Which of the families a case has is part of the draw, so that some cases are simple.
func New(seed uint64, families Family) Case {
	c := Case{Seed: seed}
	b := &builder{in: &c.Input}
	b.Rand = rand.New(rand.NewPCG(seed, 0x6b657266))       //nolint:gosec // not a secret
	b.later = rand.New(rand.NewPCG(seed, 0x6c61746572))    //nolint:gosec // not a secret
	b.latest = rand.New(rand.NewPCG(seed, 0x6c6174657374)) //nolint:gosec // not a secret
	b.newest = rand.New(rand.NewPCG(seed, 0x6e6577657374)) //nolint:gosec // not a secret
	b.needs = rand.New(rand.NewPCG(seed, 0x6e65656473))    //nolint:gosec // not a secret
	b.backs = rand.New(rand.NewPCG(seed, 0x6261636b73))    //nolint:gosec // not a secret
	b.on = b.choose(families)
	c.Families = b.on
	b.in.Now, b.in.Kinds = Now(), []model.DecisionKind{model.KindProvision}
	b.in.Snapshot.Revision, b.in.Snapshot.InventoryRevision, b.in.Snapshot.Cluster = 7, 3, "differential"
	b.namespaces()
	b.market()
	for i := range 1 + b.IntN(3) {
		b.pool(fmt.Sprintf("pool-%d", i))
	}
	b.changePools()
	for i := range 1 + b.IntN(5) {
		b.class(fmt.Sprintf("c%d", i))
	}
	if b.has(Daemons) {
		b.daemons()
	}
	if b.has(Nodes) {
		for i := range 1 + b.IntN(5) {
			b.node(fmt.Sprintf("n%d", i))
		}
	}
	b.pending()
	if b.has(Flights) {
		for i := range 1 + b.IntN(2) {
			b.flight(fmt.Sprintf("f%d", i))
		}
	}
	b.changeNodes()
	b.changePods()
	b.buffers()
	b.overlays()
	b.defaults()
	b.several()
	b.newAttach()
	b.devices()
	b.kinds()
	b.exclusive()
	b.ending()
	b.lacks()
	b.backed()
	return c
}

// choose takes each family in two cases of five, and all of them in one case of eight.
func (b *builder) choose(families Family) Family {
	all := b.one(8)
	var out Family
	for _, f := range All() {
		draw := b.Rand
		if f >= Roomy {
			draw = b.later
		}
		if f >= Kinds {
			draw = b.latest
		}
		if f >= Ending {
			draw = b.newest
		}
		if f >= Needs {
			draw = b.needs
		}
		if f >= Backed {
			draw = b.backs
		}
		if families&f != 0 && (draw.IntN(5) < 2 || all) {
			out |= f
		}
	}
	return out
}

func (b *builder) has(f Family) bool { return b.on&f != 0 }

// one is true once in n.
func (b *builder) one(n int) bool { return b.IntN(n) == 0 }

func pick[T any](b *builder, from ...T) T { return from[b.IntN(len(from))] }

// some draws one or more of a list, sorted.
func some(b *builder, from ...string) []string {
	var out []string
	for _, x := range from {
		if b.one(2) {
			out = append(out, x)
		}
	}
	if out == nil {
		out = []string{pick(b, from...)}
	}
	slices.Sort(out)
	return out
}

func (b *builder) namespaces() {
	for _, ns := range []model.Namespace{
		{Name: "aux"},
		{Name: "lab", Labels: model.Labels{{Key: "env", Value: "dev"}}},
		{Name: "shop", Labels: model.Labels{{Key: "env", Value: "prod"}}},
		{Name: "system", Labels: model.Labels{{Key: "system", Value: "yes"}}},
	} {
		ns.Labels = With(ns.Labels, labels.NamespaceName, ns.Name)
		b.in.Snapshot.Namespaces = append(b.in.Snapshot.Namespaces, ns)
	}
}

func amounts(cpu, memory, pods, gpus int64) model.Amounts {
	out := model.Amounts{}
	add := func(r model.Resource, v int64) {
		if v != 0 {
			out = append(out, model.Amount{Resource: r, Value: v})
		}
	}
	add(model.CPU, cpu)
	add(gpu, gpus)
	add(model.Memory, memory)
	add(model.Pods, pods)
	return out
}

// shapes are the instance types that a case chooses from: millicores, GiB, pods, gpus, architecture.
func shapes() []struct {
	name            string
	cpu, mem, pods  int64
	gpus            int64
	arch            string
	price, cpuCount int64
} {
	return []struct {
		name            string
		cpu, mem, pods  int64
		gpus            int64
		arch            string
		price, cpuCount int64
	}{
		{"arm", 4000, 8, 12, 0, "arm64", 140000, 4},
		{"big", 8000, 32, 20, 0, "amd64", 400000, 8},
		{"gpu", 4000, 16, 12, 2, "amd64", 900000, 4},
		{"large", 4000, 8, 12, 0, "amd64", 170000, 4},
		{"medium", 2000, 8, 10, 0, "amd64", 100000, 2},
		{"small", 2000, 4, 8, 0, "amd64", 85000, 2},
	}
}

// market draws the zones, the catalog and what is on offer.
func (b *builder) market() {
	b.zones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}[:1+b.IntN(3)]
	catalog := model.Catalog{ID: "k-1"}
	for _, s := range shapes() {
		if b.one(5) && s.name != "medium" {
			continue
		}
		catalog.InstanceTypes = append(catalog.InstanceTypes, model.InstanceType{
			Name: model.TypeName(s.name),
			Labels: model.Labels{
				{Key: labels.InstanceCPU, Value: fmt.Sprint(s.cpuCount)},
				{Key: labels.Arch, Value: s.arch},
				{Key: labels.OS, Value: "linux"},
				{Key: labels.InstanceType, Value: s.name},
			},
			Capacity: amounts(s.cpu, s.mem*gib, s.pods, s.gpus), Allocatable: amounts(s.cpu, s.mem*gib, s.pods, s.gpus),
		})
		price, spot := s.price+int64(b.IntN(5))*1000, !b.one(3)
		discount := int64(2 + b.IntN(3))
		for _, zone := range b.zones {
			b.offer(s.name, zone, model.OnDemand, price)
			if spot {
				b.offer(s.name, zone, model.Spot, price/discount)
			}
		}
	}
	b.in.Snapshot.Catalogs = []model.Catalog{catalog}
	where := b.zones
	if b.one(6) {
		where = some(b, b.zones...)
	}
	class := model.NodeClass{Name: "default", Catalog: "k-1", Zones: where, Images: []model.MachineImage{{ID: "ami-1"}}, Hash: "h"}
	if b.one(6) {
		class.Images[0].Requirements = []model.Requirement{{Key: labels.Arch, Operator: model.In, Values: []string{"amd64"}}}
	}
	b.in.Snapshot.NodeClasses = []model.NodeClass{class}
}

func (b *builder) offer(name, zone string, ct model.CapacityType, price int64) {
	o := model.Offering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: ct, Price: price}
	if b.one(12) {
		o.UnavailableUntil = Now().Add(time.Minute)
	}
	b.in.Snapshot.Offerings = append(b.in.Snapshot.Offerings, o)
}

// pool draws a node pool.
func (b *builder) pool(name string) {
	p := model.NodePool{Name: model.PoolName(name), NodeClass: "default", ConsolidationPolicy: model.WhenEmpty, Hash: "h"}
	p.Weight = int32(b.IntN(2)) * 10
	require := func(key string, op model.Operator, values ...string) {
		p.Requirements = append(p.Requirements, model.Requirement{Key: key, Operator: op, Values: values})
	}
	require(labels.CapacityType, model.In, some(b, "on-demand", "spot")...)
	if b.one(4) {
		require(labels.Zone, pick(b, model.In, model.NotIn), some(b, b.zones...)...)
	}
	if b.one(4) {
		require(labels.InstanceType, model.In, some(b, "big", "large", "medium", "small")...)
	}
	if b.one(5) {
		require(labels.InstanceCPU, pick(b, model.Gt, model.Lt), pick(b, "2", "4", "8"))
	}
	b.poolLabels(&p, require)
	if b.has(Taints) {
		p.Taints = b.taints()
		if b.one(4) {
			p.StartupTaints = []model.Taint{{Key: "starting", Effect: model.NoSchedule}}
		}
	}
	if b.has(Limits) && b.one(2) {
		p.Limits = model.Amounts{{Resource: model.CPU, Value: int64(b.IntN(16)) * 1000}}
		if b.one(2) {
			p.Limits = model.Amounts{{Resource: model.Nodes, Value: int64(b.IntN(4))}}
		}
	}
	if b.has(MinValues) && b.one(2) {
		require(labels.InstanceType, model.Exists)
		p.Requirements[len(p.Requirements)-1].MinValues = 2
	}
	slices.SortStableFunc(p.Requirements, func(x, y model.Requirement) int { return cmp.Compare(x.Key, y.Key) })
	b.in.Snapshot.NodePools = append(b.in.Snapshot.NodePools, p)
}

// poolLabels gives the pool labels of the user's own: some with a value, some that the pool leaves open.
func (b *builder) poolLabels(p *model.NodePool, require func(string, model.Operator, ...string)) {
	if b.one(2) {
		p.Labels = append(p.Labels, model.Label{Key: "rack", Value: pick(b, "r1", "r2", "r3")})
	}
	if !b.has(OpenLabels) {
		if b.one(3) {
			p.Labels = append(p.Labels, model.Label{Key: "team", Value: pick(b, "a", "b")})
		}
		return
	}
	switch b.IntN(6) {
	case 0, 1:
		require("team", model.In, some(b, "a", "b", "c")...)
	case 2:
		require("team", model.NotIn, some(b, "a", "b")...)
	case 3:
		require("team", model.Exists)
	case 4:
		require("team", model.DoesNotExist)
	}
}

func (b *builder) taints() []model.Taint {
	switch b.IntN(4) {
	case 0:
		return []model.Taint{{Key: "dedicated", Value: pick(b, "a", "b"), Effect: pick(b, model.NoSchedule, model.NoExecute)}}
	case 1:
		return []model.Taint{{Key: "dedicated", Value: "a", Effect: model.PreferNoSchedule}}
	case 2:
		return []model.Taint{{Key: "dedicated", Value: "a", Effect: model.NoSchedule}, {Key: "soft", Effect: model.PreferNoSchedule}}
	}
	return nil
}
