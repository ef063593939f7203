// Package budget keeps the calls to AWS within what AWS allows an account: one token bucket for each class of calls,
// which all clients share. A call waits for its token here instead of being refused there.
//
// Each class has its own bucket, so that neither lists nor launches ever delay the end of an instance. A refusal of AWS's
// slows the class down, since other programs draw on the same account; answers let it recover. It must never
// know what a call is for. Start reading at New.
package budget

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/time/rate"

	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
)

// Class is a class of calls that share a bucket.
type Class string

// The classes.
const (
	Read      Class = "read"      // EC2's lists
	Change    Class = "change"    // what EC2 makes and deletes, launches among it
	Run       Class = "run"       // RunInstances, which Kerf calls to ask whether it may
	Terminate Class = "terminate" // the end of instances
	Tag       Class = "tag"
	Others    Class = "others" // the other services
)

// allowed is what EC2 allows an account in a region unless it was raised: calls in a second, and at once.
var allowed = map[Class]struct { //nolint:gochecknoglobals // a constant table
	perSecond rate.Limit
	burst     int
}{
	Read: {20, 100}, Change: {5, 50}, Run: {2, 5}, Terminate: {5, 100}, Tag: {10, 100}, Others: {20, 50},
}

const (
	// slowest is the part of a class's rate that refusals leave it.
	slowest = 1.0 / 16
	// recovery is the part of a class's rate by which each answer raises it.
	recovery = 1.0 / 32
)

// Budget is the account's. Safe for concurrent use.
type Budget struct {
	buckets map[Class]*bucket
}

type bucket struct {
	most    rate.Limit
	limiter *rate.Limiter

	mu sync.Mutex // held while the rate is read and set
}

// New makes a budget that nothing was taken of.
func New() *Budget {
	b := &Budget{buckets: map[Class]*bucket{}}
	for class, a := range allowed {
		b.buckets[class] = &bucket{most: a.perSecond, limiter: rate.NewLimiter(a.perSecond, a.burst)}
	}
	return b
}

// Of is the class of a service's operation. Queues have no budget: AWS sets none, and a notice must not wait.
func Of(service, operation string) (Class, bool) {
	switch {
	case service == "SQS":
		return "", false
	case service != "EC2":
		return Others, true
	case operation == "TerminateInstances":
		return Terminate, true
	case operation == "CreateTags":
		return Tag, true
	case operation == "RunInstances":
		return Run, true
	case strings.HasPrefix(operation, "Describe"), strings.HasPrefix(operation, "Get"):
		return Read, true
	default:
		return Change, true
	}
}

// Attach makes clients of the configuration draw on the budget, for each try of a call.
func (b *Budget) Attach(c *aws.Config) {
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("KerfBudget", b.handle), "Retry", middleware.After)
	})
}

func (b *Budget) handle(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	class, has := Of(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx))
	if !has {
		return next.HandleFinalize(ctx, in)
	}
	own := b.buckets[class]
	if err := own.limiter.Wait(ctx); err != nil {
		return middleware.FinalizeOutput{}, middleware.Metadata{}, &WaitError{Class: class, Err: err}
	}
	out, meta, err := next.HandleFinalize(ctx, in)
	own.learn(err)
	return out, meta, err
}

// learn halves the rate of a class that AWS has refused, and lets answers give it back.
func (b *bucket) learn(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.limiter.Limit()
	switch {
	case awserror.Of(err) == awserror.Throttled:
		b.limiter.SetLimit(max(now/2, b.most*slowest))
	case now < b.most:
		b.limiter.SetLimit(min(now+b.most*recovery, b.most))
	}
}

// WaitError says that a call would have had to wait for longer than its caller does. AWS was not asked.
type WaitError struct {
	Class Class
	Err   error
}

// Error implements error.
func (e *WaitError) Error() string {
	return "the budget of calls of class " + string(e.Class) + " is used up: " + e.Err.Error()
}

// Unwrap returns the limiter's error.
func (e *WaitError) Unwrap() error { return e.Err }
