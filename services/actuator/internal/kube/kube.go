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

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/apiserver"
	"github.com/kerf-dev/kerf/services/actuator/internal/around"
	"github.com/kerf-dev/kerf/services/actuator/internal/correlator"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/internal/kubeclient"
	"github.com/kerf-dev/kerf/services/internal/kubeclient/watches"
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
	// Silent is since when the API server answers nothing, zero while it does; nil where that is not known.
	Silent func() time.Time
}

// refusedRate is how many requests there are in a second at most for evictions, and for changes of nodes, that were
// refused before.
const refusedRate = 50

// Kube is the cluster port on client-go. Safe for concurrent use.
type Kube struct {
	client apiserver.Client
	// urgent is a client without a rate of its own, because a client's requests share one: for what a node's pods wait
	// for, as it opens or is about to be gone. Of these requests there are never more at once than there are slots for
	// the work.
	urgent apiserver.Client
	// refused is a client with a rate of its own, for what the API server has refused: what budgets hold is asked for
	// again and again for hours, and neither that nor events and questions are to wait for one another.
	refused   apiserver.Client
	dynamic   dynamic.Interface
	nominator *Nominator
	replicas  *Replicas
	log       *slog.Logger
	now       func() time.Time

	informers    []namedInformer
	watches      map[string]*watches.Watch // by resource
	silent       func() time.Time
	nodes        corelisters.NodeLister
	pods         cache.Indexer
	volumeClaims corelisters.PersistentVolumeClaimLister
	attachments  cache.Indexer
	nodePools    cache.GenericLister
	classes      cache.GenericLister
	claims       cache.GenericLister

	changed chan struct{}
	dirty   dirty

	mu   sync.Mutex // guards seen and read
	seen *cluster.State
	// read are the pods of each node as they were read last.
	read map[string]objects.Pods

	events *correlator.Correlator
	wrote  wrote
}

type namedInformer struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
}

func (i namedInformer) name() string { return i.resource.Resource }

var (
	_ cluster.Cluster   = (*Kube)(nil)
	_ cluster.Nominator = (*Nominator)(nil)
)

// New builds the clients and the informers; nothing is read before Run.
func New(c Config) (*Kube, error) {
	if c.REST == nil {
		return nil, errors.New("kube: Config.REST is not set")
	}
	client, err := apiserver.New(c.REST)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(c.REST)
	if err != nil {
		return nil, fmt.Errorf("kubernetes dynamic client: %w", err)
	}
	own := rest.CopyConfig(c.REST)
	own.QPS, own.RateLimiter = -1, nil
	urgent, err := apiserver.New(own)
	if err != nil {
		return nil, fmt.Errorf("for nominations, evictions and nodes: %w", err)
	}
	later := rest.CopyConfig(c.REST)
	later.QPS, later.Burst, later.RateLimiter = refusedRate, refusedRate, nil
	refused, err := apiserver.New(later)
	if err != nil {
		return nil, fmt.Errorf("for what was refused: %w", err)
	}
	slow := rest.CopyConfig(c.REST)
	slow.QPS, slow.Burst, slow.RateLimiter = costingRate, costingRate, nil
	costing, err := apiserver.New(slow)
	if err != nil {
		return nil, fmt.Errorf("for deletion costs: %w", err)
	}
	k, err := newKube(client, dyn, c)
	if err == nil {
		k.urgent, k.refused, k.nominator.writer, k.replicas.client = urgent, refused, urgent, costing
	}
	return k, err
}

// Nominator brings pods to their nodes.
func (k *Kube) Nominator() cluster.Nominator { return k.nominator }

// Replicas writes deletion costs.
func (k *Kube) Replicas() cluster.Replicas { return k.replicas }

func newKube(client apiserver.Client, dyn dynamic.Interface, c Config) (*Kube, error) {
	k := &Kube{
		client: client, urgent: client, refused: client, dynamic: dyn, log: c.Log, now: c.Now,
		changed: make(chan struct{}, 1), read: map[string]objects.Pods{}, watches: map[string]*watches.Watch{}, silent: c.Silent,
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	if k.now == nil {
		k.now = time.Now
	}
	if k.silent == nil {
		k.silent = func() time.Time { return time.Time{} }
	}
	k.events = correlator.New(k.now)

	if err := k.follow(); err != nil {
		return nil, err
	}
	k.nominator = &Nominator{
		client: client, writer: client, writing: make(chan struct{}, maxNominating), pods: k.pods, nodes: k.nodes, around: around.New(k.nodes, k.pods),
	}
	k.replicas = &Replicas{client: client, pods: k.pods}
	k.nominator.mayBind.Store(true) // until CanNominate knows better
	return k, nil
}

// follow sets up the informers.
func (k *Kube) follow() error {
	core := corev1.SchemeGroupVersion
	trim := (&trimmer{}).trim
	for _, f := range []struct {
		resource schema.GroupVersionResource
		object   runtime.Object // nil for a custom resource
		keep     func(cache.Indexer)
		indexers cache.Indexers
		touched  func(before, after any) bool
	}{
		{
			core.WithResource("pods"), &corev1.Pod{}, func(i cache.Indexer) { k.pods = i },
			cache.Indexers{byNode: objects.PodNode, byNominee: objects.PodNominee, byWaiting: objects.PodWaiting},
			k.podTouched,
		},
		{
			core.WithResource("nodes"), &corev1.Node{}, func(i cache.Indexer) { k.nodes = corelisters.NewNodeLister(i) },
			nil, k.nodeTouched,
		},
		{
			core.WithResource("persistentvolumeclaims"), &corev1.PersistentVolumeClaim{},
			func(i cache.Indexer) { k.volumeClaims = corelisters.NewPersistentVolumeClaimLister(i) }, nil, k.volumesTouched,
		},
		{
			storagev1.SchemeGroupVersion.WithResource("volumeattachments"), &storagev1.VolumeAttachment{},
			func(i cache.Indexer) { k.attachments = i },
			cache.Indexers{byNode: objects.AttachmentNode},
			k.attachmentTouched,
		},
		{karpenterv1.NodePoolGVR(), nil, keepAs(&k.nodePools, karpenterv1.NodePoolGVR()), nil, k.policyTouched(&k.dirty.pools)},
		{awsv1.EC2NodeClassGVR(), nil, keepAs(&k.classes, awsv1.EC2NodeClassGVR()), nil, k.policyTouched(&k.dirty.classes)},
		{karpenterv1.NodeClaimGVR(), nil, keepAs(&k.claims, karpenterv1.NodeClaimGVR()), nil, k.claimTouched},
	} {
		var i cache.SharedIndexInformer
		var err error
		if f.object == nil {
			i, err = kubeclient.DynamicInformer(k.dynamic, f.resource, trim)
		} else {
			i, err = kubeclient.Informer(k.client, kubeclient.Kind{Resource: f.resource, Object: f.object}, trim)
		}
		if err != nil {
			return err
		}
		if err := i.AddIndexers(f.indexers); err != nil {
			return fmt.Errorf("index %s: %w", f.resource.Resource, err)
		}
		f.keep(i.GetIndexer())
		if err := k.watch(namedInformer{f.resource, i}, f.touched); err != nil {
			return err
		}
	}
	return nil
}

func keepAs(l *cache.GenericLister, r schema.GroupVersionResource) func(cache.Indexer) {
	return func(i cache.Indexer) { *l = cache.NewGenericLister(i, r.GroupResource()) }
}

// watch registers the handlers of one informer: they note what is to be looked at again, signal where there is
// something, and note that the watch is well.
func (k *Kube) watch(i namedInformer, touched func(before, after any) bool) error {
	k.informers = append(k.informers, i)
	w := watches.New(i.name(), k.log, time.Now, i.informer.LastSyncResourceVersion)
	k.watches[i.name()] = w
	seen := func(before, after any) {
		w.Works()
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
			if u, ok := o.(*unstructured.Unstructured); ok { // removed by Kerf or by someone else
				k.wrote.forget(i.resource, u.GetName())
			}
			seen(o, nil)
		},
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", i.name(), err)
	}
	err = i.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if watches.Trouble(ctx, err) {
			w.Fails(err)
		}
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", i.name(), err)
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
	synced := make([]kubeclient.Synced, 0, len(k.informers))
	for _, i := range k.informers {
		go i.informer.RunWithContext(ctx)
		synced = append(synced, kubeclient.Synced{Resource: i.name(), Has: i.informer.HasSynced})
	}
	if !kubeclient.WaitForSync(ctx, k.log, synced) {
		return nil
	}
	k.signal() // caches of an empty cluster fill without an event

	tick := time.NewTicker(watches.CheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, w := range k.watches {
				w.Check()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Claim implements cluster.Observer.
func (k *Kube) Claim(id model.ClaimID) (c model.Claim, there bool, err error) {
	o, err := get(k.claims, string(id))
	if err != nil || o == nil {
		return model.Claim{}, false, err
	}
	return objects.ReadClaim(o)
}

// Ask asks the API server something, so that its silence is noticed.
func Ask(ctx context.Context, k *Kube) error { return apiserver.Ask(ctx, k.client) }

// Changed signals, coalesced, that Observe may have something new.
func (k *Kube) Changed() <-chan struct{} { return k.changed }
