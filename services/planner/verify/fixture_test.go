package verify_test

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

const gib = 1 << 30

func at(minute int) time.Time { return time.Date(2026, 3, 4, 12, minute, 0, 0, time.UTC) }

func ptr[T any](v T) *T { return new(v) }

func amounts(cpu, memory, pods int64) model.Amounts {
	return model.Amounts{{Resource: "cpu", Value: cpu}, {Resource: "memory", Value: memory}, {Resource: "pods", Value: pods}}
}

func instanceType(name, arch string, cpu, memory int64) model.InstanceType {
	return model.InstanceType{
		Name: model.TypeName(name), Labels: model.Labels{{Key: "kubernetes.io/arch", Value: arch}},
		Capacity: amounts(cpu, memory, 30), Allocatable: amounts(cpu-100, memory-gib, 29),
	}
}

func offering(name, zone string, ct model.CapacityType, price int64) model.Offering {
	return model.Offering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: ct, Price: price}
}

func class(id string, cpu, memory int64) model.PodClass {
	return model.PodClass{
		ID: model.ClassID(id), Namespace: "shop", Labels: model.Labels{{Key: "app", Value: id}}, Requests: amounts(cpu, memory, 1),
		OwnerKind: "ReplicaSet", OwnerName: id, Tolerations: []model.Toleration{{Key: "team", Exists: true}},
	}
}

func pending(id, class string) model.Pod {
	return model.Pod{ID: model.PodID(id), Class: model.ClassID(class), Phase: model.PodUnschedulable, UnschedulableTime: at(0)}
}

func running(id, class, node string) model.Pod {
	return model.Pod{ID: model.PodID(id), Class: model.ClassID(class), Node: model.NodeName(node), Phase: model.PodRunning, Ready: true}
}

// market is a cluster without nodes: one pool, three types in two zones, one DaemonSet.
func market() model.Input {
	daemon := class("daemon", 100, gib/4)
	daemon.Daemon, daemon.Tolerations, daemon.OwnerKind = true, []model.Toleration{{Exists: true}}, "DaemonSet"
	s := model.Snapshot{
		Revision: 4, InventoryRevision: 5,
		PodClasses: []model.PodClass{daemon, class("lone", 200, gib/2), class("web", 500, gib)},
		DaemonSets: []model.DaemonSet{{ID: "shop/daemon", Class: "daemon"}},
		NodePools: []model.NodePool{{
			Name: "default", NodeClass: "default", Labels: model.Labels{{Key: "type", Value: "karpenter"}},
			Taints: []model.Taint{{Key: "team", Value: "shop", Effect: model.NoSchedule}},
			Requirements: []model.Requirement{
				{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"on-demand"}},
				{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64", "arm64"}},
			},
			Limits:              model.Amounts{{Resource: "cpu", Value: 16000}},
			ConsolidationPolicy: model.WhenEmptyOrUnderutilized, ConsolidateAfter: ptr(time.Minute),
		}},
		NodeClasses: []model.NodeClass{{
			Name: "default", Catalog: "k", Zones: []string{"r-1a", "r-1b"},
			Images: []model.MachineImage{{ID: "ami-1", Requirements: []model.Requirement{
				{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}},
			}}},
		}},
		Catalogs: []model.Catalog{{ID: "k", InstanceTypes: []model.InstanceType{
			instanceType("arm", "arm64", 4000, 16*gib), instanceType("large", "amd64", 4000, 16*gib), instanceType("small", "amd64", 2000, 8*gib),
		}}},
	}
	for _, zone := range []string{"r-1a", "r-1b", "r-1c"} {
		s.Offerings = append(s.Offerings,
			offering("arm", zone, model.OnDemand, 50_000), offering("large", zone, model.OnDemand, 200_000),
			offering("small", zone, model.OnDemand, 100_000), offering("small", zone, model.Spot, 30_000))
	}
	return model.Input{Snapshot: s, Now: at(30)}
}

// addNode adds an initialized node of the pool.
func addNode(in *model.Input, name string, t model.InstanceType, price int64) {
	s := &in.Snapshot
	labels := model.Labels{
		{Key: "karpenter.k8s.aws/ec2nodeclass", Value: "default"},
		{Key: "karpenter.sh/capacity-type", Value: "on-demand"},
		{Key: "karpenter.sh/nodepool", Value: "default"},
		{Key: "kubernetes.io/arch", Value: "amd64"},
		{Key: "kubernetes.io/hostname", Value: name},
		{Key: "node.kubernetes.io/instance-type", Value: string(t.Name)},
		{Key: "topology.kubernetes.io/zone", Value: "r-1a"},
		{Key: "type", Value: "karpenter"},
	}
	taints := s.NodePools[0].Taints
	s.Nodes = append(s.Nodes, model.Node{
		Name: model.NodeName(name), Claim: model.ClaimID("c-" + name), Labels: labels, Taints: taints, Allocatable: t.Allocatable,
		Capacity: t.Capacity, Ready: true, CreateTime: at(0), LastPodEventTime: at(1),
	})
	s.Claims = append(s.Claims, model.Claim{
		ID: model.ClaimID("c-" + name), NodePool: "default", NodeClass: "default", State: model.ClaimInitialized,
		InstanceType: t.Name, Zone: "r-1a", CapacityType: model.OnDemand, Price: price, InstanceID: "i-" + name,
		Node: model.NodeName(name), Capacity: t.Capacity, Allocatable: t.Allocatable, InitializeTime: at(1), Taints: taints,
	})
	s.Pods = append(s.Pods, running("shop/daemon-"+name, "daemon", name))
}

// buying asks for nodes for ten pods.
func buying() model.Input {
	in := market()
	for i := range 10 {
		in.Snapshot.Pods = append(in.Snapshot.Pods, pending(fmt.Sprintf("shop/web-%d", i), "web"))
	}
	in.Snapshot.PodClasses[2].NodeSelector = model.Labels{{Key: "type", Value: "karpenter"}}
	return in
}

// removing has an empty node, one whose pod fits on another, and one so full that nothing cheaper holds its pods.
func removing() model.Input {
	in := market()
	small, large := in.Snapshot.Catalogs[0].InstanceTypes[2], in.Snapshot.Catalogs[0].InstanceTypes[1]
	addNode(&in, "n-busy", large, 200_000)
	addNode(&in, "n-empty", small, 100_000)
	addNode(&in, "n-lone", small, 100_000)
	for i := range 7 {
		in.Snapshot.Pods = append(in.Snapshot.Pods, running(fmt.Sprintf("shop/web-%d", i), "web", "n-busy"))
	}
	in.Snapshot.Pods = append(in.Snapshot.Pods, running("shop/lone", "lone", "n-lone"))
	in.Snapshot.PodDisruptionBudgets = []model.PodDisruptionBudget{{
		ID: "shop/lone", Namespace: "shop", DisruptionsAllowed: 1,
		Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{"lone"}}}},
	}}
	in.Snapshot.NodePools[0].Budgets = []model.DisruptionBudget{{Count: 2}}
	return in
}

// replacing has one node that is larger than its pods need.
func replacing() model.Input {
	in := market()
	addNode(&in, "n-large", in.Snapshot.Catalogs[0].InstanceTypes[1], 200_000)
	in.Snapshot.Pods = append(in.Snapshot.Pods, running("shop/lone", "lone", "n-large"))
	return in
}

// filling has free capacity on a node for the pods that wait, and one pod that fits nowhere.
func filling() model.Input {
	in := market()
	addNode(&in, "n-busy", in.Snapshot.Catalogs[0].InstanceTypes[1], 200_000)
	in.Snapshot.PodClasses = append(in.Snapshot.PodClasses, class("xl", 64_000, gib))
	in.Snapshot.Pods = append(in.Snapshot.Pods, pending("shop/web-0", "web"), pending("shop/xl", "xl"))
	return in
}
