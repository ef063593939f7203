// Package nominate knows where the plans have pods, and says which of them are to be bound or nominated there, and when a
// nomination is void.
//
// The scheduler places pods as it likes, and a plan that fills nodes to the brim comes true only where it places them as
// planned. A nomination to a node is heeded once the node is open; one to a node that is not there yet does nothing. So a
// node's pods are bound or nominated right before it opens, and a pod whose node never comes was never nominated to it.
//
// It decides only: it must never know an API server, and has no clock. Start reading at Expected.
package nominate

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Expected is where the newest plan has each pod that it found a place for. It is as large as that plan, and does not
// change once it is made. The zero value expects nothing.
type Expected struct {
	// place is by pod; claims and nodes list the pods of each, sorted.
	place  map[model.PodID]model.Placement
	claims map[model.ClaimID][]model.PodID
	nodes  map[model.NodeName][]model.PodID
	// left are pods that the newest plan leaves pending.
	left map[model.PodID]bool
}

// Restore is for a leader that has seen no plan yet: pods are expected on the claims that were bought for them.
func Restore(claims []*model.Claim) *Expected {
	var list []model.Placement
	for _, c := range claims {
		if c.State > model.ClaimRegistered {
			continue
		}
		for _, p := range c.Pods {
			list = append(list, model.Placement{Pod: p, Claim: c.ID})
		}
	}
	return index(list)
}

// Take takes a plan's word for where pods go, and which it leaves pending. What was expected before is void: a plan
// speaks of every pod that needs a node. There says whether a claim is there: one that was refused will not come.
func Take(placements []model.Placement, left []model.PodID, there func(model.ClaimID) bool) *Expected {
	e := index(slices.DeleteFunc(slices.Clone(placements), func(p model.Placement) bool { return p.Claim != "" && !there(p.Claim) }))
	for _, p := range left {
		e.left[p] = true
	}
	return e
}

func index(list []model.Placement) *Expected {
	slices.SortFunc(list, func(a, b model.Placement) int { return cmp.Compare(a.Pod, b.Pod) })
	e := &Expected{
		place: make(map[model.PodID]model.Placement, len(list)), left: map[model.PodID]bool{},
		claims: map[model.ClaimID][]model.PodID{}, nodes: map[model.NodeName][]model.PodID{},
	}
	for _, p := range list {
		e.place[p.Pod] = p
		if p.Claim != "" {
			e.claims[p.Claim] = append(e.claims[p.Claim], p.Pod)
		} else {
			e.nodes[p.Node] = append(e.nodes[p.Node], p.Pod)
		}
	}
	return e
}

// World is what is known of pods and nodes.
type World struct {
	// Unbound returns a pod that has no node, and Waiting those of a controller; see cluster.Nominator.
	Unbound func(model.PodID) (cluster.UnboundPod, bool)
	Waiting func(owner string) []cluster.UnboundPod
	// Node is the claim's node; nil while there is none.
	Node func(model.ClaimID) *cluster.Node
	// Named is the node of that name; nil while there is none.
	Named func(model.NodeName) *cluster.Node
}

// Opening are the nominations to write before a node opens: those of its pods that are not nominated there already.
func (e *Expected) Opening(claim model.ClaimID, node model.NodeName, w World) []cluster.Nomination {
	return appendDue(appendDue(nil, e.claims[claim], node, w), e.nodes[node], node, w)
}

// On says whether a pod is expected on a node that is there.
func (e *Expected) On(node model.NodeName) bool { return len(e.nodes[node]) > 0 }

// Room is what a node that opens has for pods that are bound to it.
type Room struct {
	// bought are the pods that the claim was bought for, sorted; arriving come in place of such.
	bought   []model.PodID
	arriving map[model.PodID]bool
	// taken are the pods that have their room.
	taken map[model.PodID]grant
	// kept is what is left of what the claim was bought with for them, and free what the node has beside.
	kept, free map[model.Resource]int64
	// short says that the node has less than was expected.
	short bool
}

// grant is the room of one pod.
type grant struct {
	asks model.Amounts
	// kept says that it is of what the claim was bought with, else of what the node has beside.
	kept bool
}

// NewRoom is for a claim's node that has so much.
func NewRoom(c *model.Claim, allocatable model.Amounts) *Room {
	r := &Room{
		bought: c.Pods, arriving: map[model.PodID]bool{}, taken: map[model.PodID]grant{},
		kept: map[model.Resource]int64{}, free: map[model.Resource]int64{},
	}
	for _, a := range allocatable {
		r.free[a.Resource] = a.Value
	}
	r.short = !holds(r.free, c.Requests)
	take(r.free, c.Requests)
	for _, a := range c.Requests {
		r.kept[a.Resource] = a.Value
	}
	return r
}

// Arrives says that a pod comes in place of one that the claim was bought for.
func (r *Room) Arrives(id model.PodID) { r.arriving[id] = true }

func holds(room map[model.Resource]int64, asks model.Amounts) bool {
	return !slices.ContainsFunc(asks, func(a model.Amount) bool { return a.Value > room[a.Resource] })
}

func take(room map[model.Resource]int64, asks model.Amounts) {
	for _, a := range asks {
		room[a.Resource] -= a.Value
	}
}

func put(room map[model.Resource]int64, asks model.Amounts) {
	for _, a := range asks {
		room[a.Resource] += a.Value
	}
}

// GiveBack takes their room from pods that no longer want it: they went elsewhere, or are to, or the node is not for them.
func (r *Room) GiveBack(wants func(model.PodID) bool) {
	for id, g := range r.taken {
		if wants(id) {
			continue
		}
		delete(r.taken, id)
		if g.kept {
			put(r.kept, g.asks)
		} else {
			put(r.free, g.asks)
			r.free[model.Pods]++
		}
	}
}

// Bind parts what is due on the node: pods that are bound there, because nothing but the node and the pods around
// decide about them and they fit: into what the claim was bought with where it was bought for them, else beside that;
// and the rest, which is nominated. A pod takes its room once, however often it is asked about. Requests is
// cluster.Nominator's Bindable.
func (r *Room) Bind(list []cluster.Nomination, requests func(model.PodID) (model.Amounts, bool)) (bind, rest []cluster.Nomination) {
	if r.short {
		return nil, list
	}
	for _, n := range list {
		if asks, is := requests(n.Pod.ID); is && r.give(n.Pod.ID, asks) {
			bind = append(bind, n)
		} else {
			rest = append(rest, n)
		}
	}
	return bind, rest
}

// give gives a pod its room, where there is some and it has none.
func (r *Room) give(id model.PodID, asks model.Amounts) bool {
	if _, has := r.taken[id]; has {
		return true
	}
	_, own := slices.BinarySearch(r.bought, id)
	g := grant{asks: asks}
	switch {
	case (own || r.arriving[id]) && holds(r.kept, asks):
		take(r.kept, asks)
		g.kept = true
	case holds(r.free, asks) && r.free[model.Pods] > 0:
		take(r.free, asks)
		r.free[model.Pods]--
	default:
		return false
	}
	r.taken[id] = g
	return true
}

// Again are those of the nominations that don't hold: the scheduler has taken them back, and the pod has no node.
func Again(list []cluster.Nomination, w World) []cluster.Nomination {
	var out []cluster.Nomination
	for _, n := range list {
		out = appendDue(out, []model.PodID{n.Pod.ID}, n.Node, w)
	}
	return out
}

// Starting says that more than Kerf's own taint keeps pods off a node for now: it is not ready, or still has a taint
// that it has only while it starts.
func Starting(c *model.Claim, n *cluster.Node) bool {
	return !n.Ready || slices.ContainsFunc(n.Taints, func(t model.Taint) bool {
		if t.Key == labels.TaintUnregistered || t.Effect == model.PreferNoSchedule {
			return false
		}
		return labels.Ephemeral(t.Key) || slices.ContainsFunc(c.StartupTaints, func(s model.Taint) bool { return s.Key == t.Key && s.Effect == t.Effect })
	})
}

// Due are the nominations to write on nodes that are open.
func (e *Expected) Due(w World) []cluster.Nomination {
	var out []cluster.Nomination
	for claim := range e.claims {
		if n := w.Node(claim); n != nil && n.Open() {
			out = appendDue(out, e.claims[claim], n.Name, w)
		}
	}
	for name := range e.nodes {
		if n := w.Named(name); n != nil && n.Open() {
			out = appendDue(out, e.nodes[name], name, w)
		}
	}
	slices.SortFunc(out, func(a, b cluster.Nomination) int { return cmp.Compare(a.Pod.ID, b.Pod.ID) })
	return out
}

// appendDue appends what is to be written for pods that are expected on a node. Nominations by others are left alone.
func appendDue(out []cluster.Nomination, pods []model.PodID, node model.NodeName, w World) []cluster.Nomination {
	for _, id := range pods {
		if p, unbound := w.Unbound(id); unbound && p.Nominated != node && (p.Nominated == "" || p.ByKerf) {
			out = append(out, cluster.Nomination{Pod: p, Node: node})
		}
	}
	return out
}

// Coming counts the nodes that pods are expected on and that take no pods yet: those that have joined, and those of claims
// that are there.
func (e *Expected) Coming(w World, there func(model.ClaimID) bool) int {
	count := 0
	for claim := range e.claims {
		if n := w.Node(claim); there(claim) && (n == nil || !n.Open()) {
			count++
		}
	}
	for name := range e.nodes {
		if n := w.Named(name); n != nil && n.Closed() {
			count++
		}
	}
	return count
}

// Void are the nominations by Kerf that no longer hold: the node is gone or going, or no plan finds a place for the pod. A
// pod that is expected on another node keeps its nomination until that one opens: then it gets another one.
func (e *Expected) Void(nominees []cluster.UnboundPod, w World) []cluster.Nomination {
	var out []cluster.Nomination
	for _, p := range nominees {
		n := w.Named(p.Nominated)
		if p.ByKerf && (n == nil || n.Leaving() || e.left[p.ID]) {
			out = append(out, cluster.Nomination{Pod: p})
		}
	}
	return out
}
