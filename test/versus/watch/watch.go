// Package watch writes a cluster's history by looking on through its API server, as any client can, and at the
// controllers' processes through /proc. It never asks the controllers themselves.
//
// Start reading at Start.
package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/test/versus/history"
	"github.com/kerf-dev/kerf/test/versus/load"
)

// lookEvery is how often the processes are looked at.
const lookEvery = time.Second

// Prices are what nodes cost.
type Prices interface {
	// Price is dollars an hour.
	Price(instanceType, zone string, spot bool) float64
}

// Watch is a history that goes on. Safe for concurrent use.
type Watch struct {
	began  time.Time
	prices Prices
	pids   map[string]int
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex
	pods  map[types.UID]*history.Pod
	nodes map[types.UID]*history.Node
	usage []history.Usage
	marks []history.Mark
	facts map[string]float64
	last  float64
}

// Start begins to watch and returns once what is there already is known.
func Start(ctx context.Context, client kubernetes.Interface, prices Prices, pids map[string]int) (*Watch, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{
		began: time.Now(), prices: prices, pids: pids, stop: stop,
		pods: map[types.UID]*history.Pod{}, nodes: map[types.UID]*history.Node{}, facts: map[string]float64{},
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, nodes := factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()
	for _, follow := range []struct {
		informer cache.SharedIndexInformer
		see      func(object any, gone bool)
	}{{pods, w.pod}, {nodes, w.node}} {
		_, err := follow.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { follow.see(o, false) },
			UpdateFunc: func(_, o any) { follow.see(o, false) },
			DeleteFunc: func(o any) { follow.see(o, true) },
		})
		if err != nil {
			stop()
			return nil, err
		}
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced) {
		stop()
		return nil, errors.New("watch the cluster: it ended before it was known")
	}
	w.look()
	w.done.Go(func() { w.looking(ctx) })
	return w, nil
}

// Now is the time of the history.
func (w *Watch) Now() float64 { return time.Since(w.began).Seconds() }

// Quiet is for how many seconds nothing has happened to any pod or node.
func (w *Watch) Quiet() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Now() - w.last
}

// Count is how many pods there are now that have not finished, and how many of them wait for a node.
func (w *Watch) Count() (all, waiting int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pods {
		if p.Finished > 0 || p.Deleted > 0 {
			continue
		}
		all++
		if p.Bound == 0 {
			waiting++
		}
	}
	return all, waiting
}

// Bound says whether a pod, by its namespace and name, has a node or is gone.
func (w *Watch) Bound(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pods {
		if p.Name == name {
			return p.Bound > 0 || p.Deleted > 0
		}
	}
	return false
}

// Mark notes that the load goes on.
func (w *Watch) Mark(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, history.Mark{Name: name, At: w.Now()})
}

// Fact keeps a figure that the load itself found out.
func (w *Watch) Fact(key string, value float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts[key] = value
}

// History is what has been seen until now.
func (w *Watch) History() *history.History {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &history.History{Usage: slices.Clone(w.usage), Marks: slices.Clone(w.marks), Facts: maps.Clone(w.facts), End: w.Now()}
	for _, p := range w.pods {
		h.Pods = append(h.Pods, *p)
	}
	for _, n := range w.nodes {
		h.Nodes = append(h.Nodes, *n)
	}
	return h
}

// Stop ends the watching; the history stays.
func (w *Watch) Stop() {
	w.look()
	w.stop()
	w.done.Wait()
}

func object[T any](o any) (T, bool) {
	if tomb, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tomb.Obj
	}
	v, ok := o.(T)
	return v, ok
}

func (w *Watch) pod(o any, gone bool) {
	pod, ok := object[*corev1.Pod](o)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, changed := w.Now(), false
	once := func(at *float64, is bool) {
		if is && *at == 0 {
			*at, changed = now, true
		}
	}
	p := w.pods[pod.UID]
	if p == nil {
		p = &history.Pod{Name: pod.Namespace + "/" + pod.Name, App: pod.Labels[load.AppLabel]}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			p.Owner = string(owner.UID)
		}
		w.pods[pod.UID] = p
	}
	once(&p.Created, true)
	once(&p.Bound, pod.Spec.NodeName != "")
	p.Node = pod.Spec.NodeName
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			once(&p.Refused, c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable)
		}
		if c.Type == corev1.DisruptionTarget {
			once(&p.Evicted, c.Status == corev1.ConditionTrue)
			p.Cause = c.Reason
		}
	}
	once(&p.Finished, pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
	once(&p.Deleted, gone)
	if changed {
		w.last = now
	}
}

func (w *Watch) node(o any, gone bool) {
	node, ok := object[*corev1.Node](o)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.Now()
	n := w.nodes[node.UID]
	if n == nil {
		n = &history.Node{
			Name: node.Name, Type: node.Labels[corev1.LabelInstanceTypeStable], Zone: node.Labels[corev1.LabelTopologyZone],
			Created: now,
		}
		w.nodes[node.UID], w.last = n, now
	}
	n.Spot = node.Labels["karpenter.sh/capacity-type"] == "spot"
	n.Price = w.prices.Price(n.Type, n.Zone, n.Spot)
	if gone && n.Deleted == 0 {
		n.Deleted, w.last = now, now
	}
}

func (w *Watch) looking(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look()
		}
	}
}

func (w *Watch) look() {
	u := history.Usage{CPU: map[string]float64{}, Memory: map[string]uint64{}, Anonymous: map[string]uint64{}}
	for name, pid := range w.pids {
		cpu, memory, anonymous, err := process(pid)
		if err != nil {
			continue // it has ended: what it used until then stays in the looks before
		}
		u.CPU[name], u.Memory[name], u.Anonymous[name] = cpu, memory, anonymous
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	u.At = w.Now()
	w.usage = append(w.usage, u)
}
