package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	collogsv1 "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	logsv1 "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/grpc"

	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// logSink is an OTLP receiver.
type logSink struct {
	collogsv1.UnimplementedLogsServiceServer
	got chan *logsv1.ResourceLogs
}

func (s *logSink) Export(_ context.Context, r *collogsv1.ExportLogsServiceRequest) (*collogsv1.ExportLogsServiceResponse, error) {
	s.got <- r.GetResourceLogs()[0]
	return &collogsv1.ExportLogsServiceResponse{}, nil
}

func TestLinesAreSentWithTheirTrace(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, sink := grpc.NewServer(), &logSink{got: make(chan *logsv1.ResourceLogs, 1)}
	collogsv1.RegisterLogsServiceServer(srv, sink)
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()
	endpoint := "http://" + lis.Addr().String()
	t.Setenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", endpoint) // the exporter reads the rest of its settings itself

	var out bytes.Buffer
	written := telemetry.NewLogger(&out, telemetry.LogConfig{Level: "info"}, "planner", "v1")
	env := map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": endpoint}
	logs, err := telemetry.StartLogs(t.Context(), func(k string) string { return env[k] }, written, "planner", "v1")
	if err != nil {
		t.Fatal(err)
	}
	log := logs.Also(written, "test").With("revision", 7)
	ctx := telemetry.ContextFromTraceparent(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	log.DebugContext(ctx, "below the level")
	log.WarnContext(ctx, "decided", "plan", "p-1")
	if err := logs.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := <-sink.got
	records := got.GetScopeLogs()[0].GetLogRecords()
	if len(records) != 1 || records[0].GetBody().GetStringValue() != "decided" || records[0].GetSeverityNumber() != logsv1.SeverityNumber_SEVERITY_NUMBER_WARN {
		t.Fatalf("sent: %v", records)
	}
	sc := trace.SpanContextFromContext(ctx)
	if id := trace.TraceID(records[0].GetTraceId()); id != sc.TraceID() || trace.SpanID(records[0].GetSpanId()) != sc.SpanID() {
		t.Errorf("it is of trace %s", id)
	}
	if text := got.String(); !strings.Contains(text, "p-1") || !strings.Contains(text, "revision") || !strings.Contains(text, "kerf-planner") {
		t.Errorf("sent: %s", text)
	}
	if line := out.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, `"plan":"p-1"`) {
		t.Errorf("written: %s", line)
	}
}

func TestLinesAreNotSentUnlessAskedFor(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for name, tt := range map[string]struct {
		env  map[string]string
		on   bool
		fail string
	}{
		"nothing is set":                 {nil, false, ""},
		"an endpoint for all signals":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false, ""},
		"it, and the exporter":           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_LOGS_EXPORTER": "otlp"}, true, ""},
		"an endpoint of their own":       {map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		"it, by HTTP":                    {map[string]string{"OTEL_LOGS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/protobuf"}, true, ""},
		"it, but no exporter":            {map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://127.0.0.1:1", "OTEL_LOGS_EXPORTER": "none"}, false, ""},
		"it, but the SDK is disabled":    {map[string]string{"OTEL_LOGS_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"an exporter that there is not":  {map[string]string{"OTEL_LOGS_EXPORTER": "console"}, false, "OTEL_LOGS_EXPORTER"},
		"a protocol that there is not":   {map[string]string{"OTEL_LOGS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "x"}, false, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		"no exporter for all the others": {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			logs, err := telemetry.StartLogs(t.Context(), func(k string) string { return tt.env[k] }, log, "planner", "v1")
			if tt.fail != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fail) {
					t.Fatalf("error %v, want one that names %s", err, tt.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if on := logs.Also(log, "test") != log; on != tt.on {
				t.Errorf("on: %t, want %t", on, tt.on)
			}
			if err := logs.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
