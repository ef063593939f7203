package consolidate

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

func TestSpotKeepsItsDiversity(t *testing.T) {
	option := func(name, zone string, price int64) *market.Option {
		return &market.Option{
			Type: &view.Type{InstanceType: &model.InstanceType{Name: model.TypeName(name)}}, Price: price,
			Offering: &model.Offering{Zone: zone, CapacityType: model.Spot, Price: price},
		}
	}
	wide := []*market.Option{option("m5.large", "a", 10), option("m5.large", "b", 10), option("c5.large", "a", 10), option("c5.large", "b", 10), option("r5.large", "a", 10)}
	tests := map[string]struct {
		options []*market.Option
		want    bool
	}{
		"five in two zones will do":             {wide, true},
		"four will not":                         {wide[:4], false},
		"nor five of which one is no cheaper":   {append(slices.Clone(wide[:4]), option("r5.large", "a", 20)), false},
		"nor five of which one is the node's":   {append(slices.Clone(wide[:4]), option("t3.large", "a", 10)), false},
		"its type in another zone is not it":    {append(slices.Clone(wide[:4]), option("t3.large", "b", 10)), true},
		"three families in one zone will do":    {[]*market.Option{wide[0], wide[2], wide[4], option("m5.xlarge", "a", 9), option("c5.xlarge", "a", 9)}, true},
		"two families in one zone will not":     {[]*market.Option{wide[0], wide[2], option("c5.2xlarge", "a", 9), option("m5.xlarge", "a", 9), option("c5.xlarge", "a", 9)}, false},
		"what is on demand is no spot offering": {append(slices.Clone(wide[:4]), &market.Option{Type: wide[4].Type, Offering: &model.Offering{Zone: "a"}}), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := &view.View{World: &view.World{}, Hosts: []*view.Host{{Node: &model.Node{Name: "n"}, Claim: &model.Claim{
				InstanceType: "t3.large", Zone: "a", CapacityType: model.Spot, Price: 20,
			}}}}
			j := &judge{draft: &draft.Draft{Params: draft.Params{View: v}}, v: v}
			if r := j.spotForSpot(&draft.Decision{Hosts: []int{0}, Replacements: []*purchase.NewClaim{{Options: tt.options}}}); r.OK() != tt.want {
				t.Errorf("%v, want %v: %s", r.OK(), tt.want, r.Message)
			}
		})
	}
}
