package gen

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// fpga is a resource that nodes have by an overlay alone.
const fpga = "example.com/fpga"

// once is true once in n, by the draws of later families.
func (b *builder) once(n int) bool { return b.later.IntN(n) == 0 }

// ease takes rules from a class, in a cluster in which most pods are to fit.
func (b *builder) ease(c *model.PodClass) {
	if !b.has(Roomy) {
		return
	}
	if !b.once(3) {
		c.NodeSelector, c.NodeAffinity = nil, nil
	}
	if !b.once(3) {
		required := func(t model.PodAffinityTerm) bool { return t.Weight == 0 }
		c.PodAffinity = slices.DeleteFunc(c.PodAffinity, required)
	}
	if cpu := c.Requests.Value(model.CPU); cpu > 900 && !b.once(3) {
		c.Requests = amounts(cpu/4, c.Requests.Value(model.Memory)/4, 1, c.Requests.Value(gpu))
	}
}

// changePools makes the first pool one that takes nearly everything, limits pools by several resources, makes static
// ones, and lets them be consolidated.
func (b *builder) changePools() {
	for i := range b.in.Snapshot.NodePools {
		p := &b.in.Snapshot.NodePools[i]
		if b.has(Roomy) && i == 0 {
			p.Taints, p.Limits = nil, nil
			p.Requirements = []model.Requirement{{Key: labels.CapacityType, Operator: model.In, Values: []string{"on-demand", "spot"}}}
		}
		if b.has(ResourceLimits) && b.once(2) {
			b.limit(p)
		}
		if b.has(Static) && b.once(2) {
			replicas := int64(b.later.IntN(4))
			p.Replicas, p.Weight = &replicas, 0
			p.Limits = slices.DeleteFunc(p.Limits, func(a model.Amount) bool { return a.Resource != model.Nodes })
			for j := range p.Requirements {
				p.Requirements[j].MinValues = 0
			}
		}
		if b.has(Removals) {
			p.ConsolidationPolicy, p.ConsolidateAfter = model.WhenEmptyOrUnderutilized, new(time.Duration)
			p.Budgets = []model.DisruptionBudget{{Count: 100, IsPercent: true}}
		}
	}
	if b.has(Removals) {
		b.in.Kinds = nil
	}
}

// limit caps a pool by some of the resources that its nodes have.
func (b *builder) limit(p *model.NodePool) {
	p.Limits = nil
	for _, l := range []struct {
		of   model.Resource
		step int64
	}{{model.CPU, 1000}, {gpu, 1}, {model.Memory, 2 * gib}, {model.Nodes, 1}} {
		if !b.once(2) {
			continue
		}
		most := 16
		if l.step == 1 {
			most = 4
		}
		p.Limits = append(p.Limits, model.Amount{Resource: l.of, Value: int64(b.later.IntN(most)) * l.step})
	}
	slices.SortFunc(p.Limits, func(x, y model.Amount) int { return cmp.Compare(x.Resource, y.Resource) })
}

// changeNodes lets some nodes go away, as their claims or they themselves say, and gives claims the price of their node.
func (b *builder) changeNodes() {
	s := &b.in.Snapshot
	for i := range s.Claims {
		c := &s.Claims[i]
		if b.has(Removals) && c.InstanceType != "" {
			for _, o := range s.Offerings {
				if o.InstanceType == c.InstanceType && o.Zone == c.Zone && o.CapacityType == c.CapacityType {
					c.Price = o.Price
				}
			}
		}
		if !b.has(Leaving) || c.Node == "" || !b.once(3) {
			continue
		}
		at := slices.IndexFunc(s.Nodes, func(n model.Node) bool { return n.Name == c.Node })
		switch b.later.IntN(3) {
		case 0:
			s.Nodes[at].Terminating = true
		case 1:
			c.State = model.ClaimDraining
		case 2:
			s.Notices = append(s.Notices, model.Notice{
				ID: "n-" + string(c.ID), Kind: model.NoticeSpotInterruption, InstanceID: c.InstanceID, Claim: c.ID,
				EventTime: Now().Add(-time.Second), Deadline: Now().Add(2 * time.Minute),
			})
		}
	}
}

// changePods nominates pods to nodes, as an earlier plan would have.
func (b *builder) changePods() {
	s := &b.in.Snapshot
	if !b.has(Expected) || len(s.Nodes) == 0 {
		return
	}
	for i := range s.Pods {
		if s.Pods[i].Node == "" && b.once(3) {
			s.Pods[i].ExpectedNode = s.Nodes[b.later.IntN(len(s.Nodes))].Name
		}
	}
}

// buffers asks for capacity for pods that are not there.
func (b *builder) buffers() {
	if !b.has(Buffers) {
		return
	}
	s := &b.in.Snapshot
	c := model.PodClass{
		ID: "buffer", Namespace: "shop", Labels: model.Labels{{Key: "app", Value: "buffer"}}, OwnerKind: "CapacityBuffer", OwnerName: "headroom",
		Requests: amounts([]int64{250, 900, 1500}[b.later.IntN(3)], gib, 1, 0), SchedulerName: "default-scheduler",
	}
	if b.once(3) {
		c.Tolerations = []model.Toleration{{Exists: true}}
	}
	s.PodClasses = append(s.PodClasses, c)
	s.CapacityBuffers = []model.CapacityBuffer{{
		ID: "shop/headroom", Class: c.ID, Replicas: int64(1 + b.later.IntN(4)), CreateTime: Now().Add(-time.Hour),
	}}
}

// overlays changes prices, and gives nodes a resource that the catalogue does not know, which one class of pods asks for.
func (b *builder) overlays() {
	if !b.has(Overlays) {
		return
	}
	s := &b.in.Snapshot
	price := int64(20000 + b.later.IntN(10)*50000)
	s.NodeOverlays = []model.NodeOverlay{{Name: "price", Weight: 1, Price: &price, Requirements: []model.Requirement{
		{Key: labels.InstanceType, Operator: model.In, Values: []string{"big", "medium"}},
	}}}
	o := model.NodeOverlay{Name: "fpga", Weight: 2, Capacity: model.Amounts{{Resource: fpga, Value: int64(1 + b.later.IntN(3))}}}
	if b.once(2) {
		o.Requirements = []model.Requirement{{Key: labels.CapacityType, Operator: model.In, Values: []string{"on-demand"}}}
	} else {
		o.Requirements = []model.Requirement{{Key: labels.InstanceType, Operator: model.In, Values: []string{"large", "medium"}}}
	}
	s.NodeOverlays = append([]model.NodeOverlay{o}, s.NodeOverlays...)
	if len(b.classes) == 0 {
		return
	}
	c := b.lookup(b.classes[b.later.IntN(len(b.classes))])
	// A claim in flight may be of a type that its pool does not buy any more, for which overlays are not asked.
	running := func(p model.Pod) bool { return p.Class == c.ID && p.Node != "" }
	if b.has(Flights) || slices.ContainsFunc(s.Pods, running) {
		return
	}
	c.Requests = append(slices.Clone(c.Requests), model.Amount{Resource: fpga, Value: 1})
	slices.SortFunc(c.Requests, func(x, y model.Amount) int { return cmp.Compare(x.Resource, y.Resource) })
}
