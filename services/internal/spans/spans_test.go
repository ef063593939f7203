package spans_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kerf-dev/kerf/services/internal/spans"
)

var update = flag.Bool("update", false, "write docs/tracing.md anew")

const reference = "../../../docs/tracing.md"

// head is what stands above the tables.
const head = `# Traces and log lines

Made from ` + "`services/internal/spans`" + ` by ` + "`go test ./services/internal/spans -update`" + `; a test keeps it equal.

The services send spans over OTLP where ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + ` or ` + "`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`" + ` is set, as
` + "`kerf-watcher`, `kerf-planner` and `kerf-actuator`" + `. A trace begins with the first event that a plan is for, and goes on until the nodes
that the plan launched are gone: it is stored with each claim, so that it outlives the service that began it. gRPC's own spans, named by service and
method, are between those of the services. Log lines of a plan or a claim have ` + "`plan`, `trace_id` and `span_id`" + `, and are sent by OTLP as well where
` + "`OTEL_LOGS_EXPORTER=otlp`" + ` or ` + "`OTEL_EXPORTER_OTLP_LOGS_ENDPOINT`" + ` is set.

A span has at most 64 events. ` + "`test/observe`" + ` plays a story with a real Jaeger beside it, and fetches each of these spans from there;
[trace.txt](trace.txt) is a trace of that run, from pods pending to pods bound.
`

func TestReferenceIsUpToDate(t *testing.T) {
	var b strings.Builder
	b.WriteString(head + "\n| span | parent | attributes | meaning |\n|---|---|---|---|\n")
	for _, s := range spans.Table() {
		text := s.Text
		if s.Links != "" {
			text += " Links: " + s.Links + "."
		}
		parent := "—"
		if s.Parent != "" {
			parent = "`" + s.Parent + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, parent, keys(s.Attributes), text)
	}
	b.WriteString("\n## Events\n\n| span | event | attributes | meaning |\n|---|---|---|---|\n")
	for _, s := range spans.Table() {
		for _, e := range s.Events {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, e.Name, keys(e.Attributes), e.Text)
		}
	}
	b.WriteString("\nA `kerf.reason` is a code of [reasons.md](reasons.md), `kerf.message` the sentence beside it.\n")
	b.WriteString("\n## Log lines\n\nLines are JSON, on standard error, with `time`, `level`, `msg`, `service` and `version`. Warnings name what is tried again, " +
		"and what to do.\n`duration` and `waited` are in nanoseconds; with `log.format: text` they have their unit.\nThese tell the life of a cluster:\n\n| service | `msg` | further keys | meaning |\n|---|---|---|---|\n")
	for _, l := range spans.Lines() {
		of, further := "all", ""
		if len(l.Services) > 0 {
			of = strings.Join(l.Services, ", ")
		}
		if len(l.Keys) > 0 {
			further = "`" + strings.Join(l.Keys, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", of, l.Message, further, l.Text)
	}
	if *update {
		if err := os.WriteFile(reference, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(have)); diff != "" {
		t.Errorf("run go test ./services/internal/spans -update (-want +have):\n%s", diff)
	}
}

func keys(ks []attribute.Key) string {
	out := make([]string, len(ks))
	for i, k := range ks {
		out[i] = "`" + string(k) + "`"
	}
	return strings.Join(out, ", ")
}

// TestTableIsWhole wants that each row says what it is, and that parents are rows above.
func TestTableIsWhole(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, s := range spans.Table() {
		if seen[s.Name] || !seen[s.Parent] || !strings.HasSuffix(s.Text, ".") || len(s.Attributes) == 0 {
			t.Errorf("%+v", s)
		}
		seen[s.Name] = true
		for _, e := range s.Events {
			if !strings.HasSuffix(e.Text, ".") || len(e.Attributes) == 0 {
				t.Errorf("%s: %+v", s.Name, e)
			}
		}
	}
}
