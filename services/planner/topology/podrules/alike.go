package podrules

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Likeness is equal for classes of which a pod has a place wherever one of the other has, beside the same pods.
func Likeness(w *view.World, r *Rules, c *view.Class) string {
	capped := w.Policy.MaxPodsOfWorkloadPerNode > 0
	if capped || r.Constrained(c) || r.Soft(c) || len(c.HostPorts) > 0 || devices.ClaimsDevices(c.PodClass) {
		return string(c.ID)
	}
	return fmt.Sprint(c.Profile.Index, c.Requested, c.Shared)
}
