// Package telemetry gives a service its logger and its tracing, both as values:
// nothing is global but the one hook through which the OpenTelemetry SDK reports
// failed exports. Tracing is configured by the standard OTEL_* variables alone
// and costs nothing while they are unset. Metrics are not part of it yet. It must
// never know what is logged or traced. Start reading at StartTracing and NewLogger.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
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
	on, err := wanted(getenv)
	if err != nil || !on {
		return Tracing{}, err
	}
	exporter, err := newExporter(ctx, getenv)
	if err != nil {
		return Tracing{}, err
	}
	// Later detectors win: what the environment says beats our default name.
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "kerf-"+service), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return Tracing{}, fmt.Errorf("trace resource: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("export telemetry", KeyError, err)
	}))
	// The sampler is the SDK's, from OTEL_TRACES_SAMPLER; parent based by default.
	return Tracing{provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))}, nil
}

// wanted says whether the environment asks for traces.
func wanted(getenv func(string) string) (bool, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	case "":
		return getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "", nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is neither otlp nor none", exporter)
	}
}

// newExporter picks the wire protocol; unset means grpc.
func newExporter(ctx context.Context, getenv func(string) string) (sdktrace.SpanExporter, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	if getenv(name) == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	switch protocol := getenv(name); protocol {
	case "", "grpc":
		return otlptracegrpc.New(ctx)
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("%s: %q is neither grpc nor http/protobuf", name, protocol)
	}
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
