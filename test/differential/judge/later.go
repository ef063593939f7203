package judge

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// leaving says that a node is on its way out. It is not there any more in any world, and neither are its pods, but where
// the plan has them.
func (t *trial) leaving(n *model.Node) bool {
	s := &t.c.Input.Snapshot
	return n.Terminating || slices.ContainsFunc(s.Claims, func(c model.Claim) bool { return c.ID == n.Claim && c.State >= model.ClaimDraining }) ||
		slices.ContainsFunc(s.Notices, func(x model.Notice) bool { return n.Claim != "" && x.Claim == n.Claim })
}

func (t *trial) gone(name model.NodeName) bool {
	s := &t.c.Input.Snapshot
	return slices.ContainsFunc(s.Nodes, func(n model.Node) bool { return n.Name == name && t.leaving(&n) })
}

// stays says whether a bound pod is where it is in this world.
func (w *world) stays(p *model.Pod) bool {
	moved := func(x model.Placement) bool { return x.Pod == p.ID }
	if w.soonLeaves(p) {
		return false
	}
	return !w.gone(p.Node) || w.lingers != nil && w.lingers(p.Node) && !slices.ContainsFunc(w.order, moved)
}

// soonLeaves says whether a pod that is ending will have gone by the time that planned pods come.
func (t *trial) soonLeaves(p *model.Pod) bool {
	in := &t.c.Input
	at := slices.IndexFunc(in.Snapshot.Nodes, func(n model.Node) bool { return n.Name == p.Node })
	if at < 0 {
		return false
	}
	soon, _ := rules.Leaves(p, t.classes[p.Class], &in.Snapshot.Nodes[at], in.Policy.RoomWait, in.Now)
	return soon
}

// linger puts the nodes back that are on their way out, for no more pods.
func (w *world) linger() {
	w.lingering = len(w.nodes)
	if w.lingers == nil {
		return
	}
	for _, n := range w.c.Input.Snapshot.Nodes {
		if w.leaving(&n) && w.lingers(n.Name) {
			n.Unschedulable = true
			n.Taints = append(slices.Clone(n.Taints), model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule})
			w.nodes = append(w.nodes, once(w.made.nodes, "leaving "+string(n.Name), func() *kube.Node { return kube.NewNode(&n) }))
		}
	}
}

// attachLimits are those of a new node of a type: the highest that ready nodes of its type tell. Where they tell different
// ones, or none, volumes are just being detached.
func (t *trial) attachLimits(name model.TypeName) model.Amounts {
	var out model.Amounts
	for _, n := range t.c.Input.Snapshot.Nodes {
		own, _ := n.Labels.Get(labels.InstanceType)
		if most := n.VolumeLimits.Value(gen.EBS); n.Ready && own == string(name) && most > out.Value(gen.EBS) {
			out = model.Amounts{{Resource: gen.EBS, Value: most}}
		}
	}
	return out
}

// tooMany says that a node of a type does not attach all volumes of a class's pod, also where its driver is not there yet
// and the scheduler knows no limit.
func (t *trial) tooMany(c *model.PodClass, name model.TypeName) bool {
	limit, known := t.attachLimits(name).Get(gen.EBS)
	var own int64
	for _, v := range c.Volumes {
		if v.Driver == gen.EBS {
			own++
		}
	}
	return known && own > limit
}

// tooManyOn says the same of a node that has not joined.
func (w *world) tooManyOn(name string, c *model.PodClass) bool {
	i := slices.IndexFunc(w.nodes, func(n *kube.Node) bool { return n.Name == name })
	return i >= w.joined && i < w.lingering && w.tooMany(c, model.TypeName(w.nodes[i].Labels[labels.InstanceType]))
}

// devices are those that a pool's new node of a type has, as the pool says.
func devices(p *model.NodePool, name model.TypeName) []model.NodeDevice {
	for _, t := range p.Devices {
		if slices.Contains(t.InstanceTypes, name) {
			return t.Devices
		}
	}
	return nil
}

// overlaid is what a node of a type and an offering has for pods, with what overlays add.
func (t *trial) overlaid(it *model.InstanceType, as model.RankedOffering) model.Amounts {
	out := it.Allocatable
	for _, o := range t.c.Input.Snapshot.NodeOverlays {
		holds := func(r model.Requirement) bool {
			switch r.Key {
			case labels.InstanceType:
				return slices.Contains(r.Values, string(it.Name))
			case labels.CapacityType:
				return slices.Contains(r.Values, as.CapacityType.String())
			}
			return false
		}
		if slices.ContainsFunc(o.Requirements, func(r model.Requirement) bool { return !holds(r) }) {
			continue
		}
		out = append(slices.Clone(out), o.Capacity...)
	}
	return out
}

// remove takes the nodes away that the plan removes, once all planned pods are where they are planned, and places their
// pods at their destinations. A plan gives no order for these: any that works will do.
func (w *world) remove() error {
	going := make(map[string]bool)
	var moved []model.Placement
	for _, d := range w.Plan.Disruptions {
		moved = append(moved, d.Destinations...)
		for _, id := range d.Candidates {
			going["claim-"+string(id)] = true // where it has not joined
			for _, n := range w.c.Input.Snapshot.Nodes {
				if n.Claim == id {
					going[string(n.Name)] = true
				}
			}
		}
	}
	if len(going) == 0 {
		return nil
	}
	w.nodes = slices.DeleteFunc(w.nodes, func(n *kube.Node) bool { return going[n.Name] })
	w.pods = slices.DeleteFunc(w.pods, func(p *kube.Pod) bool {
		if going[p.Spec.NodeName] {
			w.objects.Free(p)
		}
		return going[p.Spec.NodeName]
	})
	return w.settle(moved)
}

// virtual is one of the pods that a buffer keeps capacity for; nil where it is none.
func (t *trial) virtual(id model.PodID) *model.Pod {
	for _, b := range t.c.Input.Snapshot.CapacityBuffers {
		if of, ok := id.Buffer(); ok && of == b.ID {
			return &model.Pod{ID: id, UID: string(id), Class: b.Class}
		}
	}
	return nil
}
