package advise_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

const (
	family   = "karpenter.k8s.aws/instance-family"
	category = "karpenter.k8s.aws/instance-category"
	cpus     = "karpenter.k8s.aws/instance-cpu"
	arch     = "kubernetes.io/arch"
	typeKey  = "node.kubernetes.io/instance-type"
	zoneKey  = "topology.kubernetes.io/zone"
	capacity = "karpenter.sh/capacity-type"
	hostname = "kubernetes.io/hostname"
	gib      = int64(1) << 30
)

// shape is a type of the fixture's catalogue: three families of four sizes in two zones, and their spot prices.
type shape struct {
	family, arch string
	cpu, memory  int64
	price        int64
}

func shapes() []shape {
	var out []shape
	for i, size := range []int64{2, 4, 8, 16} {
		n := int64(1) << i
		out = append(out, shape{"c5", "amd64", size, 2 * size, 85_000 * n}, shape{"m5", "amd64", size, 4 * size, 96_000 * n},
			shape{"m6g", "arm64", size, 4 * size, 77_000 * n}, shape{"t3", "amd64", size, 4 * size, 83_000 * n})
	}
	return out
}

func labels(kv ...string) model.Labels {
	var out model.Labels
	for i := 0; i < len(kv); i += 2 {
		out = append(out, model.Label{Key: kv[i], Value: kv[i+1]})
	}
	slices.SortFunc(out, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

func amounts(cpu, memory int64) model.Amounts {
	return model.Amounts{{Resource: model.CPU, Value: cpu}, {Resource: model.Memory, Value: memory}, {Resource: model.Pods, Value: 50}}
}

// world is an input with a catalogue and a node class, and neither pools nor pods.
func world() model.Input {
	in := model.Input{Now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	catalog := model.Catalog{ID: "k"}
	for _, s := range shapes() {
		name := model.TypeName(fmt.Sprintf("%s.%dx", s.family, s.cpu))
		catalog.InstanceTypes = append(catalog.InstanceTypes, model.InstanceType{
			Name: name, Capacity: amounts(1000*s.cpu, s.memory*gib), Allocatable: amounts(1000*s.cpu, s.memory*gib),
			Labels: labels(family, s.family, category, s.family[:1], cpus, fmt.Sprint(s.cpu), arch, s.arch, typeKey, string(name),
				"kubernetes.io/os", "linux"),
		})
		for _, zone := range []string{"z-1a", "z-1b"} {
			for _, ct := range []model.CapacityType{model.OnDemand, model.Spot} {
				price := s.price
				if ct == model.Spot {
					price = price * 3 / 10
				}
				in.Snapshot.Offerings = append(in.Snapshot.Offerings, model.Offering{InstanceType: name, Zone: zone, CapacityType: ct, Price: price})
			}
		}
	}
	in.Snapshot.Catalogs = []model.Catalog{catalog}
	in.Snapshot.NodeClasses = []model.NodeClass{{
		Name: "default", Catalog: "k", Zones: []string{"z-1a", "z-1b"}, Hash: "h", Images: []model.MachineImage{{ID: "ami-1"}},
	}}
	return in
}

// pool adds a pool that buys on demand, with further requirements.
func pool(in *model.Input, name string, reqs ...model.Requirement) *model.NodePool {
	after := time.Duration(0)
	in.Snapshot.NodePools = append(in.Snapshot.NodePools, model.NodePool{
		Name: model.PoolName(name), NodeClass: "default", Hash: "h", ConsolidationPolicy: model.WhenEmptyOrUnderutilized, ConsolidateAfter: &after,
		Requirements: append([]model.Requirement{within(capacity, "on-demand")}, reqs...),
	})
	return &in.Snapshot.NodePools[len(in.Snapshot.NodePools)-1]
}

func within(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

// deployment adds n pending pods of a deployment.
func deployment(in *model.Input, name string, n int, cpuMilli, memory int64) *model.PodClass {
	id := model.ClassID("c-" + name)
	in.Snapshot.PodClasses = append(in.Snapshot.PodClasses, model.PodClass{
		ID: id, Namespace: "shop", Labels: labels("app", name), OwnerKind: "ReplicaSet", OwnerName: name, SchedulerName: "default-scheduler",
		Requests: model.Amounts{{Resource: model.CPU, Value: cpuMilli}, {Resource: model.Memory, Value: memory}, {Resource: model.Pods, Value: 1}},
	})
	for i := range n {
		in.Snapshot.Pods = append(in.Snapshot.Pods, model.Pod{
			ID: model.PodID(fmt.Sprintf("shop/%s-%03d", name, i)), UID: fmt.Sprintf("%s-%d", name, i), Class: id, Phase: model.PodUnschedulable,
			CreateTime: in.Now, UnschedulableTime: in.Now,
		})
	}
	return &in.Snapshot.PodClasses[len(in.Snapshot.PodClasses)-1]
}

// apart keeps the pods of a deployment on nodes of their own.
func apart(name string) []model.PodAffinityTerm {
	return []model.PodAffinityTerm{{
		TopologyKey: hostname, Namespaces: []string{"shop"}, Selector: &model.Selector{Requirements: []model.Requirement{within("app", name)}},
	}}
}

func decided(t *testing.T, in model.Input) model.Plan {
	t.Helper()
	p, err := plan.Decide(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
