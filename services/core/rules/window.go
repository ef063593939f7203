package rules

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// ConsolidateAfter says that a node has not been quiet for as long as its pool's consolidateAfter asks for; nil means
// that the pool never consolidates. What counts is when the node became Initialized, and when a pod last came or went.
// A node of which a clock that is ahead says that this is yet to come has been quiet for no time.
func ConsolidateAfter(after *time.Duration, initialized, lastPodEvent, now time.Time) (model.Reason, time.Time) {
	if after == nil {
		return model.Reason{Code: model.CodeConsolidateAfter, Message: "its pool never consolidates (consolidateAfter: Never)"}, time.Time{}
	}
	since := initialized
	if lastPodEvent.After(since) {
		since = lastPodEvent
	}
	quiet := max(now.Sub(since), 0)
	if quiet >= *after {
		return model.Reason{}, time.Time{}
	}
	return model.Reason{
		Code:    model.CodeConsolidateAfter,
		Message: fmt.Sprintf("it has been quiet for %s, and its pool asks for %s", quiet.Truncate(time.Second), *after),
	}, since.Add(*after)
}

// Unavailable says whether an offering is left out: the cluster is shifted away from its zone, for as long as that is
// told, or EC2 lately had none of it.
func Unavailable(o *model.Offering, now time.Time) (unavailable bool, until time.Time) {
	if o.ZoneShifted {
		return true, time.Time{}
	}
	if !now.Before(o.UnavailableUntil) {
		return false, time.Time{}
	}
	return true, o.UnavailableUntil
}

// BufferActive says whether a capacity buffer asks for capacity, as far as time tells.
func BufferActive(b *model.CapacityBuffer, now time.Time) (active bool, until time.Time) {
	switch {
	case !b.ExpireTime.IsZero() && !now.Before(b.ExpireTime):
		return false, time.Time{}
	case now.Before(b.StartTime):
		if !b.ExpireTime.IsZero() && !b.StartTime.Before(b.ExpireTime) {
			return false, time.Time{} // it ends before it begins
		}
		return false, b.StartTime
	}
	return true, b.ExpireTime
}
