package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestALaunchThatMadeNothingIsRepeatedWithWhatIsAvailableNow: what was planned may have been ruled out meanwhile.
func TestALaunchThatMadeNothingIsRepeatedWithWhatIsAvailableNow(t *testing.T) {
	offering := func(zone string, of model.CapacityType) model.RankedOffering {
		return model.RankedOffering{InstanceType: "m5.large", Zone: zone, CapacityType: of}
	}
	spotA, spotB, onDemand := offering("a", model.Spot), offering("b", model.Spot), offering("b", model.OnDemand)
	for name, tc := range map[string]struct {
		attempt   int
		available []model.RankedOffering
		want      []model.RankedOffering
	}{
		"zone a is out":                  {1, []model.RankedOffering{spotB, onDemand}, []model.RankedOffering{spotB, onDemand}},
		"and the other type goes first":  {answersBeforeOther, []model.RankedOffering{spotB, onDemand}, []model.RankedOffering{onDemand, spotB}},
		"nothing is left to be asked of": {1, nil, nil},
	} {
		c := inState(model.ClaimLaunching)
		c.Attempt, c.Offerings = tc.attempt, []model.RankedOffering{spotA, spotB, onDemand}
		r := Step(c, Event{Kind: EventLaunchFailed, Failure: FailureLater, Reason: model.Reason{Code: model.CodeLaunchRefused, Message: "no"}, Offerings: tc.available}, at(1))
		if tc.want == nil {
			if got := r.Claim; got.State != model.ClaimFailed || got.Failure.Code != model.CodeInsufficientCapacity || !strings.HasSuffix(got.Failure.Message, ": no") {
				t.Errorf("%s: %s, %+v; want that it has failed, with EC2's words", name, got.State, got.Failure)
			}
			continue
		}
		if d := cmp.Diff(tc.want, r.Claim.Offerings); d != "" || r.Claim.Attempt != c.Attempt+1 {
			t.Errorf("%s: attempt %d (-want +got):\n%s", name, r.Claim.Attempt, d)
		}
	}
}
