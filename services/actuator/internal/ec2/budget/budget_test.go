package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

func TestEachOperationHasItsClass(t *testing.T) {
	for call, want := range map[[2]string]Class{
		{"EC2", "CreateFleet"}: Change, {"EC2", "CreateLaunchTemplate"}: Change, {"EC2", "DescribeInstances"}: Read,
		{"EC2", "TerminateInstances"}: Terminate, {"EC2", "CreateTags"}: Tag, {"EC2", "RunInstances"}: Run, {"IAM", "GetInstanceProfile"}: Others,
	} {
		if got, has := Of(call[0], call[1]); !has || got != want {
			t.Errorf("%v is of class %q, want %q", call, got, want)
		}
	}
	if _, has := Of("SQS", "ReceiveMessage"); has {
		t.Error("a queue has a budget")
	}
}

// call makes a call that AWS answers with err.
func call(ctx context.Context, b *Budget, operation string, err error) error {
	next := middleware.FinalizeHandlerFunc(func(context.Context, middleware.FinalizeInput) (middleware.FinalizeOutput, middleware.Metadata, error) {
		return middleware.FinalizeOutput{}, middleware.Metadata{}, err
	})
	named := awsmiddleware.RegisterServiceMetadata{ServiceID: "EC2", OperationName: operation}
	_, _, got := named.HandleInitialize(ctx, middleware.InitializeInput{}, middleware.InitializeHandlerFunc(
		func(ctx context.Context, _ middleware.InitializeInput) (middleware.InitializeOutput, middleware.Metadata, error) {
			_, _, err := b.handle(ctx, middleware.FinalizeInput{}, next)
			return middleware.InitializeOutput{}, middleware.Metadata{}, err
		}))
	return got
}

func TestTheEndOfInstancesWaitsForNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		begun := time.Now()
		for range 100 { // 50 at once, 5 in each second after that
			if err := call(t.Context(), b, "CreateFleet", nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("a hundred launches took %s, want about 10s", took)
		}
		begun = time.Now()
		if err := call(t.Context(), b, "TerminateInstances", nil); err != nil || time.Since(begun) > 0 {
			t.Errorf("%v after %s, want that it did not wait", err, time.Since(begun))
		}
	})
}

func TestRefusalsSlowAClassDownAndAnswersGiveItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, slow := New(), &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
		rate := func(c Class) float64 { return float64(b.buckets[c].limiter.Limit()) }
		for range 10 {
			_ = call(t.Context(), b, "CreateFleet", slow)
		}
		if got := rate(Change); got != 5.0/16 || rate(Read) != 20 {
			t.Errorf("%.3f launches in a second after ten refusals, %.0f lists; want a sixteenth of 5, and 20", got, rate(Read))
		}
		for range 30 {
			_ = call(t.Context(), b, "CreateFleet", nil)
		}
		if got := rate(Change); got != 5 {
			t.Errorf("%.3f launches in a second once AWS answers, want 5", got)
		}
	})
}

func TestACallThatWouldWaitTooLongIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		for range 5 {
			_ = call(t.Context(), b, "RunInstances", nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var waits *WaitError
		if err := call(ctx, b, "RunInstances", nil); !errors.As(err, &waits) || waits.Class != Run {
			t.Errorf("%v, want that it would wait too long", err)
		}
	})
}
