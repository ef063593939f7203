package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// DaemonSet converts a DaemonSet: the class is that of the pods that it would put on a new node. That is the class of one
// of its pods where there is one (see LivePod), because a LimitRange or a webhook may have made more of it than the
// template says; nil where there is none.
func DaemonSet(d *appsv1.DaemonSet, live *corev1.Pod, refs References) snapshot.Object {
	p := live
	if p == nil {
		p = TemplatePod(d.Spec.Template, Owner{Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name})
		p.Spec.Tolerations = append(slices.Clone(p.Spec.Tolerations), daemonTolerations(p.Spec.HostNetwork)...)
	}
	class := wire.Class(podClass(p, refs))
	o := wire.Object(snapshot.DaemonSet, objectID(d), &clusterpb.DaemonSet{Id: objectID(d), ClassId: class.ID})
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

// Owner is what a pod made from a template belongs to. RevisionLabel, if set, is the label that carries the template's
// revision.
type Owner struct{ Kind, Namespace, Name, RevisionLabel string }

// TemplatePod makes a pod from a template, with the defaults that the API server would fill in.
func TemplatePod(t corev1.PodTemplateSpec, by Owner) *corev1.Pod {
	yes := true
	t = *t.DeepCopy()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: by.Name, Namespace: by.Namespace, Labels: maps.Clone(t.Labels), Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{{Kind: by.Kind, Name: by.Name, Controller: &yes}},
		},
		Spec: t.Spec,
	}
	if by.RevisionLabel != "" {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[by.RevisionLabel] = TemplateHash(t)
	}
	SetPodDefaults(&p.Spec)
	return p
}

// TemplateHash stands in for the controllers' own hash. It need not agree with it, only tell templates apart.
func TemplateHash(t corev1.PodTemplateSpec) string {
	data, err := json.Marshal(t)
	if err != nil {
		return "" // no value of a template's fields makes this fail
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:5])
}

// SetPodDefaults applies the defaults that planning sees: a limit without a request is the request, that of a pod as a
// whole where none of its containers requests the resource, and on the host's network every port is a host port.
func SetPodDefaults(spec *corev1.PodSpec) {
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
		r.Requests = limitsAsRequests(r.Requests, uncovered(spec))
	}
}

// uncovered are the limits of a pod as a whole that no container has a request beside. Huge pages can't be
// overcommitted: their limit is always one.
func uncovered(spec *corev1.PodSpec) corev1.ResourceList {
	requested := resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
	out := maps.Clone(spec.Resources.Limits)
	maps.DeleteFunc(out, func(name corev1.ResourceName, _ resource.Quantity) bool {
		_, ok := requested[name]
		return ok && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	})
	return out
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
