package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// maxReplicas bounds what one manifest can ask for.
const maxReplicas = 100_000

// DaemonSet converts a DaemonSet: the class is that of the pods that it would put on a new node. That is the class of one
// of its pods where there is one (see LivePod), because a LimitRange or a webhook may have made more of it than the
// template says; nil where there is none.
func DaemonSet(d *appsv1.DaemonSet, live *corev1.Pod, refs References) snapshot.Object {
	p := live
	if p == nil {
		p = podFrom(d.Spec.Template, owned{kind: "DaemonSet", namespace: d.Namespace, name: d.Name})
		p.Spec.Tolerations = append(slices.Clone(p.Spec.Tolerations), daemonTolerations(p.Spec.HostNetwork)...)
	}
	class := classObject(podClass(p, refs))
	o := object(snapshot.DaemonSet, objectID(d), &clusterpb.DaemonSet{Id: objectID(d), ClassId: class.ID})
	o.Class = class
	return o
}

// templateGeneration is the label of a DaemonSet's pods that says from which version of its template they are made.
const templateGeneration = "pod-template-generation"

// LivePod picks the newest of a DaemonSet's pods that are made from its template as it is now; nil where there is none.
func LivePod(d *appsv1.DaemonSet, pods []*corev1.Pod) *corev1.Pod {
	var best *corev1.Pod
	want := d.Annotations[appsv1.DeprecatedTemplateGeneration]
	for _, p := range pods {
		gone := p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if has := p.Labels[templateGeneration]; gone || (want != "" && has != "" && has != want) {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&p.CreationTimestamp) ||
			(best.CreationTimestamp.Equal(&p.CreationTimestamp) && p.Name < best.Name) {
			best = p
		}
	}
	return best
}

// daemonTolerations are those that the DaemonSet controller adds to its pods.
func daemonTolerations(hostNetwork bool) []corev1.Toleration {
	type taint struct {
		key    string
		effect corev1.TaintEffect
	}
	taints := []taint{
		{corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute},
		{corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute},
		{corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule},
		{corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule},
		{corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule},
		{corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule},
	}
	if hostNetwork {
		taints = append(taints, taint{corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule})
	}
	out := make([]corev1.Toleration, 0, len(taints))
	for _, t := range taints {
		out = append(out, corev1.Toleration{Key: t.key, Operator: corev1.TolerationOpExists, Effect: t.effect})
	}
	return out
}

// Workload is what stands in a manifest, as the objects that its controller would make of it.
type Workload struct {
	Pods   []*corev1.Pod
	Claims []*corev1.PersistentVolumeClaim // from volumeClaimTemplates, not bound
}

// PodsOf makes the pods that a manifest without pods asks for: N pods "<name>-0" and on, unschedulable since `now`. A
// pod's own manifest is taken as it is, and is unschedulable where it says nothing else. Kinds that make no pods, or make
// them at other times, are an error.
func PodsOf(w runtime.Object, now time.Time) (Workload, error) {
	switch w := w.(type) {
	case *corev1.Pod:
		return Workload{Pods: []*corev1.Pod{manifestPod(w, now)}}, nil
	case *appsv1.Deployment:
		by := owned{kind: "Deployment", namespace: w.Namespace, name: w.Name, revisionLabel: appsv1.DefaultDeploymentUniqueLabelKey}
		return replicas(by, w.Spec.Replicas, w.Spec.Template, now)
	case *appsv1.ReplicaSet:
		by := owned{kind: "ReplicaSet", namespace: w.Namespace, name: w.Name}
		return replicas(by, w.Spec.Replicas, w.Spec.Template, now)
	case *appsv1.StatefulSet:
		by := owned{kind: "StatefulSet", namespace: w.Namespace, name: w.Name, revisionLabel: appsv1.ControllerRevisionHashLabelKey}
		out, err := replicas(by, w.Spec.Replicas, w.Spec.Template, now)
		if err == nil {
			out.addClaims(w.Spec.VolumeClaimTemplates)
		}
		return out, err
	case *batchv1.Job:
		by := owned{kind: "Job", namespace: w.Namespace, name: w.Name}
		n := w.Spec.Parallelism
		if c := w.Spec.Completions; c != nil && (n == nil || *c < *n) && (n != nil || *c < 1) {
			n = c
		}
		return replicas(by, n, w.Spec.Template, now)
	default:
		return Workload{}, fmt.Errorf("%T makes no pods: want a Pod, Deployment, ReplicaSet, StatefulSet or Job", w)
	}
}

// owned is who a made pod belongs to. revisionLabel, if set, is the label that carries the template's revision.
type owned struct{ kind, namespace, name, revisionLabel string }

func replicas(by owned, n *int32, t corev1.PodTemplateSpec, now time.Time) (Workload, error) {
	count := int32(1)
	if n != nil {
		count = *n
	}
	if count < 0 || count > maxReplicas {
		return Workload{}, fmt.Errorf("%s %s/%s: spec: %d pods; want 0 to %d", by.kind, by.namespace, by.name, count, maxReplicas)
	}
	var out Workload
	for i := range count {
		p := podFrom(t, by)
		p.Name = fmt.Sprintf("%s-%d", by.name, i)
		out.Pods = append(out.Pods, manifestPod(p, now))
	}
	return out, nil
}

// addClaims gives each pod a claim of its own for each template, as the StatefulSet controller does.
func (w *Workload) addClaims(templates []corev1.PersistentVolumeClaim) {
	for _, p := range w.Pods {
		for _, t := range templates {
			c := t.DeepCopy()
			c.Name, c.Namespace = t.Name+"-"+p.Name, p.Namespace
			w.Claims = append(w.Claims, c)
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name},
			}})
		}
	}
}

// podFrom makes a pod from a template, with the defaults that the API server would fill in.
func podFrom(t corev1.PodTemplateSpec, by owned) *corev1.Pod {
	yes := true
	t = *t.DeepCopy()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: by.name, Namespace: by.namespace, Labels: maps.Clone(t.Labels), Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{{Kind: by.kind, Name: by.name, Controller: &yes}},
		},
		Spec: t.Spec,
	}
	if by.revisionLabel != "" {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[by.revisionLabel] = templateHash(t)
	}
	fillIn(&p.Spec)
	return p
}

// templateHash stands in for the controllers' own hash. It need not agree with it, only tell templates apart.
func templateHash(t corev1.PodTemplateSpec) string {
	data, err := json.Marshal(t)
	if err != nil {
		return "" // no value of a template's fields makes this fail
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:5])
}

// fillIn applies the defaults that planning sees: a limit without a request is the request, and on the host's network
// every port is a host port.
func fillIn(spec *corev1.PodSpec) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			r := &list[i].Resources
			r.Requests = limitsAsRequests(r.Requests, r.Limits)
			for j := range list[i].Ports {
				if port := &list[i].Ports[j]; spec.HostNetwork && port.HostPort == 0 {
					port.HostPort = port.ContainerPort
				}
			}
		}
	}
	if r := spec.Resources; r != nil {
		r.Requests = limitsAsRequests(r.Requests, r.Limits)
	}
}

func limitsAsRequests(requests, limits corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(requests)
	for name, q := range limits {
		if _, ok := requests[name]; ok {
			continue
		}
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[name] = q
	}
	return out
}

// manifestPod is a pod that no scheduler has seen: unschedulable, unless it is bound or its status says what it is.
func manifestPod(p *corev1.Pod, now time.Time) *corev1.Pod {
	p = p.DeepCopy()
	fillIn(&p.Spec)
	if p.CreationTimestamp.IsZero() {
		p.CreationTimestamp = metav1.NewTime(now)
	}
	if p.Spec.NodeName != "" {
		if p.Status.Phase == "" {
			p.Status.Phase = corev1.PodRunning
		}
		return p
	}
	if len(p.Status.Conditions) == 0 && p.Status.Phase == "" {
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: metav1.NewTime(now),
		}}
	}
	return p
}
