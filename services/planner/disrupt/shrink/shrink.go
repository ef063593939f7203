// Package shrink says which nodes are to lose their pods first when workloads are scaled down.
//
// A ReplicaSet that is given fewer replicas picks the pods to delete, and takes them from all nodes alike: they all stay, a
// little emptier each, and it takes an eviction of nearly every pod that is left to get down to the nodes that are needed.
// Kubernetes lets an external component say which pods to delete first, by their deletion cost. With the same order of nodes
// for all ReplicaSets, those that come first fall empty by themselves.
//
// It decides nothing else, and knows no clock. Start reading at Costs.
package shrink

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Deletion costs are from least, of nodes that go, to most, of nodes that stay, empty or not. Pods without one count as zero in
// Kubernetes: those on nodes that Kerf doesn't own are deleted last, because these nodes are paid for in any case.
const (
	least = -1000
	most  = -1
)

// Costs are, by index in View.Hosts, the deletion cost for the pods of each node that Kerf owns; 0 for other hosts. Going are
// nodes that go, now or by a later plan; worth is what a pod of a class is worth, in micro-dollars per hour.
//
// Nodes are ranked one after the other. Next is the one whose pods are worth most for what the node costs, where a replica counts
// the less the more of its ReplicaSet the nodes before it hold. Of ReplicaSets that spread over zones each zone counts by itself,
// so that they stay spread. A pod that is in no ReplicaSet counts in full: it stays when workloads are scaled down.
func Costs(dr *draft.Draft, going []int, worth func(*view.Class) float64) []int32 {
	costs := make([]int32, len(dr.View.Hosts))
	for _, i := range going {
		costs[i] = least
	}
	r := ranking{sets: map[set]int{}, ofClass: map[classIn]int{}}
	for i, h := range dr.View.Hosts {
		switch {
		case h.Node == nil || h.Claim == nil:
		case h.Leaving || costs[i] == least || dr.View.Removed(i):
			costs[i] = least
		case h.Pool != nil && (h.Pool.Replicas != nil || h.Pool.ConsolidateAfter == nil): // it stays, empty or not
			costs[i] = most
			r.count(r.node(dr.View, i, dr.Moving[i], worth))
		default:
			r.queue = append(r.queue, r.node(dr.View, i, dr.Moving[i], worth))
		}
	}
	if len(r.queue) == 0 {
		return costs
	}
	for i := range r.queue {
		r.queue[i].score = r.score(&r.queue[i])
	}
	heap.Init(&r.queue)
	best := r.queue[0].score
	for len(r.queue) > 0 {
		// Scores only fall as others are ranked, so one that is still the highest when it is worked out anew is the highest.
		n := &r.queue[0]
		if score := r.score(n); score < n.score {
			n.score = score
			heap.Fix(&r.queue, 0)
			continue
		}
		share := 0.0
		if best > 0 {
			share = math.Sqrt(math.Sqrt(n.score / best)) // back from eager
		}
		costs[n.host] = least + 1 + int32(math.Round(share*(most-least-2)))
		r.count(*n)
		heap.Pop(&r.queue)
	}
	return costs
}

// set is a ReplicaSet, or what of it is in one zone where it spreads over zones.
type set struct {
	namespace, kind, name, uid, zone string
}

// scales says that a workload's pods are deleted by their deletion costs: those of ReplicaSets, and of what makes ReplicaSets.
func scales(kind string) bool {
	switch kind {
	case "Deployment", "ReplicaSet", "ReplicationController", "Rollout":
		return true
	default:
		return false
	}
}

// classIn is a class, by index, and the zone where its pods are counted by zone.
type classIn struct {
	class int
	zone  string
}

// ranking is the state of Costs. By set, size counts the replicas of all nodes, ranked those of nodes that are ranked.
type ranking struct {
	sets map[set]int
	// ofClass is what was looked up of sets: many pods share a class.
	ofClass      map[classIn]int
	size, ranked []int
	queue        queue
}

// node is one that is not ranked yet.
type node struct {
	host     int
	price    float64
	fixed    float64 // the worth of pods that are in no ReplicaSet
	replicas []replicas
	score    float64
}

// replicas are those of one set on one node.
type replicas struct {
	set, count int
	worth      float64 // of each
}

// count counts what a node that has been ranked holds of each ReplicaSet.
func (r *ranking) count(n node) {
	for _, p := range n.replicas {
		r.ranked[p.set] += p.count
	}
}

// node is what is to be known of a host. Its replicas add to the sizes of their sets.
func (r *ranking) node(v *view.View, host int, pods []int, worth func(*view.Class) float64) node {
	h := v.Hosts[host]
	n := node{host: host, price: float64(max(1, v.WeighedPrice(h.Claim)+v.Policy.PerNodeOverhead))}
	for _, p := range pods {
		class := v.Pods[p].Class
		one := worth(class)
		if !scales(class.OwnerKind) {
			n.fixed += one
			continue
		}
		id := r.set(class, h.Claim.Zone)
		r.size[id]++
		if i := slices.IndexFunc(n.replicas, func(x replicas) bool { return x.set == id }); i >= 0 {
			n.replicas[i].count++
		} else {
			n.replicas = append(n.replicas, replicas{set: id, count: 1, worth: one})
		}
	}
	return n
}

func (r *ranking) set(class *view.Class, zone string) int {
	if !slices.ContainsFunc(class.TopologySpread, func(s model.TopologySpread) bool { return s.TopologyKey == labels.Zone }) {
		zone = ""
	}
	if id, known := r.ofClass[classIn{class.Index, zone}]; known {
		return id
	}
	key := set{namespace: class.Namespace, kind: class.OwnerKind, name: class.OwnerName, uid: class.OwnerUID, zone: zone}
	id, known := r.sets[key]
	if !known {
		id = len(r.size)
		r.sets[key], r.size, r.ranked = id, append(r.size, 0), append(r.ranked, 0)
	}
	r.ofClass[classIn{class.Index, zone}] = id
	return id
}

// score is what a node's pods are worth for each micro-dollar that it costs, as long as they are needed.
func (r *ranking) score(n *node) float64 {
	sum := n.fixed
	for _, p := range n.replicas {
		for i := range p.count {
			needed := 1 - float64(r.ranked[p.set]+i)/float64(r.size[p.set])
			sum += p.worth * eager(needed)
		}
	}
	return sum / n.price
}

// eager is how quickly the worth of a replica falls with the share of its ReplicaSet that no node before it holds: with the fourth
// power the first nodes are as good a home for a third of all replicas as for two thirds. docs/adr/0012 has the measurement.
func eager(share float64) float64 { return share * share * share * share }

// queue is a heap, the highest score first.
type queue []node

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].score, q[i].score), cmp.Compare(q[i].host, q[j].host)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(node)) } //nolint:forcetypeassert // heap.Interface
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
