// Package kube reads the API server: informers for everything that planning looks at become batches of snapshot events.
//
// Informer handlers only note the names of what has to be looked at again, in a bounded set, and never wait. One goroutine
// takes the set, reads the objects from the informers' stores, converts them and sends a batch. So a burst of changes to
// one object is converted once, and when even the names are too many, everything is read again from the stores. The
// package has read-only rights and must never need more; what objects mean is package convert's business. Start reading
// at Source.Run.
package kube

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// DefaultQueue is how many names of changed objects are kept where a Config sets nothing else.
const DefaultQueue = 1 << 16

// Config is what a Source works with.
type Config struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Log     *slog.Logger
	Now     func() time.Time
	// Queue is how many names of changed objects are kept before everything is read again; zero is DefaultQueue.
	Queue int
	// Repair names conditions of nodes that matter beside those that Kerf knows of itself; nil names none.
	Repair *clusterpb.RepairPolicy
}

// Clients connects with a kubeconfig file, or as the pod that this process runs in where path is empty. Around, if it is not
// nil, is put around the transport.
func Clients(path, userAgent string, around transport.WrapperFunc) (kubernetes.Interface, dynamic.Interface, error) {
	var cfg *rest.Config
	var err error
	if path == "" {
		cfg, err = rest.InClusterConfig()
	} else {
		cfg, err = clientcmd.BuildConfigFromFlags("", path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("kubeconfig %q: %w", path, err)
	}
	cfg.UserAgent = userAgent
	if around != nil {
		cfg.Wrap(around)
	}
	cfg.QPS = -1 // the API server's own priority and fairness holds us back where that is needed
	cfg.WarningHandler = rest.NoWarnings{}
	// Protobuf takes a fraction of the time that JSON takes to read; custom resources have only the latter.
	typed := rest.CopyConfig(cfg)
	typed.ContentType = runtime.ContentTypeProtobuf
	typed.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, nil, fmt.Errorf("kubernetes client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("kubernetes client: %w", err)
	}
	return client, dyn, nil
}

// Source is a set of informers and what was made of them. Make it with New.
type Source struct {
	cfg     Config
	stores  stores
	dirty   *dirty
	memory  memory
	devices devices
	health  health
	run     []func(context.Context)
	synced  []cache.InformerSynced
}

// New sets informers up; nothing is read before Run.
func New(cfg Config) (*Source, error) {
	if cfg.Queue < 1 {
		cfg.Queue = DefaultQueue
	}
	s := &Source{cfg: cfg, dirty: newDirty(cfg.Queue), memory: newMemory(), devices: newDevices(), health: health{log: cfg.Log}}
	if err := s.core(); err != nil {
		return nil, err
	}
	if err := s.more(); err != nil {
		return nil, err
	}
	return s, s.custom()
}

// core sets up the informers for Kubernetes' own kinds.
func (s *Source) core() error {
	f := informers.NewSharedInformerFactoryWithOptions(s.cfg.Client, 0, informers.WithTransform(trim))
	core, apps, storage := f.Core().V1(), f.Apps().V1(), f.Storage().V1()
	s.stores = stores{
		pods: core.Pods().Informer().GetIndexer(), nodes: core.Nodes().Informer().GetStore(),
		namespaces: core.Namespaces().Informer().GetStore(),
		claims:     core.PersistentVolumeClaims().Informer().GetStore(), volumes: core.PersistentVolumes().Informer().GetStore(),
		daemonSets: apps.DaemonSets().Informer().GetStore(), replicaSets: apps.ReplicaSets().Informer().GetStore(),
		statefulSets: apps.StatefulSets().Informer().GetStore(), deployments: apps.Deployments().Informer().GetStore(),
		podTemplates: core.PodTemplates().Informer().GetStore(),
		budgets:      f.Policy().V1().PodDisruptionBudgets().Informer().GetStore(),
		priorities:   f.Scheduling().V1().PriorityClasses().Informer().GetStore(),
		classes:      storage.StorageClasses().Informer().GetStore(), csiNodes: storage.CSINodes().Informer().GetStore(),
		attachments: storage.VolumeAttachments().Informer().GetIndexer(),
	}
	if err := core.Pods().Informer().AddIndexers(cache.Indexers{byClaim: podClaims, byOwner: podOwner}); err != nil {
		return fmt.Errorf("index pods: %w", err)
	}
	if err := storage.VolumeAttachments().Informer().AddIndexers(cache.Indexers{byNode: attachmentNode}); err != nil {
		return fmt.Errorf("index volume attachments: %w", err)
	}
	for _, w := range []watched{
		{resource: "pods", informer: core.Pods().Informer(), keys: keyOf(aPod)},
		{resource: "nodes", informer: core.Nodes().Informer(), keys: keyOf(aNode)},
		{resource: "namespaces", informer: core.Namespaces().Informer(), keys: keyOf(aNamespace)},
		{resource: "persistentvolumeclaims", informer: core.PersistentVolumeClaims().Informer(), keys: keyOf(podsOfClaim)},
		{resource: "persistentvolumes", informer: core.PersistentVolumes().Informer(), keys: volumeKeys},
		{resource: "daemonsets", informer: apps.DaemonSets().Informer(), keys: keyOf(aDaemonSet)},
		{resource: "replicasets", informer: apps.ReplicaSets().Informer(), keys: ownerKey("ReplicaSet")},
		{resource: "statefulsets", informer: apps.StatefulSets().Informer(), keys: ownerKey("StatefulSet")},
		{resource: "poddisruptionbudgets", informer: f.Policy().V1().PodDisruptionBudgets().Informer(), keys: keyOf(aBudget)},
		{resource: "priorityclasses", informer: f.Scheduling().V1().PriorityClasses().Informer(), keys: always(allDaemonSets)},
		{resource: "storageclasses", informer: storage.StorageClasses().Informer(), keys: always(allWithVolumes)},
		{resource: "csinodes", informer: storage.CSINodes().Informer(), keys: keyOf(aNode)},
		{resource: "volumeattachments", informer: storage.VolumeAttachments().Informer(), keys: attachmentKeys},
		{resource: "deployments", informer: apps.Deployments().Informer(), keys: workloadKeys, optional: true},
		{resource: "podtemplates", informer: core.PodTemplates().Informer(), keys: workloadKeys, optional: true},
	} {
		if err := s.watch(w); err != nil {
			return err
		}
	}
	return nil
}

// custom sets up the informers for the kinds that users order nodes with.
func (s *Source) custom() error {
	f := dynamicinformer.NewDynamicSharedInformerFactory(s.cfg.Dynamic, 0)
	informer := func(r schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
		i := f.ForResource(r).Informer()
		return i, i.SetTransform(typed)
	}
	for _, c := range []struct {
		resource schema.GroupVersionResource
		store    *cache.Indexer
		keys     func(any) []key
		optional bool
	}{
		{karpenterv1.NodePoolGVR(), &s.stores.pools, keyOf(aPool), false},
		{awsv1.EC2NodeClassGVR(), &s.stores.nodeClasses, always(allPools), false},
		{karpenterv1.NodeClaimGVR(), &s.stores.nodeClaims, nodeClaimKeys, false},
		{karpenterv1alpha1.NodeOverlayGVR(), &s.stores.overlays, keyOf(anOverlay), true},
		{autoscalingv1beta1.CapacityBufferGVR(), &s.stores.buffers, keyOf(aBuffer), true},
	} {
		i, err := informer(c.resource)
		if err != nil {
			return fmt.Errorf("informer for %s: %w", c.resource.Resource, err)
		}
		*c.store = i.GetIndexer()
		if err := s.watch(watched{c.resource.GroupResource().String(), i, c.keys, c.optional}); err != nil {
			return err
		}
	}
	if err := s.stores.nodeClaims.AddIndexers(cache.Indexers{byNode: nodeClaimNode}); err != nil {
		return fmt.Errorf("index node claims: %w", err)
	}
	if err := s.stores.buffers.AddIndexers(cache.Indexers{byWorkload: bufferWorkload}); err != nil {
		return fmt.Errorf("index capacity buffers: %w", err)
	}
	return nil
}

// watched is a resource, its informer, and what has to be looked at again when one of its objects changes.
type watched struct {
	resource string
	informer cache.SharedIndexInformer
	keys     func(any) []key
	// optional resources need not be there: clusters may have older definitions and rights than this program. Once the
	// API server has said that it does not serve them, nothing waits for them; they are read when they come.
	optional bool
}

func (s *Source) watch(w watched) error {
	touched := func(o any) {
		if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = tombstone.Obj
		}
		s.health.works(w.resource)
		s.dirty.add(w.keys(o)...)
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: touched, DeleteFunc: touched,
		UpdateFunc: func(before, after any) {
			if unchanged(before, after) {
				s.health.works(w.resource)
				return
			}
			touched(before) // it may have referred to something else
			touched(after)
		},
	}
	if _, err := w.informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watch %s: %w", w.resource, err)
	}
	var refused atomic.Bool
	failed := func(ctx context.Context, _ *cache.Reflector, err error) {
		if w.optional && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)) {
			refused.Store(true)
		}
		if !w.optional || !apierrors.IsNotFound(err) {
			s.health.failed(ctx, w.resource, err)
		}
	}
	if err := w.informer.SetWatchErrorHandlerWithContext(failed); err != nil {
		return fmt.Errorf("watch %s: %w", w.resource, err)
	}
	s.run = append(s.run, w.informer.RunWithContext)
	s.synced = append(s.synced, func() bool { return refused.Load() || w.informer.HasSynced() })
	return nil
}

// Run reads until ctx is done. The first batch holds everything; it is sent once every informer has listed its objects,
// which waits for CustomResourceDefinitions that are not there yet, those of optional kinds aside. Run starts a goroutine for each informer and waits for
// all of them.
func (s *Source) Run(ctx context.Context, out chan<- snapshot.Batch) error {
	done := make(chan struct{}, len(s.run))
	for _, run := range s.run {
		go func() {
			defer func() { done <- struct{}{} }()
			run(ctx)
		}()
	}
	defer func() {
		for range s.run {
			<-done
		}
	}()
	begin := s.cfg.Now()
	if !cache.WaitForCacheSync(ctx.Done(), s.synced...) {
		return ctx.Err()
	}
	s.cfg.Log.InfoContext(ctx, "read the cluster", "pods", len(s.stores.pods.ListKeys()), "nodes", len(s.stores.nodes.ListKeys()),
		"duration", s.cfg.Now().Sub(begin))
	s.dirty.addAll()
	for {
		keys, all, ok := s.dirty.take(ctx)
		if !ok {
			return ctx.Err()
		}
		batch := s.convert(keys, all)
		if len(batch.Events) == 0 && len(batch.Whole) == 0 {
			continue
		}
		select {
		case out <- batch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
