package facts

import (
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/extended"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/lacks"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Cluster is the snapshot, indexed. A key that is in no map does not exist.
type Cluster struct {
	Snapshot    *model.Snapshot
	Classes     map[model.ClassID]*model.PodClass
	Pods        map[model.PodID]*model.Pod
	Nodes       map[model.NodeName]*model.Node
	Pools       map[model.PoolName]*model.NodePool
	NodeClasses map[model.NodeClassName]*model.NodeClass
	// PodsOn are the pods bound to a node, in the snapshot's order.
	PodsOn map[model.NodeName][]*model.Pod
	// Claims are all that are known; Live are those of them that have, or will have, an instance.
	Claims, Live map[model.ClaimID]*model.Claim
	// NodeOf is the node that a claim became, ClaimOn the live claim behind a node. Where claim and node name each other,
	// ClaimOn[n.Name] is claim exactly if NodeOf[claim.ID] is n.
	NodeOf  map[model.ClaimID]*model.Node
	ClaimOn map[model.NodeName]*model.Claim

	// noticed are the instances that AWS is about to take.
	noticed rules.Interrupted
	// lacks is what nodes lack of what pods need of them.
	lacks *lacks.Nodes
}

func newCluster(s *model.Snapshot, now time.Time) *Cluster {
	s = extended.Resolve(s)
	c := &Cluster{
		Snapshot:    s,
		Classes:     reachable(s, now),
		Pods:        index(s.Pods, func(x *model.Pod) model.PodID { return x.ID }),
		Nodes:       index(s.Nodes, func(x *model.Node) model.NodeName { return x.Name }),
		Pools:       index(s.NodePools, func(x *model.NodePool) model.PoolName { return x.Name }),
		NodeClasses: index(s.NodeClasses, func(x *model.NodeClass) model.NodeClassName { return x.Name }),
		PodsOn:      make(map[model.NodeName][]*model.Pod),
		Claims:      index(s.Claims, func(x *model.Claim) model.ClaimID { return x.ID }),
		Live:        make(map[model.ClaimID]*model.Claim),
		NodeOf:      make(map[model.ClaimID]*model.Node),
		ClaimOn:     make(map[model.NodeName]*model.Claim),
		noticed:     rules.InterruptedBy(slices.Values(s.Notices)),
		lacks:       lacks.Of(s, now),
	}
	for i := range s.Pods {
		if n := s.Pods[i].Node; n != "" {
			c.PodsOn[n] = append(c.PodsOn[n], &s.Pods[i])
		}
	}
	c.addClaims()
	return c
}

// reachable indexes the classes, with their volumes as they can be reached now, and what they need of nodes among them.
func reachable(s *model.Snapshot, now time.Time) map[model.ClassID]*model.PodClass {
	classes := index(s.PodClasses, func(x *model.PodClass) model.ClassID { return x.ID })
	disks := rules.DisksOf(s, now)
	for id, class := range classes {
		classes[id] = lacks.Needed(disks.Reachable(class))
	}
	return classes
}

func (c *Cluster) addClaims() {
	for i := range c.Snapshot.Claims {
		claim := &c.Snapshot.Claims[i]
		if !claim.Live() {
			continue
		}
		c.Live[claim.ID] = claim
		if n := c.Nodes[claim.Node]; n != nil {
			c.NodeOf[claim.ID] = n
			c.ClaimOn[n.Name] = claim
		}
	}
	for i := range c.Snapshot.Nodes {
		n := &c.Snapshot.Nodes[i]
		if n.Claim != "" {
			c.NodeOf[n.Claim] = n
		}
		if claim := c.Live[n.Claim]; claim != nil {
			c.ClaimOn[n.Name] = claim
		}
	}
}

// LabelsOn are a node's labels, with what it lacks.
func (c *Cluster) LabelsOn(n *model.Node) map[string]string { return LabelMap(c.lacks.Node(n)) }

// LabelsOfNew are labels of a node that is to come, with what it will lack.
func (c *Cluster) LabelsOfNew(pool model.PoolName, typ model.TypeName, own model.Labels) map[string]string {
	return LabelMap(c.lacks.New(pool, typ, own))
}

// AddJoined adds to labels that a node will have once it is registered what its kubelet lacks.
func (c *Cluster) AddJoined(to map[string]string, n *model.Node) {
	maps.Copy(to, LabelMap(c.lacks.Joining(n, nil)))
}

// Class is a pod's class; an empty one when the snapshot has none.
func (c *Cluster) Class(p *model.Pod) *model.PodClass {
	if class := c.Classes[p.Class]; class != nil {
		return class
	}
	return &model.PodClass{}
}

// Movable says whether a pod that is bound to a node needs another one when the node goes: the kubelet's own pods and those
// of DaemonSets end with it, and those being deleted end anyway.
func (c *Cluster) Movable(p *model.Pod) bool {
	class := c.Class(p)
	return !class.Daemon && !class.Mirror && !p.Terminating
}

// MovableOn lists the movable pods of a claim's node.
func (c *Cluster) MovableOn(id model.ClaimID) []*model.Pod {
	var out []*model.Pod
	if n := c.NodeOf[id]; n != nil {
		for _, p := range c.PodsOn[n.Name] {
			if c.Movable(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// Leaving says whether a claim is being taken away already.
func (c *Cluster) Leaving(claim *model.Claim) bool {
	if n := c.NodeOf[claim.ID]; n != nil && NodeLeaving(n) {
		return true
	}
	return c.noticed.Leaving(claim)
}

// Ended says whether a claim was there and has no instance any more.
func (c *Cluster) Ended(id model.ClaimID) bool {
	claim := c.Claims[id]
	return claim != nil && !claim.Live()
}

// Interrupted says whether AWS is about to take a claim's instance.
func (c *Cluster) Interrupted(claim *model.Claim) bool { return c.noticed.Has(claim) }

// NodeLeaving says whether a node itself shows that it is being taken away.
func NodeLeaving(n *model.Node) bool {
	return n.Terminating || slices.ContainsFunc(n.Taints, func(t model.Taint) bool { return t.Key == labels.TaintDisrupted })
}

// NodeGoes says whether a node is gone, or leaves whatever the plan says.
func (c *Cluster) NodeGoes(name model.NodeName) bool {
	n := c.Nodes[name]
	if n == nil || NodeLeaving(n) {
		return true
	}
	if claim := c.ClaimOn[name]; claim != nil {
		return c.Leaving(claim)
	}
	return c.Ended(n.Claim)
}

// Static says whether a pool has a fixed number of nodes.
func (c *Cluster) Static(name model.PoolName) bool {
	pool := c.Pools[name]
	return pool != nil && pool.Replicas != nil
}
