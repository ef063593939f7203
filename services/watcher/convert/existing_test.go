package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// TestAClassThatMakesNoVolumes has claims of a class whose volumes are there already, and chosen with the node.
func TestAClassThatMakesNoVolumes(t *testing.T) {
	const hostname = "kubernetes.io/hostname"
	late := storagev1.VolumeBindingWaitForFirstConsumer
	inTerm := func(key string, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expr(key, corev1.NodeSelectorOpIn, values...)}}
	}
	pv := func(name, size string, source corev1.PersistentVolumeSource, terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
		v := volume(name, source, terms...)
		v.Spec.StorageClassName, v.Spec.Capacity = "static", list("storage", size)
		v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		v.Status.Phase = corev1.VolumeAvailable
		return v
	}
	has := func(v *corev1.PersistentVolume, claim string, phase corev1.PersistentVolumePhase) *corev1.PersistentVolume {
		v.Spec.ClaimRef, v.Status.Phase = &corev1.ObjectReference{Namespace: "shop", Name: claim}, phase
		return v
	}
	edited := func(v *corev1.PersistentVolume, edit func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
		edit(v)
		return v
	}
	ebs := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}}
	nfs := corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}
	disk := corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}
	where := func(driver string, reqs ...*clusterpb.Requirement) []*clusterpb.VolumeTopology {
		v := &clusterpb.VolumeTopology{Name: "shop/data", Driver: driver}
		for _, r := range reqs {
			v.Terms = append(v.Terms, &clusterpb.NodeAffinityTerm{Requirements: []*clusterpb.Requirement{r}})
		}
		return []*clusterpb.VolumeTopology{v}
	}
	none := func(of string) string {
		return "spec.volumes[0]: persistent volume claim data: no persistent volume of storage class static is free and right for it (of " + of + "), " +
			"and the class makes none (kubernetes.io/no-provisioner)"
	}
	for name, tc := range map[string]struct {
		volumes     []*corev1.PersistentVolume
		claim       func(*corev1.PersistentVolumeClaim)
		want        []*clusterpb.VolumeTopology
		unsupported string
	}{
		"one that is free": {
			volumes: []*corev1.PersistentVolume{pv("a", "10Gi", ebs, inTerm(zone, "a"))}, want: where("ebs.csi.aws.com", req(zone, opIn, "a")),
		},
		"one of several, each in its zone": {
			volumes: []*corev1.PersistentVolume{
				pv("b", "10Gi", ebs, inTerm(zone, "b")), pv("a", "20Gi", ebs, inTerm(zone, "a")), pv("a2", "20Gi", ebs, inTerm(zone, "a")),
				pv("small", "5Gi", ebs, inTerm(zone, "c")), has(pv("taken", "10Gi", ebs, inTerm(zone, "c")), "other", corev1.VolumeBound),
				has(pv("free soon", "10Gi", ebs, inTerm(zone, "c")), "gone", corev1.VolumeReleased),
				edited(pv("shared", "10Gi", ebs, inTerm(zone, "c")), func(v *corev1.PersistentVolume) { v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{"ROX"} }),
				edited(pv("raw", "10Gi", ebs, inTerm(zone, "c")), func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }),
				edited(pv("of another class", "10Gi", ebs, inTerm(zone, "c")), func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "x" }),
				edited(pv("goes", "10Gi", ebs, inTerm(zone, "c")), func(v *corev1.PersistentVolume) {
					v.DeletionTimestamp = new(metav1.NewTime(start()))
				}),
			},
			want: where("ebs.csi.aws.com", req(zone, opIn, "a"), req(zone, opIn, "b")),
		},
		"one that every node reaches": {volumes: []*corev1.PersistentVolume{pv("a", "10Gi", ebs, inTerm(zone, "a")), pv("n", "10Gi", nfs)}},
		"one that is kept for the claim": {
			volumes: []*corev1.PersistentVolume{pv("a", "10Gi", ebs, inTerm(zone, "a")), has(pv("b", "10Gi", ebs, inTerm(zone, "b")), "data", corev1.VolumeAvailable)},
			want:    where("ebs.csi.aws.com", req(zone, opIn, "b")),
		},
		"none is left": {
			volumes:     []*corev1.PersistentVolume{has(pv("a", "10Gi", nfs), "other", corev1.VolumeBound), pv("b", "5Gi", nfs)},
			unsupported: none("2"),
		},
		"none is selected": {
			volumes: []*corev1.PersistentVolume{pv("a", "10Gi", nfs)}, unsupported: none("1"),
			claim: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
			},
		},
		"no one knows of any": {},
		"on nodes' disks, of which one is free": {
			volumes: []*corev1.PersistentVolume{
				has(pv("1", "10Gi", disk, inTerm(hostname, "n1")), "other", corev1.VolumeBound), pv("2", "10Gi", disk, inTerm(hostname, "n2")),
				has(pv("3", "10Gi", disk, inTerm(hostname, "n3")), "other", corev1.VolumeBound), pv("3 too", "10Gi", disk, inTerm(hostname, "n3")),
				has(pv("4", "10Gi", disk, inTerm(hostname, "n4")), "other", corev1.VolumeReleased),
				has(pv("5", "10Gi", disk, inTerm(hostname, "n5")), "other", corev1.VolumeBound), pv("5 small", "5Gi", disk, inTerm(hostname, "n5")),
			},
			want: where("", req(hostname, opNotIn, "n1", "n5")),
		},
		"on nodes' disks that are too small": { // those of a new node are as large, and it must not be bought for that
			volumes: []*corev1.PersistentVolume{has(pv("1", "5Gi", disk, inTerm(hostname, "n1")), "other", corev1.VolumeBound)},
		},
		"a program makes them": {
			volumes: []*corev1.PersistentVolume{edited(has(pv("a", "10Gi", nfs), "other", corev1.VolumeBound), func(v *corev1.PersistentVolume) {
				v.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": "x"}
			})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			refs := []runtime.Object{storageClass("static", "kubernetes.io/no-provisioner", late), claim("data", ofClass("static"), func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Resources.Requests = list("storage", "10Gi")
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
				if tc.claim != nil {
					tc.claim(c)
				}
			})}
			for _, v := range tc.volumes {
				refs = append(refs, v)
			}
			_, class := convertPod(t, pod(func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
				}}}
			}), refs...)
			if diff := cmp.Diff(tc.want, class.GetVolumes(), protocmp.Transform()); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
			if class.GetUnsupported() != tc.unsupported {
				t.Errorf("unsupported %q, want %q", class.GetUnsupported(), tc.unsupported)
			}
		})
	}
}
