package view

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
)

// counted counts devices for the classes of a snapshot; nil where none claims any.
func counted(s *model.Snapshot) *devices.Dims {
	claims := func(c model.PodClass) bool { return devices.ClaimsDevices(&c) }
	if !slices.ContainsFunc(s.PodClasses, claims) {
		return nil
	}
	return devices.NewDims(s.PodClasses)
}

// deviceNames are the resources that devices are counted by.
func (cp compiler) deviceNames() []model.Resource {
	if cp.w.Devices == nil {
		return nil
	}
	var out []model.Resource
	for i := range cp.w.Snapshot.PodClasses {
		for _, a := range cp.w.Devices.Requests(&cp.w.Snapshot.PodClasses[i]) {
			out = append(out, a.Resource)
		}
	}
	return out
}

// requested is what one pod of a class takes. What pods of DaemonSets take of devices is gone before others come.
func (cp compiler) requested(c *model.PodClass) Vector {
	out := cp.w.Index.Vector(c.Requests)
	if cp.w.Devices == nil || c.Daemon || c.Mirror {
		return out
	}
	for _, a := range cp.w.Devices.Requests(c) {
		if i, ok := cp.w.Index.Place(a.Resource); ok {
			out[i] = a.Value
		}
	}
	return out
}

// WithDevices is a vector of a node that is yet to be bought, with the devices that are free there.
func (w *World) WithDevices(v Vector, free *devices.Stock) Vector {
	v = slices.Clone(v)
	for _, a := range w.Devices.Free(free) {
		if i, ok := w.Index.Place(a.Resource); ok {
			v[i] = a.Value
		}
	}
	return v
}
