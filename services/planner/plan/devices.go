package plan

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// equip makes the plan mind devices, where any class claims some.
func (c *cycle) equip() {
	t := fit.Devices(c.view, func(pod int) bool {
		_, is := slices.BinarySearch(c.demand.pods, pod)
		return is
	})
	c.matcher.Equip(t)
	c.desk.Equip(t)
}

// undeviced are amounts without the devices among them, which are no resources to anybody else.
func undeviced(w *view.World, v view.Vector) model.Amounts {
	out := w.Index.Amounts(v)
	if w.Devices == nil {
		return out
	}
	return slices.DeleteFunc(out, func(a model.Amount) bool { return devices.IsDevices(a.Resource) })
}
