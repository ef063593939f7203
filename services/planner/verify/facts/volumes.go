package facts

import (
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Attached counts the volumes of some pods on one node, by CSI driver. A volume that pods share is attached once.
func (c *Cluster) Attached(pods []*model.Pod) map[model.Resource]int64 {
	sum := make(map[model.Resource]int64)
	shared := make(map[string]bool)
	for _, pod := range pods {
		class := c.Class(pod)
		for _, a := range class.VolumeAttachments {
			sum[a.Resource] += a.Value
		}
		for _, v := range class.Volumes {
			if v.Name != "" && v.Driver != "" && shared[v.Name] {
				sum[model.Resource(v.Driver)]--
			}
			shared[v.Name] = true
		}
	}
	return sum
}

// toldLimits are the highest attach limits that ready nodes of each type tell.
func toldLimits(nodes []model.Node) map[model.TypeName]map[model.Resource]int64 {
	out := make(map[model.TypeName]map[model.Resource]int64)
	for i := range nodes {
		name, _ := nodes[i].Labels.Get(labels.InstanceType)
		if name == "" || !nodes[i].Ready {
			continue
		}
		told := out[model.TypeName(name)]
		if told == nil {
			told = make(map[model.Resource]int64)
			out[model.TypeName(name)] = told
		}
		for _, a := range nodes[i].VolumeLimits {
			told[a.Resource] = max(told[a.Resource], a.Value)
		}
	}
	return out
}

// AttachLimit is how many volumes a CSI driver attaches to a node that does not tell it yet, and that may become any of
// some offerings: the least of what nodes of each type tell or, where none does, of what the catalogue says. ok is
// false where nothing is known.
func (m *Market) AttachLimit(class model.NodeClassName, becomes []model.RankedOffering) func(driver model.Resource) (int64, bool) {
	return func(driver model.Resource) (least int64, ok bool) {
		for _, o := range becomes {
			t := m.Type(class, o.InstanceType)
			if t == nil {
				continue
			}
			limit := m.attach[o.InstanceType][driver]
			if limit <= 0 {
				var known bool
				if limit, known = t.Allocatable.Get(model.AttachLimit + driver); !known {
					continue
				}
			}
			if !ok || limit < least {
				least, ok = limit, true
			}
		}
		return least, ok
	}
}
