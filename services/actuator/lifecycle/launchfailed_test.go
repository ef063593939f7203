package lifecycle

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestLaunchFailed(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want Failure
		code model.Code
	}{
		"no capacity":                           {&cloud.CapacityError{}, FailureCapacity, model.CodeInsufficientCapacity},
		"what the class selects is gone":        {cloud.ErrClassNotReady, FailureRefused, model.CodeNodeClassNotReady},
		"a request that EC2 will never accept":  {cloud.ErrInvalid, FailureRefused, model.CodeLaunchRefused},
		"a token of another request":            {cloud.ErrTokenMismatch, FailureRefused, model.CodeLaunchRefused},
		"an answer that nothing was made":       {cloud.ErrNoInstance, FailureLater, model.CodeLaunchRefused},
		"nothing was made, and it was too much": {errors.Join(cloud.ErrNoInstance, cloud.ErrThrottled), FailureLater, model.CodeThrottled},
		"too much at once":                      {cloud.ErrThrottled, FailureRetry, model.CodeThrottled},
		"no answer":                             {errors.New("connection reset"), FailureRetry, model.CodeLaunchRefused},
	} {
		err := fmt.Errorf("create fleet: RequestID: 123, %w", c.err)
		e := LaunchFailed(inState(model.ClaimLaunching), err)
		if e.Kind != EventLaunchFailed || e.Failure != c.want || e.Reason.Code != c.code || e.Reason.Message != "create fleet: "+c.err.Error() {
			t.Errorf("%s: %+v, want failure %d with code %d", name, e, c.want, c.code)
		}
	}
}
