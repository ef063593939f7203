// Package kube implements the cluster port on a Kubernetes API server: informers feed Observe, and every change is an
// idempotent write under a resource version or a uid.
//
// It must never decide anything about a claim: it translates. Start at New; observe.go reads, node.go and publish.go
// write, policy.go turns users' objects into the actuator's values.
package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
)

const (
	fieldManager = "kerf-actuator"
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
	client  kubernetes.Interface
	dynamic dynamic.Interface
	log     *slog.Logger
	now     func() time.Time

	informers    []namedInformer
	start        []func(stop <-chan struct{})
	nodes        corelisters.NodeLister
	podIndex     cache.Indexer
	volumeClaims corelisters.PersistentVolumeClaimLister
	attachments  storagelisters.VolumeAttachmentLister
	pools        cache.GenericLister
	classes      cache.GenericLister
	claims       cache.GenericLister

	changed chan struct{}
	version atomic.Uint64

	mu          sync.Mutex // guards memo and told
	memo        *cluster.State
	memoVersion uint64
	told        map[string]string // the last event text per object, so that nothing is said twice
}

type namedInformer struct {
	name     string
	informer cache.SharedIndexInformer
}

var _ cluster.Cluster = (*Kube)(nil)

// New builds the clients and the informers; nothing is read before Run.
func New(c Config) (*Kube, error) {
	if c.REST == nil {
		return nil, errors.New("kube: Config.REST is not set")
	}
	client, err := kubernetes.NewForConfig(c.REST)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(c.REST)
	if err != nil {
		return nil, fmt.Errorf("kubernetes dynamic client: %w", err)
	}

	return newKube(client, dyn, c)
}

func newKube(client kubernetes.Interface, dyn dynamic.Interface, c Config) (*Kube, error) {
	k := &Kube{
		client: client, dynamic: dyn, log: c.Log, now: c.Now,
		changed: make(chan struct{}, 1), told: make(map[string]string),
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	if k.now == nil {
		k.now = time.Now
	}

	typed := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(stripManagedFields))
	podInformer := typed.Core().V1().Pods().Informer()
	if err := podInformer.AddIndexers(cache.Indexers{byNode: podNode}); err != nil {
		return nil, fmt.Errorf("index pods by node: %w", err)
	}
	k.podIndex = podInformer.GetIndexer()
	k.nodes = typed.Core().V1().Nodes().Lister()
	k.volumeClaims = typed.Core().V1().PersistentVolumeClaims().Lister()
	k.attachments = typed.Storage().V1().VolumeAttachments().Lister()

	custom := dynamicinformer.NewDynamicSharedInformerFactory(dyn, 0)
	k.pools = custom.ForResource(poolsResource()).Lister()
	k.classes = custom.ForResource(classesResource()).Lister()
	k.claims = custom.ForResource(claimsResource()).Lister()
	k.start = []func(<-chan struct{}){typed.Start, custom.Start}

	all := []namedInformer{
		{"pods", podInformer},
		{"nodes", typed.Core().V1().Nodes().Informer()},
		{"persistentvolumeclaims", typed.Core().V1().PersistentVolumeClaims().Informer()},
		{"volumeattachments", typed.Storage().V1().VolumeAttachments().Informer()},
		{poolsResource().Resource, custom.ForResource(poolsResource()).Informer()},
		{classesResource().Resource, custom.ForResource(classesResource()).Informer()},
		{claimsResource().Resource, custom.ForResource(claimsResource()).Informer()},
	}
	for _, i := range all {
		if err := k.watch(i); err != nil {
			return nil, err
		}
	}

	return k, nil
}

// watch registers the handlers of one informer: they only count and signal.
func (k *Kube) watch(i namedInformer) error {
	k.informers = append(k.informers, i)
	signal := func() {
		k.version.Add(1)
		select {
		case k.changed <- struct{}{}:
		default:
		}
	}
	_, err := i.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { signal() },
		UpdateFunc: func(_, _ any) { signal() },
		DeleteFunc: func(any) { signal() },
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", i.name, err)
	}
	err = i.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		k.log.WarnContext(ctx, "watch interrupted; trying again", "resource", i.name, "error", err)
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", i.name, err)
	}

	return nil
}

// Run feeds the caches until ctx ends. It starts the informers' goroutines, and they stop with ctx.
func (k *Kube) Run(ctx context.Context) error {
	for _, start := range k.start {
		start(ctx.Done())
	}
	<-ctx.Done()

	return nil
}

// Changed signals, coalesced, that Observe may have something new.
func (k *Kube) Changed() <-chan struct{} { return k.changed }

// stripManagedFields drops what nobody here reads and what is most of an object's size.
func stripManagedFields(o any) (any, error) {
	if a, err := meta.Accessor(o); err == nil {
		a.SetManagedFields(nil)
	}

	return o, nil
}

func podNode(o any) ([]string, error) {
	p, ok := o.(*corev1.Pod)
	if !ok || p.Spec.NodeName == "" {
		return nil, nil
	}

	return []string{p.Spec.NodeName}, nil
}
