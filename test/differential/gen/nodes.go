package gen

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// node draws a node that runs, mostly one of Kerf's, with pods.
func (b *builder) node(name string) {
	types := b.in.Snapshot.Catalogs[0].InstanceTypes
	t := types[b.IntN(len(types))]
	pool := &b.in.Snapshot.NodePools[b.IntN(len(b.in.Snapshot.NodePools))]
	zone, ct := pick(b, b.zones...), pick(b, model.OnDemand, model.OnDemand, model.Spot)
	n := model.Node{
		Name: model.NodeName(name), Labels: NodeLabels(pool, t.Labels, zone, ct), Taints: slices.Clone(pool.Taints),
		Allocatable: t.Allocatable, Capacity: t.Capacity, Ready: true, CreateTime: Now().Add(-time.Hour),
	}
	n.Labels = With(n.Labels, labels.Hostname, name)
	if b.has(OpenLabels) && b.one(2) {
		n.Labels = With(n.Labels, "team", pick(b, "a", "b", "c"))
	}
	if b.has(Attach) && b.one(2) {
		n.VolumeLimits = model.Amounts{{Resource: EBS, Value: int64(b.IntN(3))}}
	}
	if b.has(Cordon) && b.one(3) {
		n.Unschedulable = true
		n.Taints = append(n.Taints, model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule})
	}
	if b.one(4) {
		n.Taints = append(n.Taints, model.Taint{Key: "maintenance", Effect: pick(b, model.NoSchedule, model.PreferNoSchedule)})
	}
	if b.one(4) {
		b.in.Snapshot.Nodes = append(b.in.Snapshot.Nodes, n)
		b.bind(&n)
		return
	}
	n.Claim = model.ClaimID("c-" + name)
	b.in.Snapshot.Nodes = append(b.in.Snapshot.Nodes, n)
	b.in.Snapshot.Claims = append(b.in.Snapshot.Claims, model.Claim{
		ID: n.Claim, NodePool: pool.Name, NodeClass: pool.NodeClass, State: model.ClaimInitialized, Reached: model.ClaimInitialized,
		Labels: pool.Labels, Taints: pool.Taints, InstanceType: t.Name, Zone: zone, CapacityType: ct, Price: 100000, Node: n.Name,
		InstanceID: "i-" + name, Capacity: t.Capacity, Allocatable: t.Allocatable,
		CreateTime: Now().Add(-time.Hour), InitializeTime: Now().Add(-time.Hour), StateTime: Now().Add(-time.Hour),
	})
	b.bind(&n)
}

// bind puts pods onto a node that have free capacity there. They need not be where their other rules want them: labels
// change, and pods stay.
func (b *builder) bind(n *model.Node) {
	left := make(map[model.Resource]int64)
	for _, a := range n.Allocatable {
		left[a.Resource] = a.Value
	}
	ports := map[int32]bool{}
	for range b.IntN(4) {
		c := b.lookup(b.classes[b.IntN(len(b.classes))])
		if single(c) && slices.ContainsFunc(b.in.Snapshot.Pods, func(p model.Pod) bool { return p.Class == c.ID }) {
			continue
		}
		fits := !slices.ContainsFunc(c.Requests, func(a model.Amount) bool { return a.Value > left[a.Resource] })
		free := !slices.ContainsFunc(c.HostPorts, func(p model.HostPort) bool { return ports[p.Port] })
		if !fits || !free {
			continue
		}
		for _, a := range c.Requests {
			left[a.Resource] -= a.Value
		}
		for _, p := range c.HostPorts {
			ports[p.Port] = true
		}
		p := b.newPod(c)
		p.Node, p.Phase, p.Ready, p.Terminating = n.Name, model.PodRunning, true, b.one(10)
		if p.Terminating && b.one(2) {
			p.TerminationDeadline = Now().Add(time.Duration(b.IntN(75)-20) * time.Second)
		}
		b.in.Snapshot.Pods = append(b.in.Snapshot.Pods, p)
	}
	for _, d := range b.in.Snapshot.DaemonSets {
		if !b.one(2) {
			continue
		}
		p := b.newPod(b.lookup(d.Class))
		p.Node, p.Phase, p.Ready = n.Name, model.PodRunning, true
		b.in.Snapshot.Pods = append(b.in.Snapshot.Pods, p)
	}
}

// flight draws a claim whose node has not joined yet, with some of the pods that it was bought for.
func (b *builder) flight(name string) {
	pool := &b.in.Snapshot.NodePools[b.IntN(len(b.in.Snapshot.NodePools))]
	c := model.Claim{
		ID: model.ClaimID(name), NodePool: pool.Name, NodeClass: pool.NodeClass, State: model.ClaimPlanned,
		Labels: pool.Labels, Taints: pool.Taints, StartupTaints: pool.StartupTaints,
		CreateTime: Now().Add(-time.Minute), StateTime: Now().Add(-time.Minute),
	}
	for _, r := range pool.Requirements {
		if r.Key == "team" && r.Operator == model.In {
			c.Labels = With(c.Labels, "team", r.Values[0])
			c.Requirements = append(c.Requirements, r)
		}
	}
	offerings := b.in.Snapshot.Offerings
	for range 1 + b.IntN(3) {
		o := offerings[b.IntN(len(offerings))]
		ranked := model.RankedOffering{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price}
		if !slices.Contains(c.Offerings, ranked) {
			c.Offerings = append(c.Offerings, ranked)
		}
	}
	slices.SortFunc(c.Offerings, model.RankedOffering.Compare)
	if b.one(3) {
		o := c.Offerings[0]
		c.State, c.InstanceType, c.Zone, c.CapacityType, c.Price = model.ClaimLaunched, o.InstanceType, o.Zone, o.CapacityType, o.Price
	}
	for _, p := range b.in.Snapshot.Pods {
		if p.Node == "" && b.one(4) {
			c.Pods = append(c.Pods, p.ID)
		}
	}
	b.in.Snapshot.Claims = append(b.in.Snapshot.Claims, c)
}
