package cloud

import (
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/require"
)

// ImageFor returns the image that nodes of the type boot: the first whose requirements it meets.
func (c Class) ImageFor(t catalog.Type) (Image, bool) {
	for _, i := range c.Images {
		if i.Boots(t) {
			return i, true
		}
	}
	return Image{}, false
}

// Boots says whether the image boots on the type.
func (i Image) Boots(t catalog.Type) bool {
	for _, r := range i.Requirements {
		value, present := "", false
		switch r.Key {
		case labels.Arch:
			value, present = t.Arch, true
		case labels.InstanceGPUCount:
			present = len(t.GPUs) > 0
		case labels.InstanceAcceleratorCount:
			present = len(t.Accelerators) > 0
		}
		if !require.New(r).Matches(value, present) {
			return false
		}
	}
	return true
}
