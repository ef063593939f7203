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

func TestAVolumeForOnePodAtATimeIsThatOfTheFirst(t *testing.T) {
	class := func(names ...string) *model.PodClass {
		c := &model.PodClass{Volumes: []model.VolumeTopology{{Name: "shop/shared"}}}
		for _, name := range names {
			c.Volumes = append(c.Volumes, model.VolumeTopology{Name: name, Exclusive: true})
		}
		return c
	}
	e := volumes.Exclusive{}
	e.Hold(class("shop/a"), 1)
	e.Hold(class("shop/a", "shop/b"), 2) // bound beside it, whatever the scheduler says
	for _, tc := range []struct {
		pod    int
		wants  []string
		other  int
		volume string
	}{
		{1, []string{"shop/a"}, 0, ""},
		{3, []string{"shop/a"}, 1, "shop/a"},
		{3, []string{"shop/c", "shop/b"}, 2, "shop/b"},
		{4, []string{"shop/c"}, 0, ""}, // which pod 3 has not got
		{3, []string{"shop/c"}, 4, "shop/c"},
		{5, nil, 0, ""},
	} {
		if other, volume := e.Take(class(tc.wants...), tc.pod); other != tc.other || volume != tc.volume {
			t.Errorf("pod %d that wants %v is told of pod %d and %q, want %d and %q", tc.pod, tc.wants, other, volume, tc.other, tc.volume)
		}
	}
}
