// Package kube is the real kube-scheduler, in process and without an API server: its framework with its default plugins
// and default configuration, fed with Kubernetes objects that are made from the planner's nouns.
//
// Only the queue, the cache and the binding are left out: they do not decide where a pod may run. The scheduler is asked
// one pod at a time, as schedulePod does (PreFilter, then Filter on each node), on a snapshot that the caller fills.
// Start reading with Scheduler; objects.go makes the objects.
package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// Scheduler is one instance of the real scheduler's framework. It belongs to one goroutine.
type Scheduler struct {
	ctx context.Context //nolint:containedctx // the framework lives as long as the context that made it
	// framework is the one of frameworks whose default spread is that of the last Reset: a plugin has it from the start.
	framework  framework.Framework
	frameworks map[string]framework.Framework
	client     kubernetes.Interface
	dra        fwk.SharedDRAManager
	claimCache *assumecache.AssumeCache
	// claims are those that the cache has, version the last that one of them has had.
	claims  []*resourceapi.ResourceClaim
	version int
	// objects are those of the last Reset, last what became of the pod that was asked for last.
	objects  *Objects
	asked    types.UID
	last     Verdict
	factory  informers.SharedInformerFactory
	snapshot *shared
}

// shared is the snapshot that plugins look at; Reset puts another in its place.
type shared struct{ *internalcache.Snapshot }

// New makes a scheduler with the default profile.
func New(ctx context.Context) (*Scheduler, error) {
	metrics.Register()
	client := fake.NewClientset()
	s := &Scheduler{
		ctx: ctx, client: client, factory: informers.NewSharedInformerFactory(client, 0),
		frameworks: make(map[string]framework.Framework), snapshot: &shared{internalcache.NewEmptySnapshot()},
	}
	// The informers are never started: Reset writes into their indexes, which is what the listers read.
	var err error
	if s.dra, err = s.devices(client); err != nil {
		return nil, err
	}
	return s, s.spreadByDefault(nil)
}

// spreadByDefault makes the scheduler spread pods that do not say how by some constraints; none are those that it comes with.
func (s *Scheduler) spreadByDefault(constraints []corev1.TopologySpreadConstraint) error {
	key := fmt.Sprint(constraints)
	if made := s.frameworks[key]; made != nil {
		s.framework = made
		return nil
	}
	cfg, err := latest.Default()
	if err != nil {
		return fmt.Errorf("default configuration: %w", err)
	}
	// A plugin's index of pods is named after the profile, and there can't be two of a name.
	cfg.Profiles[0].SchedulerName += fmt.Sprint("-", len(s.frameworks))
	for _, p := range cfg.Profiles[0].PluginConfig {
		if args, is := p.Args.(*config.PodTopologySpreadArgs); is && len(constraints) > 0 {
			args.DefaultConstraints, args.DefaultingType = constraints, config.ListDefaulting
		}
	}
	s.framework, err = runtime.NewFramework(s.ctx, plugins.NewInTreeRegistry(), &cfg.Profiles[0],
		runtime.WithClientSet(s.client),
		runtime.WithInformerFactory(s.factory),
		runtime.WithSnapshotSharedLister(s.snapshot),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(s.factory.Storage().V1().CSINodes().Lister())),
		runtime.WithSharedDRAManager(s.dra),
		runtime.WithParallelism(1),
		runtime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, s.ctx.Done())),
	)
	if err != nil {
		return fmt.Errorf("framework: %w", err)
	}
	s.frameworks[key] = s.framework
	return nil
}

// devices is what the scheduler knows of dynamic resources; Reset fills it.
func (s *Scheduler) devices(client kubernetes.Interface) (fwk.SharedDRAManager, error) {
	resources := s.factory.Resource().V1()
	slices, err := tracker.StartTracker(s.ctx, tracker.Options{SliceInformer: resources.ResourceSlices(), KubeClient: client})
	if err != nil {
		return nil, fmt.Errorf("resource slices: %w", err)
	}
	s.claimCache = assumecache.NewAssumeCache(klog.Background(), resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	return dynamicresources.NewDRAManager(s.ctx, s.claimCache, slices, s.factory), nil
}

// Reset makes the scheduler see these objects and nothing else. Pods must name their nodes.
func (s *Scheduler) Reset(o *Objects, nodes []*corev1.Node, bound []*corev1.Pod) error {
	if err := s.spreadByDefault(o.Defaults); err != nil {
		return err
	}
	s.objects = o
	var csiNodes, published []any
	for _, n := range nodes {
		if x := slice(n); x != nil {
			published = append(published, x)
		}
		if c := csiNode(n); c != nil {
			csiNodes = append(csiNodes, c)
		}
	}
	apps, core, storage := s.factory.Apps().V1(), s.factory.Core().V1(), s.factory.Storage().V1()
	for _, fill := range []struct {
		index   cache.Indexer
		objects []any
	}{
		{core.Namespaces().Informer().GetIndexer(), o.Namespaces},
		{core.PersistentVolumes().Informer().GetIndexer(), o.Volumes},
		{core.PersistentVolumeClaims().Informer().GetIndexer(), o.Claims},
		{storage.StorageClasses().Informer().GetIndexer(), o.Classes},
		{storage.CSINodes().Informer().GetIndexer(), csiNodes},
		{s.factory.Resource().V1().ResourceSlices().Informer().GetIndexer(), published},
		{s.factory.Resource().V1().DeviceClasses().Informer().GetIndexer(), deviceClasses()},
		{apps.ReplicaSets().Informer().GetIndexer(), o.ReplicaSets},
	} {
		if err := fill.index.Replace(fill.objects, ""); err != nil {
			return fmt.Errorf("fill an index: %w", err)
		}
	}
	s.claimed(o.DeviceClaims)
	s.snapshot.Snapshot = internalcache.NewSnapshot(bound, nodes)
	return nil
}

// Bind puts a pod onto a node, whether it may run there or not.
func (s *Scheduler) Bind(pod *corev1.Pod, node string) error {
	if err := s.allocate(pod, node); err != nil {
		return err
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	return s.snapshot.AssumePod(info)
}

// Verdict is the scheduler's answer for one pod.
type Verdict struct {
	// Nodes are those that the pod may run on, in the order of their names.
	Nodes []string
	// Refusals say for each other node which plugin refused it, and why.
	Refusals map[string]Refusal
	state    fwk.CycleState
	infos    []fwk.NodeInfo
}

// Refusal is a plugin's word on why a pod may not run.
type Refusal struct{ Plugin, Message string }

// String is the refusal on one line.
func (r Refusal) String() string { return r.Plugin + ": " + r.Message }

// Schedule asks where a pod may run; only names nodes of interest, none means all.
func (s *Scheduler) Schedule(pod *corev1.Pod, only ...string) (Verdict, error) {
	v := Verdict{Refusals: make(map[string]Refusal), state: framework.NewCycleState()}
	nodes, err := s.snapshot.NodeInfos().List()
	if err != nil {
		return v, fmt.Errorf("list nodes: %w", err)
	}
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	result, status, _ := s.framework.RunPreFilterPlugins(s.ctx, v.state, pod)
	if !status.IsSuccess() && !status.IsRejected() {
		return v, fmt.Errorf("prefilter of %s: %w", pod.Name, status.AsError())
	}
	for _, n := range nodes {
		name := n.Node().Name
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		verdict := status
		switch {
		case !status.IsSuccess():
		case !result.AllNodes() && !result.NodeNames.Has(name):
			verdict = fwk.NewStatus(fwk.Unschedulable, "left out by PreFilter")
		default:
			verdict = s.framework.RunFilterPlugins(s.ctx, v.state, pod, n)
		}
		if verdict.IsSuccess() {
			v.Nodes, v.infos = append(v.Nodes, name), append(v.infos, n)
			continue
		}
		if !verdict.IsRejected() {
			return v, fmt.Errorf("filter of %s on %s: %w", pod.Name, name, verdict.AsError())
		}
		v.Refusals[name] = Refusal{verdict.Plugin(), verdict.Message()}
	}
	s.asked, s.last = pod.UID, v
	return v, nil
}

// Best is the node that the scheduler likes best among those of a verdict, which must have some; ties are broken by r.
func (s *Scheduler) Best(pod *corev1.Pod, v Verdict, r *rand.Rand) (string, error) {
	if len(v.Nodes) == 1 {
		return v.Nodes[0], nil
	}
	if status := s.framework.RunPreScorePlugins(s.ctx, v.state, pod, v.infos); !status.IsSuccess() {
		return "", fmt.Errorf("prescore of %s: %w", pod.Name, status.AsError())
	}
	scores, status := s.framework.RunScorePlugins(s.ctx, v.state, pod, v.infos)
	if !status.IsSuccess() {
		return "", fmt.Errorf("score of %s: %w", pod.Name, status.AsError())
	}
	var best []string
	var top int64
	for _, x := range scores {
		if best == nil || x.TotalScore > top {
			best, top = nil, x.TotalScore
		}
		if x.TotalScore == top {
			best = append(best, x.Name)
		}
	}
	slices.Sort(best)
	return best[r.IntN(len(best))], nil
}
