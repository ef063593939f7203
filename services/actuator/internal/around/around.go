// Package around keeps the picture of which pods run where, by which pods are bound: what the caches show, and what was
// bound since. It never binds a pod, and whether the pods around allow one is package neighbours' to say. Start reading
// at Picture.With.
package around

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/actuator/neighbours"
)

const (
	// lookEvery is how old the picture may be. What Kerf binds itself is in it at once.
	lookEvery = 20 * time.Millisecond
	// lookShare bounds what looking costs in large clusters: a fifth of one CPU.
	lookShare = 4
)

// Picture is which pods run where. Safe for concurrent use.
type Picture struct {
	nodes corelisters.NodeLister
	pods  cache.Store

	mu      sync.Mutex
	cluster *neighbours.Cluster
	looked  time.Time
	took    time.Duration
	// assumed are the nodes of pods that were placed here, until the cache shows it.
	assumed map[types.UID]string
	// rules are those of pods that were asked about.
	rules map[types.UID]read
}

type read struct {
	of        *corev1.Pod
	rules     *neighbours.Rules
	decidable bool
}

// New makes a picture of what caches hold.
func New(nodes corelisters.NodeLister, pods cache.Store) *Picture {
	return &Picture{nodes: nodes, pods: pods}
}

// Verdict is what became of a pod that was to be placed.
type Verdict int

// The verdicts. Known pods were placed before, and the cache does not show it yet.
const (
	Placed Verdict = iota
	Known
	Waits
	Undecidable
)

// With lets do place pods on one picture: from then on they count as running there.
func (x *Picture) With(do func(place func(p *corev1.Pod, node string) Verdict)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.look()
	do(x.place)
}

func (x *Picture) place(p *corev1.Pod, node string) Verdict {
	if x.assumed[p.UID] != "" {
		return Known
	}
	r, known := x.rules[p.UID]
	if !known || r.of != p {
		r = read{of: p}
		r.rules, r.decidable = neighbours.Read(p)
		x.rules[p.UID] = r
	}
	switch {
	case !r.decidable:
		return Undecidable
	case !x.cluster.Allows(r.rules, node):
		return Waits
	}
	x.cluster.Add(p, node)
	x.assumed[p.UID] = node
	return Placed
}

// Forget is for a pod that was placed, and not bound after all.
func (x *Picture) Forget(pod types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.assumed, pod)
	x.looked = time.Time{}
}

// look takes a new picture where the last one is old.
func (x *Picture) look() {
	began := time.Now()
	if began.Sub(x.looked) < max(lookEvery, lookShare*x.took) {
		return
	}
	nodes, err := x.nodes.List(labels.Everything())
	if err != nil { // a cache's lister never has one; without nodes no pod is placed
		nodes = nil
	}
	assumed, rules := map[types.UID]string{}, map[types.UID]read{}
	x.cluster = neighbours.New(nodes, func(yield func(*corev1.Pod, string) bool) {
		for _, o := range x.pods.List() {
			p, ok := o.(*corev1.Pod)
			if !ok || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue
			}
			node := p.Spec.NodeName
			if node == "" {
				if r, known := x.rules[p.UID]; known {
					rules[p.UID] = r
				}
				if node = x.assumed[p.UID]; node == "" {
					continue
				}
				assumed[p.UID] = node
			}
			if !yield(p, node) {
				return
			}
		}
	})
	x.assumed, x.rules = assumed, rules
	x.looked, x.took = time.Now(), time.Since(began)
}
