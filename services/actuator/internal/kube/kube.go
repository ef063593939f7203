// Package kube implements the cluster port on a Kubernetes API server: informers feed Observe, and every change is an
// idempotent write under a resource version or a uid.
//
// It must never decide anything about a claim: it translates. Start at New; observe.go reads, node.go and publish.go
// write. What the objects mean is package objects' matter.
package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

const (
	fieldManager = reader.ActuatorManager
	byNode       = "byNode"
)

// Config is what the adapter depends on.
type Config struct {
	// REST reaches the API server with the actuator's own rights.
	REST *rest.Config
	// Log gets one line per change of health.
	Log *slog.Logger
	// Now is the clock for events and conditions; nil means time.Now.
	Now func() time.Time
}

// Kube is the cluster port on client-go. Safe for concurrent use.
type Kube struct {
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	nominator *Nominator
	replicas  *Replicas
	log       *slog.Logger
	now       func() time.Time

	informers    []namedInformer
	health       []*health
	start        []func(stop <-chan struct{})
	nodes        corelisters.NodeLister
	pods         cache.Indexer
	volumeClaims corelisters.PersistentVolumeClaimLister
	attachments  cache.Indexer
	nodePools    cache.GenericLister
	classes      cache.GenericLister
	claims       cache.GenericLister

	changed chan struct{}
	dirty   dirty

	mu   sync.Mutex // guards seen
	seen *cluster.State

	told  told
	wrote wrote
}

type namedInformer struct {
	name     string
	informer cache.SharedIndexInformer
}

var (
	_ cluster.Cluster   = (*Kube)(nil)
	_ cluster.Nominator = (*Nominator)(nil)
)

// New builds the clients and the informers; nothing is read before Run.
func New(c Config) (*Kube, error) {
	if c.REST == nil {
		return nil, errors.New("kube: Config.REST is not set")
	}
	// Protobuf takes a fraction of the time that JSON takes to read; custom resources have only the latter.
	typed := rest.CopyConfig(c.REST)
	typed.ContentType = runtime.ContentTypeProtobuf
	typed.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(c.REST)
	if err != nil {
		return nil, fmt.Errorf("kubernetes dynamic client: %w", err)
	}
	own := rest.CopyConfig(typed)
	own.QPS = -1
	writer, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client for nominations: %w", err)
	}
	k, err := newKube(client, dyn, c)
	if err == nil {
		k.nominator.writer = writer
	}
	return k, err
}

// Nominator brings pods to their nodes.
func (k *Kube) Nominator() cluster.Nominator { return k.nominator }

// Replicas writes deletion costs.
func (k *Kube) Replicas() cluster.Replicas { return k.replicas }

func newKube(client kubernetes.Interface, dyn dynamic.Interface, c Config) (*Kube, error) {
	k := &Kube{
		client: client, dynamic: dyn, log: c.Log, now: c.Now,
		changed: make(chan struct{}, 1),
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	if k.now == nil {
		k.now = time.Now
	}

	typed := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim))
	podInformer := typed.Core().V1().Pods().Informer()
	if err := podInformer.AddIndexers(cache.Indexers{byNode: podNode, byNominee: podNominee}); err != nil {
		return nil, fmt.Errorf("index pods: %w", err)
	}
	k.pods = podInformer.GetIndexer()
	k.nodes = typed.Core().V1().Nodes().Lister()
	k.volumeClaims = typed.Core().V1().PersistentVolumeClaims().Lister()
	k.nominator = &Nominator{client: client, writer: client, writing: make(chan struct{}, maxNominating), pods: k.pods, nodes: k.nodes}
	k.replicas = &Replicas{client: client, pods: k.pods}
	k.nominator.mayBind.Store(true) // until CanNominate knows better
	attachments := typed.Storage().V1().VolumeAttachments().Informer()
	if err := attachments.AddIndexers(cache.Indexers{byNode: attachmentNode}); err != nil {
		return nil, fmt.Errorf("index volume attachments: %w", err)
	}
	k.attachments = attachments.GetIndexer()

	custom := dynamicinformer.NewDynamicSharedInformerFactory(dyn, 0)
	k.nodePools = custom.ForResource(objects.Pools()).Lister()
	k.classes = custom.ForResource(objects.Classes()).Lister()
	k.claims = custom.ForResource(objects.Claims()).Lister()
	k.start = []func(<-chan struct{}){typed.Start, custom.Start}

	for _, r := range []schema.GroupVersionResource{objects.Pools(), objects.Classes(), objects.Claims()} {
		if err := custom.ForResource(r).Informer().SetTransform(trim); err != nil {
			return nil, fmt.Errorf("transform %s: %w", r.Resource, err)
		}
	}

	for _, w := range []struct {
		namedInformer
		touched func(before, after any) bool
	}{
		{namedInformer{"pods", podInformer}, k.podTouched},
		{namedInformer{"nodes", typed.Core().V1().Nodes().Informer()}, k.nodeTouched},
		{namedInformer{"persistentvolumeclaims", typed.Core().V1().PersistentVolumeClaims().Informer()}, k.volumesTouched},
		{namedInformer{"volumeattachments", attachments}, k.attachmentTouched},
		{namedInformer{objects.Pools().Resource, custom.ForResource(objects.Pools()).Informer()}, k.policyTouched(&k.dirty.pools)},
		{namedInformer{objects.Classes().Resource, custom.ForResource(objects.Classes()).Informer()}, k.policyTouched(&k.dirty.classes)},
		{namedInformer{objects.Claims().Resource, custom.ForResource(objects.Claims()).Informer()}, k.claimTouched},
	} {
		if err := k.watch(w.namedInformer, w.touched); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// watch registers the handlers of one informer: they note what is to be looked at again, signal where there is something, and
// note that the watch is well.
func (k *Kube) watch(i namedInformer, touched func(before, after any) bool) error {
	k.informers = append(k.informers, i)
	h := &health{name: i.name, log: k.log, revision: i.informer.LastSyncResourceVersion}
	k.health = append(k.health, h)
	seen := func(before, after any) {
		h.works()
		if touched(before, after) {
			k.signal()
		}
	}
	_, err := i.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { seen(nil, o) },
		UpdateFunc: seen,
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			seen(o, nil)
		},
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", i.name, err)
	}
	err = i.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { h.fails(err) })
	if err != nil {
		return fmt.Errorf("watch %s: %w", i.name, err)
	}
	return nil
}

// signal tells who waits for it that Observe may have something new.
func (k *Kube) signal() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// Run feeds the caches until ctx ends. It starts the informers' goroutines, and they stop with ctx.
func (k *Kube) Run(ctx context.Context) error {
	for _, start := range k.start {
		start(ctx.Done())
	}
	synced := make([]cache.InformerSynced, 0, len(k.informers))
	for _, i := range k.informers {
		synced = append(synced, i.informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	k.signal() // caches of an empty cluster fill without an event

	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, h := range k.health {
				h.check()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Changed signals, coalesced, that Observe may have something new.
func (k *Kube) Changed() <-chan struct{} { return k.changed }
