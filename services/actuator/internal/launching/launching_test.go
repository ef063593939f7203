package launching

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestSpotThatCostsMoreThanOnDemandIsNotAskedFor(t *testing.T) {
	spot := func(price int64) model.RankedOffering {
		return model.RankedOffering{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot, Price: price}
	}
	onDemand := model.RankedOffering{InstanceType: "c5.large", Zone: "a", CapacityType: model.OnDemand, Price: 80}
	for name, tt := range map[string]struct {
		offerings    []model.RankedOffering
		requirements []model.Requirement
		want         bool
	}{
		"below on demand":              {[]model.RankedOffering{spot(30), onDemand}, nil, true},
		"above on demand":              {[]model.RankedOffering{spot(30), onDemand, spot(90)}, nil, false},
		"spot alone":                   {[]model.RankedOffering{spot(30), spot(90)}, nil, true},
		"a claim that stays flexible":  {[]model.RankedOffering{spot(30), onDemand, spot(90)}, []model.Requirement{{Key: "k", MinValues: 2}}, true},
		"what the claim would be best": {[]model.RankedOffering{spot(90), onDemand}, nil, true},
	} {
		last := tt.offerings[0]
		for _, o := range tt.offerings {
			if o.CapacityType == model.Spot {
				last = o
			}
		}
		is := worth(model.Claim{Offerings: tt.offerings, Requirements: tt.requirements})
		if got := is(last); got != tt.want || !is(onDemand) {
			t.Errorf("%s: asked for %v, want %v; or on demand is not", name, got, tt.want)
		}
	}
}
