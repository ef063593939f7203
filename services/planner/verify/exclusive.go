package verify

import "github.com/kerf-dev/kerf/services/core/model"

// volumes checks that no pod is placed that must wait for a volume which one pod at a time may use: another pod is
// bound with it, wherever that is, or is placed too. Pods that are displaced have had theirs before.
func (c *contents) volumes() {
	users := make(map[string]model.PodID)
	for i := range c.f.Cluster.Snapshot.Pods {
		if pod := &c.f.Cluster.Snapshot.Pods[i]; pod.Node != "" {
			c.use(users, pod)
		}
	}
	for _, pl := range c.f.Plan.Placements {
		pod := c.f.Cluster.Pods[pl.Pod]
		if pod == nil {
			continue // another rule is broken
		}
		if volume, other := c.use(users, pod); other != "" {
			c.r.Fail("placement of pod "+string(pod.ID), "one pod at a time may use its volume %s, and pod %s does", volume, other)
		}
	}
}

// use notes whose a pod's volumes are, and returns one that is another pod's already, with that pod.
func (c *contents) use(users map[string]model.PodID, pod *model.Pod) (volume string, other model.PodID) {
	for _, v := range c.f.Cluster.Class(pod).Volumes {
		if !v.Exclusive {
			continue
		}
		if by, ok := users[v.Name]; ok && by != pod.ID {
			volume, other = v.Name, by
			continue
		}
		users[v.Name] = pod.ID
	}
	return volume, other
}
