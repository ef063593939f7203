package plan

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// mostYields is how often pods are planned for anew because some yield: each turn costs as much as a plan, and there
// may be as many classes that wait for one volume as there are Jobs.
const mostYields = 4

// yields are classes, by index, of which no pod got a place, so that pods of others come first where they want the same
// volume.
type yields map[int]bool

// add adds those of a cycle that has assigned pods, and says whether there were any: then others may get places.
func (y yields) add(c *cycle) bool {
	wanted := make(map[string]bool)
	for _, r := range c.demand.refused {
		if r.reason.Code == model.CodeVolumeInUse {
			for _, v := range c.Pods[r.pod].Class.Volumes {
				wanted[v.Name] = wanted[v.Name] || v.Exclusive
			}
		}
	}
	found := false
	for _, it := range c.unplaced {
		holds := slices.ContainsFunc(it.Class.Volumes, func(v model.VolumeTopology) bool { return wanted[v.Name] })
		unbound := slices.ContainsFunc(it.Pods, func(p int) bool { return c.Pods[p].Node == "" })
		if holds && unbound && !y[it.Class.Index] {
			y[it.Class.Index], found = true, true
		}
	}
	return found
}
