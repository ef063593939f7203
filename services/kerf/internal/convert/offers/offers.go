// Package offers says what a catalogue sells, as the actuator would of what AWS does.
//
// It goes by a catalogue and zones, and must never know an object. Start reading at Of.
package offers

import (
	"cmp"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// Of lists what is sold in the zones, of which ids are known or not: on demand at the list price, spot at EC2's
// price or, where the catalogue has none of those, at an estimate. What has no known price is not sold.
func Of(c *catalog.Catalog, zones map[string]bool, ids map[string]string) []*clusterpb.Offering {
	told := c.ToldSpotPrices()
	var out []*clusterpb.Offering
	for _, t := range c.Types {
		for _, zone := range t.Zones {
			if !zones[zone] {
				continue
			}
			if t.SupportsOnDemand && t.OnDemandMicroUSD > 0 {
				out = append(out, &clusterpb.Offering{
					InstanceType: t.Name, Zone: zone, CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND,
					PriceMicroUsdPerHour: t.OnDemandMicroUSD, PriceEstimated: t.PriceEstimated, ZoneId: ids[zone],
				})
			}
			spot := t.SpotMicroUSD[zone]
			if !told {
				spot = catalog.SpotEstimate(t.OnDemandMicroUSD, t.SpotSavesPercent)
			}
			if t.SupportsSpot && spot > 0 {
				out = append(out, &clusterpb.Offering{
					InstanceType: t.Name, Zone: zone, CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_SPOT,
					PriceMicroUsdPerHour: spot, PriceEstimated: !told, ZoneId: ids[zone],
					ReclaimBand: clusterpb.ReclaimBand(t.Reclaimed),
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b *clusterpb.Offering) int {
		return cmp.Or(
			strings.Compare(a.GetInstanceType(), b.GetInstanceType()), strings.Compare(a.GetZone(), b.GetZone()),
			cmp.Compare(a.GetCapacityType(), b.GetCapacityType()),
		)
	})
	return out
}
