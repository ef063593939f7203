package observe_test

import (
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
	"github.com/kerf-dev/kerf/test/demo/traces"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/observe"
)

var update = flag.Bool("update", false, "make docs/dashboard.svg and docs/trace.txt anew")

// patience is for what takes seconds, on machines that are busy with other things.
const patience = 3 * time.Minute

// last is what is still there when all is asked for: pods that run, one that fits nothing, and overlays that contradict
// each other.
const last = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: still-there, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: still-there}}
  template:
    metadata: {labels: {app: still-there}}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {type: karpenter}
      containers: [{name: main, image: none, resources: {requests: {cpu: 250m, memory: 1Gi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: too-large, namespace: default}
spec:
  containers: [{name: main, image: none, resources: {requests: {cpu: "5000"}}}]
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: one-price}
spec:
  requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}]
  price: "0.01"
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: another-price}
spec:
  requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}]
  price: "0.02"
`

// world is a stack that was looked at by Prometheus and Jaeger while a story was played on it.
type world struct {
	root       string
	began      time.Time
	stack      *stack.Stack
	prometheus *observe.Prometheus
	jaeger     *observe.Jaeger
	logs       *observe.Logs
	over       bool // the stack was stopped
}

// TestUsersSeeWhatHappens plays the scenes of the story that nodes come and go in, and a spot interruption, with a real
// Prometheus and a real Jaeger beside it, and asks these for all that the references, the dashboard and the alerts name.
func TestUsersSeeWhatHappens(t *testing.T) {
	w := start(t)
	steps := story.Steps()
	w.play(t, append(steps[:6:6], steps[9], steps[9])) // rates need a second interruption
	w.leave(t)
	w.podGone(t)
	w.rejected(t)
	t.Run("metrics", w.metrics)
	t.Run("dashboard", w.dashboard)
	t.Run("Karpenter's queries", w.queries)
	t.Run("alerts", w.alerts)
	t.Run("events", w.events)
	t.Run("picture", w.picture)
	w.thrownAway(t) // last, as an alert is for it
	t.Run("spans", w.spans)
	t.Run("tree", w.tree)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	t.Run("lines", w.lines)
}

func start(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the control plane, which -short leaves out")
	}
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Build(t.Context(), root, os.Stderr); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "kerf-observe-") //nolint:usetesting // it stays when the test fails
	if err != nil {
		t.Fatal(err)
	}
	w := &world{root: root}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("all logs are in", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if w.jaeger, err = observe.StartJaeger(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	stopped(t, w.jaeger.Stop)
	if w.logs, err = observe.StartLogs(); err != nil {
		t.Fatal(err)
	}
	stopped(t, w.logs.Stop)
	env := slices.Concat(w.jaeger.Env(), w.logs.Env())
	if w.stack, err = stack.Start(t.Context(), stack.Options{Dir: dir, Seed: 1, Env: env, Scraped: true}); err != nil {
		t.Fatal(err)
	}
	stopped(t, w.stop)
	alerts, err := observe.Alerts(root)
	if err != nil {
		t.Fatal(err)
	}
	if w.prometheus, err = observe.StartPrometheus(t.Context(), dir, w.stack.Scraped(), alerts); err != nil {
		t.Fatal(err)
	}
	stopped(t, w.prometheus.Stop)
	w.began = time.Now()
	w.eventually(t, `count(up{job="kerf"} == 1) == 3`)
	return w
}

// stop ends the stack, once.
func (w *world) stop() error {
	if w.over {
		return nil
	}
	w.over = true
	return w.stack.Stop()
}

func stopped(t *testing.T, stop func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func (w *world) play(t *testing.T, steps []story.Step) {
	t.Helper()
	var text strings.Builder
	line := show.New(&text, true)
	results, err := story.Play(t.Context(), story.Options{Stack: w.stack, Line: line, Steps: steps})
	line.Table(results)
	t.Log("\n" + text.String())
	if err != nil {
		t.Fatal(err)
	}
}

// moreThanTheSDKTries is how many answers in a row are errors, so that a service sees one: the SDK asks four times.
const moreThanTheSDKTries = 5

// leave has AWS refuse one launch, so that there is a failure to measure, and waits until what stays has been scraped.
func (w *world) leave(t *testing.T) {
	t.Helper()
	if err := w.stack.Sim.Fail(t.Context(), "ec2:CreateFleet", "InternalError", moreThanTheSDKTries); err != nil {
		t.Fatal(err)
	}
	if err := w.stack.Cluster.Apply(t.Context(), []byte(last)); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, `sum(kerf_pod_count{kerf_pod_phase="running"}) >= 3 and sum(kerf_pod_left_pending) > 0 and sum(kerf_problem_count) > 0`)
	w.eventually(t, `sum(kerf_cluster_cost_floor_per_hour) > 0 and sum(kerf_node_kept) > 0 and sum(kerf_node_cost_per_hour) > 0`)
}

// eventually waits until an expression returns something.
func (w *world) eventually(t *testing.T, expr string) {
	t.Helper()
	harness.Eventually(t, expr, patience, func(ctx context.Context) (string, bool) {
		got, err := w.prometheus.Query(ctx, expr)
		return fmt.Sprint(got, err), len(got) > 0
	})
}

// metrics wants each metric of the reference, and each of Karpenter's names.
func (w *world) metrics(t *testing.T) {
	reference, err := os.ReadFile(filepath.Join(w.root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := w.prometheus.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile("(?m)^\\| `[a-z_.]+` `([a-z_]+)`|^\\| `(karpenter_[a-z_]+)`").FindAllStringSubmatch(string(reference), -1)
	if len(wanted) < 60 {
		t.Fatalf("the reference has %d metrics", len(wanted))
	}
	for _, m := range wanted {
		if name := m[1] + m[2]; !slices.Contains(names, name) && !slices.Contains(names, name+"_count") {
			t.Errorf("%s was never served", name)
		}
	}
	t.Logf("%d metrics of the reference were scraped", len(wanted))
}

// dashboard wants that each query of each panel returns a number.
func (w *world) dashboard(t *testing.T) {
	panels, err := observe.Dashboard(w.root)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, p := range panels {
		for _, target := range p.Targets {
			asked++
			expr := observe.Filled(target.Expr, "30m")
			got, err := w.prometheus.Query(t.Context(), expr)
			if err != nil {
				t.Errorf("%s: %v", p.Title, err)
			} else if !slices.ContainsFunc(got, func(s observe.Series) bool { return !math.IsNaN(s.Points[0].Value) }) {
				t.Errorf("%s: %s returns nothing: %v", p.Title, expr, got)
			}
		}
	}
	if asked < 50 {
		t.Errorf("%d queries", asked)
	}
	t.Logf("%d panels, %d queries", len(panels), asked)
}

// queries wants that what is asked of Karpenter's metrics returns a number.
func (w *world) queries(t *testing.T) {
	text, err := os.ReadFile("testdata/karpenter.promql")
	if err != nil {
		t.Fatal(err)
	}
	for expr := range strings.Lines(string(text)) {
		if expr = strings.TrimSpace(expr); strings.HasPrefix(expr, "#") {
			continue
		}
		got, err := w.prometheus.Query(t.Context(), expr)
		if err != nil || !slices.ContainsFunc(got, func(s observe.Series) bool { return !math.IsNaN(s.Points[0].Value) }) {
			t.Errorf("%s returns nothing: %v, %v", expr, got, err)
		}
	}
}

// drawn are the panels of docs/dashboard.svg, by title.
var drawn = []string{
	"Cost an hour", "Cost an hour, by pool and capacity type", "Saved against on-demand list prices, an hour", "Pods, by phase",
	"Age of the oldest unschedulable pod", "Claims, by state", "Nodes, by pool and capacity type", "Nodes disrupted, by reason",
	"Evictions", "Notices, by kind", "Plans, 50 % and 99 %", "AWS: calls a second",
}

// picture draws panels from what Prometheus has scraped.
func (w *world) picture(t *testing.T) {
	panels, err := observe.Dashboard(w.root)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var graphs []observe.Graph
	for _, title := range drawn {
		i := slices.IndexFunc(panels, func(p observe.Panel) bool { return p.Title == title && p.Type == "timeseries" })
		if i < 0 {
			t.Fatalf("there is no panel %s", title)
		}
		g := observe.Graph{Title: title, Unit: panels[i].Config.Defaults.Unit}
		for _, target := range panels[i].Targets {
			got, err := w.prometheus.Range(t.Context(), observe.Filled(target.Expr, "15s"), w.began, now, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range got {
				g.Lines = append(g.Lines, observe.Line{Name: observe.Name(target.Legend, s), Points: s.Points})
			}
		}
		if g.Lines = observe.Largest(g.Lines); len(g.Lines) == 0 {
			t.Errorf("%s shows nothing", title)
		}
		graphs = append(graphs, g)
	}
	picture := observe.Picture(graphs, w.began, now)
	if err := xml.Unmarshal(picture, new(struct{})); err != nil {
		t.Error(err)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(w.root, "docs/dashboard.svg"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// alerts wants that each alert was evaluated, over metrics that are there, and that none fires that would say that the
// story went wrong.
func (w *world) alerts(t *testing.T) {
	var rules []observe.Rule
	harness.Eventually(t, "all alerts to be evaluated", patience, func(ctx context.Context) (string, bool) {
		var err error
		rules, err = w.prometheus.Rules(ctx)
		return fmt.Sprint(rules, err), len(rules) > 0 && !slices.ContainsFunc(rules, func(r observe.Rule) bool { return r.Health == "unknown" })
	})
	names, err := w.prometheus.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runbooks, err := os.ReadFile(filepath.Join(w.root, "docs/runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	metric, labels := regexp.MustCompile(`\bkerf_[a-z_]+\b`), regexp.MustCompile(`\{[^}]*\}|(?:by|on) \([^)]*\)`)
	quiet := []string{"KerfNoLeader", "KerfNoDriver", "KerfPlansThrownAway", "KerfUnauthorized"}
	for _, r := range rules {
		if r.Health != "ok" {
			t.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
		}
		for _, name := range metric.FindAllString(labels.ReplaceAllString(r.Query, ""), -1) {
			if !slices.Contains(names, name) {
				t.Errorf("%s asks for %s, which is not there", r.Name, name)
			}
		}
		if !strings.Contains(string(runbooks), "\n## "+r.Name+"\n") {
			t.Errorf("%s has no section of docs/runbooks.md", r.Name)
		}
		if slices.Contains(quiet, r.Name) && r.State != "inactive" {
			t.Errorf("%s is %s", r.Name, r.State)
		}
	}
	t.Logf("%d alerts", len(rules))
}

// events wants that users find the events of what has happened, each under its name in docs/events.md.
func (w *world) events(t *testing.T) {
	want := []string{
		"Pod FailedScheduling", "Pod Nominated", "Pod Evicted", "NodeClaim Launched", "NodeClaim Registered", "NodeClaim Initialized",
		"NodeClaim Disrupted", "Node Disrupted", "NodeClaim Terminating", "NodeClaim SpotInterrupted", "Node SpotInterrupted",
		"NodeClaim Unconsolidatable", "Node Unconsolidatable",
	}
	reference, err := os.ReadFile(filepath.Join(w.root, "docs/events.md"))
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "all events", patience, func(ctx context.Context) (string, bool) {
		list, err := w.stack.Kubernetes.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "source=kerf"})
		if err != nil {
			return err.Error(), false
		}
		seen := map[string]bool{}
		for i := range list.Items {
			seen[list.Items[i].InvolvedObject.Kind+" "+list.Items[i].Reason] = true
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(e string) bool { return seen[e] })
		for e := range seen {
			if _, reason, _ := strings.Cut(e, " "); !strings.Contains(string(reference), "`"+reason+"`") {
				t.Errorf("docs/events.md has no %s", e)
			}
		}
		return fmt.Sprint("missing: ", missing), len(missing) == 0
	})
}

// lines wants that each service has written the log lines of docs/tracing.md, with their keys, and has sent them. All
// have been stopped.
func (w *world) lines(t *testing.T) {
	reference, err := os.ReadFile(filepath.Join(w.root, "docs/tracing.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(reference), "## Log lines")
	wanted := regexp.MustCompile("(?m)^\\| ([a-z, ]+) \\| ([^|`]+) \\| ([^|]*) \\| ").FindAllStringSubmatch(table, -1)
	if len(wanted) < 10 {
		t.Fatalf("the reference has %d lines", len(wanted))
	}
	sent := w.logs.Sent()
	for _, service := range stack.Services() {
		log, err := os.ReadFile(w.stack.Log(service))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, `"plan":"`) && !strings.Contains(line, `"trace_id":"`) {
				t.Errorf("%s has written about a plan without its trace: %s", service, line)
			}
		}
		for _, m := range wanted {
			if m[1] != "all" && m[1] != service {
				continue
			}
			has := false
			for line := range strings.Lines(string(log)) {
				has = has || strings.Contains(line, `"msg":"`+m[2]+`"`) && !slices.ContainsFunc(strings.Split(m[3], ", "), func(key string) bool {
					return key != "" && !strings.Contains(line, `"`+strings.Trim(key, "`")+`":`)
				})
			}
			if !has {
				t.Errorf("%s has not written %q with %s", service, m[2], m[3])
			}
			if !slices.ContainsFunc(sent, func(s observe.Sent) bool {
				return s.Service == "kerf-"+service && s.Message == m[2] && (s.Traced || !slices.Contains(s.Keys, "plan"))
			}) {
				t.Errorf("%s has not sent %q", service, m[2])
			}
		}
	}
}

// row is a row of the reference of spans, or of that of their events.
type row struct {
	span, event string
	attributes  []string
	links       bool
}

// spansOf reads docs/tracing.md.
func spansOf(t *testing.T, root string) []row {
	t.Helper()
	reference, err := os.ReadFile(filepath.Join(root, "docs/tracing.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	events := false
	for line := range strings.Lines(string(reference)) {
		if strings.HasPrefix(line, "## Log lines") {
			break
		}
		events = events || strings.HasPrefix(line, "## Events")
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 4 {
			continue
		}
		r := row{span: strings.Trim(cells[0], "|` "), links: strings.Contains(line, " Links: ")}
		if events {
			r.event = cells[1]
		}
		for a := range strings.SplitSeq(cells[2], ", ") {
			r.attributes = append(r.attributes, strings.Trim(a, "`"))
		}
		out = append(out, r)
	}
	if len(out) < 15 {
		t.Fatalf("the reference has %d spans and events", len(out))
	}
	return out
}

// spans wants that each span of the reference was sent, with its attributes, its events and its links.
func (w *world) spans(t *testing.T) {
	rows := spansOf(t, w.root)
	harness.Eventually(t, "all spans of the reference", patience, func(ctx context.Context) (string, bool) {
		all, err := w.everyTrace(ctx)
		var missing []string
		for _, r := range rows {
			if !slices.ContainsFunc(all, func(tr traces.Trace) bool { return slices.ContainsFunc(tr.Spans, r.is) }) {
				missing = append(missing, fmt.Sprint(r))
			}
		}
		return fmt.Sprint(len(all), " traces; missing: ", missing, err), err == nil && len(missing) == 0
	})
}

// everyTrace is what Jaeger has of all services; a trace of two of them is in it twice.
func (w *world) everyTrace(ctx context.Context) ([]traces.Trace, error) {
	var all []traces.Trace
	for _, service := range stack.Services() {
		of, err := w.jaeger.Traces(ctx, "kerf-"+service)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// is says whether a span is one of the row, with all attributes.
func (r row) is(s traces.Span) bool {
	all := func(has map[string]string) bool {
		return !slices.ContainsFunc(r.attributes, func(a string) bool { _, ok := has[a]; return !ok })
	}
	if s.Name != r.span || r.links && len(s.Links) == 0 {
		return false
	}
	if r.event == "" {
		return all(s.Attributes)
	}
	return slices.ContainsFunc(s.Events, func(e traces.Event) bool { return e.Name == r.event && all(e.Attributes) })
}

// tree fetches a trace that tells of pods from when they were pending until they were bound to the node that was bought
// for them.
func (w *world) tree(t *testing.T) {
	want := []string{
		"watcher.Batch", "planner.Plan", "actuator.Apply", "actuator.Launch", "actuator.Register", "actuator.Initialize", "watcher.Bind",
	}
	var best traces.Trace
	harness.Eventually(t, "a trace from pods pending to pods bound", patience, func(ctx context.Context) (string, bool) {
		all, err := w.jaeger.Traces(ctx, "kerf-watcher")
		nearest := want
		for _, tr := range all {
			if missing := tr.Missing(want...); len(missing) < len(nearest) {
				nearest = missing
			}
			failed := slices.ContainsFunc(tr.Spans, func(s traces.Span) bool { return s.Failed })
			if len(tr.Missing(want...)) == 0 && !failed && (best.ID == "" || len(tr.Spans) < len(best.Spans)) {
				best = tr
			}
		}
		return fmt.Sprint(len(all), " traces, of which the most complete has no ", nearest, err), best.ID != ""
	})
	bound, ready := 0, time.Time{}
	for _, s := range best.Spans {
		switch s.Name {
		case "actuator.Initialize":
			ready = s.End
		case "watcher.Bind":
			for _, e := range s.Events {
				if e.Name == "pod bound" {
					bound++
				}
			}
			if fmt.Sprint(bound) != s.Attributes["kerf.pods"] || bound == 0 {
				t.Errorf("%d of %s pods are bound", bound, s.Attributes["kerf.pods"])
			}
		}
	}
	if got := best.Services(); len(got) != 3 || ready.IsZero() {
		t.Errorf("services %v", got)
	}
	known := map[string]bool{"": true}
	for _, s := range best.Spans {
		known[s.ID] = true
	}
	for _, s := range best.Spans {
		if !known[s.Parent] {
			t.Errorf("the parent of %s is not in the trace", s.Name)
		}
	}
	var text strings.Builder
	if err := best.Write(&text, "kerf.pods", "kerf.plan.id", "kerf.claim.id"); err != nil {
		t.Fatal(err)
	}
	t.Logf("trace %s\n%s", best.ID, text.String())
	if *update {
		if err := os.WriteFile(filepath.Join(w.root, "docs/trace.txt"), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
