// Package kube is the real kube-scheduler, in process and without an API server: its framework with its default plugins
// and default configuration, fed with Kubernetes objects that are made from the planner's nouns.
//
// Only the queue, the cache and the binding are left out: they do not decide where a pod may run. The scheduler is asked
// one pod at a time, as schedulePod does (PreFilter, then Filter on each node), in a cluster that the caller fills. Objects
// are made once and shared by all worlds of a case; between two worlds only what differs is exchanged.
// Start reading with Scheduler; objects.go makes the objects.
package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
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
	claims  map[types.UID]cached
	version int
	// objects are those of the last Reset, last what became of the pod that was asked for last.
	objects *Objects
	asked   types.UID
	last    Verdict
	factory informers.SharedInformerFactory
	cluster *cluster
}

// New makes a scheduler with the default profile.
func New(ctx context.Context) (*Scheduler, error) {
	metrics.Register()
	client := fake.NewClientset()
	s := &Scheduler{
		ctx: ctx, client: client, factory: informers.NewSharedInformerFactory(client, 0),
		frameworks: make(map[string]framework.Framework), claims: make(map[types.UID]cached), objects: &Objects{},
	}
	// The informers are never started: what they would bring is written into their indexes, which is what the listers read.
	resources := s.factory.Resource().V1()
	s.cluster = &cluster{
		Snapshot: internalcache.NewEmptySnapshot(),
		slices:   resources.ResourceSlices().Informer().GetIndexer(),
		attach:   s.factory.Storage().V1().CSINodes().Informer().GetIndexer(),
	}
	if err := resources.DeviceClasses().Informer().GetIndexer().Replace(deviceClasses(), ""); err != nil {
		return nil, fmt.Errorf("device classes: %w", err)
	}
	var err error
	if s.dra, err = s.devices(client); err != nil {
		return nil, err
	}
	return s, s.spreadByDefault(nil)
}

// spreadByDefault makes the scheduler spread pods that do not say how by some constraints; none are those that it comes
// with.
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
		if args, is := p.Args.(*config.DynamicResourcesArgs); is {
			args.FilterTimeout = nil // a busy machine is no reason to find no devices
		}
	}
	s.framework, err = runtime.NewFramework(s.ctx, plugins.NewInTreeRegistry(), &cfg.Profiles[0],
		runtime.WithClientSet(s.client),
		runtime.WithInformerFactory(s.factory),
		runtime.WithSnapshotSharedLister(s.cluster),
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
	manager := dynamicresources.NewDRAManager(s.ctx, s.claimCache, slices, s.factory)
	// It is told of classes by events, of which there are none here.
	if stands, is := manager.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache); is {
		for _, c := range deviceClasses() {
			stands.OnAdd(c, true)
		}
	}
	return manager, nil
}

// Reset makes the scheduler see these objects and nothing else. Pods must name their nodes.
func (s *Scheduler) Reset(o *Objects, nodes []*Node, bound []*Pod) error {
	if err := s.lookUp(o); err != nil {
		return err
	}
	s.claimed(o.DeviceClaims)
	if err := s.cluster.clear(); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := s.cluster.add(n); err != nil {
			return err
		}
	}
	return s.cluster.run(bound...)
}

// lookUp hands plugins what they look up, unless they have it: it is the same in all worlds of a case.
func (s *Scheduler) lookUp(o *Objects) error {
	had := s.objects.lookups
	if s.objects = o; had == o.lookups {
		return nil
	}
	if err := s.spreadByDefault(o.Defaults); err != nil {
		return err
	}
	core := s.factory.Core().V1()
	for _, fill := range []struct {
		index   cache.Indexer
		objects []any
	}{
		{core.Namespaces().Informer().GetIndexer(), o.Namespaces},
		{core.PersistentVolumes().Informer().GetIndexer(), o.Volumes},
		{core.PersistentVolumeClaims().Informer().GetIndexer(), o.Claims},
		{s.factory.Storage().V1().StorageClasses().Informer().GetIndexer(), o.Classes},
		{s.factory.Storage().V1().CSIDrivers().Informer().GetIndexer(), o.Drivers},
		{s.factory.Apps().V1().ReplicaSets().Informer().GetIndexer(), o.ReplicaSets},
	} {
		if err := fill.index.Replace(fill.objects, ""); err != nil {
			return fmt.Errorf("fill an index: %w", err)
		}
	}
	return nil
}

// Add puts one more node in, with its pods.
func (s *Scheduler) Add(n *Node, bound []*Pod) error {
	if err := s.cluster.add(n); err != nil {
		return err
	}
	return s.cluster.run(bound...)
}

// Remove takes a node away, with its pods.
func (s *Scheduler) Remove(n *Node) error { return s.cluster.remove(n) }

// Change puts a node in the place of the one of its name, which has the same devices and limits. Its pods stay.
func (s *Scheduler) Change(n *Node) error {
	info, err := s.cluster.info(n.Name)
	if err != nil {
		return err
	}
	info.SetNode(n.Node)
	return nil
}

// Bind puts a pod onto a node, whether it may run there or not, and returns it as it is there.
func (s *Scheduler) Bind(pod *Pod, node string) (*Pod, error) {
	if err := s.allocate(pod, node); err != nil {
		return nil, err
	}
	bound, err := pod.on(node)
	if err != nil {
		return nil, err
	}
	return bound, s.cluster.run(bound)
}

// Verdict is the scheduler's answer for one pod.
type Verdict struct {
	// Nodes are those that the pod may run on, in the order of their names.
	Nodes []string
	// refused say of each other node why.
	refused map[string]*fwk.Status
	state   fwk.CycleState
	infos   []fwk.NodeInfo
}

// Refusal says which plugin refused a node, and why; nothing for a node that was not.
func (v Verdict) Refusal(node string) Refusal {
	if status := v.refused[node]; status != nil {
		return Refusal{status.Plugin(), status.Message()}
	}
	return Refusal{}
}

// Refusal is a plugin's word on why a pod may not run.
type Refusal struct{ Plugin, Message string }

// String is the refusal on one line.
func (r Refusal) String() string { return r.Plugin + ": " + r.Message }

// Schedule asks where a pod may run; only names nodes of interest, none means all.
func (s *Scheduler) Schedule(pod *Pod, only ...string) (Verdict, error) {
	v := Verdict{refused: make(map[string]*fwk.Status), state: framework.NewCycleState()}
	result, status, _ := s.framework.RunPreFilterPlugins(s.ctx, v.state, pod.Pod)
	if !status.IsSuccess() && !status.IsRejected() {
		return v, fmt.Errorf("prefilter of %s: %w", pod.Name, status.AsError())
	}
	for _, n := range s.cluster.infos {
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
			verdict = s.framework.RunFilterPlugins(s.ctx, v.state, pod.Pod, n)
		}
		if verdict.IsSuccess() {
			v.Nodes, v.infos = append(v.Nodes, name), append(v.infos, n)
			continue
		}
		if !verdict.IsRejected() {
			return v, fmt.Errorf("filter of %s on %s: %w", pod.Name, name, verdict.AsError())
		}
		v.refused[name] = verdict
	}
	s.asked, s.last = pod.UID, v
	return v, nil
}

// Best is the node that the scheduler likes best among those of a verdict, which must have some; ties are broken by r.
func (s *Scheduler) Best(pod *Pod, v Verdict, r *rand.Rand) (string, error) {
	if len(v.Nodes) == 1 {
		return v.Nodes[0], nil
	}
	if status := s.framework.RunPreScorePlugins(s.ctx, v.state, pod.Pod, v.infos); !status.IsSuccess() {
		return "", fmt.Errorf("prescore of %s: %w", pod.Name, status.AsError())
	}
	scores, status := s.framework.RunScorePlugins(s.ctx, v.state, pod.Pod, v.infos)
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
