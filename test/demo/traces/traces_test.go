package traces_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kerf-dev/kerf/test/demo/traces"
)

func str(key, value string) *commonv1.KeyValue {
	return &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}}
}

func span(trace, id, parent byte, name string, from, to time.Duration) *tracev1.Span {
	s := &tracev1.Span{
		TraceId: []byte{trace}, SpanId: []byte{id}, Name: name,
		StartTimeUnixNano: uint64(time.Second + from), EndTimeUnixNano: uint64(time.Second + to),
	}
	if parent != 0 {
		s.ParentSpanId = []byte{parent}
	}
	return s
}

func export(t *testing.T, c *traces.Collector, service string, spans ...*tracev1.Span) {
	t.Helper()
	_, err := c.Export(context.Background(), &collectorv1.ExportTraceServiceRequest{ResourceSpans: []*tracev1.ResourceSpans{{
		Resource:   &resourcev1.Resource{Attributes: []*commonv1.KeyValue{str("service.name", service)}},
		ScopeSpans: []*tracev1.ScopeSpans{{Spans: spans}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestATraceOfSeveralServicesIsOneTree(t *testing.T) {
	c := &traces.Collector{}
	launch := span(7, 4, 2, "launch", 30*time.Millisecond, 1530*time.Millisecond)
	launch.Attributes = []*commonv1.KeyValue{str("claim", "c-1")}
	plan := span(7, 3, 1, "plan", 5*time.Millisecond, 9*time.Millisecond)
	plan.Status = &tracev1.Status{Code: tracev1.Status_STATUS_CODE_ERROR}
	export(t, c, "acts", launch, span(7, 2, 1, "apply", 20*time.Millisecond, 40*time.Millisecond))
	export(t, c, "sees", span(7, 1, 0, "batch", 0, 50*time.Millisecond))
	export(t, c, "decides", plan, span(8, 5, 9, "orphan", time.Hour, time.Hour))

	got := c.Traces()
	if len(got) != 2 || got[0].ID != "07" || got[1].ID != "08" {
		t.Fatalf("got %d traces, want 07 and 08: %v", len(got), got)
	}
	var tree strings.Builder
	if err := got[0].Write(&tree, "claim"); err != nil {
		t.Fatal(err)
	}
	want := `
batch             sees       +0.0ms      50ms
├─ plan (failed)  decides    +5.0ms     4.0ms
└─ apply          acts        +20ms      20ms
   └─ launch      acts        +30ms     1.50s  claim=c-1
`
	if d := cmp.Diff(strings.TrimPrefix(want, "\n"), tree.String()); d != "" {
		t.Error(d)
	}
	if got, want := got[0].Length(), 1530*time.Millisecond; got != want {
		t.Errorf("length %s, want %s", got, want)
	}
	if d := cmp.Diff([]string{"acts", "decides", "sees"}, got[0].Services()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"terminate"}, got[0].Missing("batch", "terminate", "launch")); d != "" {
		t.Error(d)
	}
	tree.Reset()
	if err := got[1].Write(&tree); err != nil || !strings.HasPrefix(tree.String(), "orphan") {
		t.Errorf("a span whose parent never came is lost: %q, %v", tree.String(), err)
	}
}

func TestTheCollectorServesAndStops(t *testing.T) {
	c, err := traces.Start()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(c.Env(), " "), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:") {
		t.Errorf("environment %v does not name the collector", c.Env())
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}
