package apply

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// price is what the claim's instance costs now, or cost at its launch where the market no longer says.
func (v *verifier) price(c model.Claim) int64 {
	o, ok := sold(v.state.Market, OfferingKey{c.InstanceType, c.Zone, c.CapacityType, c.ReservationID})
	if !ok {
		return c.Price
	}
	return o.Price
}

// saves says that the disruption is done for money, and so must save some.
func saves(r model.DisruptionReason) bool {
	return r == model.ReasonUnderutilized || r == model.ReasonEmpty
}

// dropUntilCheaper drops offerings of the replacements, those that are expensive against what else the claim may become
// first, until all together cost less than what they replace, whichever the launches pick. The claims are changed in
// place.
func dropUntilCheaper(replacements []model.Claim, price int64) model.Reason {
	for len(replacements) > 0 {
		var sum, least, spread int64
		at := 0
		for i, c := range replacements {
			low, high := cheapest(c.Offerings), highest(c.Offerings)
			sum, least = sum+high, least+low
			if high-low > spread {
				at, spread = i, high-low
			}
		}
		if sum < price {
			return model.Reason{}
		}
		if least >= price || spread == 0 {
			return model.Reason{
				Code: model.CodeNoCheaper, Subject: "nodeclaim/" + string(replacements[0].ID),
				Message: fmt.Sprintf("%d replacements cost at least %s an hour, which saves nothing against %s",
					len(replacements), dollars(least), dollars(price)),
			}
		}
		c := &replacements[at]
		top := highest(c.Offerings)
		c.Offerings = slices.DeleteFunc(slices.Clone(c.Offerings), func(o model.RankedOffering) bool { return o.Price == top })
	}
	return model.Reason{}
}

func highest(offerings []model.RankedOffering) int64 {
	var price int64
	for _, o := range offerings {
		price = max(price, o.Price)
	}
	return price
}

func cheapest(offerings []model.RankedOffering) int64 {
	price := offerings[0].Price
	for _, o := range offerings {
		price = min(price, o.Price)
	}
	return price
}
