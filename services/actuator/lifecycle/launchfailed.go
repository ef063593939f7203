package lifecycle

import (
	"cmp"
	"errors"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// LaunchFailed is what happened to a claim whose launch returned the error. Where no instance was made, for want of
// capacity or for the moment, the caller adds the offerings that are left to try: the next attempt has another token, so
// it need not ask again for what was ruled out meanwhile.
func LaunchFailed(c model.Claim, err error) Event {
	e := Event{Kind: EventLaunchFailed, Failure: FailureRetry, Reason: about(c, model.CodeLaunchRefused, "%s", cloud.ErrorText(err))}
	var capacity *cloud.CapacityError
	switch {
	case errors.As(err, &capacity):
		e.Failure, e.Reason.Code = FailureCapacity, model.CodeInsufficientCapacity
	case errors.Is(err, cloud.ErrClassNotReady):
		e.Failure, e.Reason.Code = FailureRefused, model.CodeNodeClassNotReady
	case errors.Is(err, cloud.ErrInvalid), errors.Is(err, cloud.ErrTokenMismatch):
		e.Failure = FailureRefused
	case errors.Is(err, cloud.ErrNoInstance):
		e.Failure = FailureLater
	}
	if errors.Is(err, cloud.ErrThrottled) {
		e.Reason.Code = model.CodeThrottled
	}
	return e
}

// Shortages are what a launch's error says there is none of. One that names no offering is about all that were asked for.
func Shortages(c model.Claim, err error) []model.Shortage {
	var named *cloud.CapacityError
	if !errors.As(err, &named) {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(named.Offerings), func(s model.Shortage) bool { return s.InstanceType == "" })
	if len(out) == 0 {
		for _, o := range c.Offerings {
			if o.CapacityType == c.Offerings[0].CapacityType {
				out = append(out, model.Shortage{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType})
			}
		}
	}
	for i := range out {
		out[i].Message = cmp.Or(out[i].Message, named.Message)
	}
	return out
}
