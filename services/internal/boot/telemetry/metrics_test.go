package telemetry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	colmetricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"

	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

func start(t *testing.T, scraped bool, env map[string]string) *telemetry.Metering {
	t.Helper()
	getenv := func(k string) string { return env[k] }
	m, err := telemetry.StartMetering(t.Context(), telemetry.MeteringOptions{
		Getenv: getenv, Log: slog.New(slog.DiscardHandler), Service: "planner", Version: "v1", Scraped: scraped,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return m
}

func scrape(t *testing.T, m *telemetry.Metering) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetricsAreScraped(t *testing.T) {
	m := start(t, true, nil)
	h, err := m.Meter("test").Float64Histogram("kerf.plan.duration", metric.WithUnit("s"), metric.WithDescription("How long."),
		metric.WithExplicitBucketBoundaries(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	h.Record(t.Context(), 1.5, metric.WithAttributes(attribute.String("kerf.plan.scope", "pods")))
	got := scrape(t, m)
	for _, want := range []string{
		"# HELP kerf_plan_duration_seconds How long.", `kerf_plan_duration_seconds_bucket{kerf_plan_scope="pods",le="2"} 1`,
		`service_name="kerf-planner"`, "go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

func TestSeriesOfAMetricAreBounded(t *testing.T) {
	m := start(t, true, nil)
	c, err := m.Meter("test").Int64Counter("kerf.things")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		c.Add(t.Context(), 1, metric.WithAttributes(attribute.Int("i", i)))
	}
	got := scrape(t, m)
	if n := strings.Count(got, "\nkerf_things_total{"); n > 1000 {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(got, `kerf_things_total{otel_metric_overflow="true"} 2001`) {
		t.Error("the rest is not summed up")
	}
}

func TestMetricsThatAreNotReadAreOff(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"nothing is set":                  nil,
		"traces alone are sent":           {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"},
		"metrics are not wanted":          {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_METRICS_EXPORTER": "none"},
		"the SDK is disabled as a whole":  {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"the SDK is disabled, in capital": {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "TRUE"},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, false, env)
			if m.On() || m.Handler() != nil {
				t.Fatal("it is on")
			}
			c, err := m.Meter("test").Int64Counter("x")
			if err != nil {
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(100, func() { c.Add(t.Context(), 1) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
	_, err := telemetry.StartMetering(t.Context(), telemetry.MeteringOptions{Getenv: func(k string) string {
		return map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}[k]
	}})
	if err == nil || !strings.Contains(err.Error(), "OTEL_METRICS_EXPORTER") {
		t.Errorf("an unknown exporter: %v", err)
	}
}

// metricSink is an OTLP receiver.
type metricSink struct {
	colmetricsv1.UnimplementedMetricsServiceServer
	got chan string
}

func (s *metricSink) Export(_ context.Context, r *colmetricsv1.ExportMetricsServiceRequest) (*colmetricsv1.ExportMetricsServiceResponse, error) {
	s.got <- fmt.Sprint(r)
	return &colmetricsv1.ExportMetricsServiceResponse{}, nil
}

func TestMetricsArePushedAtTheEnd(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, sink := grpc.NewServer(), &metricSink{got: make(chan string, 1)}
	colmetricsv1.RegisterMetricsServiceServer(srv, sink)
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()

	endpoint := "http://" + lis.Addr().String()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint) // the exporter reads the rest of its settings itself
	m := start(t, false, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})
	c, err := m.Meter("test").Int64Counter("kerf.things")
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 3)
	if err := m.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-sink.got; !strings.Contains(got, "kerf.things") || !strings.Contains(got, "kerf-planner") {
		t.Errorf("received %s", got)
	}
}
