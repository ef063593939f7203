package gen

import (
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// last is true once in n, by the draws of the latest families.
func (b *builder) last(n int) bool { return b.latest.IntN(n) == 0 }

// defaults are the scheduler's default spread, for classes of which it is known what their pods belong to.
func (b *builder) defaults() {
	if !b.has(Defaults) {
		return
	}
	hard := func(key string, skew int32) model.TopologySpread {
		return model.TopologySpread{TopologyKey: key, MaxSkew: skew, Required: true}
	}
	all := [][]model.TopologySpread{
		{hard(labels.Zone, 1)},
		{hard(labels.Hostname, 2)},
		{hard(labels.Zone, 2), hard(labels.Hostname, 1)},
		{hard(labels.CapacityType, 1), {TopologyKey: labels.Zone, MaxSkew: 1}},
	}
	b.in.Policy.DefaultSpread = all[b.latest.IntN(len(all))]
	for _, id := range b.classes {
		c := b.lookup(id)
		if own, _ := c.Labels.Get("app"); !b.last(4) {
			c.DefaultSelector = &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{own}}}}
		}
		if b.last(2) {
			c.TopologySpread = nil
		}
	}
}

// several ties the pods of one class by three topologies or more.
func (b *builder) several() {
	if !b.has(Several) {
		return
	}
	c := b.lookup(b.classes[b.latest.IntN(len(b.classes))])
	own, _ := c.Labels.Get("app")
	of := &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{own}}}}
	c.TopologySpread = nil
	for _, key := range []string{labels.Zone, labels.Hostname, labels.CapacityType} {
		c.TopologySpread = append(c.TopologySpread, model.TopologySpread{
			TopologyKey: key, MaxSkew: 1 + int32(b.latest.IntN(2)), Required: true, Selector: of,
		})
	}
	term := model.PodAffinityTerm{TopologyKey: "rack", Selector: of, Namespaces: []string{c.Namespace}}
	switch b.latest.IntN(3) {
	case 0:
		c.PodAffinity = append(c.PodAffinity, term)
	case 1:
		c.PodAntiAffinity = append(c.PodAntiAffinity, term)
	}
}

// mostExclusive is how many classes want one volume: a plan offers it to a few, see mostHeirs of the planner.
const mostExclusive = 4

// exclusive gives the pods of some classes a volume that one of them at a time may use, which one that runs may have.
func (b *builder) exclusive() {
	if !b.has(Exclusive) {
		return
	}
	first := b.lookup(b.classes[b.latest.IntN(len(b.classes))])
	v := model.VolumeTopology{Name: first.Namespace + "/alone", Driver: EBS, Exclusive: true}
	used, others := false, mostExclusive-1
	for _, id := range b.classes {
		c := b.lookup(id)
		if c.Namespace != first.Namespace || (c != first && (others == 0 || !b.last(3))) {
			continue
		}
		if c != first {
			others--
		}
		c.Volumes = slices.Concat([]model.VolumeTopology{v}, c.Volumes)
		slices.SortStableFunc(c.Volumes, func(x, y model.VolumeTopology) int { return strings.Compare(x.Name, y.Name) })
		if len(c.VolumeAttachments) == 0 {
			c.VolumeAttachments = model.Amounts{{Resource: EBS}}
		}
		c.VolumeAttachments[0].Value++
		b.in.Snapshot.Pods = slices.DeleteFunc(b.in.Snapshot.Pods, func(p model.Pod) bool {
			if p.Class != c.ID || p.Node == "" {
				return false
			}
			second := used
			used = true
			return second
		})
	}
}

// newAttach gives all nodes of a type one attach limit, which new nodes have too, and each type a node that tells it.
func (b *builder) newAttach() {
	if !b.has(NewAttach) {
		return
	}
	s := &b.in.Snapshot
	for i := range s.Catalogs[0].InstanceTypes {
		t := &s.Catalogs[0].InstanceTypes[i]
		limit := model.Amounts{{Resource: EBS, Value: int64(1 + b.latest.IntN(3))}}
		known := false
		for j := range s.Nodes {
			if name, _ := s.Nodes[j].Labels.Get(labels.InstanceType); name == string(t.Name) {
				s.Nodes[j].VolumeLimits, known = limit, true
			}
		}
		if known {
			continue
		}
		n := model.Node{
			Name: model.NodeName("t-" + t.Name), Ready: true, CreateTime: Now().Add(-time.Hour), VolumeLimits: limit,
			Labels: With(t.Labels, labels.Zone, b.zones[0]), Allocatable: t.Allocatable, Capacity: t.Capacity,
			Taints: []model.Taint{{Key: "maintenance", Effect: model.NoSchedule}},
		}
		n.Labels = With(With(n.Labels, labels.Hostname, string(n.Name)), keyEBSZone, b.zones[0])
		s.Nodes = append(s.Nodes, n)
	}
}

// kinds gives nodes each reason to be disrupted, and whatever forbids it: budgets of pools and of pods, and pods and nodes
// that must not be disrupted.
func (b *builder) kinds() {
	if !b.has(Kinds) {
		return
	}
	s := &b.in.Snapshot
	b.in.Kinds = nil
	for i := range s.NodePools {
		p := &s.NodePools[i]
		p.ConsolidateAfter = new(time.Duration)
		p.ConsolidationPolicy = []model.ConsolidationPolicy{model.WhenEmpty, model.WhenEmptyOrUnderutilized, model.Balanced}[b.latest.IntN(3)]
		p.Budgets = [][]model.DisruptionBudget{
			{{Count: 1}},
			{{Count: 100, IsPercent: true}},
			{{Count: 100, IsPercent: true}},
			{{Count: 100, IsPercent: true}, {Count: 0, Reasons: []model.DisruptionReason{model.ReasonDrifted}}},
		}[b.latest.IntN(4)]
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.DoNotDisrupt = b.last(6)
		at := slices.IndexFunc(s.Claims, func(c model.Claim) bool { return c.Node == n.Name })
		if at >= 0 {
			b.reason(n, &s.Claims[at])
		}
	}
	for i := range s.Pods {
		s.Pods[i].DoNotDisrupt = s.Pods[i].Node != "" && b.last(8)
	}
	for _, app := range []string{"api", "db", "web"} {
		if b.last(2) {
			s.PodDisruptionBudgets = append(s.PodDisruptionBudgets, model.PodDisruptionBudget{
				ID: "shop/" + app, Namespace: "shop", DisruptionsAllowed: int32(b.latest.IntN(3)),
				Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{app}}}},
			})
		}
	}
}

// reason draws why a node is to go, or none.
func (b *builder) reason(n *model.Node, c *model.Claim) {
	switch b.latest.IntN(6) {
	case 0:
		c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "its image is not that of its class any more"}
	case 1:
		c.ExpireTime = Now().Add(-time.Minute)
	case 2:
		c.ExpireTime, c.TerminationGracePeriod = Now().Add(-time.Minute), new(time.Duration)
	case 3:
		n.Conditions = []model.NodeCondition{{Type: "Ready", Status: "False", TransitionTime: Now().Add(-time.Hour)}}
	}
}
