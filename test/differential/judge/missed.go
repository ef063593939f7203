package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// leftPending is a class with a pod that was left pending, and the ways in which all draws so far would have placed it.
type leftPending struct {
	pending model.PendingPod
	pod     *model.Pod
	// ways are nil before the first draw.
	ways map[string]bool
}

// unplaced are the pending pods that the planner had a chance to place, one of each class.
func (t *trial) unplaced() map[model.ClassID]*leftPending {
	out := make(map[model.ClassID]*leftPending)
	for _, p := range t.Plan.Pending {
		pod := t.pods[p.Pod]
		switch {
		case p.Reason.Code == model.CodeUnsupported:
			t.Unsupported++
		case pod == nil || p.Reason.Code == model.CodePreemption:
		case out[pod.Class] == nil:
			out[pod.Class] = &leftPending{pending: p, pod: pod}
		}
	}
	return out
}

// examine keeps, for each class left pending, the ways that would place it in this world too; without any it is cleared.
func (w *world) examine(unplaced map[model.ClassID]*leftPending) error {
	for _, id := range slices.Sorted(maps.Keys(unplaced)) {
		s := unplaced[id]
		pod := w.again(s.pod.ID) // also where it runs on a node on its way out
		found := make(map[string]bool)
		v, err := w.s.Schedule(pod)
		if err != nil {
			return err
		}
		for _, name := range v.Nodes {
			if w.counts(name, w.classes[id]) {
				found[name] = true
			}
		}
		for _, o := range w.options(w.classes[id]) {
			if s.ways != nil && !s.ways[o.name] || w.tooMany(w.classes[id], o.offering.InstanceType) {
				continue
			}
			ok, err := w.oneMore(pod, o)
			if err != nil {
				return err
			}
			if ok {
				found[o.name] = true
			}
		}
		if s.ways == nil {
			s.ways = found
		}
		maps.DeleteFunc(s.ways, func(way string, _ bool) bool { return !found[way] })
		if len(s.ways) == 0 {
			delete(unplaced, id)
		}
	}
	return nil
}

// counts says that a node which the scheduler finds for a pod is one that a plan would have to use.
func (w *world) counts(name string, c *model.PodClass) bool {
	return !w.cordoned(name) && !w.surplus(name) && !w.tooManyOn(name, c)
}

// cordoned nodes take what tolerates everything, as far as the scheduler is concerned. Kerf leaves them alone.
func (w *world) cordoned(name string) bool {
	return slices.ContainsFunc(w.c.Input.Snapshot.Nodes, func(n model.Node) bool { return string(n.Name) == name && n.Unschedulable })
}

// surplus nodes are those that a static pool has too many, or that are unhealthy, which the plan takes away whatever
// pods do, and those that take the place of others before their time.
func (w *world) surplus(name string) bool {
	if slices.ContainsFunc(w.Plan.NodeClaims, func(c model.NodeClaim) bool { return name == "claim-"+string(c.ID) && c.Disruption != "" }) {
		return true
	}
	return slices.ContainsFunc(w.Plan.Disruptions, func(d model.Disruption) bool {
		whatever := d.Reason == model.ReasonSurplus || d.Reason == model.ReasonUnhealthy
		return whatever && slices.ContainsFunc(d.Candidates, func(id model.ClaimID) bool {
			joined := func(n model.Node) bool { return n.Claim == id && string(n.Name) == name }
			return name == "claim-"+string(id) || slices.ContainsFunc(w.c.Input.Snapshot.Nodes, joined)
		})
	})
}

func (t *trial) oneMoreNode(o option) *kube.Node {
	as := model.RankedOffering{InstanceType: o.offering.InstanceType, Zone: o.offering.Zone, CapacityType: o.offering.CapacityType}
	return t.newNode("one-more", o.pool, as, o.labels, o.pool.Taints)
}

// oneMore says whether a pod could run if there were one more node.
func (w *world) oneMore(pod *kube.Pod, o option) (bool, error) {
	n := w.oneMoreNode(o)
	if err := w.s.Add(n, w.daemons(n)); err != nil {
		return false, err
	}
	v, err := w.s.Schedule(pod, n.Name)
	if err != nil {
		return false, err
	}
	return len(v.Nodes) == 1, w.s.Remove(n)
}

// report makes failures of the unplaced that are left.
func (t *trial) report(unplaced map[model.ClassID]*leftPending) {
	for _, id := range slices.Sorted(maps.Keys(unplaced)) {
		s := unplaced[id]
		ways := slices.Sorted(maps.Keys(s.ways))
		if t.tied(t.classes[id]) && !slices.ContainsFunc(ways, func(way string) bool { return !t.undecided(way) }) {
			t.Cautious++
			continue
		}
		if t.tied(t.classes[id]) && combinations(t.choices()) > mostTurns {
			t.Unjudged++
			continue
		}
		t.fail(Failure{
			Kind: Missed, Pod: s.pod.ID, Rule: code(s.pending.Reason.Code),
			Detail: fmt.Sprintf("the scheduler would place it on %s; the plan says: %s",
				strings.Join(ways[:min(3, len(ways))], " or "), s.pending.Reason.Message),
		})
	}
}

// code is the contract's name of a reason.
func code(c model.Code) string {
	return strings.TrimPrefix(clusterpb.ReasonCode(c).String(), "REASON_CODE_")
}

// tied says whether a class's pods look at where other pods are.
func (t *trial) tied(c *model.PodClass) bool {
	hard := func(t model.PodAffinityTerm) bool { return t.Weight == 0 }
	required := func(t model.TopologySpread) bool { return t.Required }
	byDefault := len(c.TopologySpread) == 0 && c.DefaultSelector != nil
	return byDefault && slices.ContainsFunc(t.c.Input.Policy.DefaultSpread, required) || slices.ContainsFunc(c.TopologySpread, required) ||
		slices.ContainsFunc(c.PodAffinity, hard) || slices.ContainsFunc(c.PodAntiAffinity, hard)
}

// undecided says whether a node is that of a claim which may still become several things, in flight or of a static
// pool: other new nodes are bought for their pods.
func (t *trial) undecided(name string) bool {
	return slices.ContainsFunc(t.c.Input.Snapshot.Claims, func(c model.Claim) bool {
		return name == "claim-"+string(c.ID) && c.InstanceType == "" && len(c.Offerings) > 1
	}) || slices.ContainsFunc(t.Plan.NodeClaims, func(c model.NodeClaim) bool {
		return name == "claim-"+string(c.ID) && t.pool(c.NodePool).Replicas != nil && len(c.Offerings) > 1
	})
}

// option is one node that a pool could still buy.
type option struct {
	name     string
	pool     *model.NodePool
	offering *model.Offering
	labels   model.Labels
}

// options are the nodes that may be bought beside the plan, with each value that matters to a class where the pool leaves
// a label open.
func (t *trial) options(c *model.PodClass) []option {
	return once(t.made.options, c.ID, func() []option { return t.allOptions(c) })
}

func (t *trial) allOptions(c *model.PodClass) []option {
	var out []option
	s := &t.c.Input.Snapshot
	for i := range s.NodePools {
		p := &s.NodePools[i]
		class := t.nodeClass(p.NodeClass)
		if !p.NotReady.OK() || p.Replicas != nil || class == nil || !class.NotReady.OK() || wantsFlexibility(p) {
			continue
		}
		left := t.left(p)
		for j := range s.Offerings {
			o := &s.Offerings[j]
			sold := o.Price > 0 && !t.c.Input.Now.Before(o.UnavailableUntil) && o.CapacityType != model.Reserved
			if sold && slices.Contains(class.Zones, o.Zone) && left.allow(t.instanceType(o.InstanceType)) {
				out = append(out, t.labelled(p, class, o, c)...)
			}
		}
	}
	return out
}

// wantsFlexibility says that the pool wants claims to be flexible: one more node is not enough to tell.
func wantsFlexibility(p *model.NodePool) bool {
	return slices.ContainsFunc(p.Requirements, func(r model.Requirement) bool { return r.MinValues > 1 })
}

func (t *trial) nodeClass(name model.NodeClassName) *model.NodeClass {
	for i := range t.c.Input.Snapshot.NodeClasses {
		if c := &t.c.Input.Snapshot.NodeClasses[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// limits are what a pool may still buy.
type limits map[model.Resource]int64

func (l limits) allow(it *model.InstanceType) bool {
	for r, left := range l {
		if need := it.Capacity.Value(r); r != model.Nodes && need > 0 && need > left {
			return false
		}
	}
	left, limited := l[model.Nodes]
	return !limited || left >= 1
}

// left is a pool's limits less its claims, each as the largest that it may become.
func (t *trial) left(p *model.NodePool) limits {
	l := make(limits)
	for _, a := range p.Limits {
		l[a.Resource] = a.Value
	}
	take := func(offerings []model.RankedOffering) {
		for r := range l {
			most := int64(0)
			for _, o := range offerings {
				most = max(most, t.instanceType(o.InstanceType).Capacity.Value(r))
			}
			if r == model.Nodes {
				most = 1
			}
			l[r] -= most
		}
	}
	for _, c := range t.c.Input.Snapshot.Claims {
		switch {
		case c.NodePool != p.Name || !c.Live():
		case c.InstanceType != "":
			take([]model.RankedOffering{{InstanceType: c.InstanceType}})
		default:
			take(c.Offerings)
		}
	}
	for _, c := range t.Plan.NodeClaims {
		if c.NodePool == p.Name {
			take(c.Offerings)
		}
	}
	return l
}
