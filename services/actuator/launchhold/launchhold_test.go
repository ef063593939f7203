package launchhold

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestPausesDoubleUntilANodeComes(t *testing.T) {
	now := time.Unix(0, 0)
	var h Hold
	pauses := func(n int) string {
		var out []time.Duration
		for range n {
			h = h.Refused("default", "no such profile", now)
			if h.Why.Code != model.CodeNodeClassNotReady || h.At(h.Until.Add(-1)) != h {
				t.Fatalf("%+v, want that it lasts and says why", h)
			}
			out = append(out, h.Until.Sub(now))
			now = h.Until
			if h = h.At(now); !h.Until.IsZero() || !h.Why.OK() {
				t.Fatalf("%+v, want that it is over", h)
			}
		}
		return fmt.Sprint(out)
	}
	if got := pauses(7); got != "[5s 10s 20s 40s 1m20s 2m0s 2m0s]" {
		t.Errorf("pauses of %s", got)
	}
	h = h.Moved(model.Claim{State: model.ClaimLaunched}, model.Claim{State: model.ClaimRegistered}, now)
	if h != (Hold{}) {
		t.Fatalf("%+v after a node of the class has come", h)
	}
	if got := pauses(1); got != "[5s]" {
		t.Errorf("a pause of %s after a success", got)
	}
}

func TestLaunchesThatAreRefusedTogetherCountOnce(t *testing.T) {
	now := time.Unix(0, 0)
	h := Hold{}.Refused("default", "one", now)
	if again := h.Refused("default", "two", now.Add(time.Second)); again != h {
		t.Errorf("%+v, want %+v", again, h)
	}
}

func TestWhatClaimsTell(t *testing.T) {
	lost := model.Reason{Code: model.CodeInstanceLost, Message: "it ended"}
	for name, c := range map[string]struct {
		from, to model.ClaimState
		failure  model.Reason
		held     bool
	}{
		"an instance that ends before it is a node": {model.ClaimLaunched, model.ClaimTerminating, lost, true},
		"a node that is lost later":                 {model.ClaimInitialized, model.ClaimTerminating, lost, false},
		"one that did not register in time":         {model.ClaimLaunched, model.ClaimTerminating, model.Reason{Code: model.CodeRegistrationTimeout}, false},
		"one that was launched":                     {model.ClaimLaunching, model.ClaimLaunched, model.Reason{}, false},
	} {
		h := Hold{}.Moved(model.Claim{State: c.from}, model.Claim{State: c.to, NodeClass: "default", Failure: c.failure}, time.Unix(0, 0))
		if h.Why.OK() == c.held {
			t.Errorf("%s: %+v, want that it holds launches: %v", name, h, c.held)
		}
	}
}
