package convert_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
)

func TestNodeOverlay(t *testing.T) {
	type spec = karpenterv1alpha1.NodeOverlaySpec
	tests := map[string]struct {
		spec spec
		want *clusterpb.NodeOverlay
	}{
		"a price": {
			spec{Price: new("0.0416"), Weight: new(int32(10)), Requirements: []karpenterv1alpha1.Requirement{
				{Key: "topology.kubernetes.io/zone", Operator: karpenterv1.OpIn, Values: []string{"b", "a"}},
				{Key: "karpenter.k8s.aws/instance-cpu", Operator: karpenterv1.OpGt, Values: []string{"4"}},
			}},
			&clusterpb.NodeOverlay{
				Weight: 10, Price: &clusterpb.NodeOverlay_PriceMicroUsdPerHour{PriceMicroUsdPerHour: 41600},
				Requirements: []*clusterpb.Requirement{
					req("karpenter.k8s.aws/instance-cpu", clusterpb.Operator_OPERATOR_GT, "4"), req("topology.kubernetes.io/zone", opIn, "a", "b"),
				},
			},
		},
		"an amount less": {
			spec{PriceAdjustment: new("-0.005")},
			&clusterpb.NodeOverlay{Price: &clusterpb.NodeOverlay_AdjustmentMicroUsdPerHour{AdjustmentMicroUsdPerHour: -5000}},
		},
		"a share more": {
			spec{PriceAdjustment: new("+12.5%")},
			&clusterpb.NodeOverlay{Price: &clusterpb.NodeOverlay_AdjustmentPpm{AdjustmentPpm: 125_000}},
		},
		"devices, and none of another": {
			spec{Capacity: list("example.com/b", "0", "example.com/a", "2")},
			&clusterpb.NodeOverlay{Capacity: []*clusterpb.Amount{{Resource: "example.com/a", Value: 2}, {Resource: "example.com/b"}}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.want.Name = "mine"
			o := convert.NodeOverlay(&karpenterv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: tt.spec}, nil)
			if diff := cmp.Diff(tt.want, o.Payload, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoPartOfAnInvalidOverlayIsLeft(t *testing.T) {
	tests := map[string]struct {
		spec    karpenterv1alpha1.NodeOverlaySpec
		problem error
		want    string
	}{
		"a price and an adjustment": {karpenterv1alpha1.NodeOverlaySpec{Price: new("1"), PriceAdjustment: new("+1")}, nil, "exclude each other"},
		"a capacity of cpu": {
			karpenterv1alpha1.NodeOverlaySpec{Price: new("1"), Capacity: corev1.ResourceList{"cpu": list("cpu", "1")["cpu"]}}, nil, "spec.capacity",
		},
		"more devices than there can be": {karpenterv1alpha1.NodeOverlaySpec{Price: new("1"), Capacity: list("example.com/x", "2E")}, nil, "spec.capacity[example.com/x]"},
		"an object that can't be read":   {karpenterv1alpha1.NodeOverlaySpec{}, errors.New("spec.weight: no number"), "spec.weight: no number"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := convert.NodeOverlay(&karpenterv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: tt.spec}, tt.problem)
			got := o.Payload.(*clusterpb.NodeOverlay)
			if r := got.GetNotReady(); r.GetCode() != clusterpb.ReasonCode_REASON_CODE_OVERLAY_INVALID ||
				!strings.Contains(r.GetMessage(), tt.want) || r.GetSubject().GetName() != "mine" {
				t.Errorf("reason %v, want %q", r, tt.want)
			}
			if got.GetPrice() != nil || got.GetCapacity() != nil {
				t.Errorf("it still says %v", got)
			}
		})
	}
}
