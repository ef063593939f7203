package convert

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// Templates finds what a capacity buffer refers to. A nil answer means that there is none.
type Templates interface {
	PodTemplate(namespace, name string) *corev1.PodTemplate
	Deployment(namespace, name string) *appsv1.Deployment
	StatefulSet(namespace, name string) *appsv1.StatefulSet
	ReplicaSet(namespace, name string) *appsv1.ReplicaSet
}

// CapacityBuffer converts a buffer: the class of its pods, which are never created, and how many there are. problem is
// what was wrong when the object was read; nil when nothing was.
func CapacityBuffer(b *autoscalingv1beta1.CapacityBuffer, problem error, refs References, templates Templates) snapshot.Object {
	b = b.DeepCopy()
	b.SetDefaults()
	c := bufferConversion{in: b, out: &clusterpb.CapacityBuffer{
		Id: objectID(b), OneShot: b.Spec.ProvisioningStrategy == autoscalingv1beta1.StrategyOneShot,
		CreateTime: timestamp(b.CreationTimestamp), Generation: b.Generation,
	}}
	if problem == nil {
		problem = kubeapi.Validate(b)
	}
	if problem != nil {
		c.refuse("%s", strings.ReplaceAll(problem.Error(), "\n", "; "))
		return wire.Object(snapshot.CapacityBuffer, c.out.GetId(), c.out)
	}
	starts, expires, _ := b.Times() // valid: Validate has looked
	c.out.StartTime, c.out.ExpireTime = stamp(starts), stamp(expires)
	class := c.resolve(refs, templates)
	o := wire.Object(snapshot.CapacityBuffer, c.out.GetId(), c.out)
	o.Class = class
	return o
}

type bufferConversion struct {
	in  *autoscalingv1beta1.CapacityBuffer
	out *clusterpb.CapacityBuffer
}

func (c bufferConversion) refuse(format string, args ...any) {
	c.reason(clusterpb.ReasonCode_REASON_CODE_BUFFER_INVALID, format, args...)
}

// lost says that what the buffer refers to is not there.
func (c bufferConversion) lost(field, kind, name string) {
	c.reason(clusterpb.ReasonCode_REASON_CODE_BUFFER_REFERENCE, "%s: there is no %s %s/%s", field, kind, c.in.Namespace, name)
}

func (c bufferConversion) reason(code clusterpb.ReasonCode, format string, args ...any) {
	c.out.NotReady = &clusterpb.Reason{
		Code: code, Message: fmt.Sprintf(format, args...), Subject: &clusterpb.ObjectRef{Kind: "capacitybuffer", Name: c.out.GetId()},
	}
}

// resolve finds the template, and counts. It returns the class of the buffer's pods, nil where the buffer is refused.
func (c bufferConversion) resolve(refs References, templates Templates) *snapshot.Object {
	t, workload, ok := c.template(templates)
	if !ok {
		return nil
	}
	p := bufferPod(t, c.in)
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	replicas, bounded := c.in.Spec.Size(workload, requests)
	if !bounded {
		c.refuse("spec: nothing says how large it is: set replicas, percentage, or limits on something that its pods request")
		return nil
	}
	if c.out.GetOneShot() && len(t.Labels) == 0 {
		c.refuse("spec.provisioningStrategy: %s counts pods by the template's labels, and the template has none",
			autoscalingv1beta1.StrategyOneShot)
		return nil
	}
	spec := podClass(p, refs)
	// What a buffer's pod asks for and Kerf does not plan for is left out of the capacity, as a pod of its own would be
	// pending.
	spec.Priority, spec.Preempts = math.MinInt32, false
	class := wire.Class(spec)
	c.out.ClassId, c.out.Replicas = class.ID, replicas
	return class
}

// template is what one replica is made from, and how many replicas the workload has.
func (c bufferConversion) template(templates Templates) (t corev1.PodTemplateSpec, workload *int32, ok bool) {
	if ref := c.in.Spec.PodTemplateRef; ref != nil {
		if found := templates.PodTemplate(c.in.Namespace, ref.Name); found != nil {
			c.out.TemplateGeneration = found.Generation
			return found.Template, nil, true
		}
		c.lost("spec.podTemplateRef.name", "PodTemplate", ref.Name)
		return t, nil, false
	}
	ref := c.in.Spec.ScalableRef
	switch ref.Kind {
	case "Deployment":
		if d := templates.Deployment(c.in.Namespace, ref.Name); d != nil {
			return d.Spec.Template, d.Spec.Replicas, true
		}
	case "StatefulSet":
		if s := templates.StatefulSet(c.in.Namespace, ref.Name); s != nil {
			return s.Spec.Template, s.Spec.Replicas, true
		}
	case "ReplicaSet":
		if r := templates.ReplicaSet(c.in.Namespace, ref.Name); r != nil {
			return c.standalone(r)
		}
	}
	c.lost("spec.scalableRef.name", ref.Kind, ref.Name)
	return t, nil, false
}

// standalone refuses a ReplicaSet that a Deployment replaces with each rollout.
func (c bufferConversion) standalone(r *appsv1.ReplicaSet) (t corev1.PodTemplateSpec, workload *int32, ok bool) {
	if owner := metav1.GetControllerOf(r); owner != nil {
		c.refuse("spec.scalableRef: ReplicaSet %s belongs to %s %s, which replaces it with each rollout: refer to that",
			r.Name, owner.Kind, owner.Name)
		return t, nil, false
	}
	return r.Spec.Template, r.Spec.Replicas, true
}

// bufferPod is one of the pods that a buffer stands for. Its volumes are never bound, so that it has none that would have
// to be; its owner is the buffer, so that it belongs to no other workload.
func bufferPod(t corev1.PodTemplateSpec, b *autoscalingv1beta1.CapacityBuffer) *corev1.Pod {
	p := TemplatePod(t, Owner{Kind: autoscalingv1beta1.KindCapacityBuffer, Namespace: b.Namespace, Name: b.Name})
	p.Labels = maps.Clone(t.Labels)
	p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
	p.Spec.NodeName = ""
	return p
}
