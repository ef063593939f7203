package offer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Expand adds the virtual pods of the capacity buffers to a snapshot's pods, unschedulable ones like any other; the list
// stays sorted by id, and the snapshot that was given is not changed. The caller must place all real pods before
// the first virtual one (PodID.Virtual tells them apart): a buffer is what is left over. problems say which buffers ask for
// nothing, and why, sorted by subject.
//
// A buffer asks for its replicas from its start to its expiry. Of a one-shot buffer's those are taken off that pods have
// used up: live pods of its namespace with the labels of its class that were created after it.
func Expand(s model.Snapshot, now time.Time) (out model.Snapshot, problems []model.Reason) {
	if len(s.CapacityBuffers) == 0 {
		return s, nil
	}
	classes := make(map[model.ClassID]*model.PodClass, len(s.PodClasses))
	for i := range s.PodClasses {
		classes[s.PodClasses[i].ID] = &s.PodClasses[i]
	}
	var virtual []model.Pod
	for i := range s.CapacityBuffers {
		b := &s.CapacityBuffers[i]
		if !b.NotReady.OK() {
			problems = append(problems, b.NotReady)
			continue
		}
		n := wanted(&s, b, classes, now)
		if n > mostAtOnce {
			problems = append(problems, model.Reason{
				Code: model.CodeBufferInvalid, Subject: "capacitybuffer/" + string(b.ID),
				Message: fmt.Sprintf("the buffer asks for capacity for %d pods, and gets it for the %d that one buffer may have", n, mostAtOnce),
				Remedy:  "lower spec.replicas, or make several buffers",
			})
			n = mostAtOnce
		}
		for k := range n {
			virtual = append(virtual, model.Pod{
				ID: b.ID.Pod(k), UID: string(b.ID.Pod(k)), Class: b.Class, Phase: model.PodUnschedulable,
				CreateTime: b.CreateTime, UnschedulableTime: b.CreateTime,
			})
		}
	}
	slices.SortFunc(problems, func(a, b model.Reason) int { return cmp.Compare(a.Subject, b.Subject) })
	if len(virtual) > 0 {
		s.Pods = append(slices.Clone(s.Pods), virtual...)
		slices.SortStableFunc(s.Pods, func(a, b model.Pod) int { return cmp.Compare(a.ID, b.ID) })
	}
	return s, problems
}

// wanted is how many virtual pods a buffer has now.
func wanted(s *model.Snapshot, b *model.CapacityBuffer, classes map[model.ClassID]*model.PodClass, now time.Time) int64 {
	if active, _ := rules.BufferActive(b, now); !active || classes[b.Class] == nil {
		return 0
	}
	n := b.Replicas
	if !b.OneShot {
		return n
	}
	like := classes[b.Class]
	for i := range s.Pods {
		p := &s.Pods[i]
		c := classes[p.Class]
		if c == nil || p.Terminating || c.Daemon || c.Mirror || c.Namespace != like.Namespace || !p.CreateTime.After(b.CreateTime) {
			continue
		}
		if carries(c.Labels, like.Labels) {
			n--
		}
	}
	return max(n, 0)
}

// carries says whether labels have all that others have.
func carries(labels, all model.Labels) bool {
	for _, l := range all {
		if v, ok := labels.Get(l.Key); !ok || v != l.Value {
			return false
		}
	}
	return true
}
