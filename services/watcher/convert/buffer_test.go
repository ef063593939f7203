package convert_test

import (
	"math"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// buffer is shop/spare for the Deployment web, changed by each edit.
func buffer(edits ...func(*autoscalingv1beta1.CapacityBuffer)) *autoscalingv1beta1.CapacityBuffer {
	b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: meta("spare")}
	b.CreationTimestamp = metav1.NewTime(start())
	b.Spec.ScalableRef = &autoscalingv1beta1.ScalableReference{APIGroup: "apps", Kind: "Deployment", Name: "web"}
	for _, edit := range edits {
		edit(b)
	}
	return b
}

func convertBuffer(t *testing.T, b *autoscalingv1beta1.CapacityBuffer, objects ...runtime.Object) (*clusterpb.CapacityBuffer, snapshot.Object) {
	t.Helper()
	c := cluster(t, objects...)
	o := convert.CapacityBuffer(b, nil, c, c)
	return o.Payload.(*clusterpb.CapacityBuffer), o
}

func deployment(replicas int32) *appsv1.Deployment {
	t := template()
	t.Spec.PriorityClassName = "system-cluster-critical"
	t.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	return &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: t}}
}

func TestABufferIsPodsOfNoWorkload(t *testing.T) {
	got, o := convertBuffer(t, buffer(func(b *autoscalingv1beta1.CapacityBuffer) {
		b.Spec.Percentage = new(int32(25))
		b.Annotations = map[string]string{"kerf.dev/expires-at": "2026-11-27T23:00:00Z"}
	}), deployment(10))
	if got.GetNotReady() != nil || got.GetReplicas() != 3 || got.GetId() != "shop/spare" || got.GetOneShot() {
		t.Errorf("got %v, want capacity for 3", got)
	}
	if !got.GetCreateTime().AsTime().Equal(start()) || !got.GetExpireTime().AsTime().Equal(time.Date(2026, 11, 27, 23, 0, 0, 0, time.UTC)) ||
		got.GetStartTime() != nil {
		t.Errorf("times of %v", got)
	}
	class := o.Class.Payload.(*clusterpb.PodClass)
	if o.Class.ID != got.GetClassId() || class.GetPriority() != math.MinInt32 || class.GetPreempts() {
		t.Errorf("class %v: want the lowest priority, and no preemption", class)
	}
	if class.GetOwnerKind() != "CapacityBuffer" || class.GetOwnerName() != "spare" || len(class.GetVolumes()) > 0 || class.GetUnsupported() != "" {
		t.Errorf("class %v: want the buffer's own, without volumes to bind", class)
	}
	if len(class.GetLabels()) != 1 || class.GetLabels()[0].GetValue() != "web" || len(class.GetRequests()) != 3 {
		t.Errorf("class %v: want the template's labels and requests", class)
	}
}

func TestABufferOfATemplate(t *testing.T) {
	got, _ := convertBuffer(t, buffer(func(b *autoscalingv1beta1.CapacityBuffer) {
		b.Spec.ScalableRef, b.Spec.PodTemplateRef = nil, &autoscalingv1beta1.LocalReference{Name: "web"}
		b.Spec.Limits, b.Spec.ProvisioningStrategy = list("cpu", "1"), autoscalingv1beta1.StrategyOneShot
	}), &corev1.PodTemplate{ObjectMeta: meta("web"), Template: template()})
	if got.GetNotReady() != nil || got.GetReplicas() != 4 || !got.GetOneShot() {
		t.Errorf("got %v, want capacity for 4, once", got)
	}
}

func TestABufferThatAsksForNothingSaysWhy(t *testing.T) {
	type edit = func(*autoscalingv1beta1.CapacityBuffer)
	const (
		invalid   = clusterpb.ReasonCode_REASON_CODE_BUFFER_INVALID
		reference = clusterpb.ReasonCode_REASON_CODE_BUFFER_REFERENCE
	)
	owned := &appsv1.ReplicaSet{ObjectMeta: meta("web-1")}
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "web", Controller: new(true)}}
	tests := map[string]struct {
		edit edit
		code clusterpb.ReasonCode
		want string
	}{
		"no workload of that name": {
			func(b *autoscalingv1beta1.CapacityBuffer) { b.Spec.ScalableRef.Name = "wep" },
			reference, "spec.scalableRef.name: there is no Deployment shop/wep",
		},
		"no template of that name": {
			func(b *autoscalingv1beta1.CapacityBuffer) {
				b.Spec.ScalableRef, b.Spec.PodTemplateRef = nil, &autoscalingv1beta1.LocalReference{Name: "t"}
			},
			reference, "spec.podTemplateRef.name: there is no PodTemplate shop/t",
		},
		"a ReplicaSet of a Deployment": {
			func(b *autoscalingv1beta1.CapacityBuffer) {
				b.Spec.ScalableRef.Kind, b.Spec.ScalableRef.Name = "ReplicaSet", "web-1"
			},
			invalid, "spec.scalableRef: ReplicaSet web-1 belongs to Deployment web",
		},
		"no size": {func(b *autoscalingv1beta1.CapacityBuffer) { b.Spec.Replicas = nil }, invalid, "set replicas, percentage, or limits"},
		"a time that is none": {
			func(b *autoscalingv1beta1.CapacityBuffer) {
				b.Annotations = map[string]string{"kerf.dev/starts-at": "noon"}
			},
			invalid, "metadata.annotations[kerf.dev/starts-at]",
		},
		"one shot without labels": {
			func(b *autoscalingv1beta1.CapacityBuffer) {
				b.Spec.ScalableRef.Kind, b.Spec.ScalableRef.Name = "StatefulSet", "bare"
				b.Spec.ProvisioningStrategy = autoscalingv1beta1.StrategyOneShot
			},
			invalid, "spec.provisioningStrategy",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := buffer(func(b *autoscalingv1beta1.CapacityBuffer) { b.Spec.Replicas = new(int32(2)) }, tt.edit)
			bare := &appsv1.StatefulSet{ObjectMeta: meta("bare")}
			got, o := convertBuffer(t, b, deployment(10), owned.DeepCopy(), bare)
			if r := got.GetNotReady(); r.GetCode() != tt.code || !strings.Contains(r.GetMessage(), tt.want) || r.GetSubject().GetName() != "shop/spare" {
				t.Errorf("reason %v, want %s %q", r, tt.code, tt.want)
			}
			if o.Class != nil || got.GetReplicas() != 0 {
				t.Errorf("it still asks for %v", got)
			}
		})
	}
}
