package device

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
)

func TestWhatARuleTaints(t *testing.T) {
	rule := func(effect resourcev1.DeviceTaintEffect, s *resourcev1.DeviceTaintSelector) *resourcev1.DeviceTaintRule {
		return &resourcev1.DeviceTaintRule{Spec: resourcev1.DeviceTaintRuleSpec{DeviceSelector: s, Taint: resourcev1.DeviceTaint{Key: "k", Effect: effect}}}
	}
	const noSchedule, noExecute, none = resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone
	own := listed{"gpu.example.com", "n1", &resourcev1.Device{Name: "gpu-0"}}
	future := listed{"gpu.example.com", "", &resourcev1.Device{Name: "gpu-0"}}
	tests := map[string]struct {
		rule *resourcev1.DeviceTaintRule
		of   listed
		want bool
	}{
		"all devices":                     {rule(noSchedule, &resourcev1.DeviceTaintSelector{}), own, true},
		"no selector is no device":        {rule(noSchedule, nil), own, false},
		"an effect that keeps none away":  {rule(none, &resourcev1.DeviceTaintSelector{}), own, false},
		"the driver's":                    {rule(noExecute, &resourcev1.DeviceTaintSelector{Driver: new("gpu.example.com")}), own, true},
		"another driver's":                {rule(noExecute, &resourcev1.DeviceTaintSelector{Driver: new("net.example.com")}), own, false},
		"the device of the pool":          {rule(noExecute, &resourcev1.DeviceTaintSelector{Pool: new("n1"), Device: new("gpu-0")}), own, true},
		"another device of the pool":      {rule(noExecute, &resourcev1.DeviceTaintSelector{Pool: new("n1"), Device: new("gpu-1")}), own, false},
		"a driver's that are yet to come": {rule(noExecute, &resourcev1.DeviceTaintSelector{Driver: new("gpu.example.com")}), future, true},
		"a pool's are none of those":      {rule(noExecute, &resourcev1.DeviceTaintSelector{Pool: new("n1")}), future, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := NewRules()
			r.Taints([]*resourcev1.DeviceTaintRule{tc.rule})
			if got := r.tainted(tc.of); got != tc.want {
				t.Errorf("tainted is %t, want %t", got, tc.want)
			}
		})
	}
}
