package watcher_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeclient/kubeclienttest"
	"github.com/kerf-dev/kerf/services/watcher"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// TestAnObserverReadsAClusterByItself has no planner and no actuator, and claims that somebody else made.
func TestAnObserverReadsAClusterByItself(t *testing.T) {
	custom := func(kind, group, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": map[string]any{},
		}}
	}
	o, err := watcher.NewObserver(watcher.ObserverConfig{
		Client: kubeclienttest.Reader{Clientset: fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})},
		Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			karpenterv1.NodePoolGVR(): "NodePoolList", karpenterv1.NodeClaimGVR(): "NodeClaimList", awsv1.EC2NodeClassGVR(): "EC2NodeClassList",
			karpenterv1alpha1.NodeOverlayGVR(): "NodeOverlayList", autoscalingv1beta1.CapacityBufferGVR(): "CapacityBufferList",
		}, custom("NodeClaim", "karpenter.sh", "b"), custom("NodeClaim", "karpenter.sh", "a"), custom("NodePool", "karpenter.sh", "p"),
			custom("EC2NodeClass", "karpenter.k8s.aws", "k")),
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	batches, done := make(chan snapshot.Batch), make(chan error, 1)
	go func() { done <- o.Run(ctx, batches) }()
	first := <-batches
	s := first.Fold(snapshot.Snapshot{})
	if len(first.Whole) == 0 || s.Len(snapshot.Node) != 1 || s.Len(snapshot.NodePool) != 1 || s.Len(snapshot.Claim) != 0 {
		t.Errorf("%d nodes, %d pools, %d claims, whole %v", s.Len(snapshot.Node), s.Len(snapshot.NodePool), s.Len(snapshot.Claim), first.Whole)
	}
	if c := o.NodeClaims(); len(c) != 2 || c[0].Name != "a" || len(o.NodePools()) != 1 || len(o.NodeClasses()) != 1 {
		t.Errorf("claims %v, %d pools, %d classes", c, len(o.NodePools()), len(o.NodeClasses()))
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAnObserverNamesAKubeconfigThatIsNone(t *testing.T) {
	if _, err := watcher.NewObserver(watcher.ObserverConfig{Kubeconfig: "/no/such/file", Log: slog.New(slog.DiscardHandler), Now: time.Now}); err == nil {
		t.Error("it is taken")
	}
}

// TestAnObserverSaysThatItsClusterCannotBeRead has informers that would try again for ever, without a word.
func TestAnObserverSaysThatItsClusterCannotBeRead(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		want   string
	}{
		"nothing listens": {errors.New("dial tcp 127.0.0.1:6443: connect: connection refused"), "list node pools: dial tcp 127.0.0.1:6443"},
		"no definitions":  {apierrors.NewNotFound(karpenterv1.NodePoolGVR().GroupResource(), ""), "the cluster has no NodePools"},
		"no rights":       {apierrors.NewForbidden(karpenterv1.NodePoolGVR().GroupResource(), "", nil), "is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
				karpenterv1.NodePoolGVR(): "NodePoolList",
			})
			dyn.PrependReactor("list", "nodepools", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tt.answer })
			o, err := watcher.NewObserver(watcher.ObserverConfig{
				Client: kubeclienttest.Reader{Clientset: fake.NewClientset()}, Dynamic: dyn, Log: slog.New(slog.DiscardHandler), Now: time.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if err := o.Run(ctx, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}
