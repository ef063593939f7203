package purchase

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

func TestTrimLeavesOutWhatCostsTooMuch(t *testing.T) {
	option := func(list, weighed int64) *market.Option {
		return &market.Option{Offering: &model.Offering{Price: list}, Price: weighed}
	}
	tests := map[string]struct {
		most PriceCeiling
		want int
		ok   bool
	}{
		"all may stay":                          {PriceCeiling{100, 100}, 3, true},
		"one is too expensive by the list":      {PriceCeiling{100, 25}, 2, true},
		"one is too expensive as it is weighed": {PriceCeiling{25, 100}, 2, true},
		"nothing would be left":                 {PriceCeiling{5, 5}, 3, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			shared := []*market.Option{option(10, 10), option(20, 30), option(30, 20)}
			b := &NewClaim{Options: shared, Base: &market.Option{Pool: &view.Pool{}}}
			if ok := b.Trim(tt.most); ok != tt.ok || len(b.Options) != tt.want {
				t.Errorf("%v with %d options, want %v with %d", ok, len(b.Options), tt.ok, tt.want)
			}
			if shared[0].Price != 10 || shared[1].Price != 30 || shared[2].Price != 20 {
				t.Error("the list that other claims share was changed")
			}
		})
	}
}
