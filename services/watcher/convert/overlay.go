package convert

import (
	"fmt"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	core "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// NodeOverlay converts an overlay. problem is what was wrong when the object was read; nil when nothing was. Of an
// overlay that is invalid only the name, the weight and the reason are left: no part of it may have an effect.
func NodeOverlay(o *karpenterv1alpha1.NodeOverlay, problem error) snapshot.Object {
	out := &clusterpb.NodeOverlay{Name: o.Name, Generation: o.Generation}
	if w := o.Spec.Weight; w != nil {
		out.Weight = min(max(*w, 0), 10_000)
	}
	if problem == nil {
		problem = kubeapi.Validate(o)
	}
	if problem == nil {
		problem = overlayOf(o, out)
	}
	if problem != nil {
		out = &clusterpb.NodeOverlay{Name: out.GetName(), Generation: o.Generation, Weight: out.GetWeight(), NotReady: &clusterpb.Reason{
			Code:    clusterpb.ReasonCode_REASON_CODE_OVERLAY_INVALID,
			Message: strings.ReplaceAll(problem.Error(), "\n", "; "), Subject: &clusterpb.ObjectRef{Kind: "nodeoverlay", Name: o.Name},
		}}
	}
	return wire.Object(snapshot.NodeOverlay, out.GetName(), out)
}

// overlayOf fills in what the overlay says.
func overlayOf(o *karpenterv1alpha1.NodeOverlay, out *clusterpb.NodeOverlay) error {
	var requirements []model.Requirement
	for i, r := range o.Requirements() {
		req, err := reader.Requirement(r)
		if err != nil {
			return fmt.Errorf("spec.requirements[%d].%w", i, err)
		}
		requirements = append(requirements, req)
	}
	reader.SortRequirements(requirements)
	out.Requirements = core.Requirements(requirements)
	if p := o.Spec.Price; p != nil {
		micro, err := karpenterv1alpha1.ParsePrice(*p)
		if err != nil {
			return fmt.Errorf("spec.price: %w", err)
		}
		out.Price = &clusterpb.NodeOverlay_PriceMicroUsdPerHour{PriceMicroUsdPerHour: micro}
	}
	if p := o.Spec.PriceAdjustment; p != nil {
		a, err := karpenterv1alpha1.ParseAdjustment(*p)
		if err != nil {
			return fmt.Errorf("spec.priceAdjustment: %w", err)
		}
		out.Price = &clusterpb.NodeOverlay_AdjustmentMicroUsdPerHour{AdjustmentMicroUsdPerHour: a.Micro}
		if a.IsPercent {
			out.Price = &clusterpb.NodeOverlay_AdjustmentPpm{AdjustmentPpm: a.PPM}
		}
	}
	var capacity model.Amounts
	for name, q := range o.Spec.Capacity { // zeros are kept: the nodes have none of it then
		v, ok := reader.Amount(name, q)
		if !ok {
			return fmt.Errorf("spec.capacity[%s]: %s is out of bounds", name, q.String())
		}
		capacity = append(capacity, model.Amount{Resource: model.Resource(name), Value: v})
	}
	reader.SortAmounts(capacity)
	out.Capacity = core.Amounts(capacity)
	return nil
}
