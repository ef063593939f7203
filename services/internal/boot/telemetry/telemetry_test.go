package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	coltracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

func recording(t *testing.T) (telemetry.Tracing, *tracetest.SpanRecorder) {
	t.Helper()
	rec := tracetest.NewSpanRecorder()
	return telemetry.NewTracing(trace.NewTracerProvider(trace.WithSpanProcessor(rec))), rec
}

func TestLogLinesCarryServiceAndTrace(t *testing.T) {
	tracing, _ := recording(t)
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, telemetry.LogConfig{Level: "info"}, "planner", "v1").With("k", "v")
	ctx, span := tracing.Tracer("test").Start(t.Context(), "work")
	log.DebugContext(ctx, "below the level")
	log.InfoContext(ctx, "decided")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("want one JSON line, got %q: %v", out.String(), err)
	}
	want := map[string]string{
		"msg": "decided", "service": "planner", "version": "v1", "k": "v",
		"trace_id": span.SpanContext().TraceID().String(), "span_id": span.SpanContext().SpanID().String(),
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s = %v, want %s", key, got[key], value)
		}
	}
}

func TestLogConfigRefusesUnknownWords(t *testing.T) {
	for _, c := range []telemetry.LogConfig{{Level: "loud"}, {Format: "xml"}} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestTraceparentContinuesATrace(t *testing.T) {
	tracing, rec := recording(t)
	ctx, first := tracing.Tracer("test").Start(t.Context(), "plan")
	stored := telemetry.TraceparentFromContext(ctx)
	first.End()

	_, second := tracing.Tracer("test").Start(telemetry.ContextFromTraceparent(t.Context(), stored), "launch")
	second.End()
	spans := rec.Ended()
	if spans[1].Parent().SpanID() != spans[0].SpanContext().SpanID() || spans[1].SpanContext().TraceID() != spans[0].SpanContext().TraceID() {
		t.Errorf("the second span does not continue the first through %q", stored)
	}
}

func TestTraceparentToleratesWhatIsNone(t *testing.T) {
	if got := telemetry.TraceparentFromContext(t.Context()); got != "" {
		t.Errorf("traceparent without a span = %q", got)
	}
	for _, bad := range []string{"", "nonsense", "00-0-0-01"} {
		if got := telemetry.TraceparentFromContext(telemetry.ContextFromTraceparent(t.Context(), bad)); got != "" {
			t.Errorf("%q was taken for %q", bad, got)
		}
	}
}

func TestTracingIsOffUnlessAskedFor(t *testing.T) {
	tests := map[string]struct {
		env  map[string]string
		on   bool
		fail string
	}{
		"nothing set":                         {nil, false, ""},
		"an endpoint":                         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		"an endpoint for traces":              {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		"an exporter with default endpoint":   {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"an endpoint, but the SDK disabled":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "TRUE"}, false, ""},
		"an endpoint, but no exporter":        {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"an exporter that we have not":        {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "OTEL_TRACES_EXPORTER"},
		"OTLP over HTTP":                      {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, true, ""},
		"a protocol that we have not":         {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		"the protocol for traces comes first": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "x", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, true, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			getenv := func(key string) string { return tt.env[key] }
			tracing, err := telemetry.StartTracing(t.Context(), getenv, slog.New(slog.DiscardHandler), "planner", "v1")
			if tt.fail != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fail) {
					t.Fatalf("error %v, want one that names %s", err, tt.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tracing.On() != tt.on {
				t.Errorf("On() = %t, want %t", tracing.On(), tt.on)
			}
			if err := tracing.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// collector is an OTLP receiver that keeps what it gets.
type collector struct {
	coltracev1.UnimplementedTraceServiceServer
	mu   sync.Mutex
	reqs []*coltracev1.ExportTraceServiceRequest
}

func (c *collector) Export(_ context.Context, r *coltracev1.ExportTraceServiceRequest) (*coltracev1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reqs = append(c.reqs, r)
	return &coltracev1.ExportTraceServiceResponse{}, nil
}

func TestShutdownFlushesSpansToTheEndpoint(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var got collector
	srv := grpc.NewServer()
	coltracev1.RegisterTraceServiceServer(srv, &got)
	go srv.Serve(lis) //nolint:errcheck // ends with Stop
	defer srv.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+lis.Addr().String())
	t.Setenv("OTEL_SERVICE_NAME", "my-planner")
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "set"}
	tracing, err := telemetry.StartTracing(t.Context(), func(k string) string { return env[k] }, slog.New(slog.DiscardHandler), "planner", "v1")
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracing.Tracer("test").Start(t.Context(), "plan provisioning")
	span.End()
	if err := tracing.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	if len(got.reqs) != 1 {
		t.Fatalf("%d exports arrived, want 1", len(got.reqs))
	}
	rs := got.reqs[0].GetResourceSpans()[0]
	if name := rs.GetScopeSpans()[0].GetSpans()[0].GetName(); name != "plan provisioning" {
		t.Errorf("span %q arrived", name)
	}
	attrs := map[string]string{}
	for _, a := range rs.GetResource().GetAttributes() {
		attrs[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if attrs["service.name"] != "my-planner" || attrs["service.version"] != "v1" {
		t.Errorf("resource is %v, want OTEL_SERVICE_NAME to win and our version to stay", attrs)
	}
}

func TestTracingThatIsOffAllocatesNothing(t *testing.T) {
	var off telemetry.Tracing
	tracer := off.Tracer("test")
	ctx := t.Context()
	got := testing.AllocsPerRun(1000, func() {
		inner, span := tracer.Start(ctx, "plan provisioning")
		if span.IsRecording() || inner != ctx {
			t.Fatal("a span was made")
		}
		span.End()
	})
	if got != 0 {
		t.Errorf("a span costs %v allocations while tracing is off, want 0", got)
	}
}

func BenchmarkSpanWhileOff(b *testing.B) {
	tracer := telemetry.Tracing{}.Tracer("test")
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, span := tracer.Start(ctx, "plan provisioning")
		span.End()
	}
}
