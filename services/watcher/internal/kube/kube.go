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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeclient"
	"github.com/kerf-dev/kerf/services/internal/kubeconfig"
	"github.com/kerf-dev/kerf/services/watcher/internal/sight"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// DefaultQueue is how many names of changed objects are kept where a Config sets nothing else.
const DefaultQueue = 1 << 16

// Config is what a Source works with.
type Config struct {
	Client  kubeclient.Reader
	Dynamic dynamic.Interface
	Log     *slog.Logger
	Now     func() time.Time
	// Queue is how many names of changed objects are kept before everything is read again; zero is DefaultQueue.
	Queue int
	// Repair names conditions of nodes that matter beside those that Kerf knows of itself; nil names none.
	Repair *clusterpb.RepairPolicy
	// Cautious has a pod come or gone, on each node that there is at first, when it is first read: a pod may have left
	// before, of which nothing tells. Else only pods that are there count.
	Cautious bool
	// Lost is told why pods or nodes have not been read for about a minute, once they were, and "" when they are again.
	// It must not block; nil hears nothing.
	Lost func(why string)
	// Silent is since when the API server answers nothing, zero while it does; nil where that is not known.
	Silent func() time.Time
}

// REST is the way to the API server, as kubeconfig.Load finds it.
func REST(path, context, userAgent string) (*rest.Config, error) {
	cfg, err := kubeconfig.Load(path, context)
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = userAgent
	cfg.QPS = -1 // the API server's own priority and fairness holds us back where that is needed
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg, nil
}

// Clients are what a Source reads by.
func Clients(cfg *rest.Config) (kubeclient.Reader, dynamic.Interface, error) {
	client, err := kubeclient.New(cfg, corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, schedulingv1.AddToScheme,
		storagev1.AddToScheme, nodev1.AddToScheme, resourcev1.AddToScheme)
	if err != nil {
		return nil, nil, err
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
	trimmer trimmer
	devices devices
	health  health
	run     []func(context.Context)
	synced  []kubeclient.Synced
}

// New sets informers up; nothing is read before Run.
func New(cfg Config) (*Source, error) {
	if cfg.Queue < 1 {
		cfg.Queue = DefaultQueue
	}
	s := &Source{cfg: cfg, dirty: newDirty(cfg.Queue), memory: newMemory(), devices: newDevices()}
	s.health = health{log: cfg.Log, sight: sight.New(cfg.Now, cfg.Lost, cfg.Silent)}
	s.stores.selectors, s.stores.identity = map[string][]map[string]string{}, newIdentity()
	if err := s.core(); err != nil {
		return nil, err
	}
	if err := s.custom(); err != nil {
		return nil, err
	}
	return s, s.stores.index()
}

// builtins are Kubernetes' own kinds, where their objects are kept, and what has to be looked at again when one changes.
func (s *Source) builtins() []builtin {
	core, apps, storage, dra := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, storagev1.SchemeGroupVersion, resourcev1.SchemeGroupVersion
	st := &s.stores
	return []builtin{
		{core.WithResource("pods"), &corev1.Pod{}, &st.pods, s.podKeys, false},
		{core.WithResource("nodes"), &corev1.Node{}, &st.nodes, keyOf(aNode), false},
		{core.WithResource("namespaces"), &corev1.Namespace{}, &st.namespaces, keyOf(aNamespace), false},
		{core.WithResource("persistentvolumeclaims"), &corev1.PersistentVolumeClaim{}, &st.claims, keyOf(podsOfClaim), false},
		{core.WithResource("persistentvolumes"), &corev1.PersistentVolume{}, &st.volumes, volumeKeys, false},
		{apps.WithResource("daemonsets"), &appsv1.DaemonSet{}, &st.daemonSets, keyOf(aDaemonSet), false},
		{apps.WithResource("replicasets"), &appsv1.ReplicaSet{}, &st.replicaSets, ownerKey("ReplicaSet"), false},
		{apps.WithResource("statefulsets"), &appsv1.StatefulSet{}, &st.statefulSets, ownerKey("StatefulSet"), false},
		{policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), &policyv1.PodDisruptionBudget{}, &st.budgets, keyOf(aBudget), false},
		{schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"), &schedulingv1.PriorityClass{}, &st.priorities, always(allDaemonSets), false},
		{storage.WithResource("storageclasses"), &storagev1.StorageClass{}, &st.classes, always(allWithVolumes), false},
		{storage.WithResource("csinodes"), &storagev1.CSINode{}, &st.csiNodes, keyOf(aNode), false},
		{storage.WithResource("volumeattachments"), &storagev1.VolumeAttachment{}, &st.attachments, attachmentKeys, false},
		{storage.WithResource("csidrivers"), &storagev1.CSIDriver{}, &st.csiDrivers, always(allWithVolumes), true},
		{storage.WithResource("csistoragecapacities"), &storagev1.CSIStorageCapacity{}, &st.rooms, roomKeys, true},
		{apps.WithResource("deployments"), &appsv1.Deployment{}, &st.deployments, workloadKeys, true},
		{core.WithResource("podtemplates"), &corev1.PodTemplate{}, &st.podTemplates, workloadKeys, true},
		{core.WithResource("services"), &corev1.Service{}, &st.services, keyOf(aService), true},
		{core.WithResource("replicationcontrollers"), &corev1.ReplicationController{}, &st.controllers, controllerKeys, true},
		{nodev1.SchemeGroupVersion.WithResource("runtimeclasses"), &nodev1.RuntimeClass{}, &st.runtimes, always(allDaemonSets), true},
		{dra.WithResource("resourceclaims"), &resourcev1.ResourceClaim{}, &st.resourceClaims, keyOf(aResourceClaim), true},
		{dra.WithResource("resourceclaimtemplates"), &resourcev1.ResourceClaimTemplate{}, &st.templates, keyOf(aClaimTemplate), true},
		{dra.WithResource("deviceclasses"), &resourcev1.DeviceClass{}, &st.deviceClasses, always(allDeviceRules), true},
		{dra.WithResource("devicetaintrules"), &resourcev1.DeviceTaintRule{}, &st.taintRules, always(allDeviceRules), true},
		{dra.WithResource("resourceslices"), &resourcev1.ResourceSlice{}, &st.slices, sliceKeys, true},
	}
}

type builtin struct {
	resource schema.GroupVersionResource
	object   runtime.Object
	store    *cache.Indexer
	keys     func(any) []key
	optional bool
}

// core sets up the informers for Kubernetes' own kinds.
func (s *Source) core() error {
	for _, b := range s.builtins() {
		i, err := kubeclient.Informer(s.cfg.Client, kubeclient.Kind{Resource: b.resource, Object: b.object}, s.trimmer.trim)
		if err != nil {
			return err
		}
		*b.store = i.GetIndexer()
		if err := s.watch(watched{b.resource.GroupResource().String(), i, b.keys, b.optional}); err != nil {
			return err
		}
		if b.store == &s.stores.pods || b.store == &s.stores.nodes {
			s.health.sight.Watch(b.resource.Resource, i.LastSyncResourceVersion)
		}
	}
	return nil
}

// custom sets up the informers for the kinds that users order nodes with.
func (s *Source) custom() error {
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
		i, err := kubeclient.DynamicInformer(s.cfg.Dynamic, c.resource, typed)
		if err != nil {
			return err
		}
		*c.store = i.GetIndexer()
		if err := s.watch(watched{c.resource.GroupResource().String(), i, c.keys, c.optional}); err != nil {
			return err
		}
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
	s.synced = append(s.synced, kubeclient.Synced{
		Resource: w.resource, Has: func() bool { return refused.Load() || w.informer.HasSynced() },
	})
	return nil
}

// Run reads until ctx is done. The first batch holds everything; it is sent once every informer has listed its objects,
// which waits for CustomResourceDefinitions that are not there yet, those of optional kinds aside. Run starts a
// goroutine for each informer, and one that looks after them, and waits for all of them.
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
	if !kubeclient.WaitForSync(ctx, s.cfg.Log, s.synced) {
		return ctx.Err()
	}
	s.cfg.Log.InfoContext(ctx, "read the cluster", "pods", len(s.stores.pods.ListKeys()), "nodes", len(s.stores.nodes.ListKeys()),
		"duration", s.cfg.Now().Sub(begin))
	s.dirty.addAll()
	looks := make(chan struct{})
	go func() {
		defer close(looks)
		s.health.sight.Run(ctx)
	}()
	defer func() { <-looks }()
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
