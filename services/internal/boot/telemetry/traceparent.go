package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const traceparentKey = "traceparent"

// TraceparentFromContext returns the W3C traceparent of the context's span, to be
// stored with what the span decided, or "" where there is none.
func TraceparentFromContext(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceparentKey]
}

// ContextFromTraceparent returns a context whose spans continue the trace that
// TraceparentFromContext stored. An empty or unreadable string changes nothing:
// a lost trace must never stop the work.
func ContextFromTraceparent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparentKey: traceparent})
}
