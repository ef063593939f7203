// Package claimspans makes the spans of claims' lives, below those of the plans that asked for them, and the log lines that
// belong to them. It must never change a claim. Start reading at Phases, then Came.
package claimspans

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
	"github.com/kerf-dev/kerf/services/internal/spans"
)

// Launched runs f, a launch, in a span of the claim's trace.
func Launched(ctx context.Context, tracer trace.Tracer, c model.Claim, f func(context.Context) error) error {
	ctx = telemetry.ContextFromTraceparent(ctx, c.Traceparent)
	ctx, span := tracer.Start(ctx, spans.Launch, trace.WithAttributes(
		spans.Claim.String(string(c.ID)), spans.PlanID.String(string(c.PlanID)), spans.Attempt.Int(c.Attempt)))
	defer span.End()
	err := f(ctx)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

// Verdicts tells, as events of an Apply's span, what became of the plan's decisions, and links to the traces of the
// claims that it takes away.
func Verdicts(span trace.Span, verdicts []model.Verdict, away []model.Claim) {
	if !span.IsRecording() {
		return
	}
	for i, v := range verdicts {
		if i == spans.MostEvents {
			break
		}
		if v.Accepted {
			span.AddEvent(spans.Accepted, trace.WithAttributes(spans.Decision.String(v.Decision)))
			continue
		}
		span.AddEvent(spans.Rejected, trace.WithAttributes(spans.Decision.String(v.Decision),
			spans.Reason.String(convert.CodeText(v.Reason.Code)), spans.Message.String(v.Reason.Message)))
	}
	for i, c := range away {
		of := trace.SpanContextFromContext(telemetry.ContextFromTraceparent(context.Background(), c.Traceparent))
		if i < spans.MostEvents && of.IsValid() {
			span.AddLink(trace.Link{SpanContext: of, Attributes: []attribute.KeyValue{spans.Claim.String(string(c.ID))}})
		}
	}
}

// Phases adds the phases of a claim's life that a change of its state ends to its trace. Their beginnings are stored with
// the claim, so a phase that outlives a leader still has its span, whole.
func Phases(ctx context.Context, tracer trace.Tracer, revision int64, old, c model.Claim) {
	phase := func(name string, begun time.Time) {
		ctx := telemetry.ContextFromTraceparent(ctx, c.Traceparent)
		_, span := tracer.Start(ctx, name, trace.WithTimestamp(begun), trace.WithAttributes(
			spans.Claim.String(string(c.ID)), spans.PlanID.String(string(c.PlanID)),
			spans.Inventory.Int64(revision), spans.Message.String(c.Failure.Message)))
		span.End(trace.WithTimestamp(c.StateTime))
	}
	switch c.State {
	case model.ClaimRegistered:
		phase(spans.Register, c.LaunchTime)
	case model.ClaimInitialized:
		phase(spans.Initialize, c.LaunchTime)
	case model.ClaimGone, model.ClaimFailed:
		if old.State == model.ClaimTerminating {
			phase(spans.Terminate, old.StateTime)
		}
	default:
	}
	if old.State == model.ClaimDraining {
		phase(spans.Drain, old.StateTime)
	}
}
