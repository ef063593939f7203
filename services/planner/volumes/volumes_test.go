package volumes_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/volumes"
)

func TestLimits(t *testing.T) {
	const driver, other model.Resource = "ebs.csi.aws.com", "a.example.com"
	node := func(ready bool, limits ...model.Amount) model.Node {
		return model.Node{Ready: ready, VolumeLimits: limits, Labels: model.Labels{{Key: labels.InstanceType, Value: "m5.large"}}}
	}
	limit := func(n int64) model.Amount { return model.Amount{Resource: driver, Value: n} }
	told := model.Amounts{{Resource: model.AttachLimit + driver, Value: 25}}
	tests := map[string]struct {
		nodes []model.Node
		told  model.Amounts
		want  int64
		known bool
	}{
		"nothing is known":                  {nil, nil, 0, false},
		"the catalogue tells":               {nil, told, 25, true},
		"a node of the type knows better":   {[]model.Node{node(true, limit(31)), node(true, limit(29))}, told, 31, true},
		"a node that is not ready does not": {[]model.Node{node(false, limit(31))}, told, 25, true},
		"one that has none left neither":    {[]model.Node{node(true, limit(0))}, told, 25, true},
		"another driver's limit":            {[]model.Node{node(true, model.Amount{Resource: other, Value: 5})}, told, 25, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, known := volumes.New(tc.nodes).Of(&model.InstanceType{Name: "m5.large", Allocatable: tc.told}, driver)
			if got != tc.want || known != tc.known {
				t.Errorf("Of: got %d, %t, want %d, %t", got, known, tc.want, tc.known)
			}
		})
	}
}
