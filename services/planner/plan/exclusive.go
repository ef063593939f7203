package plan

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// exclusive says by name which pod, an index into World.Pods, has each volume that one pod at a time may use: the one that is bound,
// or the first that asks for it. The scheduler binds no other pod as long as that one has it, wherever its node is.
type exclusive map[string]int

// heldVolumes are those of pods that are bound.
func heldVolumes(pods []view.Pod) exclusive {
	out := exclusive{}
	for i, p := range pods {
		if p.Node != "" {
			out.take(p, i)
		}
	}
	return out
}

// take gives a pod the volumes that it asks for. Where another pod has one of them it gets none, and that one and its name are returned; "" otherwise.
func (e exclusive) take(p view.Pod, pod int) (other int, volume string) {
	for _, v := range p.Class.Volumes {
		if has, ok := e[v.Name]; v.Exclusive && ok && has != pod {
			return has, v.Name
		}
	}
	for _, v := range p.Class.Volumes {
		if v.Exclusive {
			e[v.Name] = pod
		}
	}
	return 0, ""
}

// yields are classes, by index, of which no pod got a place, so that pods of others come first where they want the same volume.
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

func volumeInUse(volume string, by model.PodID) model.Reason {
	return model.Reason{
		Code: model.CodeVolumeInUse, Subject: "pod/" + string(by),
		Message: fmt.Sprintf("one pod at a time may use the volume claim %s (ReadWriteOncePod), and it is pod %s's", volume, by),
		Remedy:  "let the other pod go first; for a Deployment, strategy.type: Recreate",
	}
}
