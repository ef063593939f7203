package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

// TestWhichVolumesClaimsHaveBeforeTheirPodsRun has a claim "data" of class "disk", or a StatefulSet "db" that makes two
// of that name.
func TestWhichVolumesClaimsHaveBeforeTheirPodsRun(t *testing.T) {
	t.Parallel()
	spec := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("disk"),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
	claim := func() runtime.Object {
		return &corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: *spec.DeepCopy(),
		}
	}
	database := func() runtime.Object {
		return &appsv1.StatefulSet{
			TypeMeta: metav1.TypeMeta{Kind: "StatefulSet"}, ObjectMeta: metav1.ObjectMeta{Name: "db"},
			Spec: appsv1.StatefulSetSpec{Replicas: new(int32(2)), VolumeClaimTemplates: []corev1.PersistentVolumeClaim{
				{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: spec},
			}},
		}
	}
	volume := func(name, of string) runtime.Object {
		v := &corev1.PersistentVolume{
			TypeMeta: metav1.TypeMeta{Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: spec.Resources.Requests, AccessModes: spec.AccessModes, StorageClassName: "disk",
			},
		}
		if of != "" {
			v.Spec.ClaimRef = &corev1.ObjectReference{Name: of}
		}
		return v
	}
	// as is a volume that a cluster has, for a claim of the uid "there".
	as := func(o runtime.Object, phase corev1.PersistentVolumePhase) runtime.Object {
		v := o.(*corev1.PersistentVolume)
		v.Status.Phase, v.Spec.ClaimRef.UID = phase, "there"
		return v
	}
	known := func(o runtime.Object) runtime.Object {
		o.(*corev1.PersistentVolumeClaim).UID = "new"
		return o
	}
	class := func(provisioner string, mode storagev1.VolumeBindingMode) runtime.Object {
		return &storagev1.StorageClass{
			TypeMeta: metav1.TypeMeta{Kind: "StorageClass"}, ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Provisioner: provisioner, VolumeBindingMode: &mode,
		}
	}
	byHand := class("kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer)
	made := class("disk.example.com", storagev1.VolumeBindingWaitForFirstConsumer)

	for name, tt := range map[string]struct {
		objects []runtime.Object
		want    map[string]string
	}{
		"a volume that is right": {[]runtime.Object{claim(), volume("v", "")}, map[string]string{"data": "v"}},
		"a volume that names the claim, before one that is right": {
			[]runtime.Object{claim(), volume("a", ""), volume("v", "data")}, map[string]string{"data": "v"},
		},
		"a volume of a cluster, bound to what a file's claim is there": {
			[]runtime.Object{made, claim(), as(volume("v", "data"), corev1.VolumeBound)}, map[string]string{"data": "v"},
		},
		"volumes of a cluster, bound to what a StatefulSet has there": {
			[]runtime.Object{database(), as(volume("v0", "data-db-0"), corev1.VolumeBound), as(volume("v1", "data-db-1"), corev1.VolumeBound)},
			map[string]string{"data-db-0": "v0", "data-db-1": "v1"},
		},
		"a volume of a cluster whose claim is gone": {
			[]runtime.Object{made, claim(), as(volume("v", "data"), corev1.VolumeReleased)}, map[string]string{},
		},
		"a volume of a cluster that was another claim's of that name": {
			[]runtime.Object{made, known(claim()), as(volume("v", "data"), corev1.VolumeBound)}, map[string]string{},
		},
		"a volume that names another claim":  {[]runtime.Object{claim(), volume("v", "other")}, map[string]string{}},
		"volumes that name a StatefulSet's":  {[]runtime.Object{database(), volume("v0", "data-db-0"), volume("v1", "data-db-1")}, map[string]string{"data-db-0": "v0", "data-db-1": "v1"}},
		"one volume for two of a set's":      {[]runtime.Object{database(), volume("v", "")}, map[string]string{"data-db-0": "v"}},
		"a volume may be made with the node": {[]runtime.Object{made, claim(), volume("v", "")}, map[string]string{}},
		"a volume that names the claim, of a class that makes others with the node": {
			[]runtime.Object{made, claim(), volume("v", "data")}, map[string]string{"data": "v"},
		},
		"one of two is chosen with the node":     {[]runtime.Object{byHand, claim(), volume("a", ""), volume("b", "")}, map[string]string{}},
		"the only one is as good as chosen":      {[]runtime.Object{byHand, claim(), volume("a", "")}, map[string]string{"data": "a"}},
		"none is there, and none will be made":   {[]runtime.Object{byHand, claim()}, map[string]string{}},
		"two of a set's are chosen with a node":  {[]runtime.Object{byHand, database(), volume("a", ""), volume("b", "")}, map[string]string{}},
		"a class that makes them before the pod": {[]runtime.Object{class("disk.example.com", storagev1.VolumeBindingImmediate), claim(), volume("v", "")}, map[string]string{"data": "v"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assumed, _ := convert.Missing(tt.objects)
			got := map[string]string{}
			for _, o := range append(tt.objects, assumed...) {
				c, ok := o.(*corev1.PersistentVolumeClaim)
				if ok && c.Annotations["pv.kubernetes.io/bind-completed"] != "" {
					got[c.Name] = c.Spec.VolumeName
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("volumes of claims (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAClaimThatIsForANodeOfAnotherClusterIsForAny has a claim for which a cluster's scheduler has chosen a node.
func TestAClaimThatIsForANodeOfAnotherClusterIsForAny(t *testing.T) {
	t.Parallel()
	const selected = "volume.kubernetes.io/selected-node"
	for name, tt := range map[string]struct {
		node string
		want string
	}{
		"the node is there": {"n1", "n1"},
		"it is not":         {"n2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Annotations: map[string]string{selected: "n1"}}}
			n := &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: tt.node}}
			convert.Missing([]runtime.Object{c, n})
			if got := c.Annotations[selected]; got != tt.want {
				t.Errorf("the claim is for node %q, want %q", got, tt.want)
			}
		})
	}
}
