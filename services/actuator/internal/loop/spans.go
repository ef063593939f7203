package loop

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
	keyClaim    = "kerf.claim_id"
	keyPlan     = "kerf.plan_id"
	keyRevision = "kerf.inventory_revision"
	keyAttempt  = "kerf.attempt"
	keyReason   = "kerf.reason"
)

// traced runs f in a span of the claim's trace.
func (l *Loop) traced(ctx context.Context, name string, c model.Claim, f func(context.Context) error) error {
	ctx = telemetry.ContextFromTraceparent(ctx, c.Traceparent)
	ctx, span := l.cfg.Tracer.Start(ctx, name, trace.WithAttributes(
		attribute.String(keyClaim, string(c.ID)), attribute.String(keyPlan, string(c.PlanID)), attribute.Int(keyAttempt, c.Attempt)))
	defer span.End()
	err := f(ctx)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

// spans tells the trace of the phases that a change of state ends. Their beginnings are stored with the claim, so a
// phase that outlives a leader still has its span, whole.
func (l *leader) spans(ctx context.Context, old, c model.Claim) {
	switch c.State {
	case model.ClaimRegistered:
		l.phase(ctx, "actuator.Register", c, c.LaunchTime)
	case model.ClaimInitialized:
		l.phase(ctx, "actuator.Initialize", c, c.LaunchTime)
	case model.ClaimGone, model.ClaimFailed:
		if old.State == model.ClaimTerminating {
			l.phase(ctx, "actuator.Terminate", c, old.StateTime)
		}
	default:
	}
	if old.State == model.ClaimDraining {
		l.phase(ctx, "actuator.Drain", c, old.StateTime)
	}
}

func (l *leader) phase(ctx context.Context, name string, c model.Claim, begun time.Time) {
	ctx = telemetry.ContextFromTraceparent(ctx, c.Traceparent)
	_, span := l.cfg.Tracer.Start(ctx, name, trace.WithTimestamp(begun), trace.WithAttributes(
		attribute.String(keyClaim, string(c.ID)), attribute.String(keyPlan, string(c.PlanID)),
		attribute.Int64(keyRevision, l.revision), attribute.String(keyReason, c.Failure.Message)))
	span.End(trace.WithTimestamp(c.StateTime))
}
