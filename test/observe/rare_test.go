package observe_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/observe"
)

// shortLived is a pod that needs a type of its own, of which AWS has none.
const shortLived = `
apiVersion: v1
kind: Pod
metadata: {name: short-lived, namespace: default}
spec:
  nodeSelector: {node.kubernetes.io/instance-type: r5.large}
  containers: [{name: main, image: none, resources: {requests: {cpu: 250m, memory: 1Gi}}}]
`

// manyLaunches is more launches than there are while the pod is there.
const manyLaunches = 200

// podGone deletes a pod that a node was bought for, of which AWS has none: the claim fails, and the pod is never bound.
func (w *world) podGone(t *testing.T) {
	t.Helper()
	if err := w.stack.Sim.Fail(t.Context(), "ec2:CreateFleet", "InsufficientInstanceCapacity", manyLaunches); err != nil {
		t.Fatal(err)
	}
	if err := w.stack.Cluster.Apply(t.Context(), []byte(shortLived)); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the claim of a pod to fail", patience, func(ctx context.Context) (string, bool) {
		list, err := w.stack.Kubernetes.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "source=kerf"})
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(len(list.Items), " events"), slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind == "NodeClaim" && e.Reason == "InsufficientCapacityError"
		})
	})
	err := w.stack.Kubernetes.CoreV1().Pods("default").Delete(t.Context(), "short-lived", metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if err != nil {
		t.Fatal(err)
	}
}

// rejected has the actuator refuse a claim, of a pool that is not there any more.
func (w *world) rejected(t *testing.T) {
	t.Helper()
	list, err := w.stack.Actuator.ListClaims(t.Context(), &actuatorpb.ListClaimsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := w.stack.Actuator.Apply(t.Context(), &actuatorpb.ApplyRequest{Plan: &plannerpb.Plan{
		Id: "p-0000000000000000", Now: timestamppb.Now(), InventoryRevision: list.GetInventoryRevision(),
		NodeClaims: []*plannerpb.NodeClaim{{Id: "late", NodePool: "deleted", NodeClass: "default", Offerings: []*clusterpb.RankedOffering{{
			InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND, PriceMicroUsdPerHour: 96_000,
		}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range answer.GetVerdicts() {
		if v.GetKind() != actuatorpb.VerdictKind_VERDICT_KIND_REJECTED {
			t.Errorf("%v", v)
		}
	}
}

// thrownAway puts a planner with a defect in the place of the other. Its plans break a rule, and are thrown away and
// made again.
func (w *world) thrownAway(t *testing.T) {
	t.Helper()
	folder, err := observe.DefectivePlanner(t.Context(), w.root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.stack.Exchange(t.Context(), "planner", folder); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, `sum(kerf_plan_thrown_away_total) > 0`)
}
