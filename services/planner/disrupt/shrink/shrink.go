// Package shrink says which nodes are to lose their pods first when workloads are scaled down.
//
// A ReplicaSet that is given fewer replicas picks the pods to delete, and takes them from all nodes alike: they all
// stay, a little emptier each, and it takes an eviction of nearly every pod that is left to get down to the nodes that
// are needed. Kubernetes lets an external component say which pods to delete first, by their deletion cost. With the
// same order of nodes for all ReplicaSets, those that come first fall empty by themselves.
//
// It decides nothing else, and knows no clock. Start reading at Costs.
package shrink

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/heaps"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Deletion costs are from least, of nodes that go, to most, of nodes that stay, empty or not. Pods without one count as
// zero in Kubernetes: those on nodes that Kerf doesn't own are deleted last, because these nodes are paid for in any
// case.
const (
	least = -1000
	most  = -1
)

// Costs are, by index in View.Hosts, the deletion cost for the pods of each node that Kerf owns; 0 for other hosts.
// Going are nodes that go, now or by a later plan; worth is what a pod of a class is worth, in micro-dollars per hour.
//
// Nodes are ranked one after the other. Next is the one whose pods are worth most for what the node costs, where a
// replica counts the less the more of its ReplicaSet the nodes before it hold. Of ReplicaSets that spread over zones
// each zone counts by itself, so that they stay spread. A pod that is in no ReplicaSet counts in full: it stays when
// workloads are scaled down.
//
// Nodes that are alike, in price and in what they hold, always have the same score: they are one entry of the queue.
func Costs(dr *draft.Draft, going []int, worth func(*view.Class) float64) []int32 {
	costs := make([]int32, len(dr.View.Hosts))
	for _, i := range going {
		costs[i] = least
	}
	r := newRanking(dr.View, worth)
	for i, h := range dr.View.Hosts {
		switch {
		case h.Node == nil || h.Claim == nil:
		case h.Leaving || costs[i] == least || dr.View.Removed(i):
			costs[i] = least
		case h.Pool != nil && (h.Pool.Replicas != nil || h.Pool.ConsolidateAfter == nil): // it stays, empty or not
			costs[i] = most
			l := r.load(i, dr.Moving[i])
			r.count(&l)
		default:
			r.enqueue(i, r.load(i, dr.Moving[i]))
		}
	}
	if len(r.queue) == 0 {
		return costs
	}
	r.begin()
	best := r.queue[0].score
	for len(r.queue) > 0 {
		// Scores only fall as others are ranked, so one that is still the highest when it is worked out anew is the
		// highest.
		top := &r.queue[0]
		if score := r.score(&top.node.load); score < top.score {
			top.score = score
			heaps.Fix(r.queue)
			continue
		}
		share := 0.0
		if best > 0 {
			share = math.Sqrt(math.Sqrt(top.score / best)) // back from eager
		}
		costs[top.next()] = least + 1 + int32(math.Round(share*(most-least-2)))
		r.count(&top.node.load)
		if top.node.hosts = top.node.hosts[1:]; len(top.node.hosts) == 0 {
			heaps.Pop(&r.queue)
		} else {
			heaps.Fix(r.queue) // another of the same score may have a host before its next one
		}
	}
	return costs
}

// set is a ReplicaSet, or what of it is in one zone where it spreads over zones.
type set struct {
	namespace, kind, name, uid, zone string
}

// scales says that a workload's pods are deleted by their deletion costs: those of ReplicaSets, and of what makes
// ReplicaSets.
func scales(kind string) bool {
	switch kind {
	case "Deployment", "ReplicaSet", "ReplicationController", "Rollout":
		return true
	default:
		return false
	}
}

// ranking is the state of Costs.
type ranking struct {
	v     *view.View
	worth func(*view.Class) float64
	kinds []kind // by index of the class
	ids   map[set]int
	sets  []progress
	alike map[string]*node // by the key of their load
	queue []entry
	key   []byte
}

// kind is what counts of a class's pods.
type kind struct {
	known, scales, byZone bool
	worth                 float64        // of each
	set                   int            // -1 before it is known, and where zones count
	sets                  map[string]int // by zone, where zones count
}

// progress is how far the ranking is with a set: how many replicas it has, and how many of them the ranked nodes hold.
// left is, by such a number, what the replicas from there on count, where one that no node holds counts 1.
type progress struct {
	size, ranked int
	left         []float64
}

// node is one or more nodes that are alike and not all ranked yet: those that are left, in order.
type node struct {
	hosts []int
	load  load
}

// load is what is to be known of a node. No set is twice in replicas, which are sorted by set.
type load struct {
	price    float64
	fixed    float64 // the worth of pods that are in no ReplicaSet
	replicas []replicas
}

// replicas are those of one set on one node.
type replicas struct {
	set, count int
	worth      float64 // of each
}

func newRanking(v *view.View, worth func(*view.Class) float64) *ranking {
	return &ranking{v: v, worth: worth, kinds: make([]kind, len(v.Classes)), ids: map[set]int{}, alike: map[string]*node{}}
}

// kind looks a class up: many pods share one.
func (r *ranking) kind(class *view.Class) *kind {
	k := &r.kinds[class.Index]
	if !k.known {
		*k = kind{known: true, scales: scales(class.OwnerKind), worth: r.worth(class), set: -1, sets: map[string]int{}}
		k.byZone = slices.ContainsFunc(class.TopologySpread, func(s model.TopologySpread) bool { return s.TopologyKey == labels.Zone })
	}
	return k
}

// load adds the replicas of a host's pods to the sizes of their sets.
func (r *ranking) load(host int, pods []int) load {
	h := r.v.Hosts[host]
	l := load{price: float64(max(1, r.v.WeighedPrice(h.Claim)+r.v.Policy.PerNodeOverhead))}
	for _, p := range pods {
		class := r.v.Pods[p].Class
		k := r.kind(class)
		if !k.scales {
			l.fixed += k.worth
			continue
		}
		id := r.set(k, class, h.Claim.Zone)
		r.sets[id].size++
		i, known := slices.BinarySearchFunc(l.replicas, id, func(x replicas, id int) int { return cmp.Compare(x.set, id) })
		if !known {
			l.replicas = slices.Insert(l.replicas, i, replicas{set: id, worth: k.worth})
		}
		l.replicas[i].count++
	}
	return l
}

func (r *ranking) set(k *kind, class *view.Class, zone string) int {
	if k.set >= 0 {
		return k.set
	}
	if !k.byZone {
		zone = ""
	} else if id, known := k.sets[zone]; known {
		return id
	}
	key := set{namespace: class.Namespace, kind: class.OwnerKind, name: class.OwnerName, uid: class.OwnerUID, zone: zone}
	id, known := r.ids[key]
	if !known {
		id = len(r.sets)
		r.ids[key], r.sets = id, append(r.sets, progress{})
	}
	if k.byZone {
		k.sets[zone] = id
	} else {
		k.set = id
	}
	return id
}

// enqueue has a host ranked, with those that are alike.
func (r *ranking) enqueue(host int, l load) {
	r.key = l.appendKey(r.key[:0])
	n := r.alike[string(r.key)]
	if n == nil {
		n = &node{load: l}
		r.alike[string(r.key)] = n
		r.queue = append(r.queue, entry{node: n})
	}
	n.hosts = append(n.hosts, host)
}

// appendKey appends what loads have in common if they are the same.
func (l *load) appendKey(key []byte) []byte {
	key = binary.LittleEndian.AppendUint64(key, math.Float64bits(l.price))
	key = binary.LittleEndian.AppendUint64(key, math.Float64bits(l.fixed))
	for _, p := range l.replicas {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(p.set)), uint64(p.count))
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(p.worth))
	}
	return key
}

// count counts what a node that has been ranked holds of each set.
func (r *ranking) count(l *load) {
	for _, p := range l.replicas {
		r.sets[p.set].ranked += p.count
	}
}

// begin scores all that is in the queue, when all sets have their size.
func (r *ranking) begin() {
	for i := range r.sets {
		s := &r.sets[i]
		s.left = make([]float64, s.size+1)
		for ranked := s.size - 1; ranked >= 0; ranked-- {
			s.left[ranked] = s.left[ranked+1] + eager(1-float64(ranked)/float64(s.size))
		}
	}
	for i := range r.queue {
		r.queue[i].score = r.score(&r.queue[i].node.load)
	}
	heaps.Init(r.queue)
}

// score is what a node's pods are worth for each micro-dollar that it costs, as long as they are needed.
func (r *ranking) score(l *load) float64 {
	sum := l.fixed
	for _, p := range l.replicas {
		s := &r.sets[p.set]
		sum += p.worth * (s.left[s.ranked] - s.left[s.ranked+p.count])
	}
	return sum / l.price
}

// eager is how quickly the worth of a replica falls with the share of its ReplicaSet that no node before it holds: with
// the fourth power the first nodes are as good a home for a third of all replicas as for two thirds. docs/adr/0012 has
// the measurement.
func eager(share float64) float64 { return share * share * share * share }

// entry is a node and its score when it was last worked out.
type entry struct {
	score float64
	node  *node
}

func (e entry) next() int { return e.node.hosts[0] }

// Before says that e has the higher score.
func (e entry) Before(f entry) bool {
	if e.score != f.score {
		return e.score > f.score
	}
	return e.next() < f.next()
}
