package convert_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// TestNodesWithoutRoomForAVolume has a claim of 100Gi, of a class whose driver says how much room there is.
func TestNodesWithoutRoomForAVolume(t *testing.T) {
	const node, zoneOfDriver = "topology.disks.example.com/node", "topology.ebs.csi.aws.com/zone"
	room := func(size, most string, labels ...string) *storagev1.CSIStorageCapacity {
		c := &storagev1.CSIStorageCapacity{StorageClassName: "disks", NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{}}}
		for i := 0; i < len(labels); i += 2 {
			c.NodeTopology.MatchLabels[labels[i]] = labels[i+1]
		}
		if size != "" {
			c.Capacity = new(resource.MustParse(size))
		}
		if most != "" {
			c.MaximumVolumeSize = new(resource.MustParse(most))
		}
		return c
	}
	on := func(name, size string) *corev1.PersistentVolume {
		v := volume("on-"+name, corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com"}},
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expr(node, corev1.NodeSelectorOpIn, name)}})
		v.Spec.StorageClassName, v.Spec.Capacity = "disks", list("storage", size)
		v.Spec.ClaimRef, v.Status.Phase = &corev1.ObjectReference{Namespace: "shop", Name: "other"}, corev1.VolumeBound
		return v
	}
	free := func(v *corev1.PersistentVolume) *corev1.PersistentVolume {
		v.Spec.ClaimRef, v.Status.Phase = nil, corev1.VolumeAvailable
		return v
	}
	lacks := func(key string, values ...string) []*clusterpb.NodeAffinityTerm {
		return []*clusterpb.NodeAffinityTerm{{Requirements: []*clusterpb.Requirement{req(key, opNotIn, values...)}}}
	}
	type rooms = []*storagev1.CSIStorageCapacity
	for name, tc := range map[string]struct {
		rooms       rooms
		volumes     []*corev1.PersistentVolume
		silent      bool
		any         bool
		want        []*clusterpb.NodeAffinityTerm
		unsupported string
	}{
		"no one has said":        {},
		"disks with room":        {rooms: rooms{room("200Gi", "", node, "n1")}},
		"disks that are full":    {rooms: rooms{room("50Gi", "", node, "n1"), room("200Gi", "", node, "n2"), room("50Gi", "", node, "n3")}, volumes: []*corev1.PersistentVolume{on("n1", "150Gi")}, want: lacks(node, "n1")},
		"a volume that is there": {rooms: rooms{room("50Gi", "")}, volumes: []*corev1.PersistentVolume{free(on("n1", "150Gi"))}},
		"one that is too small": {
			rooms: rooms{room("50Gi", "", node, "n1")}, volumes: []*corev1.PersistentVolume{on("n1", "150Gi"), free(on("n2", "10Gi"))}, want: lacks(node, "n1"),
		},
		"disks that are too small":  {rooms: rooms{room("50Gi", "", node, "n1")}},
		"disks in too small pieces": {rooms: rooms{room("200Gi", "10Gi", node, "n1")}, volumes: []*corev1.PersistentVolume{on("n1", "10Gi")}},
		"disks with one as large":   {rooms: rooms{room("200Gi", "10Gi", node, "n1")}, volumes: []*corev1.PersistentVolume{on("n1", "100Gi")}, want: lacks(node, "n1")},
		"disks that are not ready":  {rooms: rooms{room("", "", node, "n1")}},
		"a driver that does not count": {
			rooms: rooms{room("50Gi", "", node, "n1")}, volumes: []*corev1.PersistentVolume{on("n1", "150Gi")}, silent: true,
		},
		"any size will do":                   {rooms: rooms{room("50Gi", "", node, "n1")}, volumes: []*corev1.PersistentVolume{on("n1", "150Gi")}, any: true},
		"a zone that is full":                {rooms: rooms{room("50Gi", "", zoneOfDriver, "a"), room("200Gi", "", zoneOfDriver, "b")}, want: lacks(zone, "a")},
		"a zone by its region too":           {rooms: rooms{room("50Gi", "", zone, "a", "topology.kubernetes.io/region", "r")}, want: lacks(zone, "a")},
		"two parts of a zone, one with room": {rooms: rooms{room("200Gi", "", zone, "a"), room("50Gi", "", zone, "a")}},
		"racks of zones":                     {rooms: rooms{room("50Gi", "", zone, "a", "rack", "1")}},
		"everywhere there is room":           {rooms: rooms{room("200Gi", ""), room("50Gi", "", zone, "a")}},
		"nowhere there is room": {
			rooms:       rooms{room("50Gi", "")},
			unsupported: "spec.volumes[0]: persistent volume claim data: storage class disks has no room for 100Gi (CSIStorageCapacity)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(!tc.silent)}}
			refs := []runtime.Object{d, storageClass("disks", d.Name, storagev1.VolumeBindingWaitForFirstConsumer), claim("data", ofClass("disks"), func(c *corev1.PersistentVolumeClaim) {
				if !tc.any {
					c.Spec.Resources.Requests = list("storage", "100Gi")
				}
			})}
			for i, r := range tc.rooms {
				r.Namespace, r.Name = "disks", fmt.Sprint(i)
				refs = append(refs, r)
			}
			for _, v := range tc.volumes {
				refs = append(refs, v)
			}
			_, class := convertPod(t, pod(func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
				}}}
			}), refs...)
			if class.GetUnsupported() != tc.unsupported {
				t.Errorf("unsupported %q, want %q", class.GetUnsupported(), tc.unsupported)
			}
			if tc.unsupported != "" {
				return
			}
			want := []*clusterpb.VolumeTopology{{Name: "shop/data", Driver: d.Name, Terms: tc.want}}
			if diff := cmp.Diff(want, class.GetVolumes(), protocmp.Transform()); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
		})
	}
}
