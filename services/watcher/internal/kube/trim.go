package kube

import (
	"reflect"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// trimmer drops what nothing reads before an object is stored, for large clusters most of it, and has the pods of an
// owner share what they have in common. Safe for concurrent use; the zero value is ready.
type trimmer struct {
	mu sync.Mutex
	// owners has what the pods of an owner have in common.
	owners map[types.UID]*common
}

// maxOwners is how many owners are remembered; then it begins anew. What pods share stays theirs.
const maxOwners = 8192

// common is what came last of the pods of one owner.
type common struct {
	labels, annotations, nodeSelector map[string]string

	owners     []metav1.OwnerReference
	containers [2][]corev1.Container // the second are init containers
	statuses   [2][]corev1.ContainerStatus

	tolerations []corev1.Toleration
	affinity    *corev1.Affinity
	spread      []corev1.TopologySpreadConstraint
}

func (t *trimmer) trim(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		reader.TrimManagedFields(m)
		if a := m.GetAnnotations(); a[corev1.LastAppliedConfigAnnotation] != "" {
			delete(a, corev1.LastAppliedConfigAnnotation)
		}
	}
	switch o := o.(type) {
	case *corev1.Pod:
		trimPod(o)
		t.share(o)
	case *appsv1.DaemonSet:
		o.Spec.Template, o.Status = trimTemplate(o.Spec.Template), appsv1.DaemonSetStatus{}
	case *appsv1.ReplicaSet:
		spec := appsv1.ReplicaSetSpec{Selector: o.Spec.Selector}
		if metav1.GetControllerOf(o) == nil { // a capacity buffer may refer to it
			spec.Replicas, spec.Template = o.Spec.Replicas, trimTemplate(o.Spec.Template)
		}
		o.Spec, o.Status = spec, appsv1.ReplicaSetStatus{}
	case *appsv1.StatefulSet:
		o.Spec = appsv1.StatefulSetSpec{Selector: o.Spec.Selector, Replicas: o.Spec.Replicas, Template: trimTemplate(o.Spec.Template)}
		o.Status = appsv1.StatefulSetStatus{UpdateRevision: o.Status.UpdateRevision}
	case *appsv1.Deployment:
		o.Spec = appsv1.DeploymentSpec{Replicas: o.Spec.Replicas, Template: trimTemplate(o.Spec.Template)}
		o.Status = appsv1.DeploymentStatus{}
	case *corev1.PodTemplate:
		o.Template = trimTemplate(o.Template)
	case *corev1.Service:
		o.Spec, o.Status = corev1.ServiceSpec{Selector: o.Spec.Selector}, corev1.ServiceStatus{}
	case *corev1.ReplicationController:
		o.Spec, o.Status = corev1.ReplicationControllerSpec{Selector: o.Spec.Selector}, corev1.ReplicationControllerStatus{}
	case *corev1.Node:
		o.Status.Images = nil
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
	}
	return o, nil
}

// trimPod keeps what package convert reads of a pod. What the kubelet says of containers counts where it says what they
// are granted.
func trimPod(p *corev1.Pod) {
	if _, byKerf := reader.DeletionCost(p); byKerf { // plans do not follow from it, and it changes with them
		delete(p.Annotations, labels.PodDeletionCost)
		delete(p.Annotations, labels.PodDeletionCostByKerf)
		if len(p.Annotations) == 0 {
			p.Annotations = nil
		}
	}
	p.Spec.InitContainers, p.Spec.Containers = trimContainers(p.Spec.InitContainers), trimContainers(p.Spec.Containers)
	p.Spec.EphemeralContainers, p.Spec.SecurityContext, p.Spec.ImagePullSecrets = nil, nil, nil
	p.Spec.Volumes = trimVolumes(p.Spec.Volumes)
	s := &p.Status
	s.Message, s.HostIP, s.HostIPs, s.PodIP, s.PodIPs, s.EphemeralContainerStatuses = "", "", nil, "", nil, nil
	s.InitContainerStatuses, s.ContainerStatuses = trimStatuses(s.InitContainerStatuses), trimStatuses(s.ContainerStatuses)
	s.Conditions = trimConditions(s.Conditions)
}

// trimVolumes keeps volumes where they stand, as problems name them by number, and drops what nothing reads of them:
// most pods have one of secrets alone, which ends the list.
func trimVolumes(in []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for i, v := range in {
		if v.PersistentVolumeClaim == nil && v.Ephemeral == nil && v.AWSElasticBlockStore == nil {
			continue
		}
		out = append(out, make([]corev1.Volume, i-len(out))...)
		out = append(out, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: v.PersistentVolumeClaim, Ephemeral: v.Ephemeral, AWSElasticBlockStore: v.AWSElasticBlockStore,
		}})
	}
	return out
}

func trimStatuses(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range in {
		if c.Resources != nil || c.AllocatedResources != nil {
			out = append(out, corev1.ContainerStatus{Name: c.Name, Resources: c.Resources, AllocatedResources: c.AllocatedResources})
		}
	}
	return out
}

// trimConditions drops those that only say how a start goes on, and the words of the others, which a scheduler changes
// with each try.
func trimConditions(in []corev1.PodCondition) []corev1.PodCondition {
	var out []corev1.PodCondition
	for _, c := range in {
		switch c.Type {
		case corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		default:
			out = append(out, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime})
		}
	}
	return out
}

// share has a pod refer to what the pods of its owner have in common.
func (t *trimmer) share(p *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.owners[owner.UID]
	if c == nil {
		if t.owners == nil || len(t.owners) >= maxOwners {
			t.owners = make(map[types.UID]*common)
		}
		c = &common{}
		t.owners[owner.UID] = c
	}
	oneOf(&p.Labels, &c.labels)
	oneOf(&p.Annotations, &c.annotations)
	oneOf(&p.OwnerReferences, &c.owners)
	oneOf(&p.Spec.NodeSelector, &c.nodeSelector)
	oneOf(&p.Spec.Containers, &c.containers[0])
	oneOf(&p.Spec.InitContainers, &c.containers[1])
	oneOf(&p.Status.ContainerStatuses, &c.statuses[0])
	oneOf(&p.Status.InitContainerStatuses, &c.statuses[1])
	oneOf(&p.Spec.Tolerations, &c.tolerations)
	oneOf(&p.Spec.Affinity, &c.affinity)
	oneOf(&p.Spec.TopologySpreadConstraints, &c.spread)
}

// oneOf has two values that say the same be the same; else the newer one is kept for the next pod.
func oneOf[T any](mine, held *T) {
	if reflect.DeepEqual(*mine, *held) {
		*mine = *held
	} else {
		*held = *mine
	}
}

func trimTemplate(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	t.Spec.InitContainers, t.Spec.Containers = trimContainers(t.Spec.InitContainers), trimContainers(t.Spec.Containers)
	t.Spec.EphemeralContainers = nil
	return t
}

// trimContainers makes a new list, as other objects may hold the one that there is.
func trimContainers(in []corev1.Container) []corev1.Container {
	if len(in) == 0 {
		return nil
	}
	out := make([]corev1.Container, len(in))
	for i, c := range in {
		out[i] = corev1.Container{Name: c.Name, Resources: c.Resources, ResizePolicy: c.ResizePolicy, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
		out[i].RestartPolicyRules, out[i].VolumeMounts = c.RestartPolicyRules, reader.BindMounts(&c)
	}
	return out
}

// unchanged says that two versions of an object are the same in all that trim leaves of them, where that is often so:
// the status of a workload changes with each of its pods, a kubelet reports that nothing is new, and Kerf writes pods'
// deletion costs.
func unchanged(before, after any) bool {
	switch after.(type) {
	case *appsv1.ReplicaSet, *appsv1.StatefulSet, *appsv1.Deployment, *appsv1.DaemonSet, *corev1.Node, *corev1.Pod:
		return same(before, after)
	}
	return false
}

// same compares two objects but for their versions, the status first, which is the last field and the first to change.
// Their fields are compared where they lie: a pod is large.
func same(before, after any) bool {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	if a.Type() != b.Type() {
		return false
	}
	a, b = a.Elem(), b.Elem()
	for i := a.NumField() - 1; i >= 0; i-- {
		x, y := a.Field(i).Addr().Interface(), b.Field(i).Addr().Interface()
		if m, ok := x.(*metav1.ObjectMeta); ok {
			mine, _ := y.(*metav1.ObjectMeta)
			other := *m
			other.ResourceVersion = mine.ResourceVersion
			x = &other
		}
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}
