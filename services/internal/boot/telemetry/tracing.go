// Package telemetry gives a service its logger, its tracing and its metering, all
// as values: nothing is global but the one hook through which the OpenTelemetry SDK
// reports failed exports. Tracing is configured by the standard OTEL_* variables
// alone and costs nothing while they are unset. It must never know what is logged,
// traced or measured. Start reading at StartTracing, StartMetering and NewLogger.
package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing makes tracers and carries trace contexts across processes. The zero
// value is tracing that is off.
type Tracing struct {
	provider *sdktrace.TracerProvider // nil: off
}

// NewTracing wraps a provider that the caller built, as tests do; nil is off.
func NewTracing(provider *sdktrace.TracerProvider) Tracing { return Tracing{provider: provider} }

// StartTracing reads the OTEL_* variables through getenv (and the SDK reads the
// rest of them itself). Tracing is off where OTEL_SDK_DISABLED is true, where
// OTEL_TRACES_EXPORTER is none, and where neither that variable nor an OTLP
// endpoint is set. Spans are exported in batches; call Shutdown to flush them.
func StartTracing(ctx context.Context, getenv func(string) string, log *slog.Logger, service, version string) (Tracing, error) {
	on, err := wanted(getenv, "TRACES")
	if err != nil || !on || disabled(getenv) {
		return Tracing{}, err
	}
	exporter, err := newSpanExporter(ctx, getenv)
	if err != nil {
		return Tracing{}, err
	}
	res, err := newResource(ctx, service, version)
	if err != nil {
		return Tracing{}, err
	}
	reportFailures(log)
	// The sampler is the SDK's, from OTEL_TRACES_SAMPLER; parent based by default.
	return Tracing{provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))}, nil
}

// newSpanExporter picks the wire protocol; unset means grpc.
func newSpanExporter(ctx context.Context, getenv func(string) string) (sdktrace.SpanExporter, error) {
	web, err := overHTTP(getenv, "TRACES")
	if err != nil {
		return nil, err
	}
	if web {
		return otlptracehttp.New(ctx)
	}
	return otlptracegrpc.New(ctx)
}

// On says whether spans are made at all.
func (t Tracing) On() bool { return t.provider != nil }

// Provider returns the provider for libraries that want one.
func (t Tracing) Provider() trace.TracerProvider {
	if t.provider == nil {
		return offProvider{}
	}
	return t.provider
}

// Tracer returns a tracer of that name. While tracing is off its Start returns
// the context it was given and allocates nothing.
func (t Tracing) Tracer(name string) trace.Tracer { return t.Provider().Tracer(name) }

// Propagator is W3C trace context and baggage.
func (t Tracing) Propagator() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
}

// Shutdown exports the spans that are still queued, until ctx ends.
func (t Tracing) Shutdown(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
