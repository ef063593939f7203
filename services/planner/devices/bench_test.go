package devices_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
)

func BenchmarkCapacity(b *testing.B) {
	same := one("a", 4)
	same[0].Constraints = []model.DeviceConstraint{{Attribute: "gpu/numa"}}
	half := append(many(8, "a", "numa=0"), many(8, "a", "numa=1")...)
	for name, bc := range map[string]struct {
		list   []model.NodeDevice
		claims []model.DeviceClaim
	}{
		"one of eight": {many(8, "a"), one("a", 1)}, "all of eight": {many(8, "a"), one("a", 0)}, "four on one side of sixteen": {half, same},
	} {
		b.Run(name, func(b *testing.B) {
			s := devices.NewStock(bc.list, nil)
			for b.Loop() {
				s.Capacity(bc.claims, 16)
			}
		})
	}
}
