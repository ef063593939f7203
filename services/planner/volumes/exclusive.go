package volumes

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Exclusive says by name which pod, by number, has each volume that one pod at a time may use: the one that is bound,
// else the first that asks for it, or the one that it was given to. The scheduler binds no other pod as long as that one
// has it, wherever its node is.
type Exclusive map[string]int

// Take gives a pod the volumes that its class asks for. Where another pod has one of them it gets none, and that one
// and the volume's name are returned; "" otherwise.
func (e Exclusive) Take(c *model.PodClass, pod int) (other int, volume string) {
	for _, v := range c.Volumes {
		if has, ok := e[v.Name]; v.Exclusive && ok && has != pod {
			return has, v.Name
		}
	}
	e.Hold(c, pod)
	return 0, ""
}

// Hold notes that a pod has the volumes that its class asks for, as one that is bound does, but for those that another
// one has.
func (e Exclusive) Hold(c *model.PodClass, pod int) {
	for _, v := range c.Volumes {
		if _, held := e[v.Name]; v.Exclusive && !held {
			e[v.Name] = pod
		}
	}
}

// OnlyOf says whether some pods, and no others, have those of the volumes that a class asks for which are had by any.
func (e Exclusive) OnlyOf(c *model.PodClass, pods map[int]bool) bool {
	return !slices.ContainsFunc(c.Volumes, func(v model.VolumeTopology) bool {
		has, held := e[v.Name]
		return v.Exclusive && held && !pods[has]
	})
}

// Give gives a pod the volumes that its class asks for, also those that another one had.
func (e Exclusive) Give(c *model.PodClass, pod int) {
	for _, v := range c.Volumes {
		if v.Exclusive {
			e[v.Name] = pod
		}
	}
}

// InUse is why a pod waits for a volume that is another pod's.
func InUse(volume string, by model.PodID) model.Reason {
	return model.Reason{
		Code: model.CodeVolumeInUse, Subject: "pod/" + string(by),
		Message: fmt.Sprintf("one pod at a time may use the volume claim %s (ReadWriteOncePod), and it is pod %s's", volume, by),
		Remedy:  "let the other pod go first; for a Deployment, strategy.type: Recreate",
	}
}
