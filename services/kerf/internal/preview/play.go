package preview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
)

// stage is a cluster in which plans are carried out at once and without fail: claims become nodes, pods move to where the
// plan says, and what was removed is gone.
type stage struct {
	s   *clusterpb.Snapshot
	now time.Time

	shapes  map[string]map[string]*clusterpb.InstanceType // by catalog and name
	classes map[string]*clusterpb.NodeClass
	pools   map[string]*clusterpb.NodePool
	zoneIDs map[string]string
}

func newStage(s *clusterpb.Snapshot, now time.Time) *stage {
	out := &stage{
		s: shallow(s), now: now, shapes: map[string]map[string]*clusterpb.InstanceType{},
		classes: map[string]*clusterpb.NodeClass{}, pools: map[string]*clusterpb.NodePool{},
		zoneIDs: map[string]string{},
	}
	for _, c := range s.GetCatalogs() {
		types := map[string]*clusterpb.InstanceType{}
		for _, t := range c.GetInstanceTypes() {
			types[t.GetName()] = t
		}
		out.shapes[c.GetId()] = types
	}
	for _, c := range s.GetNodeClasses() {
		out.classes[c.GetName()] = c
	}
	for _, p := range s.GetNodePools() {
		out.pools[p.GetName()] = p
	}
	for _, o := range s.GetOfferings() {
		if o.GetZoneId() != "" {
			out.zoneIDs[o.GetZone()] = o.GetZoneId()
		}
	}
	return out
}

// carryOut does all that a plan says, and lets time pass.
func (g *stage) carryOut(p *plannerpb.Plan, step time.Duration) {
	gone := map[string]bool{}
	for _, d := range p.GetDisruptions() {
		for _, c := range d.GetCandidates() {
			gone[c] = true
		}
	}
	to := map[string]*plannerpb.Placement{}
	for _, pl := range p.GetPlacements() {
		to[pl.GetPod()] = pl
	}
	for _, d := range p.GetDisruptions() {
		for _, pl := range d.GetDestinations() {
			to[pl.GetPod()] = pl
		}
	}
	nodes := g.claims(p, gone)
	g.pods(to, nodes, g.nodes(gone))
	g.now = g.now.Add(step)
	g.s.ObserveTime = timestamppb.New(g.now)
	g.s.Revision++
}

// claims takes away those that go, makes nodes of all others, and returns the node of each.
func (g *stage) claims(p *plannerpb.Plan, gone map[string]bool) map[string]string {
	g.s.Claims = slices.DeleteFunc(g.s.Claims, func(c *clusterpb.Claim) bool { return gone[c.GetId()] || leaving(c) })
	for _, c := range p.GetNodeClaims() {
		g.s.Claims = append(g.s.Claims, g.bought(c, p.GetId()))
	}
	slices.SortFunc(g.s.Claims, func(a, b *clusterpb.Claim) int { return strings.Compare(a.GetId(), b.GetId()) })
	nodes := map[string]string{}
	for i, c := range g.s.GetClaims() {
		if c.GetNode() == "" && alive(c) {
			c = g.arrived(c)
			g.s.Claims[i] = c
		}
		nodes[c.GetId()] = c.GetNode()
	}
	return nodes
}

func leaving(c *clusterpb.Claim) bool {
	return c.GetState() == clusterpb.ClaimState_CLAIM_STATE_DRAINING || c.GetState() == clusterpb.ClaimState_CLAIM_STATE_TERMINATING
}

func alive(c *clusterpb.Claim) bool {
	return c.GetState() >= clusterpb.ClaimState_CLAIM_STATE_PLANNED && c.GetState() <= clusterpb.ClaimState_CLAIM_STATE_INITIALIZED
}

// bought is a claim of a plan as the actuator stores it.
func (g *stage) bought(c *plannerpb.NodeClaim, plan string) *clusterpb.Claim {
	pool, class := g.pools[c.GetNodePool()], g.classes[c.GetNodeClass()]
	return &clusterpb.Claim{
		Id: c.GetId(), NodePool: c.GetNodePool(), NodeClass: c.GetNodeClass(), State: clusterpb.ClaimState_CLAIM_STATE_PLANNED,
		Requirements: c.GetRequirements(), Offerings: c.GetOfferings(), Requests: c.GetRequests(), Pods: c.GetPods(),
		Labels: pool.GetLabels(), Annotations: pool.GetAnnotations(), Taints: pool.GetTaints(),
		PoolHash: pool.GetHash(), ClassHash: class.GetHash(), PriceMicroUsdPerHour: c.GetPriceMicroUsdPerHour(),
		TerminationGracePeriod: pool.GetTerminationGracePeriod(), CreateTime: timestamppb.New(g.now), PlanId: plan,
	}
}

// arrived is a claim whose instance runs as the best of its offerings, and puts its node into the snapshot.
func (g *stage) arrived(c *clusterpb.Claim) *clusterpb.Claim {
	c = proto.CloneOf(c)
	if len(c.GetOfferings()) > 0 && c.GetInstanceType() == "" {
		best := c.GetOfferings()[0]
		c.InstanceType, c.Zone, c.CapacityType = best.GetInstanceType(), best.GetZone(), best.GetCapacityType()
		c.ReservationId = best.GetReservationId()
	}
	class := g.classes[c.GetNodeClass()]
	t := g.shapes[class.GetCatalogId()][c.GetInstanceType()]
	c.State, c.Reached, c.Node = clusterpb.ClaimState_CLAIM_STATE_INITIALIZED, clusterpb.ClaimState_CLAIM_STATE_INITIALIZED, c.GetId()
	c.StateTime, c.LaunchTime, c.InitializeTime = timestamppb.New(g.now), timestamppb.New(g.now), timestamppb.New(g.now)
	c.ImageId = cmp.Or(c.GetImageId(), imageFor(class, t))
	if after := g.pools[c.GetNodePool()].GetExpireAfter(); after != nil {
		c.ExpireTime = timestamppb.New(g.now.Add(after.AsDuration()))
	}
	values := map[string]string{}
	for _, list := range [][]*clusterpb.Label{t.GetLabels(), c.GetLabels()} {
		for _, l := range list {
			values[l.GetKey()] = l.GetValue()
		}
	}
	for _, r := range c.GetRequirements() {
		if r.GetOperator() == clusterpb.Operator_OPERATOR_IN && len(r.GetValues()) == 1 && values[r.GetKey()] == "" {
			values[r.GetKey()] = r.GetValues()[0]
		}
	}
	values[labels.Zone], values[labels.CapacityType] = c.GetZone(), capacityWord(c.GetCapacityType())
	values[labels.NodePool], values[labels.NodeClass] = c.GetNodePool(), c.GetNodeClass()
	if id := g.zoneIDs[c.GetZone()]; id != "" {
		values[labels.ZoneID] = id
	}
	n := &clusterpb.Node{
		Name: c.GetNode(), Claim: c.GetId(), Taints: c.GetTaints(), Ready: true, CreateTime: timestamppb.New(g.now),
		Allocatable: g.offered(c, t.GetAllocatable()), Capacity: t.GetCapacity(),
	}
	for k, v := range values {
		n.Labels = append(n.Labels, &clusterpb.Label{Key: k, Value: v})
	}
	slices.SortFunc(n.Labels, func(a, b *clusterpb.Label) int { return strings.Compare(a.GetKey(), b.GetKey()) })
	g.s.Nodes = append(g.s.Nodes, n)
	return c
}

// offered is what of a type's resources its node has: of those that devices may stand for only what other nodes have, or
// what it was bought for, as one that had it would have all nodes taken for such.
func (g *stage) offered(c *clusterpb.Claim, all []*clusterpb.Amount) []*clusterpb.Amount {
	byDevices := map[string]bool{}
	for _, of := range g.s.GetPodClasses() {
		for _, q := range of.GetExtendedRequests() {
			byDevices[q.GetResource()] = true
		}
	}
	has := func(list []*clusterpb.Amount, name string) bool {
		return slices.ContainsFunc(list, func(a *clusterpb.Amount) bool { return a.GetResource() == name && a.GetValue() > 0 })
	}
	return slices.DeleteFunc(slices.Clone(all), func(a *clusterpb.Amount) bool {
		name := a.GetResource()
		return byDevices[name] && !has(c.GetRequests(), name) &&
			!slices.ContainsFunc(g.s.GetNodes(), func(n *clusterpb.Node) bool { return has(n.GetAllocatable(), name) })
	})
}

func capacityWord(t clusterpb.CapacityType) string {
	switch t {
	case clusterpb.CapacityType_CAPACITY_TYPE_SPOT:
		return "spot"
	case clusterpb.CapacityType_CAPACITY_TYPE_RESERVED:
		return "reserved"
	default:
		return "on-demand"
	}
}

// imageFor is the first image of a class that is for the type's architecture.
func imageFor(class *clusterpb.NodeClass, t *clusterpb.InstanceType) string {
	arch := valueOf(t.GetLabels(), labels.Arch)
	for _, i := range class.GetImages() {
		fits := true
		for _, r := range i.GetRequirements() {
			if r.GetKey() == labels.Arch && r.GetOperator() == clusterpb.Operator_OPERATOR_IN {
				fits = slices.Contains(r.GetValues(), arch)
			}
		}
		if fits {
			return i.GetId()
		}
	}
	return ""
}

// nodes takes away those of claims that are gone, and returns their names.
func (g *stage) nodes(gone map[string]bool) map[string]bool {
	left := map[string]bool{}
	for _, c := range g.s.GetClaims() {
		left[c.GetId()] = true
	}
	out := map[string]bool{}
	g.s.Nodes = slices.DeleteFunc(g.s.Nodes, func(n *clusterpb.Node) bool {
		if n.GetClaim() != "" && (gone[n.GetClaim()] || !left[n.GetClaim()]) {
			out[n.GetName()] = true
		}
		return out[n.GetName()]
	})
	slices.SortFunc(g.s.Nodes, func(a, b *clusterpb.Node) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

// pods moves those that the plan moves or places. What belongs to a node that is gone goes with it; any other pod of one
// is left without a node.
func (g *stage) pods(to map[string]*plannerpb.Placement, nodes map[string]string, gone map[string]bool) {
	bound := map[string]bool{}
	for _, c := range g.s.GetPodClasses() {
		bound[c.GetId()] = c.GetDaemon() || c.GetMirror()
	}
	gotPods := map[string]bool{} // nodes to which pods came
	var pods []*clusterpb.Pod
	for _, p := range g.s.GetPods() {
		pl := to[p.GetId()]
		node := pl.GetNode()
		if pl.GetClaim() != "" {
			node = nodes[pl.GetClaim()]
		}
		switch {
		case gone[p.GetNode()] && bound[p.GetClassId()]:
			continue
		case node != "" && node != p.GetNode():
			gotPods[node] = true
			p = proto.CloneOf(p)
			p.Node, p.Phase, p.Ready = node, clusterpb.PodPhase_POD_PHASE_RUNNING, true
			p.BindTime, p.UnschedulableTime, p.NominatedNode, p.ExpectedNode = timestamppb.New(g.now), nil, "", ""
		case gone[p.GetNode()]:
			p = proto.CloneOf(p)
			p.Node, p.Phase, p.Ready = "", clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, false
			p.BindTime, p.UnschedulableTime = nil, timestamppb.New(g.now)
		}
		pods = append(pods, p)
	}
	g.s.Pods = pods
	for i, n := range g.s.GetNodes() {
		if gotPods[n.GetName()] {
			n = proto.CloneOf(n)
			n.LastPodEventTime = timestamppb.New(g.now)
			g.s.Nodes[i] = n
		}
	}
}
