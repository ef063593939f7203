package kube_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktesting "k8s.io/client-go/testing"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

func web(replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: meta("web")}
	d.Spec.Replicas = &replicas
	d.Spec.Template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}}
	return d
}

func TestABufferFollowsItsWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t)
		b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: meta("spare")}
		b.Spec.ScalableRef = &autoscalingv1beta1.ScalableReference{APIGroup: "apps", Kind: "Deployment", Name: "web"}
		b.Spec.Percentage = new(int32(50))
		u := custom(t, b)
		a.must(a.dynamic.Resource(autoscalingv1beta1.CapacityBufferGVR()).Namespace("shop").Create(t.Context(), u, metav1.CreateOptions{}))
		a.start(0)
		a.settle()
		got := object[*clusterpb.CapacityBuffer](a, snapshot.CapacityBuffer, "shop/spare")
		if got.GetNotReady().GetCode() != clusterpb.ReasonCode_REASON_CODE_BUFFER_REFERENCE {
			t.Errorf("without its workload the buffer says %v", got.GetNotReady())
		}
		a.must(a.core.AppsV1().Deployments("shop").Create(t.Context(), web(4), metav1.CreateOptions{}))
		a.settle()
		if got := object[*clusterpb.CapacityBuffer](a, snapshot.CapacityBuffer, "shop/spare"); got.GetReplicas() != 2 || got.GetNotReady() != nil {
			t.Errorf("half of 4 is %v", got)
		}
		if a.now.Len(snapshot.PodClass) != 1 {
			t.Errorf("%d pod classes, want the buffer's", a.now.Len(snapshot.PodClass))
		}
		a.must(a.core.AppsV1().Deployments("shop").Update(t.Context(), web(10), metav1.UpdateOptions{}))
		a.settle()
		if got := object[*clusterpb.CapacityBuffer](a, snapshot.CapacityBuffer, "shop/spare"); got.GetReplicas() != 5 {
			t.Errorf("half of 10 is %v", got)
		}
		err := a.dynamic.Resource(autoscalingv1beta1.CapacityBufferGVR()).Namespace("shop").Delete(t.Context(), "spare", metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a.settle()
		if a.now.Len(snapshot.CapacityBuffer) != 0 || a.now.Len(snapshot.PodClass) != 0 {
			t.Error("the buffer is gone, and something of it is still there")
		}
	})
}

func TestAnOverlayThatCanNotBeReadSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t)
		good := &karpenterv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "good"}}
		good.Spec.Price = new("0.1")
		bad := custom(t, &karpenterv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "bad"}})
		bad.Object["spec"] = map[string]any{"weight": "heavy"}
		a.custom(karpenterv1alpha1.NodeOverlayGVR(), good)
		a.must(a.dynamic.Resource(karpenterv1alpha1.NodeOverlayGVR()).Create(t.Context(), bad, metav1.CreateOptions{}))
		a.start(0)
		a.settle()
		if diff := cmp.Diff([]string{"bad", "good"}, a.ids(snapshot.NodeOverlay)); diff != "" {
			t.Fatalf("overlays (-want +got):\n%s", diff)
		}
		if r := object[*clusterpb.NodeOverlay](a, snapshot.NodeOverlay, "good").GetNotReady(); r != nil {
			t.Errorf("a good overlay says %v", r)
		}
		if r := object[*clusterpb.NodeOverlay](a, snapshot.NodeOverlay, "bad").GetNotReady(); !strings.Contains(r.GetMessage(), "NodeOverlay bad") {
			t.Errorf("a bad overlay says %v", r)
		}
	})
}

func TestOlderDefinitionsAndRightsHoldUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPIServer(t, pod("web-0", ""))
		a.custom(karpenterv1.NodePoolGVR(), pool())
		missing := func(group, resource string) ktesting.ReactionFunc {
			return func(ktesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, "")
			}
		}
		a.dynamic.PrependReactor("list", "nodeoverlays", missing("karpenter.sh", "nodeoverlays"))
		a.dynamic.PrependReactor("list", "capacitybuffers", missing("autoscaling.x-k8s.io", "capacitybuffers"))
		a.core.PrependReactor("list", "deployments", func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "", nil)
		})
		a.start(0)
		a.settle()
		if diff := cmp.Diff([]string{"shop/web-0"}, a.ids(snapshot.Pod)); diff != "" {
			t.Errorf("pods (-want +got):\n%s", diff)
		}
		if strings.Count(a.log.String(), "level=WARN") != 1 || !strings.Contains(a.log.String(), "resource=deployments") {
			t.Errorf("want one warning, about the rights:\n%s", a.log)
		}
	})
}
