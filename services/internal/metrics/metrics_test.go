package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const reference = "../../../docs/metrics.md"

// head is what stands above the tables.
const head = `# Metrics

Made from ` + "`services/internal/metrics`" + ` by ` + "`go test ./services/internal/metrics -update`" + `; a test keeps it equal.

Each service serves its metrics at ` + "`/metrics`" + ` of ` + "`health_listen`" + `, in Prometheus' formats, and pushes them where
` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + ` or ` + "`OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`" + ` is set; a backend that takes traces alone wants
` + "`OTEL_METRICS_EXPORTER=none`" + ` beside it. With neither, nothing is measured.
Names follow OpenTelemetry's conventions; the second is the one that Prometheus sees, where attributes have underscores for dots. A
metric has at most 1000 series; the rest is summed up under ` + "`otel_metric_overflow=\"true\"`" + `. Go's and the process's own metrics
(` + "`go_*`, `process_*`" + `) are there too, for scrapers. [deploy/monitoring](../deploy/monitoring) has dashboards, alerts and monitors.

What the dashboard shows of twelve replicas that come and go, and of two spot interruptions, as ` + "`test/observe`" + ` played them with a real
Prometheus beside the services (` + "`go test ./test/observe -update`" + ` draws it anew):

![panels of the dashboard](dashboard.svg)
`

func TestReferenceIsUpToDate(t *testing.T) {
	var b strings.Builder
	b.WriteString(head)
	for _, s := range []metrics.Service{metrics.Planner, metrics.Watcher, metrics.Actuator} {
		fmt.Fprintf(&b, "\n## %s\n\n| metric | kind, unit | attributes | meaning |\n|---|---|---|---|\n", s)
		for _, i := range metrics.Table() {
			if slices.Contains(i.Services, s) {
				fmt.Fprintf(&b, "| `%s` `%s` | %s | %s | %s |\n", i.Name, i.PrometheusName(), kind(i), attributes(i), i.Text)
			}
		}
	}
	b.WriteString("\n## Karpenter's names\n\nWith `\"metrics\": {\"legacy_names\": true}` in a service's config, what has a counterpart is served under Karpenter's\n" +
		"name as well, by `/metrics` alone, so that dashboards and alerts live on. Labels that are not here are summed over.\n\n" +
		"| Karpenter | Kerf | labels |\n|---|---|---|\n")
	names := map[metrics.ID]string{}
	for _, i := range metrics.Table() {
		names[i.ID] = i.PrometheusName()
	}
	for _, a := range metrics.Aliases() {
		of := names[a.Of]
		if a.Count {
			of += "_count"
		}
		var labels []string
		for _, l := range a.Labels {
			labels = append(labels, "`"+l.Name+"`")
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", a.Name, of, strings.Join(labels, ", "))
	}
	fmt.Fprintf(&b, "\nOf each node and `resource_type`, with the labels `node_name`, `nodepool`, `instance_type`, `capacity_type`, `zone`, `region`, `arch` and `os`, from the\n"+
		"watcher that drives, while there are at most %d nodes:\n\n| Karpenter | meaning |\n|---|---|\n", metrics.MostLegacyNodes)
	for _, n := range append(metrics.LegacyNodeNames(), metrics.LegacyPods()) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", n.Name, n.Text)
	}
	b.WriteString("\nBeyond that `karpenter_pods_state` has `phase` alone. There is nothing in the place of what tells of Karpenter's own controllers\n" +
		"(`controller_runtime_*`, `workqueue_*`), of status conditions (`operator_*`), and of quantiles that Karpenter computes itself\n" +
		"(`karpenter_nodes_termination_duration_seconds`, `karpenter_pods_startup_duration_seconds`): the histograms above tell it.\n")
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
		t.Errorf("run go test ./services/internal/metrics -update (-want +have):\n%s", diff)
	}
}

func kind(i metrics.Instrument) string {
	if i.Unit == "" || i.Unit == "1" {
		return i.Kind.String()
	}
	return i.Kind.String() + ", " + i.Unit
}

func attributes(i metrics.Instrument) string {
	var out []string
	for _, a := range i.Attributes {
		text := a.Text
		if len(a.Values) > 0 {
			text = "`" + strings.Join(a.Values, "`, `") + "`"
			if a.Text != "" {
				text += "; " + a.Text
			}
		}
		out = append(out, fmt.Sprintf("`%s`: %s", a.Key, text))
	}
	return strings.Join(out, "<br>")
}

func TestTableIsWhole(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z_]*(\.[a-z][a-z_]*)+$`)
	seen := map[string]bool{}
	for n, i := range metrics.Table() {
		if i.ID == 0 || seen[i.Name] || seen[i.PrometheusName()] || seen[fmt.Sprint(i.ID)] {
			t.Errorf("row %d: %+v is there twice", n, i)
		}
		seen[i.Name], seen[i.PrometheusName()], seen[fmt.Sprint(i.ID)] = true, true, true
		if !name.MatchString(i.Name) || !strings.HasSuffix(i.Text, ".") || len(i.Services) == 0 {
			t.Errorf("row %d: %+v", n, i)
		}
		if (i.Kind == metrics.Histogram) != (len(i.Buckets) > 0) || !slices.IsSorted(i.Buckets) {
			t.Errorf("%s: buckets %v", i.Name, i.Buckets)
		}
		series := 1
		for _, a := range i.Attributes {
			if (len(a.Values) == 0) == (a.Text == "") && a.Text == "" {
				t.Errorf("%s: attribute %s says neither its values nor what they are", i.Name, a.Key)
			}
			series *= max(1, len(a.Values))
		}
		if series > 100 {
			t.Errorf("%s may have %d series beside those of names", i.Name, series)
		}
	}
	if n := int(metrics.BuildInfo); len(metrics.Table()) != n {
		t.Errorf("%d instruments, %d rows", n, len(metrics.Table()))
	}
}

func TestNamesAreThoseThatAreServed(t *testing.T) {
	for _, s := range []metrics.Service{metrics.Planner, metrics.Watcher, metrics.Actuator} {
		r, registry := metricstest.New(t, s)
		var want []string
		for _, i := range metrics.Table() {
			if !slices.Contains(i.Services, s) {
				continue
			}
			want = append(want, i.PrometheusName())
			switch i.Kind {
			case metrics.Counter:
				r.Add(i.ID, 1)
			case metrics.Histogram:
				r.Record(i.ID, 1)
			case metrics.Gauge:
			}
		}
		err := r.Observe(func(o metrics.Observation) {
			for _, i := range metrics.Table() {
				if slices.Contains(i.Services, s) && i.Kind == metrics.Gauge {
					o.Set(i.ID, 1)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			if f.GetName() != "target_info" {
				got = append(got, f.GetName())
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s, diff)
		}
	}
}

func TestCountersOfClosedSetsBeginAtZero(t *testing.T) {
	_, registry := metricstest.New(t, metrics.Actuator)
	want := []string{
		"kerf_pod_evictions_total kerf_result=blocked: 0", "kerf_pod_evictions_total kerf_result=deleted: 0",
		"kerf_pod_evictions_total kerf_result=evicted: 0", "kerf_pod_evictions_total kerf_result=failed: 0",
	}
	if diff := cmp.Diff(want, metricstest.Series(t, registry, "kerf_pod_evictions_total", true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLegacyNamesSumUpWhatTheyDoNotTellApart(t *testing.T) {
	r, registry := metricstest.New(t, metrics.Actuator)
	pool := metrics.Pool.String("default")
	r.Add(metrics.ClaimsCreated, 2, pool, metrics.Cause.String(metrics.CauseProvisioned))
	r.Add(metrics.ClaimsCreated, 1, pool, metrics.Cause.String("Underutilized"))
	r.Add(metrics.NodesDisrupted, 1, pool, metrics.CapacityType.String("spot"), metrics.Disruption.String("Drifted"))
	r.Add(metrics.Evictions, 4, metrics.Result.String(metrics.Blocked))
	r.Record(metrics.CloudDuration, 0.001, metrics.Operation.String("launch"))
	r.Record(metrics.CloudDuration, 2, metrics.Operation.String("launch"), metrics.ErrorType.String(metrics.ErrorCapacity))
	r.Record(metrics.RegisterDuration, 30, pool)
	for _, reason := range []string{"Drifted", "Interrupted"} {
		r.Add(metrics.DisruptionsEnded, 1, metrics.Disruption.String(reason), metrics.Result.String(metrics.Completed))
		r.Add(metrics.DisruptionsEnded, 1, metrics.Disruption.String(reason), metrics.Result.String(metrics.RolledBack))
	}
	err := r.Observe(func(o metrics.Observation) {
		o.Set(metrics.NodeCost, 0.5, pool, metrics.CapacityType.String("spot"))
		o.Set(metrics.NodeCost, 1, pool, metrics.CapacityType.String("on-demand"))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"karpenter_cloudprovider_duration_seconds controller=kerf method=Create provider=aws: 2",
		"karpenter_cloudprovider_errors_total controller=kerf error=capacity method=Create provider=aws: 1",
		"karpenter_nodeclaims_created_total nodepool=default reason=provisioned: 2",
		"karpenter_nodeclaims_created_total nodepool=default reason=underutilized: 1",
		"karpenter_nodeclaims_disrupted_total capacity_type=spot nodepool=default reason=drifted: 1",
		"karpenter_nodepools_cost_total nodepool=default: 1.5",
		"karpenter_nodes_created_total nodepool=default: 1",
		"karpenter_pods_eviction_requests_total code=429: 4",
		"karpenter_voluntary_disruption_decisions_total reason=drifted: 1",
	}
	got := metricstest.Series(t, metrics.Legacy(registry), "karpenter_", false)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecorderThatIsOffCostsNothing(t *testing.T) {
	var r *metrics.Recorder
	if n := testing.AllocsPerRun(100, func() { r.Add(metrics.PlanThrown, 1); r.Record(metrics.PlanDuration, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := r.Observe(func(metrics.Observation) { t.Error("asked") }); err != nil {
		t.Error(err)
	}
	if r.Transport(nil) != nil {
		t.Error("requests are measured")
	}
}
