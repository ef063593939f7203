package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// now is the time that the tests plan for.
func now() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

func amounts(cpu, memory, pods int64) model.Amounts {
	return model.Amounts{{Resource: "cpu", Value: cpu}, {Resource: "memory", Value: memory}, {Resource: "pods", Value: pods}}
}

func instanceType(name string, cpu, memMiB, pods, freeCPU, freeMiB int64) model.InstanceType {
	return model.InstanceType{
		Name: model.TypeName(name),
		Labels: model.Labels{
			{Key: "kubernetes.io/arch", Value: "amd64"},
			{Key: "kubernetes.io/os", Value: "linux"},
			{Key: "node.kubernetes.io/instance-type", Value: name},
		},
		Capacity: amounts(cpu, memMiB*mib, pods), Allocatable: amounts(freeCPU, freeMiB*mib, pods),
	}
}

// world is a cluster under construction.
type world struct {
	model.Input
}

// newWorld has the story's pool and its four instance types, on demand in one zone, and no pods.
func newWorld() *world {
	w := &world{}
	w.Now = now()
	w.Policy.EvictionPrice = new(int64(0)) // most tests are about rules, not about what moving pods weighs
	s := &w.Snapshot
	s.Revision, s.InventoryRevision, s.Cluster = 7, 3, "test"
	s.Catalogs = []model.Catalog{{ID: "k-1", InstanceTypes: []model.InstanceType{
		instanceType("c5.large", 2000, 3788, 29, 1930, 3114),
		instanceType("m5.large", 2000, 7577, 29, 1930, 6903),
		instanceType("m5.xlarge", 4000, 15155, 58, 3920, 14162),
		instanceType("r5.large", 2000, 15155, 29, 1930, 14481),
	}}}
	s.NodeClasses = []model.NodeClass{{
		Name: "default", Catalog: "k-1", Zones: []string{"us-east-1a", "us-east-1b"},
		Images: []model.MachineImage{{ID: "ami-1"}},
	}}
	for name, price := range map[string]int64{"c5.large": 85000, "m5.large": 96000, "m5.xlarge": 192000, "r5.large": 126000} {
		w.offer(name, "us-east-1a", model.OnDemand, price)
	}
	s.NodePools = []model.NodePool{pool("default")}
	return w
}

func (w *world) offer(name, zone string, ct model.CapacityType, price int64) {
	w.Snapshot.Offerings = append(w.Snapshot.Offerings, model.Offering{
		InstanceType: model.TypeName(name), Zone: zone, CapacityType: ct, Price: price,
	})
}

func pool(name string) model.NodePool {
	quiet := time.Duration(0)
	return model.NodePool{
		Name: model.PoolName(name), NodeClass: "default", ConsolidationPolicy: model.WhenEmptyOrUnderutilized,
		Labels: model.Labels{{Key: "type", Value: "karpenter"}}, ConsolidateAfter: &quiet,
		Requirements: []model.Requirement{{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"on-demand"}}},
		Budgets:      []model.DisruptionBudget{{Count: 100, IsPercent: true}},
	}
}

func (w *world) pool() *model.NodePool { return &w.Snapshot.NodePools[0] }

// class adds a class of pods of a ReplicaSet; change may adapt it.
func (w *world) class(id string, cpu, memory int64, change func(*model.PodClass)) {
	c := model.PodClass{
		ID: model.ClassID(id), Namespace: "shop", Labels: model.Labels{{Key: "app", Value: id}},
		Requests: amounts(cpu, memory, 1), OwnerKind: "ReplicaSet", OwnerName: id,
	}
	if change != nil {
		change(&c)
	}
	w.Snapshot.PodClasses = append(w.Snapshot.PodClasses, c)
}

// inflate is the story's class: 250m and 1 GiB, for nodes of type karpenter.
func (w *world) inflate() {
	w.class("inflate", 250, gib, func(c *model.PodClass) {
		c.NodeSelector = model.Labels{{Key: "type", Value: "karpenter"}}
	})
}

// pending adds pods that the scheduler could not place.
func (w *world) pending(class string, n int) {
	for range n {
		w.Snapshot.Pods = append(w.Snapshot.Pods, model.Pod{
			ID: w.podID(class), Class: model.ClassID(class), Phase: model.PodUnschedulable,
		})
	}
}

func (w *world) podID(class string) model.PodID {
	return model.PodID(fmt.Sprintf("shop/%s-%03d", class, len(w.Snapshot.Pods)))
}

// node adds an initialized node of a type with its claim, and running pods of a class.
func (w *world) node(name, instance, class string, pods int) *model.Node {
	i := slices.IndexFunc(w.Snapshot.Catalogs[0].InstanceTypes, func(t model.InstanceType) bool { return string(t.Name) == instance })
	t := w.Snapshot.Catalogs[0].InstanceTypes[i]
	o := slices.IndexFunc(w.Snapshot.Offerings, func(o model.Offering) bool { return string(o.InstanceType) == instance })
	claim := model.ClaimID("c-" + name)
	w.Snapshot.Claims = append(w.Snapshot.Claims, model.Claim{
		ID: claim, NodePool: "default", NodeClass: "default", State: model.ClaimInitialized, InstanceType: t.Name,
		Zone: "us-east-1a", CapacityType: model.OnDemand, Price: w.Snapshot.Offerings[o].Price, Node: model.NodeName(name),
		InstanceID: "i-" + name, Capacity: t.Capacity, Allocatable: t.Allocatable,
		CreateTime: now().Add(-2 * time.Hour), InitializeTime: now().Add(-time.Hour),
	})
	labels := model.Labels{
		{Key: "karpenter.sh/capacity-type", Value: "on-demand"},
		{Key: "karpenter.sh/nodepool", Value: "default"},
		{Key: "kubernetes.io/arch", Value: "amd64"},
		{Key: "kubernetes.io/hostname", Value: name},
		{Key: "kubernetes.io/os", Value: "linux"},
		{Key: "node.kubernetes.io/instance-type", Value: instance},
		{Key: "topology.kubernetes.io/zone", Value: "us-east-1a"},
		{Key: "type", Value: "karpenter"},
	}
	w.Snapshot.Nodes = append(w.Snapshot.Nodes, model.Node{
		Name: model.NodeName(name), Claim: claim, Labels: labels, Allocatable: t.Allocatable, Capacity: t.Capacity, Ready: true,
	})
	for range pods {
		w.Snapshot.Pods = append(w.Snapshot.Pods, model.Pod{
			ID: w.podID(class), Class: model.ClassID(class), Node: model.NodeName(name), Phase: model.PodRunning, Ready: true,
		})
	}
	return &w.Snapshot.Nodes[len(w.Snapshot.Nodes)-1]
}

func (w *world) claim(id string) *model.Claim {
	i := slices.IndexFunc(w.Snapshot.Claims, func(c model.Claim) bool { return string(c.ID) == id })
	return &w.Snapshot.Claims[i]
}

// failer is what *testing.T and *rapid.T have in common here.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// decide plans, and has the plan verified.
func (w *world) decide(t *testing.T) model.Plan {
	t.Helper()
	return w.plan(t)
}

func (w *world) plan(t failer) model.Plan {
	t.Helper()
	p, err := plan.Decide(w.Input)
	if err != nil {
		t.Fatalf("decide: %v", err)
	}
	if vs := verify.Plan(w.Input, p); len(vs) > 0 {
		t.Fatalf("the plan breaks rules: %s", verify.Join(vs))
	}
	return p
}

// types are the first choices of a plan's claims, with their number of pods, sorted.
func types(p model.Plan) []string {
	out := []string{}
	for _, c := range p.NodeClaims {
		out = append(out, fmt.Sprintf("%s×%d", c.Offerings[0].InstanceType, len(c.Pods)))
	}
	slices.Sort(out)
	return out
}
