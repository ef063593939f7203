package convert

import (
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Claim is what Kerf would know of a claim of its own in the place of a NodeClaim. Prices are micro-dollars per hour on demand, by
// instance type. An error names the field that can't be read.
func Claim(o *karpenterv1.NodeClaim, prices map[string]int64) (*clusterpb.Claim, error) {
	c, err := reader.NodeClaim(o)
	if err != nil {
		return nil, err
	}
	// The list price, or the estimate of a spot price; what is reserved counts as offerings of its kind do.
	c.Price = prices[string(c.InstanceType)]
	switch c.CapacityType {
	case model.Spot:
		c.Price = catalog.SpotEstimate(c.Price, 0)
	case model.Reserved:
		const share = 1000
		c.Price /= share
	case model.OnDemand:
	}
	return convert.Claim(c), nil
}
