package kube

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// Observe returns what the caches hold. The value is built once per change and shared: callers must not modify it.
func (k *Kube) Observe() (cluster.State, error) {
	for _, i := range k.informers {
		if !i.informer.HasSynced() {
			return cluster.State{}, fmt.Errorf("%w: %s", cluster.ErrNotReady, i.name)
		}
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	version := k.version.Load()
	if k.memo != nil && k.memoVersion == version {
		return *k.memo, nil
	}
	state, err := k.observe()
	if err != nil {
		return cluster.State{}, err
	}
	k.memo, k.memoVersion = &state, version

	return state, nil
}

func (k *Kube) observe() (cluster.State, error) {
	nodes, err := k.nodes.List(labels.Everything())
	if err != nil {
		return cluster.State{}, fmt.Errorf("list nodes: %w", err)
	}
	attachments, err := k.attachmentsByNode()
	if err != nil {
		return cluster.State{}, err
	}

	state := cluster.State{Nodes: make([]cluster.Node, 0, len(nodes))}
	for _, n := range nodes {
		pods, err := k.podsOn(n.Name)
		if err != nil {
			return cluster.State{}, err
		}
		state.Nodes = append(state.Nodes, k.node(n, pods, attachments[n.Name]))
	}
	slices.SortFunc(state.Nodes, func(a, b cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	if err := k.observePolicy(&state); err != nil {
		return cluster.State{}, err
	}

	return state, nil
}

func (k *Kube) podsOn(node string) ([]*corev1.Pod, error) {
	objects, err := k.podIndex.ByIndex(byNode, node)
	if err != nil {
		return nil, fmt.Errorf("list pods on node %s: %w", node, err)
	}
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})

	return pods, nil
}

func (k *Kube) attachmentsByNode() (map[string][]*storagev1.VolumeAttachment, error) {
	all, err := k.attachments.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list volume attachments: %w", err)
	}
	byNode := make(map[string][]*storagev1.VolumeAttachment)
	for _, a := range all {
		byNode[a.Spec.NodeName] = append(byNode[a.Spec.NodeName], a)
	}

	return byNode, nil
}

func (k *Kube) node(n *corev1.Node, pods []*corev1.Pod, attachments []*storagev1.VolumeAttachment) cluster.Node {
	out := cluster.Node{
		Name:        n.Name,
		ProviderID:  n.Spec.ProviderID,
		Labels:      n.Labels,
		Annotations: n.Annotations,
		Capacity:    amounts(n.Status.Capacity),
		Allocatable: amounts(n.Status.Allocatable),
		Cordoned:    n.Spec.Unschedulable,
		Terminating: n.DeletionTimestamp != nil,
		CreateTime:  n.CreationTimestamp.Time,
	}
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, model.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}

	staying := make(map[string]bool) // volumes of pods that a drain leaves where they are
	for _, p := range pods {
		pod := pod(p)
		out.Pods = append(out.Pods, pod)
		if pod.Mirror || pod.ToleratesDisrupted {
			k.addVolumes(staying, p)
		}
	}
	for _, a := range attachments {
		if v := a.Spec.Source.PersistentVolumeName; v == nil || !staying[*v] {
			out.VolumesAttached++
		}
	}

	return out
}

// addVolumes adds the names of the persistent volumes that the pod uses.
func (k *Kube) addVolumes(volumes map[string]bool, p *corev1.Pod) {
	for _, v := range p.Spec.Volumes {
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = p.Name + "-" + v.Name
		default:
			continue
		}
		// A claim that the cache does not know is bound to nothing that we could count.
		if pvc, err := k.volumeClaims.PersistentVolumeClaims(p.Namespace).Get(name); err == nil {
			volumes[pvc.Spec.VolumeName] = true
		}
	}
}

func pod(p *corev1.Pod) cluster.Pod {
	out := cluster.Pod{
		Namespace: p.Namespace,
		Name:      p.Name,
		UID:       string(p.UID),
		Finished:  p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		Critical:  p.Spec.PriorityClassName == "system-cluster-critical" || p.Spec.PriorityClassName == "system-node-critical",
	}
	if _, ok := p.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		out.Mirror = true
	}
	for _, o := range p.OwnerReferences {
		if o.Controller == nil || !*o.Controller {
			continue
		}
		out.Owned = true
		out.Daemon = out.Daemon || o.Kind == "DaemonSet"
		out.Mirror = out.Mirror || o.Kind == "Node"
	}
	disrupted := corev1.Taint{Key: taintDisrupted, Effect: corev1.TaintEffectNoSchedule}
	for i := range p.Spec.Tolerations {
		if tolerates(p.Spec.Tolerations[i], disrupted) {
			out.ToleratesDisrupted = true
		}
	}
	out.DoNotDisrupt, out.DoNotDisruptUntil = doNotDisrupt(p)
	if p.DeletionTimestamp != nil {
		out.DeletionTime = p.DeletionTimestamp.Time
	}
	out.GracePeriod = 30 * time.Second // Kubernetes' default
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		out.GracePeriod = time.Duration(*s) * time.Second
	}

	return out
}

// tolerates follows Kubernetes: an empty key with Exists tolerates everything, an empty effect every effect.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Operator == corev1.TolerationOpExists {
		return t.Key == "" || t.Key == taint.Key
	}

	return t.Key == taint.Key && t.Value == taint.Value
}

// doNotDisrupt reads the pod's annotation: "true" holds for ever, a duration from the pod's start. Anything else does
// not protect; the watcher reports it.
func doNotDisrupt(p *corev1.Pod) (bool, time.Time) {
	v, ok := p.Annotations[annotationDoNotDisrupt]
	if !ok {
		return false, time.Time{}
	}
	if v == "true" {
		return true, time.Time{}
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 || p.Status.StartTime == nil {
		return false, time.Time{}
	}

	return true, p.Status.StartTime.Add(d)
}

func amounts(list corev1.ResourceList) []model.Amount {
	out := make([]model.Amount, 0, len(list))
	for name, q := range list {
		v := q.Value()
		if name == corev1.ResourceCPU {
			v = q.MilliValue()
		}
		out = append(out, model.Amount{Resource: string(name), Value: v})
	}
	slices.SortFunc(out, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) })

	return out
}
