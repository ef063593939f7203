package lifecycle

import (
	"errors"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// LaunchFailed is what happened to a claim whose launch returned the error. The caller adds the offerings that are left
// to try where EC2 had no capacity.
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
