package gen

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// ending has more of the pods that run be ending, those of DaemonSets and those with devices among them, some of which were
// to be gone by now; pods have waited for them for a moment or for long; and the policy says for how long they may.
func (b *builder) ending() {
	if !b.has(Ending) {
		return
	}
	if b.newest.IntN(3) == 0 {
		b.in.Policy.RoomWait = new([]time.Duration{0, 10 * time.Second, model.LongestRoomWait}[b.newest.IntN(3)])
	}
	for i := range b.in.Snapshot.Pods {
		p := &b.in.Snapshot.Pods[i]
		if p.Node == "" {
			for _, long := range []time.Duration{time.Second, 35 * time.Second, 10 * time.Minute} {
				if b.newest.IntN(4) == 0 {
					p.UnschedulableTime = Now().Add(-long)
				}
			}
			continue
		}
		if b.newest.IntN(3) > 0 {
			continue
		}
		p.Terminating, p.TerminationDeadline = true, time.Time{}
		if b.newest.IntN(4) > 0 {
			p.TerminationDeadline = Now().Add(time.Duration(b.newest.IntN(60)-15) * time.Second)
		}
	}
}
