package convert

import (
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// mostTexts bounds what Texts knows: 2,000 nodes and what they are, several times over.
const mostTexts = 1 << 16

// Texts holds each text once that many objects have: labels, the names of types, zones and resources, which class a pod
// is of and which node it is on. A message that comes over the wire has a copy of its own of each. The zero value knows
// none; it is not safe for concurrent use.
type Texts struct{ known map[string]string }

// share has a field refer to the one copy of its text.
func (t *Texts) share(fields ...*string) {
	for _, field := range fields {
		text, known := t.known[*field]
		switch {
		case known:
			*field = text
			continue
		case *field == "":
			continue
		case t.known == nil || len(t.known) >= mostTexts: // what objects hold stays with them
			t.known = make(map[string]string)
		}
		t.known[*field] = *field
	}
}

// Share has the objects of a snapshot, or of a part of one, refer to the same copy of a text, and to that of all
// messages before it. It changes the messages, not what they say.
func (t *Texts) Share(s *clusterpb.Snapshot) {
	for _, c := range s.GetPodClasses() {
		t.share(&c.Id, &c.Namespace, &c.OwnerKind, &c.SchedulerName)
		t.labels(c.GetLabels(), c.GetNodeSelector())
		t.amounts(c.GetRequests(), c.GetVolumeAttachments())
		t.requirements(c.GetDefaultSelector().GetRequirements())
		for _, s := range c.GetTopologySpread() {
			t.share(&s.TopologyKey)
			t.requirements(s.GetSelector().GetRequirements())
		}
	}
	for _, p := range s.GetPods() {
		t.share(&p.ClassId, &p.Node, &p.NominatedNode, &p.ExpectedNode)
	}
	for _, n := range s.GetNodes() {
		t.share(&n.Name, &n.Claim)
		t.labels(n.GetLabels())
		t.amounts(n.GetAllocatable(), n.GetCapacity(), n.GetVolumeLimits())
		t.taints(n.GetTaints())
	}
	for _, c := range s.GetCatalogs() {
		for _, i := range c.GetInstanceTypes() {
			t.share(&i.Name)
			t.labels(i.GetLabels())
			t.amounts(i.GetCapacity(), i.GetAllocatable())
		}
	}
	for _, o := range s.GetOfferings() {
		t.share(&o.InstanceType, &o.Zone, &o.ZoneId)
	}
	for _, c := range s.GetClaims() {
		t.claim(c)
	}
}

func (t *Texts) claim(c *clusterpb.Claim) {
	t.share(&c.Id, &c.NodePool, &c.NodeClass, &c.PoolHash, &c.ClassHash, &c.InstanceType, &c.Zone, &c.ImageId, &c.Node, &c.PlanId)
	t.labels(c.GetLabels(), c.GetAnnotations())
	t.amounts(c.GetRequests(), c.GetCapacity(), c.GetAllocatable())
	t.taints(c.GetTaints(), c.GetStartupTaints())
	t.requirements(c.GetRequirements())
	for _, o := range c.GetOfferings() {
		t.share(&o.InstanceType, &o.Zone)
	}
}

func (t *Texts) labels(lists ...[]*clusterpb.Label) {
	for _, list := range lists {
		for _, l := range list {
			t.share(&l.Key, &l.Value)
		}
	}
}

func (t *Texts) amounts(lists ...[]*clusterpb.Amount) {
	for _, list := range lists {
		for _, a := range list {
			t.share(&a.Resource)
		}
	}
}

func (t *Texts) taints(lists ...[]*clusterpb.Taint) {
	for _, list := range lists {
		for _, one := range list {
			t.share(&one.Key, &one.Value)
		}
	}
}

func (t *Texts) requirements(list []*clusterpb.Requirement) {
	for _, q := range list {
		t.share(&q.Key)
		for i := range q.GetValues() {
			t.share(&q.Values[i])
		}
	}
}
