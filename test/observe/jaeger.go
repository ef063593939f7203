package observe

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/test/demo/traces"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// Jaeger is one that runs and keeps traces in memory. Its methods are safe for concurrent use.
type Jaeger struct {
	process   *proc.Process
	otlp, url string
}

// StartJaeger starts one; its log is in dir.
func StartJaeger(ctx context.Context, dir string) (*Jaeger, error) {
	ports, err := proc.Ports(9)
	if err != nil {
		return nil, err
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	p, err := program(ctx, assets.Jaeger, filepath.Join(dir, "jaeger.log"), []string{"SPAN_STORAGE_TYPE=memory"},
		"--collector.otlp.enabled=true", "--collector.otlp.grpc.host-port="+at(0), "--collector.otlp.http.host-port="+at(1),
		"--query.http-server.host-port="+at(2), "--query.grpc-server.host-port="+at(3), "--admin.http.host-port="+at(4),
		"--collector.grpc-server.host-port="+at(5), "--collector.http-server.host-port="+at(6), "--http-server.host-port="+at(7),
		"--processor.jaeger-compact.server-host-port="+at(8), "--processor.jaeger-binary.server-host-port=127.0.0.1:0",
		"--processor.zipkin-compact.server-host-port=127.0.0.1:0", "--memory.max-traces=50000", "--log-level=warn")
	if err != nil {
		return nil, err
	}
	return &Jaeger{process: p, otlp: at(0), url: "http://" + at(2)}, await(ctx, p, "http://"+at(2)+"/api/services")
}

// Stop ends it, at once: it has nothing to lose, and now and then waits for calls that have ended.
func (j *Jaeger) Stop() error { return j.process.Kill() }

// Env makes a program send its traces here, soon after they have ended.
func (j *Jaeger) Env() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + j.otlp, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_EXPORTER=otlp",
		"OTEL_METRICS_EXPORTER=none", "OTEL_TRACES_SAMPLER=always_on", "OTEL_BSP_SCHEDULE_DELAY=200",
	}
}

// Traces are the traces in which a service took part, the oldest first.
func (j *Jaeger) Traces(ctx context.Context, service string) ([]traces.Trace, error) {
	var answer struct {
		Data []struct {
			TraceID   string `json:"traceID"`
			Spans     []span `json:"spans"`
			Processes map[string]struct {
				Service string `json:"serviceName"`
			} `json:"processes"`
		} `json:"data"`
	}
	q := url.Values{"service": {service}, "limit": {"50000"}, "lookback": {"24h"}}
	if err := get(ctx, j.url+"/api/traces?"+q.Encode(), &answer); err != nil {
		return nil, err
	}
	var out []traces.Trace
	for _, t := range answer.Data {
		trace := traces.Trace{ID: t.TraceID}
		for _, s := range t.Spans {
			trace.Spans = append(trace.Spans, s.read(t.Processes[s.Process].Service))
		}
		slices.SortFunc(trace.Spans, func(a, b traces.Span) int {
			if d := a.Start.Compare(b.Start); d != 0 {
				return d
			}
			return strings.Compare(a.ID, b.ID)
		})
		out = append(out, trace)
	}
	slices.SortFunc(out, func(a, b traces.Trace) int { return a.Spans[0].Start.Compare(b.Spans[0].Start) })
	return out, nil
}

// span is one in the form of Jaeger's API. Times are in microseconds.
type span struct {
	TraceID    string `json:"traceID"`
	SpanID     string `json:"spanID"`
	Name       string `json:"operationName"`
	Process    string `json:"processID"`
	Start      int64  `json:"startTime"`
	Duration   int64  `json:"duration"`
	Tags       []tag  `json:"tags"`
	References []struct {
		Type    string `json:"refType"`
		TraceID string `json:"traceID"`
		SpanID  string `json:"spanID"`
	} `json:"references"`
	Logs []struct {
		Fields []tag `json:"fields"`
	} `json:"logs"`
}

type tag struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func (s span) read(service string) traces.Span {
	out := traces.Span{
		TraceID: s.TraceID, ID: s.SpanID, Service: service, Name: s.Name, Start: time.UnixMicro(s.Start),
		End: time.UnixMicro(s.Start + s.Duration), Attributes: map[string]string{},
	}
	for _, r := range s.References {
		if r.Type == "CHILD_OF" && r.TraceID == s.TraceID {
			out.Parent = r.SpanID
		} else {
			out.Links = append(out.Links, r.TraceID)
		}
	}
	for _, t := range s.Tags {
		out.Attributes[t.Key] = fmt.Sprint(t.Value)
	}
	for _, l := range s.Logs {
		e := traces.Event{Attributes: map[string]string{}}
		for _, t := range l.Fields {
			if t.Key == "event" { // what Jaeger calls an event's name
				e.Name = fmt.Sprint(t.Value)
			} else {
				e.Attributes[t.Key] = fmt.Sprint(t.Value)
			}
		}
		out.Events = append(out.Events, e)
	}
	out.Failed = out.Attributes["error"] == "true"
	return out
}
