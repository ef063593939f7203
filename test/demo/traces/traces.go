// Package traces receives OpenTelemetry traces over the real wire, OTLP over gRPC on loopback, and puts them together as
// trees that people can read.
//
// It must never know what the spans are about: it neither asks for names nor for attributes. Start reading at Start,
// then Trace.
package traces

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// maxSpans bounds what a Collector keeps; what comes after that is dropped, and Dropped counts it.
const maxSpans = 200_000

// Span is one piece of work that a service did.
type Span struct {
	TraceID, ID, Parent string // hexadecimal; Parent is "" at the root
	Service, Name       string
	Start, End          time.Time
	Failed              bool
	Attributes          map[string]string
	Events              []Event
	Links               []string // the ids of other traces
}

// Event is something that happened within a span.
type Event struct {
	Name       string
	Attributes map[string]string
}

// Collector keeps the spans that were sent to it. Safe for concurrent use.
type Collector struct {
	collectorv1.UnimplementedTraceServiceServer

	server *grpc.Server
	addr   string
	served chan error

	mu      sync.Mutex
	spans   []Span
	dropped int
}

// Start listens on a free port of the loopback and serves in a goroutine until Stop.
func Start() (*Collector, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("receive traces: %w", err)
	}
	c := &Collector{server: grpc.NewServer(), addr: lis.Addr().String(), served: make(chan error, 1)}
	collectorv1.RegisterTraceServiceServer(c.server, c)
	go func() { c.served <- c.server.Serve(lis) }()
	return c, nil
}

// Stop ends the server and its goroutine. What was received can still be read.
func (c *Collector) Stop() error {
	c.server.Stop()
	if err := <-c.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("receive traces: %w", err)
	}
	return nil
}

// Env makes a program send its traces here, soon after they have ended.
func (c *Collector) Env() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.addr, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=none", "OTEL_TRACES_SAMPLER=always_on", "OTEL_BSP_SCHEDULE_DELAY=200",
	}
}

// Export implements the collector's side of OTLP.
func (c *Collector) Export(_ context.Context, in *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range in.GetResourceSpans() {
		service := serviceName(r.GetResource())
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				if len(c.spans) >= maxSpans {
					c.dropped++
					continue
				}
				c.spans = append(c.spans, newSpan(service, s))
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// Dropped is how many spans did not fit.
func (c *Collector) Dropped() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// Traces are the traces received so far, the oldest first.
func (c *Collector) Traces() []Trace {
	c.mu.Lock()
	spans := slices.Clone(c.spans)
	c.mu.Unlock()
	byID := map[string][]Span{}
	for _, s := range spans {
		byID[s.TraceID] = append(byID[s.TraceID], s)
	}
	var out []Trace
	for id, spans := range byID {
		slices.SortFunc(spans, earlier)
		out = append(out, Trace{ID: id, Spans: spans})
	}
	slices.SortFunc(out, func(a, b Trace) int { return earlier(a.Spans[0], b.Spans[0]) })
	return out
}

func earlier(a, b Span) int {
	if d := a.Start.Compare(b.Start); d != 0 {
		return d
	}
	return strings.Compare(a.ID, b.ID)
}

func newSpan(service string, s *tracev1.Span) Span {
	out := Span{
		TraceID: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Service: service, Name: s.GetName(), Start: nanos(s.GetStartTimeUnixNano()), End: nanos(s.GetEndTimeUnixNano()),
		Failed: s.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR, Attributes: texts(s.GetAttributes()),
	}
	for _, e := range s.GetEvents() {
		out.Events = append(out.Events, Event{Name: e.GetName(), Attributes: texts(e.GetAttributes())})
	}
	for _, l := range s.GetLinks() {
		out.Links = append(out.Links, hex.EncodeToString(l.GetTraceId()))
	}
	return out
}

func texts(attributes []*commonv1.KeyValue) map[string]string {
	out := make(map[string]string, len(attributes))
	for _, a := range attributes {
		out[a.GetKey()] = text(a.GetValue())
	}
	return out
}

func nanos(n uint64) time.Time { return time.Unix(0, int64(n)) }

func serviceName(r *resourcev1.Resource) string {
	for _, a := range r.GetAttributes() {
		if a.GetKey() == "service.name" {
			return a.GetValue().GetStringValue()
		}
	}
	return "unknown"
}

// text is an attribute's value as people write it.
func text(v *commonv1.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		return v.StringValue
	case *commonv1.AnyValue_ArrayValue:
		var parts []string
		for _, e := range v.ArrayValue.GetValues() {
			parts = append(parts, text(e))
		}
		return strings.Join(parts, ",")
	case *commonv1.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonv1.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *commonv1.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	default:
		return fmt.Sprint(v)
	}
}
