package planner_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/mutatetest"
	"github.com/kerf-dev/kerf/services/planner"
)

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

func sized(cpu, gib int64) model.Amounts {
	return model.Amounts{{Resource: "cpu", Value: cpu}, {Resource: "memory", Value: gib << 30}, {Resource: "pods", Value: 30}}
}

func picks(app string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{app}}}}
}

func workload(name string, change func(*model.PodClass)) model.PodClass {
	c := model.PodClass{
		ID: model.ClassID(name), Namespace: "shop", Labels: model.Labels{{Key: "app", Value: name}}, OwnerKind: "ReplicaSet", OwnerName: name,
		Requests: model.Amounts{{Resource: "cpu", Value: 700}, {Resource: "memory", Value: 1 << 30}, {Resource: "pods", Value: 1}},
	}
	change(&c)
	return c
}

// busy is a small cluster with something of everything that plans are about.
func busy() model.Input {
	near := func(key, app string) []model.PodAffinityTerm {
		return []model.PodAffinityTerm{{TopologyKey: key, Namespaces: []string{"shop"}, Selector: picks(app)}}
	}
	s := model.Snapshot{
		Revision: 4, InventoryRevision: 2, Cluster: "c", ObserveTime: noon(),
		PodClasses: []model.PodClass{
			workload("alone", func(c *model.PodClass) { c.PodAntiAffinity = near("kubernetes.io/hostname", "alone") }),
			workload("daemon", func(c *model.PodClass) { c.Daemon, c.OwnerKind = true, "DaemonSet" }),
			workload("data", func(c *model.PodClass) {
				c.Volumes = []model.VolumeTopology{{Name: "shop/d", Driver: "ebs.csi.aws.com", Terms: []model.NodeAffinityTerm{{
					Requirements: []model.Requirement{{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: []string{"r-1b"}}},
				}}}}
				c.VolumeAttachments = model.Amounts{{Resource: "ebs.csi.aws.com", Value: 1}}
			}),
			workload("even", func(c *model.PodClass) {
				c.TopologySpread = []model.TopologySpread{{TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 1, Required: true, Selector: picks("even")}}
			}),
			workload("near", func(c *model.PodClass) { c.PodAffinity = near("topology.kubernetes.io/zone", "even") }),
			workload("port", func(c *model.PodClass) {
				c.HostPorts, c.Priority = []model.HostPort{{Protocol: "TCP", Port: 80}}, 10
				c.Tolerations = []model.Toleration{{Key: "team", Exists: true}}
			}),
		},
		DaemonSets: []model.DaemonSet{{ID: "shop/daemon", Class: "daemon"}},
		Namespaces: []model.Namespace{{Name: "shop"}},
		NodePools: []model.NodePool{
			{
				Name: "default", NodeClass: "default", ConsolidationPolicy: model.WhenEmptyOrUnderutilized, ConsolidateAfter: new(time.Duration(0)),
				Budgets: []model.DisruptionBudget{{Count: 50, IsPercent: true}, {Count: 3, Schedule: "0 9 * * *", Duration: 8 * time.Hour}},
				Limits:  model.Amounts{{Resource: "cpu", Value: 40000}},
			},
			{
				Name: "team", NodeClass: "default", Weight: 5, ConsolidationPolicy: model.WhenEmpty, Labels: model.Labels{{Key: "team", Value: "a"}},
				Taints: []model.Taint{{Key: "team", Effect: model.NoSchedule}},
				Requirements: []model.Requirement{
					{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"spot"}},
					{Key: "node.kubernetes.io/instance-type", Operator: model.Exists, MinValues: 2},
				},
			},
		},
		NodeClasses: []model.NodeClass{{Name: "default", Catalog: "k", Zones: []string{"r-1a", "r-1b"}, Images: []model.MachineImage{{ID: "ami"}}}},
		Catalogs:    []model.Catalog{{ID: "k"}},
		PodDisruptionBudgets: []model.PodDisruptionBudget{
			{ID: "shop/even", Namespace: "shop", Selector: picks("even"), DisruptionsAllowed: 1},
		},
	}
	for i, name := range []string{"large", "small", "wide"} {
		cpu, gib := []int64{8000, 2000, 16000}[i], []int64{32, 8, 32}[i]
		s.Catalogs[0].InstanceTypes = append(s.Catalogs[0].InstanceTypes, model.InstanceType{
			Name: model.TypeName(name), Capacity: sized(cpu, gib), Allocatable: sized(cpu-200, gib-1),
			Labels: model.Labels{{Key: "kubernetes.io/arch", Value: "amd64"}, {Key: "kubernetes.io/os", Value: "linux"}},
		})
		for _, zone := range []string{"r-1a", "r-1b"} {
			s.Offerings = append(s.Offerings,
				model.Offering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: model.Spot, Price: cpu * 20},
				model.Offering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: model.OnDemand, Price: cpu * 60})
		}
	}
	for i, name := range []string{"n1", "n2"} {
		t, zone := s.Catalogs[0].InstanceTypes[i], []string{"r-1a", "r-1b"}[i]
		s.Nodes = append(s.Nodes, model.Node{
			Name: model.NodeName(name), Claim: model.ClaimID("c-" + name), Capacity: t.Capacity, Allocatable: t.Allocatable, Ready: true,
			Labels: model.Labels{
				{Key: "karpenter.sh/nodepool", Value: "default"},
				{Key: "kubernetes.io/hostname", Value: name},
				{Key: "topology.kubernetes.io/zone", Value: zone},
			},
		})
		s.Claims = append(s.Claims, model.Claim{
			ID: model.ClaimID("c-" + name), NodePool: "default", NodeClass: "default", State: model.ClaimInitialized, InstanceType: t.Name, Zone: zone,
			CapacityType: model.OnDemand, Price: 300_000, Node: model.NodeName(name), InstanceID: "i-" + name, Capacity: t.Capacity,
			Allocatable: t.Allocatable, CreateTime: noon().Add(-3 * time.Hour), InitializeTime: noon().Add(-2 * time.Hour),
		})
	}
	s.Claims = append(s.Claims, model.Claim{
		ID: "c-new", NodePool: "default", NodeClass: "default", State: model.ClaimLaunching, Pods: []model.PodID{"shop/even-0"},
		Offerings: []model.RankedOffering{
			{InstanceType: "large", Zone: "r-1a", CapacityType: model.OnDemand, Price: 480_000},
			{InstanceType: "large", Zone: "r-1b", CapacityType: model.OnDemand, Price: 480_000},
		},
	})
	for _, app := range []string{"alone", "data", "even", "near", "port"} {
		for i := range 4 {
			p := model.Pod{ID: model.PodID(fmt.Sprintf("shop/%s-%d", app, i)), Class: model.ClassID(app), Phase: model.PodUnschedulable}
			if i == 3 {
				p.Node, p.Phase, p.Ready = "n1", model.PodRunning, true
			}
			s.Pods = append(s.Pods, p)
		}
	}
	return model.Input{Snapshot: s, Now: noon(), Seed: 1}
}

// FuzzDecide asks for plans for a cluster that was changed here and there. A question is refused as invalid or answered;
// each answer is verified before it is given, so that a plan that breaks a rule is an error of another kind.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a kerf is the width that a saw wastes"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := mutatetest.Choices(data)
		request := convert.Request(busy())
		mutatetest.Message(&c, request, 12)
		_, err := planner.Decide(t.Context(), request)
		if err != nil && status.Code(err) != codes.InvalidArgument {
			t.Fatal(err)
		}
	})
}
