package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktesting "k8s.io/client-go/testing"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

func labelled(p *corev1.Pod, labels map[string]string) *corev1.Pod {
	p.Labels = labels
	return p
}

func ownedBy(p *corev1.Pod, kind, name string) *corev1.Pod {
	p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
	return p
}

func TestServicesTellWhoBelongsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t, labelled(pod("web-0", ""), map[string]string{"app": "web", "tier": "x"}))
		a.start(0)
		a.settle()
		selector := func() int { return len(class(a, "shop/web-0").GetDefaultSelector().GetRequirements()) }
		if selector() != 0 {
			t.Errorf("without a Service there is a selector: %v", class(a, "shop/web-0").GetDefaultSelector())
		}
		s := &corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
		a.must(a.core.CoreV1().Services("shop").Create(t.Context(), s, metav1.CreateOptions{}))
		a.settle()
		if selector() != 1 {
			t.Errorf("with a Service the selector is %v", class(a, "shop/web-0").GetDefaultSelector())
		}
		revision := a.now.Revision
		s.Labels = map[string]string{"note": "x"}
		a.must(a.core.CoreV1().Services("shop").Update(t.Context(), s, metav1.UpdateOptions{}))
		a.settle()
		if a.now.Revision != revision {
			t.Error("a label of a Service makes a new revision")
		}
		s.Spec.Selector = map[string]string{"app": "web", "tier": "x"}
		a.must(a.core.CoreV1().Services("shop").Update(t.Context(), s, metav1.UpdateOptions{}))
		a.settle()
		if selector() != 2 {
			t.Errorf("after a change the selector is %v", class(a, "shop/web-0").GetDefaultSelector())
		}
		if err := a.core.CoreV1().Services("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		a.settle()
		if selector() != 0 {
			t.Errorf("without its Service again the selector is %v", class(a, "shop/web-0").GetDefaultSelector())
		}
	})
}

func TestIdentityMakesClassesOnceSomethingSelectsByIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const index = "apps.kubernetes.io/pod-index"
		a := newAPIServer(t, labelled(pod("db-0", ""), map[string]string{index: "0"}), labelled(pod("db-1", ""), map[string]string{index: "1"}))
		a.start(0)
		a.settle()
		classes := func() int { return a.now.Len(snapshot.PodClass) }
		if classes() != 1 {
			t.Errorf("%d classes, want one", classes())
		}
		b := &policyv1.PodDisruptionBudget{ObjectMeta: meta("first"), Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{index: "0"}},
		}}
		a.must(a.core.PolicyV1().PodDisruptionBudgets("shop").Create(t.Context(), b, metav1.CreateOptions{}))
		a.settle()
		if classes() != 2 {
			t.Errorf("%d classes, want one for each pod: a budget selects one of them", classes())
		}
		if err := a.core.PolicyV1().PodDisruptionBudgets("shop").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		a.settle()
		if classes() != 1 {
			t.Errorf("%d classes, want one again", classes())
		}
	})
}

func TestDaemonSetFollowsItsNewestPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t, &appsv1.DaemonSet{ObjectMeta: meta("agent")})
		a.start(0)
		a.settle()
		cpu := func() int64 {
			o, _ := a.now.Get(snapshot.DaemonSet, "shop/agent")
			for _, r := range o.Class.Payload.(*clusterpb.PodClass).GetRequests() {
				if r.GetResource() == "cpu" {
					return r.GetValue()
				}
			}
			return 0
		}
		if cpu() != 0 {
			t.Errorf("the template asks for %d", cpu())
		}
		p := ownedBy(pod("agent-x", "n1"), "DaemonSet", "agent")
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("100m")} // a LimitRange's doing
		a.must(a.core.CoreV1().Pods("shop").Create(t.Context(), p, metav1.CreateOptions{}))
		a.settle()
		if cpu() != 100 {
			t.Errorf("with a pod of 100m it is %d", cpu())
		}
		if err := a.core.CoreV1().Pods("shop").Delete(t.Context(), "agent-x", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		a.settle()
		if cpu() != 0 {
			t.Errorf("without it the template counts again, not %d", cpu())
		}
	})
}

func gpuSlice(generation, slices int64, names ...string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1-gpu", ResourceVersion: "1"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: new("n1"),
		Pool: resourcev1.ResourcePool{Name: "n1", Generation: generation, ResourceSliceCount: slices},
	}}
	for _, n := range names {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: n, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"model": {StringValue: new("x")},
		}})
	}
	return s
}

func gpuClaim(count int64) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count},
	}}}}
}

// TestDevicesAreFollowed lets what a pod's devices depend on come one after the other, in the worst order.
func TestDevicesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pod("train", "")
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
		a := newAPIServer(t, p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		a.start(0)
		a.settle()
		unsupported := func(want string) {
			t.Helper()
			if got := class(a, "shop/train").GetUnsupported(); got != want {
				t.Errorf("unsupported %q, want %q", got, want)
			}
		}
		devices := func() []*clusterpb.NodeDevice { return object[*clusterpb.Node](a, snapshot.Node, "n1").GetDevices() }
		dra := a.core.ResourceV1()
		unsupported("spec.resourceClaims[0]: resource claim template gpu is not there")

		a.must(dra.ResourceSlices().Create(t.Context(), gpuSlice(1, 1, "gpu-0", "gpu-1"), metav1.CreateOptions{}))
		a.settle()
		if d := devices(); len(d) != 2 || len(d[0].GetSelectors()) != 0 {
			t.Errorf("devices %v, want two that no claim asks for", d)
		}
		template := &resourcev1.ResourceClaimTemplate{ObjectMeta: meta("gpu"), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: gpuClaim(1)}}
		a.must(dra.ResourceClaimTemplates("shop").Create(t.Context(), template, metav1.CreateOptions{}))
		a.settle()
		unsupported("spec.resourceClaims[0]: devices.requests[0].exactly.deviceClassName: there is no DeviceClass gpu")

		gpu := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
			Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}}},
		}}
		a.must(dra.DeviceClasses().Create(t.Context(), gpu, metav1.CreateOptions{}))
		a.settle()
		unsupported("")
		asked := class(a, "shop/train").GetDeviceClaims()[0].GetRequests()[0].GetOptions()[0].GetSelector()
		if d := devices(); len(d) != 2 || len(d[0].GetSelectors()) != 1 || d[0].GetSelectors()[0] != asked {
			t.Errorf("devices %v, want each to match %s", d, asked)
		}

		// The pod is bound, and its claim is given a device.
		claim := &resourcev1.ResourceClaim{ObjectMeta: meta("train-gpu"), Spec: gpuClaim(1), Status: resourcev1.ResourceClaimStatus{
			Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
				{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-1"},
			}}},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "train"}},
		}}
		a.must(dra.ResourceClaims("shop").Create(t.Context(), claim, metav1.CreateOptions{}))
		p.Spec.NodeName = "n1"
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("train-gpu")}}
		a.must(a.core.CoreV1().Pods("shop").Update(t.Context(), p, metav1.UpdateOptions{}))
		a.settle()
		if held := object[*clusterpb.Pod](a, snapshot.Pod, "shop/train").GetDevices(); len(held) != 1 || held[0].GetName() != "gpu-1" {
			t.Errorf("the bound pod holds %v", held)
		}

		// Something else takes the other device.
		other := claim.DeepCopy()
		other.Name = "other"
		other.Status.Allocation.Devices.Results[0].Device = "gpu-0"
		other.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{APIGroup: "x.example.com", Resource: "things", Name: "x"}}
		a.must(dra.ResourceClaims("shop").Create(t.Context(), other, metav1.CreateOptions{}))
		a.settle()
		if d := devices(); !d[0].GetUnavailable() || d[1].GetUnavailable() {
			t.Errorf("devices %v, want the first taken by what is no pod", d)
		}

		// The driver publishes anew, and is not done yet.
		next := gpuSlice(2, 2, "gpu-0", "gpu-1")
		next.ResourceVersion = "2"
		a.must(dra.ResourceSlices().Update(t.Context(), next, metav1.UpdateOptions{}))
		a.settle()
		if d := devices(); len(d) != 1 || !d[0].GetIncompletePool() {
			t.Errorf("devices %v, want a pool that is not whole", d)
		}
	})
}

// TestAClassThatBeginsToStandForAResourceIsFollowed has a pod that asked for it before.
func TestAClassThatBeginsToStandForAResourceIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pod("train", "")
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
		gpu := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
		a := newAPIServer(t, p, gpu)
		a.start(0)
		a.settle()
		if got := class(a, "shop/train").GetExtendedRequests(); len(got) > 0 {
			t.Errorf("no class stands for anything, and the pod has %v", got)
		}
		gpu.Spec.ExtendedResourceName, gpu.ResourceVersion = new("example.com/gpu"), "2"
		a.must(a.core.ResourceV1().DeviceClasses().Update(t.Context(), gpu, metav1.UpdateOptions{}))
		a.settle()
		if got := class(a, "shop/train").GetExtendedRequests(); len(got) != 1 || got[0].GetDevices().GetDeviceClass() != "gpu" {
			t.Errorf("the class stands for what the pod asks for, which has %v", got)
		}
	})
}

func TestNothingWaitsForDevicesThatAClusterDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t, pod("web-0", ""))
		a.refuse("resourceslices", "resourceclaims", "resourceclaimtemplates", "deviceclasses")
		a.start(0)
		a.settle()
		time.Sleep(time.Minute)
		a.settle()
		if len(a.ids(snapshot.Pod)) != 1 {
			t.Error("the cluster was not read")
		}
	})
}

// refuse makes the API server one that does not serve some resources.
func (a *apiServer) refuse(resources ...string) {
	for _, r := range resources {
		a.core.PrependReactor("list", r, func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: "resource.k8s.io", Resource: r}, "")
		})
	}
}

// TestVolumesThatAreLeftAreFollowed has a claim of a class that makes no volumes.
func TestVolumesThatAreLeftAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, static := storagev1.VolumeBindingWaitForFirstConsumer, "static"
		storage := func(size string) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data"), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &static}}
		claim.Spec.Resources.Requests = storage("10Gi")
		volume := func(name, size string) *corev1.PersistentVolume {
			v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}
			v.Spec.StorageClassName, v.Spec.Capacity = static, storage(size)
			return v
		}
		p := pod("db-0", "")
		p.Spec.Volumes = []corev1.Volume{claimed("data")}
		a := newAPIServer(t, p, claim, volume("small", "5Gi"), &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: static}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &late,
		})
		a.start(0)
		a.settle()
		refused := func() bool { return class(a, "shop/db-0").GetUnsupported() != "" }
		if !refused() {
			t.Error("a volume that is too small will do")
		}
		a.must(a.core.CoreV1().PersistentVolumes().Create(t.Context(), volume("large", "20Gi"), metav1.CreateOptions{}))
		a.settle()
		if refused() {
			t.Errorf("with a volume that is free the pod is refused: %s", class(a, "shop/db-0").GetUnsupported())
		}
		taken := volume("large", "20Gi")
		taken.Spec.ClaimRef, taken.Status.Phase = &corev1.ObjectReference{Namespace: "shop", Name: "another"}, corev1.VolumeBound
		a.must(a.core.CoreV1().PersistentVolumes().Update(t.Context(), taken, metav1.UpdateOptions{}))
		a.settle()
		if !refused() {
			t.Error("a volume that another claim has got will do")
		}
	})
}

// TestWhoSharesAVolumeForOnePodIsFollowed: the volume is called after a pod, and has a name for the planner while
// another pod asks for it.
func TestWhoSharesAVolumeForOnePodIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data-db-0")}
		claim.Spec.AccessModes, claim.Spec.VolumeName = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}, "v"
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}
		p, backup := pod("db-0", "n1"), pod("backup", "")
		p.Spec.Volumes, backup.Spec.Volumes = []corev1.Volume{claimed("data-db-0")}, []corev1.Volume{claimed("data-db-0")}
		a := newAPIServer(t, p, claim, v)
		a.start(0)
		a.settle()
		exclusive := func(pod string) bool {
			list := class(a, "shop/"+pod).GetVolumes()
			return len(list) == 1 && list[0].GetName() == "shop/data-db-0" && list[0].GetExclusive()
		}
		if exclusive("db-0") {
			t.Error("a volume that no other pod asks for has a name")
		}
		a.must(a.core.CoreV1().Pods("shop").Create(t.Context(), backup, metav1.CreateOptions{}))
		a.settle()
		if !exclusive("db-0") || !exclusive("backup") {
			t.Errorf("of two pods with the volume one does not say so: %v, %v", class(a, "shop/db-0"), class(a, "shop/backup"))
		}
		backup.Status.Phase = corev1.PodSucceeded
		a.must(a.core.CoreV1().Pods("shop").UpdateStatus(t.Context(), backup, metav1.UpdateOptions{}))
		a.settle()
		if exclusive("db-0") {
			t.Error("a volume has a name though the other pod has ended")
		}
	})
}

// TestRoomForVolumesIsFollowed has a claim of a class whose driver says how much room there is.
func TestRoomForVolumesIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, disks := storagev1.VolumeBindingWaitForFirstConsumer, "disks"
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data"), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &disks}}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
		p := pod("db-0", "")
		p.Spec.Volumes = []corev1.Volume{claimed("data")}
		a := newAPIServer(t, p, claim, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: disks}, Provisioner: "d.example.com", VolumeBindingMode: &late,
		})
		a.start(0)
		a.settle()
		refused := func() bool { return class(a, "shop/db-0").GetUnsupported() != "" }
		room := &storagev1.CSIStorageCapacity{ObjectMeta: meta("all"), StorageClassName: disks, NodeTopology: &metav1.LabelSelector{}}
		room.Capacity = new(resource.MustParse("5Gi"))
		a.must(a.core.StorageV1().CSIStorageCapacities("shop").Create(t.Context(), room, metav1.CreateOptions{}))
		a.settle()
		if refused() {
			t.Error("what a driver tells counts, though the scheduler does not go by it")
		}
		driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}}
		a.must(a.core.StorageV1().CSIDrivers().Create(t.Context(), driver, metav1.CreateOptions{}))
		a.settle()
		if !refused() {
			t.Error("there is no room, and the pod is not told")
		}
		room = room.DeepCopy()
		room.Capacity = new(resource.MustParse("50Gi"))
		a.must(a.core.StorageV1().CSIStorageCapacities("shop").Update(t.Context(), room, metav1.UpdateOptions{}))
		a.settle()
		if refused() {
			t.Errorf("there is room again, and the pod is told %s", class(a, "shop/db-0").GetUnsupported())
		}
	})
}

func claimed(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}
}
