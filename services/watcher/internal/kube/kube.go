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
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
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
}

// Clients connects with a kubeconfig file, or as the pod that this process runs in where path is empty.
func Clients(path, userAgent string) (kubernetes.Interface, dynamic.Interface, error) {
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
	cfg.QPS = -1 // the API server's own priority and fairness holds us back where that is needed
	cfg.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(cfg)
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
	cfg    Config
	stores stores
	dirty  *dirty
	memory memory
	health health
	run    []func(context.Context)
	synced []cache.InformerSynced
}

// New sets informers up; nothing is read before Run.
func New(cfg Config) (*Source, error) {
	if cfg.Queue < 1 {
		cfg.Queue = DefaultQueue
	}
	s := &Source{cfg: cfg, dirty: newDirty(cfg.Queue), memory: newMemory(), health: health{log: cfg.Log}}
	if err := s.core(); err != nil {
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
		statefulSets: apps.StatefulSets().Informer().GetStore(),
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
		{"pods", core.Pods().Informer(), keyOf(aPod)},
		{"nodes", core.Nodes().Informer(), keyOf(aNode)},
		{"namespaces", core.Namespaces().Informer(), keyOf(aNamespace)},
		{"persistentvolumeclaims", core.PersistentVolumeClaims().Informer(), keyOf(podsOfClaim)},
		{"persistentvolumes", core.PersistentVolumes().Informer(), volumeKeys},
		{"daemonsets", apps.DaemonSets().Informer(), keyOf(aDaemonSet)},
		{"replicasets", apps.ReplicaSets().Informer(), ownerKey("ReplicaSet")},
		{"statefulsets", apps.StatefulSets().Informer(), ownerKey("StatefulSet")},
		{"poddisruptionbudgets", f.Policy().V1().PodDisruptionBudgets().Informer(), keyOf(aBudget)},
		{"priorityclasses", f.Scheduling().V1().PriorityClasses().Informer(), always(allDaemonSets)},
		{"storageclasses", storage.StorageClasses().Informer(), always(allWithVolumes)},
		{"csinodes", storage.CSINodes().Informer(), keyOf(aNode)},
		{"volumeattachments", storage.VolumeAttachments().Informer(), attachmentKeys},
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
	}{
		{karpenterv1.NodePoolGVR(), &s.stores.pools, keyOf(aPool)},
		{awsv1.EC2NodeClassGVR(), &s.stores.nodeClasses, always(allPools)},
		{karpenterv1.NodeClaimGVR(), &s.stores.nodeClaims, nodeClaimKeys},
	} {
		i, err := informer(c.resource)
		if err != nil {
			return fmt.Errorf("informer for %s: %w", c.resource.Resource, err)
		}
		*c.store = i.GetIndexer()
		if err := s.watch(watched{c.resource.GroupResource().String(), i, c.keys}); err != nil {
			return err
		}
	}
	if err := s.stores.nodeClaims.AddIndexers(cache.Indexers{byNode: nodeClaimNode}); err != nil {
		return fmt.Errorf("index node claims: %w", err)
	}
	return nil
}

// watched is a resource, its informer, and what has to be looked at again when one of its objects changes.
type watched struct {
	resource string
	informer cache.SharedIndexInformer
	keys     func(any) []key
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
			touched(before) // it may have referred to something else
			touched(after)
		},
	}
	if _, err := w.informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watch %s: %w", w.resource, err)
	}
	failed := func(ctx context.Context, _ *cache.Reflector, err error) { s.health.failed(ctx, w.resource, err) }
	if err := w.informer.SetWatchErrorHandlerWithContext(failed); err != nil {
		return fmt.Errorf("watch %s: %w", w.resource, err)
	}
	s.run = append(s.run, w.informer.RunWithContext)
	s.synced = append(s.synced, w.informer.HasSynced)
	return nil
}

// Run reads until ctx is done. The first batch holds everything; it is sent once every informer has listed its objects,
// which waits for CustomResourceDefinitions that are not there yet. Run starts a goroutine for each informer and waits for
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
