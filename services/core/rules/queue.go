package rules

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// SchedulerQueue is what is known of the scheduler's queue: pods that came before the last one that it has refused are
// in it. The zero SchedulerQueue knows of no pod that was refused.
type SchedulerQueue struct {
	// lastRefused is when a pod was refused last; priority the highest of those pods.
	lastRefused time.Time
	priority    int32
}

// Refused notes a pod that the scheduler has looked at, and found no node for.
func (q *SchedulerQueue) Refused(p *model.Pod, class *model.PodClass) {
	if q.lastRefused.IsZero() || class.Priority > q.priority {
		q.priority = class.Priority
	}
	if p.UnschedulableTime.After(q.lastRefused) {
		q.lastRefused = p.UnschedulableTime
	}
}

// Has says that a pod was there when another one was refused, and is not one for which the scheduler might rather evict
// others. The times of Kubernetes are cut to the second.
func (q *SchedulerQueue) Has(p *model.Pod, class *model.PodClass) bool {
	return !q.lastRefused.IsZero() && class.Priority <= q.priority &&
		!p.CreateTime.IsZero() && !p.CreateTime.Truncate(time.Second).After(q.lastRefused)
}
