// Package spans makes the spans of claims' lives, below those of the plans that asked for them. Start reading at Phases.
package spans

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// The attribute keys of spans.
const (
	KeyPlan     = "kerf.plan_id"
	KeyRevision = "kerf.inventory_revision"

	keyClaim   = "kerf.claim_id"
	keyAttempt = "kerf.attempt"
	keyReason  = "kerf.reason"
)

// Traced runs f in a span of the claim's trace.
func Traced(ctx context.Context, tracer trace.Tracer, name string, c model.Claim, f func(context.Context) error) error {
	ctx = telemetry.ContextFromTraceparent(ctx, c.Traceparent)
	ctx, span := tracer.Start(ctx, name, trace.WithAttributes(
		attribute.String(keyClaim, string(c.ID)), attribute.String(KeyPlan, string(c.PlanID)), attribute.Int(keyAttempt, c.Attempt)))
	defer span.End()
	err := f(ctx)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

// Phases adds the phases of a claim's life that a change of its state ends to its trace. Their beginnings are stored with
// the claim, so a phase that outlives a leader still has its span, whole.
func Phases(ctx context.Context, tracer trace.Tracer, revision int64, old, c model.Claim) {
	phase := func(name string, begun time.Time) {
		ctx := telemetry.ContextFromTraceparent(ctx, c.Traceparent)
		_, span := tracer.Start(ctx, name, trace.WithTimestamp(begun), trace.WithAttributes(
			attribute.String(keyClaim, string(c.ID)), attribute.String(KeyPlan, string(c.PlanID)),
			attribute.Int64(KeyRevision, revision), attribute.String(keyReason, c.Failure.Message)))
		span.End(trace.WithTimestamp(c.StateTime))
	}
	switch c.State {
	case model.ClaimRegistered:
		phase("actuator.Register", c.LaunchTime)
	case model.ClaimInitialized:
		phase("actuator.Initialize", c.LaunchTime)
	case model.ClaimGone, model.ClaimFailed:
		if old.State == model.ClaimTerminating {
			phase("actuator.Terminate", old.StateTime)
		}
	default:
	}
	if old.State == model.ClaimDraining {
		phase("actuator.Drain", old.StateTime)
	}
}
