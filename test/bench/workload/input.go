package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// MiB is a mebibyte.
	MiB = int64(1) << 20
	// className and catalogID name the one node class and its types.
	className = "default"
	catalogID = "types"
	awsLabel  = "karpenter.k8s.aws/"
	gpus      = model.Resource("nvidia.com/gpu")
)

// Now is the time that is planned for. It is no part of the files, and nothing in them depends on it.
func Now() time.Time { return time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) }

// World is a workload on a catalogue, as the planner sees it.
type World struct {
	Catalog  *Catalog
	Workload *Workload
	Types    map[string]*Type
	Input    model.Input
	// Shapes are those of pods, by their ids.
	Shapes map[model.PodID]int
}

// New makes the planner's input: what the catalogue sells, the pools, the nodes with their claims, and the pods.
func New(c *Catalog, w *Workload) (*World, error) {
	x := &World{Catalog: c, Workload: w, Types: make(map[string]*Type, len(c.Types)), Shapes: make(map[model.PodID]int)}
	x.Input.Now = Now()
	s := &x.Input.Snapshot
	s.Revision, s.InventoryRevision, s.Cluster, s.ObserveTime = 1, 1, "bench", Now()
	s.Namespaces = []model.Namespace{{Name: "default", Labels: model.Labels{{Key: labels.NamespaceName, Value: "default"}}}}
	x.addMarket(s)
	for i := range w.Pools {
		p, err := pool(&w.Pools[i])
		if err != nil {
			return nil, err
		}
		s.NodePools = append(s.NodePools, p)
	}
	for i := range w.Shapes {
		class, err := podClass(i, &w.Shapes[i])
		if err != nil {
			return nil, err
		}
		s.PodClasses = append(s.PodClasses, class)
	}
	for _, n := range w.Nodes {
		if err := x.addNode(s, n); err != nil {
			return nil, fmt.Errorf("workload %s: node %s: %w", w.Name, n.Name, err)
		}
	}
	x.addPods(s, "", "pending", w.Pending)
	// In the planner's order, so that its sorting is no part of what is measured: the watcher sends lists in order.
	SortBy(s.Catalogs[0].InstanceTypes, func(t model.InstanceType) string { return string(t.Name) })
	SortBy(s.NodePools, func(p model.NodePool) string { return string(p.Name) })
	SortBy(s.Nodes, func(n model.Node) string { return string(n.Name) })
	SortBy(s.Claims, func(c model.Claim) string { return string(c.ID) })
	SortBy(s.Pods, func(p model.Pod) string { return string(p.ID) })
	return x, nil
}

// SortBy sorts by an id; what has the same id keeps its order.
func SortBy[T any](list []T, id func(T) string) {
	slices.SortStableFunc(list, func(a, b T) int { return strings.Compare(id(a), id(b)) })
}

func (x *World) addMarket(s *model.Snapshot) {
	s.NodeClasses = []model.NodeClass{{Name: className, Catalog: catalogID, Zones: slices.Sorted(slices.Values(x.Catalog.Zones))}}
	for _, arch := range []string{"amd64", "arm64"} {
		s.NodeClasses[0].Images = append(s.NodeClasses[0].Images, model.MachineImage{
			ID: "ami-" + arch, Name: arch,
			Requirements: []model.Requirement{{Key: labels.Arch, Operator: model.In, Values: []string{arch}}},
		})
	}
	s.Catalogs = []model.Catalog{{ID: catalogID}}
	for i := range x.Catalog.Types {
		t := &x.Catalog.Types[i]
		x.Types[t.Name] = t
		s.Catalogs[0].InstanceTypes = append(s.Catalogs[0].InstanceTypes, model.InstanceType{
			Name: model.TypeName(t.Name), Labels: t.asLabels(), Capacity: t.amounts(t.CPU, t.Memory), Allocatable: t.amounts(t.FreeCPU, t.FreeMemory),
		})
		for z, zone := range x.Catalog.Zones {
			s.Offerings = append(s.Offerings, offerings(t, z, zone)...)
		}
	}
}

func offerings(t *Type, z int, zone string) []model.Offering {
	var out []model.Offering
	for _, ct := range []model.CapacityType{model.OnDemand, model.Spot} {
		if price := t.price(ct, z); price > 0 {
			out = append(out, model.Offering{InstanceType: model.TypeName(t.Name), Zone: zone, CapacityType: ct, Price: price})
		}
	}
	return out
}

// price is in micro-dollars per hour; 0 where it is not sold.
func (t *Type) price(ct model.CapacityType, zone int) int64 {
	if ct == model.Spot {
		return micro(t.Spot[zone])
	}
	return micro(t.OnDemand[zone])
}

func micro(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }

func (t *Type) asLabels() model.Labels {
	m := map[string]string{
		labels.InstanceType: t.Name, labels.Arch: t.Arch, labels.OS: "linux",
		awsLabel + "instance-category": t.Category, awsLabel + "instance-family": t.Family,
		awsLabel + "instance-generation": strconv.Itoa(t.Generation), awsLabel + "instance-size": t.Size,
		awsLabel + "instance-cpu": strconv.FormatInt(t.CPU/1000, 10), awsLabel + "instance-memory": strconv.FormatInt(t.Memory, 10),
	}
	if t.GPU > 0 {
		m[awsLabel+"instance-gpu-count"] = strconv.FormatInt(t.GPU, 10)
	}
	return asLabels(m)
}

func (t *Type) amounts(cpu, memory int64) model.Amounts {
	out := model.Amounts{{Resource: model.CPU, Value: cpu}, {Resource: model.Memory, Value: memory * MiB}}
	if t.GPU > 0 {
		out = append(out, model.Amount{Resource: gpus, Value: t.GPU})
	}
	return append(out, model.Amount{Resource: model.Pods, Value: t.Pods})
}

// asLabels are a map's entries, sorted by key.
func asLabels(m map[string]string) model.Labels {
	var out model.Labels
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, model.Label{Key: k, Value: m[k]})
	}
	return out
}

func pool(p *Pool) (model.NodePool, error) {
	out := model.NodePool{
		Name: model.PoolName(p.Name), Weight: p.Weight, NodeClass: className, ConsolidationPolicy: model.WhenEmptyOrUnderutilized,
	}
	for _, t := range p.Taints {
		e, err := effect(t.Effect)
		if err != nil {
			return out, err
		}
		out.Taints = append(out.Taints, model.Taint{Key: t.Key, Value: t.Value, Effect: e})
	}
	quiet, err := p.quiet()
	if err != nil {
		return out, err
	}
	budget, err := p.budget()
	if err != nil {
		return out, err
	}
	out.ConsolidateAfter, out.Budgets = &quiet, []model.DisruptionBudget{budget}
	out.Requirements, err = requirements(p.Requirements)
	return out, err
}

// podClass is the class of a shape's pods, which belong to a ReplicaSet of their own.
func podClass(i int, s *Shape) (model.PodClass, error) {
	out := model.PodClass{
		ID: model.ClassID(fmt.Sprintf("c-%06d", i)), Namespace: "default", Labels: asLabels(s.Labels),
		Requests: model.Amounts{
			{Resource: model.CPU, Value: s.CPU}, {Resource: model.Memory, Value: s.Memory * MiB}, {Resource: model.Pods, Value: 1},
		},
		NodeSelector: asLabels(s.NodeSelector), SchedulerName: "default-scheduler", Preempts: true,
		OwnerKind: "ReplicaSet", OwnerName: fmt.Sprintf("shape-%d", i), OwnerRevision: "1",
	}
	if s.GPU > 0 {
		out.Requests = slices.Insert(out.Requests, 2, model.Amount{Resource: gpus, Value: s.GPU})
	}
	reqs, err := requirements(s.Requirements)
	if err != nil {
		return out, err
	}
	if len(reqs) > 0 {
		out.NodeAffinity = []model.NodeAffinityTerm{{Requirements: reqs}}
	}
	for _, t := range s.Spread {
		out.TopologySpread = append(out.TopologySpread, model.TopologySpread{
			TopologyKey: t.Key, MaxSkew: t.MaxSkew, Required: true, Selector: selector(t.Selector),
		})
	}
	for _, t := range s.Affinity {
		out.PodAffinity = append(out.PodAffinity, term(t, 0))
	}
	for _, t := range s.AntiAffinity {
		out.PodAntiAffinity = append(out.PodAntiAffinity, term(t, 0))
	}
	for _, t := range s.PreferredAntiAffinity {
		out.PodAntiAffinity = append(out.PodAntiAffinity, term(Term{t.Key, t.Selector}, t.Weight))
	}
	for _, t := range s.Tolerations {
		tol, err := toleration(t)
		if err != nil {
			return out, err
		}
		out.Tolerations = append(out.Tolerations, tol)
	}
	return out, nil
}

func term(t Term, weight int32) model.PodAffinityTerm {
	return model.PodAffinityTerm{TopologyKey: t.Key, Selector: selector(t.Selector), Namespaces: []string{"default"}, Weight: weight}
}

func selector(m map[string]string) *model.Selector {
	out := &model.Selector{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out.Requirements = append(out.Requirements, model.Requirement{Key: k, Operator: model.In, Values: []string{m[k]}})
	}
	return out
}

// addNode adds a node that has been up for a day, its claim and its pods.
func (x *World) addNode(s *model.Snapshot, n Node) error {
	t := x.Types[n.Type]
	if t == nil {
		return fmt.Errorf("type: the catalogue has no %q", n.Type)
	}
	zone := slices.Index(x.Catalog.Zones, n.Zone)
	if zone < 0 {
		return fmt.Errorf("zone: the catalogue has no %q, but %v", n.Zone, x.Catalog.Zones)
	}
	ct, err := capacityType(n.CapacityType)
	if err != nil {
		return err
	}
	node, claim := Joined(n.Name, model.PoolName(n.Pool), t, model.RankedOffering{
		InstanceType: model.TypeName(t.Name), Zone: n.Zone, CapacityType: ct, Price: t.price(ct, zone),
	})
	if n.Drifted {
		claim.Drifted = model.Reason{Code: model.CodeDrifted, Message: "it is no longer what its pool asks for", Subject: "claim/" + n.Name}
	}
	s.Nodes, s.Claims = append(s.Nodes, node), append(s.Claims, claim)
	x.addPods(s, node.Name, n.Name, n.Pods)
	return nil
}

// Joined is a node that is ready, and its claim, both of the same name.
func Joined(name string, pool model.PoolName, t *Type, o model.RankedOffering) (model.Node, model.Claim) {
	m := map[string]string{
		labels.Hostname: name, labels.Zone: o.Zone, labels.CapacityType: o.CapacityType.String(),
		labels.NodePool: string(pool), labels.NodeClass: className, labels.Registered: "true", labels.Initialized: "true",
	}
	for _, l := range t.asLabels() {
		m[l.Key] = l.Value
	}
	day := Now().Add(-24 * time.Hour)
	node := model.Node{
		Name: model.NodeName(name), ProviderID: "aws:///" + o.Zone + "/i-" + name, Claim: model.ClaimID(name), Labels: asLabels(m),
		Allocatable: t.amounts(t.FreeCPU, t.FreeMemory), Capacity: t.amounts(t.CPU, t.Memory), Ready: true, CreateTime: day,
	}
	claim := model.Claim{
		ID: node.Claim, NodePool: pool, NodeClass: className, State: model.ClaimInitialized, Reached: model.ClaimInitialized,
		Offerings: []model.RankedOffering{o}, InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price,
		InstanceID: "i-" + name, ProviderID: node.ProviderID, Node: node.Name, Capacity: node.Capacity, Allocatable: node.Allocatable,
		CreateTime: day, StateTime: day, LaunchTime: day, InitializeTime: day,
	}
	return node, claim
}

// addPods adds pods that run on a node, or that are pending where the node is "".
func (x *World) addPods(s *model.Snapshot, node model.NodeName, prefix string, counts []Count) {
	i := 0
	for _, c := range counts {
		for range c.Pods {
			p := model.Pod{
				ID: model.PodID(fmt.Sprintf("default/%s-%06d", prefix, i)), Class: s.PodClasses[c.Shape].ID, Node: node,
				Phase: model.PodUnschedulable, CreateTime: Now().Add(-time.Minute), UnschedulableTime: Now().Add(-time.Minute),
			}
			p.UID = string(p.ID)
			if node != "" {
				p.Phase, p.Ready = model.PodRunning, true
				p.CreateTime, p.BindTime, p.UnschedulableTime = Now().Add(-time.Hour), Now().Add(-time.Hour), time.Time{}
			}
			x.Shapes[p.ID] = c.Shape
			s.Pods = append(s.Pods, p)
			i++
		}
	}
}
