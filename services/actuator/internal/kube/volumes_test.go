package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
)

func TestTheVolumesThatADrainWaitsForAreNamed(t *testing.T) {
	claim := func(name, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume},
		}
	}
	pod := func(name, of string, tolerations ...corev1.Toleration) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
			Spec: corev1.PodSpec{NodeName: "n1", Tolerations: tolerations, Volumes: []corev1.Volume{{
				Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: of}},
			}}},
		}
	}
	attachment := func(name, node string, source storagev1.VolumeAttachmentSource) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{NodeName: node, Source: source}}
	}
	volume := func(name string) storagev1.VolumeAttachmentSource {
		return storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}
	}
	k, _ := start(t, []runtime.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		claim("of-web", "pv-web"), claim("of-agent", "pv-agent"),
		pod("web", "of-web"), pod("agent", "of-agent", corev1.Toleration{Operator: corev1.TolerationOpExists}),
		attachment("csi-1", "n1", volume("pv-web")), attachment("csi-2", "n1", volume("pv-agent")), attachment("csi-3", "n1", volume("pv-left")),
		attachment("csi-inline", "n1", storagev1.VolumeAttachmentSource{InlineVolumeSpec: &corev1.PersistentVolumeSpec{}}),
		attachment("csi-4", "n2", volume("pv-elsewhere")),
	})
	want := []cluster.Volume{{Name: "csi-inline"}, {Name: "pv-left"}, {Name: "pv-web", Pods: []string{"uid-web"}}}
	if d := cmp.Diff(want, observed(t, k).Nodes[0].Volumes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
