package kube_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeclient/kubeclienttest"
	"github.com/kerf-dev/kerf/services/watcher/internal/kube"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// apiServer is the fake API server of one test, and what a source has made of it so far.
type apiServer struct {
	t       *testing.T
	core    *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	log     *output
	batches chan snapshot.Batch
	now     snapshot.Snapshot
	wholes  int
	repair  *clusterpb.RepairPolicy
	// cautious is that of the sources that are started.
	cautious bool
	lost     func(why string)
	silent   func() time.Time
}

// output is a buffer that is written and read at the same time.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func newAPIServer(t *testing.T, objects ...runtime.Object) *apiServer {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{
		karpenterv1.NodePoolGVR(): "NodePoolList", karpenterv1.NodeClaimGVR(): "NodeClaimList", awsv1.EC2NodeClassGVR(): "EC2NodeClassList",
		karpenterv1alpha1.NodeOverlayGVR(): "NodeOverlayList", autoscalingv1beta1.CapacityBufferGVR(): "CapacityBufferList",
	}
	return &apiServer{
		t: t, core: fake.NewClientset(objects...), log: &output{}, batches: make(chan snapshot.Batch),
		dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds),
	}
}

// start runs a source until the test's end.
func (a *apiServer) start(queue int) {
	a.t.Helper()
	src, err := kube.New(kube.Config{
		Client: kubeclienttest.Reader{Clientset: a.core}, Dynamic: a.dynamic, Log: slog.New(slog.NewTextHandler(a.log, nil)), Now: time.Now, Queue: queue,
		Repair: a.repair, Cautious: a.cautious, Lost: a.lost, Silent: a.silent,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(a.t.Context())
	done := make(chan error, 1)
	go func() { done <- src.Run(ctx, a.batches) }()
	a.t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			a.t.Errorf("Run ended with %v", err)
		}
	})
}

// settle folds what the source sends until it has been quiet for a second of the bubble's time.
func (a *apiServer) settle() {
	for {
		select {
		case b := <-a.batches:
			a.now = b.Fold(a.now)
			if len(b.Whole) > 0 {
				a.wholes++
			}
		case <-time.After(time.Second):
			return
		}
	}
}

func (a *apiServer) ids(k snapshot.Kind) []string {
	out := []string{}
	for _, o := range a.now.Objects(k) {
		out = append(out, o.ID)
	}
	return out
}

func object[T any](a *apiServer, k snapshot.Kind, id string) T {
	a.t.Helper()
	o, ok := a.now.Get(k, id)
	if !ok {
		a.t.Fatalf("there is no object %s of kind %d", id, k)
	}
	return o.Payload.(T)
}

func class(a *apiServer, pod string) *clusterpb.PodClass {
	o, _ := a.now.Get(snapshot.Pod, pod)
	return o.Class.Payload.(*clusterpb.PodClass)
}

func (a *apiServer) must(_ any, err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *apiServer) custom(gvr schema.GroupVersionResource, o runtime.Object) {
	a.t.Helper()
	a.must(a.dynamic.Resource(gvr).Create(a.t.Context(), custom(a.t, o), metav1.CreateOptions{}))
}

// custom is an object as the dynamic client has it.
func custom(t *testing.T, o runtime.Object) *unstructured.Unstructured {
	t.Helper()
	u, scheme := &unstructured.Unstructured{}, runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		karpenterv1.AddToScheme, karpenterv1alpha1.AddToScheme, autoscalingv1beta1.AddToScheme, awsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if err := scheme.Convert(o, u, nil); err != nil {
		t.Fatal(err)
	}
	return u
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "shop"} }

func pod(name, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c"}}}}
	if node != "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now().Rfc3339Copy()}}
	}
	return p
}

func pool() *karpenterv1.NodePool {
	p := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Spec.NodeClassRef = karpenterv1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.KindEC2NodeClass, Name: "default"}
	p.Spec.Template.Spec.Requirements = []karpenterv1.Requirement{}
	p.SetDefaults()
	return p
}

func TestFirstBatchHoldsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t,
			pod("web-0", "n1"), pod("done", ""), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, &appsv1.DaemonSet{ObjectMeta: meta("agent")},
			&policyv1.PodDisruptionBudget{ObjectMeta: meta("budget")},
		)
		done := pod("done", "")
		done.Status.Phase = corev1.PodSucceeded
		a.must(a.core.CoreV1().Pods("shop").UpdateStatus(t.Context(), done, metav1.UpdateOptions{}))
		a.custom(karpenterv1.NodePoolGVR(), pool())
		a.start(0)
		a.settle()
		got := map[string][]string{
			"pods": a.ids(snapshot.Pod), "nodes": a.ids(snapshot.Node), "namespaces": a.ids(snapshot.Namespace),
			"daemon sets": a.ids(snapshot.DaemonSet), "budgets": a.ids(snapshot.PodDisruptionBudget), "pools": a.ids(snapshot.NodePool),
		}
		want := map[string][]string{
			"pods": {"shop/web-0"}, "nodes": {"n1"}, "namespaces": {"shop"},
			"daemon sets": {"shop/agent"}, "budgets": {"shop/budget"}, "pools": {"default"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("snapshot (-want +got):\n%s", diff)
		}
		if a.wholes != 1 || a.now.Revision != 1 {
			t.Errorf("%d whole batches, revision %d", a.wholes, a.now.Revision)
		}
	})
}

func TestPodsComingAndGoingAreTheirNodesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		daemon := pod("agent-x", "n1")
		daemon.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: new(bool)}}
		*daemon.OwnerReferences[0].Controller = true
		a := newAPIServer(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, daemon)
		a.start(0)
		a.settle()
		last := func() time.Time {
			ts := object[*clusterpb.Node](a, snapshot.Node, "n1").GetLastPodEventTime()
			if ts == nil {
				return time.Time{}
			}
			return ts.AsTime()
		}
		if !last().IsZero() {
			t.Errorf("a DaemonSet's pod is an event of its node, at %s", last())
		}
		time.Sleep(time.Minute)
		bound := metav1.Now().Rfc3339Copy()
		a.must(a.core.CoreV1().Pods("shop").Create(t.Context(), pod("web-0", "n1"), metav1.CreateOptions{}))
		a.settle()
		if !last().Equal(bound.Time) {
			t.Errorf("after a pod came the last event is at %s, want %s", last(), bound)
		}
		time.Sleep(time.Minute)
		gone := time.Now()
		if err := a.core.CoreV1().Pods("shop").Delete(t.Context(), "web-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		a.settle()
		if !last().Equal(gone) {
			t.Errorf("after the pod went the last event is at %s, want %s", last(), gone)
		}
		if diff := cmp.Diff([]string{"shop/agent-x"}, a.ids(snapshot.Pod)); diff != "" {
			t.Errorf("pods (-want +got):\n%s", diff)
		}
	})
}

// TestARestartLetsNoNodeGoEarly has a pod leave while nothing watches: after the restart its node counts as left just
// then, and not as quiet since the last pod that is still there came.
func TestARestartLetsNoNodeGoEarly(t *testing.T) {
	for name, cautious := range map[string]bool{"a watcher": true, "an observer, which removes nothing": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPIServer(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
				a.cautious = cautious
				a.must(a.core.CoreV1().Pods("shop").Create(t.Context(), pod("web-0", "n1"), metav1.CreateOptions{}))
				time.Sleep(time.Hour)
				began := time.Now()
				a.start(0)
				a.settle()
				time.Sleep(time.Minute)
				a.must(a.core.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}, metav1.CreateOptions{}))
				a.settle()
				last := func(node string) *timestamppb.Timestamp {
					return object[*clusterpb.Node](a, snapshot.Node, node).GetLastPodEventTime()
				}
				if quiet := began.Sub(last("n1").AsTime()); cautious != (quiet <= 0) {
					t.Errorf("n1 was quiet for %s when it was first seen", quiet)
				}
				if last("n2") != nil {
					t.Errorf("a node that came later has had a pod, at %s", last("n2").AsTime())
				}
			})
		})
	}
}

func TestWhatAPodRefersToIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pod("db-0", "")
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
		a := newAPIServer(t, p)
		a.start(0)
		a.settle()
		if got := class(a, "shop/db-0").GetUnsupported(); !strings.Contains(got, "claim data is not there") {
			t.Errorf("without its claim the pod is %q", got)
		}
		gp3 := "gp3"
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data"), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &gp3}}
		a.must(a.core.CoreV1().PersistentVolumeClaims("shop").Create(t.Context(), claim, metav1.CreateOptions{}))
		a.settle()
		if got := class(a, "shop/db-0").GetUnsupported(); !strings.Contains(got, "storage class gp3") {
			t.Errorf("without its storage class the pod is %q", got)
		}
		late := storagev1.VolumeBindingWaitForFirstConsumer
		sc := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &late}
		a.must(a.core.StorageV1().StorageClasses().Create(t.Context(), sc, metav1.CreateOptions{}))
		a.settle()
		if got := class(a, "shop/db-0"); got.GetUnsupported() != "" || len(got.GetVolumeAttachments()) != 1 {
			t.Errorf("with both the class is %v", got)
		}
	})
}

func TestNodeClassMakesItsPoolReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t)
		a.custom(karpenterv1.NodePoolGVR(), pool())
		a.start(0)
		a.settle()
		reason := object[*clusterpb.NodePool](a, snapshot.NodePool, "default").GetNotReady()
		if reason.GetCode() != clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_FOUND {
			t.Errorf("without its class the pool says %v", reason)
		}
		class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		a.custom(awsv1.EC2NodeClassGVR(), class)
		a.settle()
		if reason := object[*clusterpb.NodePool](a, snapshot.NodePool, "default").GetNotReady(); reason != nil {
			t.Errorf("with its class the pool says %v", reason)
		}
	})
}

func TestNodeIsItsClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := int32(10)
		a := newAPIServer(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		a.start(0)
		a.settle()
		claim := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-1", Labels: map[string]string{labels.Claim: "default-1"}}}
		claim.Spec.Requirements = []karpenterv1.Requirement{}
		claim.Status.NodeName = "n1"
		a.custom(karpenterv1.NodeClaimGVR(), claim)
		pv := "pv-1"
		a.must(a.core.StorageV1().VolumeAttachments().Create(t.Context(), &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec:       storagev1.VolumeAttachmentSpec{Attacher: "ebs.csi.aws.com", NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
		}, metav1.CreateOptions{}))
		a.must(a.core.StorageV1().CSINodes().Create(t.Context(), &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: "n1"},
			Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}},
		}, metav1.CreateOptions{}))
		a.settle()
		n := object[*clusterpb.Node](a, snapshot.Node, "n1")
		if n.GetClaim() != "default-1" {
			t.Errorf("claim %q", n.GetClaim())
		}
		if len(n.GetVolumeLimits()) != 1 || n.GetVolumeLimits()[0].GetValue() != 9 {
			t.Errorf("volume limits %v, want ten less the one that no pod uses", n.GetVolumeLimits())
		}
	})
}

func TestMoreChangesThanTheQueueHoldsAreAllSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t, pod("old", ""))
		a.start(3)
		a.settle()
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			a.must(a.core.CoreV1().Pods("shop").Create(t.Context(), pod(name, ""), metav1.CreateOptions{}))
			synctest.Wait() // the first batch is not taken off meanwhile, so that the queue fills behind it
		}
		if err := a.core.CoreV1().Pods("shop").Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		a.settle()
		want := []string{"shop/a", "shop/b", "shop/c", "shop/d", "shop/e", "shop/f", "shop/g", "shop/h"}
		if diff := cmp.Diff(want, a.ids(snapshot.Pod)); diff != "" {
			t.Errorf("pods (-want +got):\n%s", diff)
		}
		if a.wholes < 2 {
			t.Error("nothing was read again as a whole: the queue never overflowed")
		}
	})
}

func TestMissingDefinitionsAreSaidOnceAndWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t, pod("web-0", ""))
		a.custom(karpenterv1.NodePoolGVR(), pool())
		var there atomic.Bool
		a.dynamic.PrependReactor("list", "nodepools", func(ktesting.Action) (bool, runtime.Object, error) {
			if !there.Load() {
				return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: "karpenter.sh", Resource: "nodepools"}, "")
			}
			return false, nil, nil
		})
		a.start(0)
		a.settle()
		time.Sleep(5 * time.Minute)
		a.settle()
		if a.now.Revision != 0 {
			t.Errorf("revision %d before all resources could be read", a.now.Revision)
		}
		if n := strings.Count(a.log.String(), "nodepools.karpenter.sh"); n == 0 || strings.Count(a.log.String(), "level=WARN") != 1 {
			t.Errorf("want one warning that names the resource:\n%s", a.log)
		}
		if !strings.Contains(a.log.String(), "deploy/crds") {
			t.Errorf("the warning has no advice:\n%s", a.log)
		}
		there.Store(true)
		time.Sleep(5 * time.Minute)
		a.settle()
		if diff := cmp.Diff([]string{"default"}, a.ids(snapshot.NodePool)); diff != "" {
			t.Errorf("pools once they can be read (-want +got):\n%s", diff)
		}
	})
}

func TestOnlyStatusesOfANodesConditionsChangeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := metav1.NewTime(time.Now().Add(-time.Hour))
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: began},
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, LastTransitionTime: began},
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue, LastTransitionTime: began},
		}
		a := newAPIServer(t, n)
		a.repair = &clusterpb.RepairPolicy{Conditions: []*clusterpb.RepairCondition{{Type: "DiskPressure", Status: "True"}}}
		a.start(0)
		a.settle()
		report := func() {
			n = n.DeepCopy()
			for i := range n.Status.Conditions {
				n.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
			}
			if _, err := a.core.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			a.settle()
		}
		bad := func() (out []string) {
			for _, c := range object[*clusterpb.Node](a, snapshot.Node, "n1").GetConditions() {
				out = append(out, c.GetType()+" "+c.GetStatus())
			}
			return out
		}
		before := a.now.Revision
		report()
		if a.now.Revision != before {
			t.Error("a heartbeat is a change")
		}
		if diff := cmp.Diff([]string{"DiskPressure True"}, bad()); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
		n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = corev1.ConditionUnknown, metav1.Now()
		report()
		if diff := cmp.Diff([]string{"DiskPressure True", "Ready Unknown"}, bad()); diff != "" {
			t.Errorf("conditions of a node that is lost (-want +got):\n%s", diff)
		}
	})
}
