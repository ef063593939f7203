package view

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Host is a place that can run pods: a node, or a claim whose node has not joined yet. Only View.Fold changes it.
type Host struct {
	Index int
	// Node is nil for a claim in flight.
	Node *model.Node
	// Claim is nil for a node that Kerf does not own.
	Claim *model.Claim
	// Pool is nil when the claim's pool is gone, or there is no claim.
	Pool *Pool
	// LabelSets are the labels, with what the node lacks (lacks.Nodes); a claim that may still become one of several
	// shapes has a set for each, and a pod must accept them all.
	LabelSets []model.Labels
	// Open are labels of a claim in flight of which only this much is decided.
	Open require.Set
	// Taints are those that a pod must tolerate in the long run.
	Taints []model.Taint
	// Allocatable is what pods can use, DaemonSet pods included; of several shapes the least of each resource.
	Allocatable Vector
	// allocatable is Allocatable for each of the LabelSets; nil where all have the same.
	allocatable []Vector
	// Pods are those bound to the node: indexes into World.Pods.
	Pods []int
	// Leaving says that the host is going away already: its pods need another node.
	Leaving bool
	// Interrupted says that it goes whether its pods have moved or not.
	Interrupted bool
	// Closed says that it takes no more pods: it is leaving, cordoned, or gone.
	Closed bool
	// Initialized says that the node has started: its own claim says so, or Kerf does not own it and it is ready.
	Initialized bool
}

// Name is what the host is called in messages.
func (h *Host) Name() string {
	if h.Node != nil {
		return "node/" + string(h.Node.Name)
	}
	return "claim/" + string(h.Claim.ID)
}

// ShapeAllocatable is what pods can use where the host becomes the i-th of its LabelSets. The caller must not change it.
func (h *Host) ShapeAllocatable(i int) Vector {
	if h.allocatable == nil {
		return h.Allocatable
	}
	return h.allocatable[i]
}

// Placement is the plan's line for a pod on the host.
func (h *Host) Placement(pod model.PodID) model.Placement {
	if h.Node != nil {
		return model.Placement{Pod: pod, Node: h.Node.Name}
	}
	return model.Placement{Pod: pod, Claim: h.Claim.ID}
}

// hostBuilder makes the hosts of a World.
type hostBuilder struct{ w *World }

// hosts lists the nodes by name, then the claims in flight by id.
func (hb hostBuilder) hosts() []*Host {
	claims := make(map[model.NodeName]*model.Claim)
	for i := range hb.w.Snapshot.Claims {
		c := &hb.w.Snapshot.Claims[i]
		if c.Node != "" && c.Live() {
			claims[c.Node] = c
		}
	}
	var out []*Host
	joined := make(map[model.ClaimID]bool)
	for i := range hb.w.Snapshot.Nodes {
		h := hb.nodeHost(&hb.w.Snapshot.Nodes[i], claims)
		if h.Claim != nil {
			joined[h.Claim.ID] = true
		}
		out = append(out, h)
	}
	for i := range hb.w.Snapshot.Claims {
		c := &hb.w.Snapshot.Claims[i]
		if joined[c.ID] || c.State > model.ClaimRegistered {
			continue
		}
		out = append(out, hb.flightHost(c))
	}
	byNode := make(map[model.NodeName]*Host, len(out))
	for i, h := range out {
		h.Index = i
		hb.leaveCounted(h)
		if h.Node != nil {
			byNode[h.Node.Name] = h
		}
	}
	for i := range hb.w.Pods {
		if hb.w.Pods[i].Node == "" {
			continue
		}
		if h := byNode[hb.w.Pods[i].Node]; h != nil {
			h.Pods = append(h.Pods, i)
		}
	}
	return out
}

func (hb hostBuilder) nodeHost(n *model.Node, claims map[model.NodeName]*model.Claim) *Host {
	h := &Host{Node: n, Claim: claims[n.Name], LabelSets: []model.Labels{hb.w.Lacks.Node(n)}}
	if n.Claim != "" && hb.w.ClaimIndex[n.Claim] != nil {
		h.Claim = hb.w.ClaimIndex[n.Claim]
	}
	h.Allocatable = hb.w.Index.Vector(n.Allocatable)
	h.Initialized, h.Taints = n.Ready, rules.LastingTaints(n.Taints, h.Claim, false)
	if c := h.Claim; c != nil {
		h.Pool = hb.w.Pool(c.NodePool)
		h.Initialized = c.State == model.ClaimInitialized || c.Reached >= model.ClaimInitialized
		hb.judgeLeaving(h)
		if !h.Initialized {
			hb.expect(h)
		}
	}
	tainted := slices.ContainsFunc(n.Taints, func(t model.Taint) bool { return t.Key == labels.TaintDisrupted })
	h.Leaving = h.Leaving || n.Terminating || tainted
	h.Closed = h.Leaving || n.Unschedulable
	return h
}

// expect fills in what a node that is still starting will have: resources that it does not report yet, labels before it
// is registered; and leaves out the taints that will have gone by then.
func (hb hostBuilder) expect(h *Host) {
	c := h.Claim
	estimate := hb.estimate(c)
	for i, v := range h.Allocatable {
		if v == 0 {
			h.Allocatable[i] = estimate[i]
		}
	}
	if c.State < model.ClaimRegistered {
		h.LabelSets, h.Open = hb.claimLabels(c), openLabels(c)
		for i, ls := range h.LabelSets {
			h.LabelSets[i] = hb.w.Lacks.Joining(h.Node, ls)
		}
		h.Taints = c.Taints
	}
	h.Taints = rules.LastingTaints(h.Taints, c, true)
}

func (hb hostBuilder) flightHost(c *model.Claim) *Host {
	h := &Host{Claim: c, Pool: hb.w.Pool(c.NodePool), LabelSets: hb.claimLabels(c), Open: openLabels(c), Taints: c.Taints}
	h.Allocatable = hb.flightAllocatable(c)
	h.allocatable = hb.shapesAllocatable(c, h.LabelSets)
	hb.judgeLeaving(h)
	h.Closed = h.Leaving
	return h
}

// judgeLeaving notes whether the host's claim is going away already.
func (hb hostBuilder) judgeLeaving(h *Host) {
	h.Interrupted = hb.w.isInterrupted(h.Claim)
	h.Leaving = hb.w.IsLeaving(h.Claim)
}

// isInterrupted says whether a claim's node goes whether its pods have moved or not.
func (w *World) isInterrupted(c *model.Claim) bool {
	return w.notices.Has(c) || !c.DrainDeadline.IsZero() || !c.Live()
}

// IsLeaving says whether a claim is being taken away already, as far as its node does not tell; see Host.Leaving.
func (w *World) IsLeaving(c *model.Claim) bool { return w.notices.Leaving(c) }

// shapes lists what a claim is, or may still become.
func (hb hostBuilder) shapes(c *model.Claim) []model.RankedOffering {
	if c.InstanceType != "" {
		return []model.RankedOffering{{
			InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, ReservationID: c.ReservationID,
		}}
	}
	return c.Offerings
}

// flightAllocatable is what a claim's node will have at least: where no type is known (its class is not ready just now),
// as much as it was bought for.
func (hb hostBuilder) flightAllocatable(c *model.Claim) Vector {
	if len(c.Allocatable) > 0 {
		return hb.estimate(c)
	}
	known := func(o model.RankedOffering) bool { return hb.claimCatalog(c).Type(o.InstanceType) != nil }
	if !slices.ContainsFunc(hb.shapes(c), known) {
		return hb.w.Index.Vector(c.Requests)
	}
	return hb.bound(c, func(t *Type) Vector { return hb.w.Allocatable(c.NodeClass, t) }, func(a, b int64) int64 { return min(a, b) })
}

// estimate is what a launched claim's node will have, as the claim says, or less where that is known by now.
func (hb hostBuilder) estimate(c *model.Claim) Vector {
	out := hb.w.Index.Vector(c.Allocatable)
	if v, ok := hb.w.learned[learnedKey{c.NodeClass, c.InstanceType}]; ok {
		for i := range out {
			out[i] = min(out[i], v[i])
		}
	}
	if c.InstanceType == "" {
		return out
	}
	return hb.overlaid(c, hb.shapes(c)[0], out)
}

// overlaid is what a claim's node has of some resources, with what node overlays say in its place. Until the node tells
// itself, pods that it was bought for must fit there.
func (hb hostBuilder) overlaid(c *model.Claim, o model.RankedOffering, v Vector) Vector {
	has, _ := hb.w.Overlays.For(c.NodePool, o.InstanceType).Capacity(o.Zone, o.CapacityType, o.ReservationID)
	if len(has) == 0 {
		return v
	}
	v = slices.Clone(v)
	for _, a := range has {
		if i, ok := hb.w.Index.Place(a.Resource); ok {
			v[i] = a.Value
		}
	}
	return v
}

// shapesAllocatable is what a claim's node will have for each of its label sets; nil where that is the same for all.
func (hb hostBuilder) shapesAllocatable(c *model.Claim, labels []model.Labels) []Vector {
	if len(c.Allocatable) > 0 || len(labels) < 2 {
		return nil
	}
	out := make([]Vector, len(labels))
	for i, ls := range labels {
		shape := func(o model.RankedOffering) bool { return hasLabels(ls, hb.shapeLabels(o)) }
		k := slices.IndexFunc(hb.shapes(c), shape)
		if k < 0 {
			out[i] = hb.flightAllocatable(c)
			continue
		}
		o := hb.shapes(c)[k]
		if t := hb.claimCatalog(c).Type(o.InstanceType); t != nil {
			out[i] = hb.overlaid(c, o, hb.w.Allocatable(c.NodeClass, t))
		} else {
			out[i] = hb.flightAllocatable(c)
		}
	}
	return out
}

// shapeLabels are the labels that follow from an offering, its type's own aside.
func (hb hostBuilder) shapeLabels(o model.RankedOffering) model.Labels {
	ls := hb.w.Places.Labels(o.Zone, o.CapacityType, o.ReservationID)
	return sortLabels(append(ls, model.Label{Key: labels.InstanceType, Value: string(o.InstanceType)}))
}

func hasLabels(ls, all model.Labels) bool {
	return !slices.ContainsFunc(all, func(l model.Label) bool {
		v, ok := ls.Get(l.Key)
		return !ok || v != l.Value
	})
}

// ClaimCapacity is what a claim counts against its pool's limits: what it has, or the most that it may become.
func (w *World) ClaimCapacity(c *model.Claim) Vector {
	if len(c.Capacity) > 0 {
		has := w.Index.Vector(c.Capacity)
		if c.InstanceType == "" {
			return has
		}
		return hostBuilder{w}.overlaid(c, hostBuilder{w}.shapes(c)[0], has)
	}
	return hostBuilder{w}.bound(c, func(t *Type) Vector { return t.CapacityVector }, func(a, b int64) int64 { return max(a, b) })
}

func (hb hostBuilder) bound(c *model.Claim, of func(*Type) Vector, pick func(a, b int64) int64) Vector {
	var out Vector
	for _, o := range hb.shapes(c) {
		t := hb.claimCatalog(c).Type(o.InstanceType)
		if t == nil {
			continue
		}
		v := hb.overlaid(c, o, of(t))
		if out == nil {
			out = slices.Clone(v)
		}
		for i := range out {
			out[i] = pick(out[i], v[i])
		}
	}
	if out == nil {
		return make(Vector, hb.w.Index.Len())
	}
	return out
}

func (hb hostBuilder) claimCatalog(c *model.Claim) *Catalog {
	for i := range hb.w.Snapshot.NodeClasses {
		if nc := &hb.w.Snapshot.NodeClasses[i]; nc.Name == c.NodeClass {
			return hb.w.catalogs[nc.Catalog]
		}
	}
	return nil
}

// claimLabels are the labels that a claim's node will have, for each shape that it may become.
func (hb hostBuilder) claimLabels(c *model.Claim) []model.Labels {
	var own model.Labels
	for _, r := range require.NewSet(c.Requirements...) {
		// That a claim was bought for a reservation says nothing of one that has outlived it.
		if v, ok := r.Single(); ok && !labels.OfReservation(r.Key) {
			own = append(own, model.Label{Key: r.Key, Value: v})
		}
	}
	own = MergeLabels(own, c.Labels)
	var out []model.Labels
	for _, o := range hb.shapes(c) {
		ls := own
		if t := hb.claimCatalog(c).Type(o.InstanceType); t != nil {
			ls = MergeLabels(ls, t.Labels)
		}
		ls = hb.w.Lacks.New(c.NodePool, o.InstanceType, MergeLabels(ls, hb.shapeLabels(o), ownerLabels(c.NodePool, c.NodeClass)))
		if !slices.ContainsFunc(out, func(x model.Labels) bool { return slices.Equal(x, ls) }) {
			out = append(out, ls)
		}
	}
	if out == nil {
		out = []model.Labels{MergeLabels(own, ownerLabels(c.NodePool, c.NodeClass))}
	}
	return out
}

// openLabels are the claim's requirements on labels that its node will have, with a value that is not decided yet. What
// may be absent as well is: a node gets no label that is not asked for.
func openLabels(c *model.Claim) require.Set {
	var out require.Set
	for _, r := range require.NewSet(c.Requirements...) {
		if _, single := r.Single(); !single && !r.AllowsAbsent() && !labels.OfReservation(r.Key) {
			out = out.With(r)
		}
	}
	return out
}

// NewNodeLabels are the labels of a pool's node of a type, as it will be once it is initialized, less PlaceLabels.
func NewNodeLabels(p *Pool, t *Type) model.Labels {
	return p.lacks.New(p.Name, t.Name, MergeLabels(p.Labels, t.Labels, model.Labels{{Key: labels.InstanceType, Value: string(t.Name)}},
		ownerLabels(p.Name, p.NodePool.NodeClass)))
}

func ownerLabels(pool model.PoolName, class model.NodeClassName) model.Labels {
	return sortLabels(model.Labels{
		{Key: labels.NodePool, Value: string(pool)},
		{Key: labels.NodeClass, Value: string(class)},
		{Key: labels.Registered, Value: "true"},
		{Key: labels.Initialized, Value: "true"},
	})
}

// MergeLabels are all labels of some lists, sorted by key: of several of a key the last.
func MergeLabels(lists ...model.Labels) model.Labels {
	n := 0
	for _, ls := range lists {
		n += len(ls)
	}
	out := make(model.Labels, 0, n)
	for i, ls := range lists {
		for _, l := range ls {
			replaced := slices.ContainsFunc(lists[i+1:], func(later model.Labels) bool {
				_, ok := later.Get(l.Key)
				return ok
			})
			if !replaced {
				out = append(out, l)
			}
		}
	}
	return sortLabels(out)
}

func sortLabels(ls model.Labels) model.Labels {
	slices.SortFunc(ls, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })
	return ls
}
