package kube

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// trimmer trims objects. Safe for concurrent use; the zero value is ready.
type trimmer struct {
	mu sync.Mutex
	// owners has what the pods of an owner have in common.
	owners map[types.UID]common
}

// maxOwners is how many owners are remembered; then it begins anew.
const maxOwners = 8192

// common is what tells whom the rules of other pods mean, whom pods that run keep away, and where they may run
// themselves. Most pods of an owner have the same.
type common struct {
	labels map[string]string
	rules  corev1.PodSpec
	// asks is what the pod requests in all.
	asks *corev1.ResourceRequirements
}

// trim keeps of an object what is read here, before a cache takes it: for pods and nodes that is a small part. What is read
// is said in package objects, and here where volumes are counted and events find what they are about. Objects are changed
// in fresh copies only, but those of custom resources, which stay whole.
func (t *trimmer) trim(o any) (any, error) {
	if a, err := meta.Accessor(o); err == nil {
		reader.TrimManagedFields(a)
	}
	switch o := o.(type) {
	case *corev1.Pod:
		return t.trimPod(o), nil
	case *corev1.Node:
		return trimNode(o), nil
	case *corev1.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: trimMeta(o.ObjectMeta), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: o.Spec.VolumeName},
		}, nil
	case *storagev1.VolumeAttachment:
		return &storagev1.VolumeAttachment{
			ObjectMeta: trimMeta(o.ObjectMeta), Spec: storagev1.VolumeAttachmentSpec{NodeName: o.Spec.NodeName, Source: o.Spec.Source},
		}, nil
	}
	return o, nil
}

// trimMeta keeps what names an object, and its age.
func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
	}
}

func (t *trimmer) trimPod(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: trimMeta(p.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName: p.Spec.NodeName, PriorityClassName: p.Spec.PriorityClassName, Tolerations: p.Spec.Tolerations,
			TerminationGracePeriodSeconds: p.Spec.TerminationGracePeriodSeconds,
		},
		Status: corev1.PodStatus{Phase: p.Status.Phase, StartTime: p.Status.StartTime, NominatedNodeName: p.Status.NominatedNodeName},
	}
	out.Annotations, out.OwnerReferences, out.ManagedFields = p.Annotations, p.OwnerReferences, p.ManagedFields
	c := t.common(p)
	out.Labels, out.Spec.Resources, out.Status.ExtendedResourceClaimStatus = c.labels, c.asks, p.Status.ExtendedResourceClaimStatus
	out.Spec.NodeSelector, out.Spec.Affinity, out.Spec.TopologySpreadConstraints = c.rules.NodeSelector, c.rules.Affinity, c.rules.TopologySpreadConstraints
	if p.Spec.NodeName == "" {
		trimUnbound(&out.Spec, &p.Spec)
	}
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out.Spec.Volumes = append(out.Spec.Volumes, v)
		case v.Ephemeral != nil: // its claim has its name
			v.VolumeSource = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
			out.Spec.Volumes = append(out.Spec.Volumes, v)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return out
}

// common finds what a pod has in common with others of its owner, in one copy for all of them.
func (t *trimmer) common(p *corev1.Pod) common {
	c := common{labels: p.Labels, rules: objects.Rules(&p.Spec), asks: &corev1.ResourceRequirements{
		Requests: resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}),
	}}
	if len(p.OwnerReferences) == 0 {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	owner := p.OwnerReferences[0].UID
	known, there := t.owners[owner]
	if there && maps.Equal(known.labels, c.labels) {
		c.labels = known.labels
	}
	if there && equality.Semantic.DeepEqual(known.rules, c.rules) {
		c.rules = known.rules
	}
	if there && equality.Semantic.DeepEqual(known.asks, c.asks) {
		c.asks = known.asks
	}
	if t.owners == nil || len(t.owners) >= maxOwners && !there {
		t.owners = map[types.UID]common{}
	}
	t.owners[owner] = c
	return c
}

// trimUnbound keeps what decides where a pod may run.
func trimUnbound(out, in *corev1.PodSpec) {
	out.NodeSelector, out.Affinity, out.TopologySpreadConstraints = in.NodeSelector, in.Affinity, in.TopologySpreadConstraints
	out.ResourceClaims, out.SchedulingGates, out.SchedulingGroup, out.SchedulerName = in.ResourceClaims, in.SchedulingGates, in.SchedulingGroup, in.SchedulerName
	out.HostNetwork, out.Overhead, out.Resources = in.HostNetwork, in.Overhead, in.Resources
	trim := func(list []corev1.Container) []corev1.Container {
		short := make([]corev1.Container, len(list))
		for i, c := range list {
			short[i] = corev1.Container{Name: c.Name, Ports: c.Ports, Resources: c.Resources, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules, VolumeMounts: reader.BindMounts(&c)}
		}
		return short
	}
	out.Containers, out.InitContainers = trim(in.Containers), trim(in.InitContainers)
}

func trimNode(n *corev1.Node) *corev1.Node {
	out := &corev1.Node{
		ObjectMeta: trimMeta(n.ObjectMeta),
		Spec:       corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable},
		Status:     corev1.NodeStatus{Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable},
	}
	out.Labels, out.Annotations = n.Labels, n.Annotations
	for _, c := range n.Status.Conditions { // when its reporter spoke last is read nowhere, and changes all the time
		out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{
			Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return out
}
