package observe_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/observe"
)

// The label that tells clusters apart where one Prometheus has several, and how the summary of an alert says it.
const (
	cluster = "cluster"
	said    = "{{ with $labels.cluster }}{{ . }}: {{ end }}"
)

// suite is a file of promtool's unit tests.
type suite struct {
	RuleFiles []string    `json:"rule_files"`
	Every     string      `json:"evaluation_interval"`
	Cases     []alertCase `json:"tests"`
}

type alertCase struct {
	Name     string        `json:"name"`
	Interval string        `json:"interval"`
	Series   []inputSeries `json:"input_series"`
	Asks     []ask         `json:"promql_expr_test"`
}

type inputSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type ask struct {
	Expr string `json:"expr"`
	At   string `json:"eval_time"`
	Want []any  `json:"exp_samples"`
}

// TestAlertsOfClustersAreApart runs the cases of testdata/alerts.yaml once more, all at once: each is a cluster of its
// own, and one Prometheus has all of them. Each cluster must have the alerts that it has alone, whatever goes well or
// wrong in the others, and there are none that are no cluster's.
func TestAlertsOfClustersAreApart(t *testing.T) {
	var alone suite
	if err := yaml.Unmarshal(alertTests(t), &alone); err != nil {
		t.Fatal(err)
	}
	fleets := map[string]*alertCase{} // by the interval of their series, which promtool has one of in a case
	joined := 0
	for _, c := range alone.Cases {
		// What has no series can't be seen beside others, and what tells clusters apart already is one of these.
		if len(c.Series) == 0 || strings.Contains(c.Series[0].Series, cluster+"=") {
			continue
		}
		if fleets[c.Interval] == nil {
			fleets[c.Interval] = &alertCase{Name: "a fleet, " + c.Interval, Interval: c.Interval}
		}
		fleets[c.Interval].join(t, c)
		joined++
	}
	if joined < 10 || len(fleets) < 2 {
		t.Fatalf("%d clusters in %d fleets", joined, len(fleets))
	}
	together := suite{RuleFiles: alone.RuleFiles, Every: alone.Every}
	for _, f := range fleets {
		together.Cases = append(together.Cases, *f)
	}
	tests, err := yaml.Marshal(together)
	if err != nil {
		t.Fatal(err)
	}
	promtool(t, tests)
}

// join adds what is in a case as a cluster of the case's name.
func (f *alertCase) join(t *testing.T, c alertCase) {
	t.Helper()
	label := fmt.Sprintf("%s=%q", cluster, c.Name)
	informs := false
	for _, s := range c.Series {
		name, labels, _ := strings.Cut(strings.TrimSuffix(s.Series, "}"), "{")
		informs = informs || name == "kerf_build_info"
		f.Series = append(f.Series, inputSeries{Series: name + "{" + strings.Trim(label+", "+labels, ", ") + "}", Values: s.Values})
	}
	if !informs { // which each service has
		f.Series = append(f.Series, inputSeries{Series: "kerf_build_info{" + label + "}", Values: "1x2000"})
	}
	for _, a := range c.Asks {
		if strings.Count(a.Expr, "ALERTS{") != 1 || len(a.Want) > 0 && !strings.HasPrefix(a.Expr, "count by (") {
			t.Fatalf("%s: what would a cluster of a fleet answer to %s?", c.Name, a.Expr)
		}
		of := func(labels string) string { return strings.Replace(a.Expr, "ALERTS{", "ALERTS{"+labels+", ", 1) }
		f.Asks = append(f.Asks,
			ask{Expr: of(label), At: a.At, Want: a.Want},
			ask{Expr: of(cluster + `=""`), At: a.At, Want: []any{}})
	}
}

// TestQueriesKeepClustersApart reads each expression with Prometheus' own parser. No aggregation and no join of an
// alert may mix clusters; a panel may add up those that are chosen, but neither join nor show others. A summary says
// which cluster it is about.
func TestQueriesKeepClustersApart(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Prometheus, which -short leaves out")
	}
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	prometheus, err := observe.StartPrometheus(t.Context(), t.TempDir(), nil, map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	stopped(t, prometheus.Stop)
	for _, r := range alertRules(t) {
		tree, err := prometheus.Parse(t.Context(), r.Expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range slices.Concat(mixed(tree), mixedUp(tree)) {
			t.Errorf("%s: %s", r.Alert, wrong)
		}
		if !strings.HasPrefix(r.Annotations["summary"], said) {
			t.Errorf("%s: the summary does not begin with %s", r.Alert, said)
		}
	}
	panels, err := observe.Dashboard(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range panels {
		for _, target := range p.Targets {
			tree, err := prometheus.Parse(t.Context(), observe.Filled(target.Expr, "30m"))
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range slices.Concat(mixed(tree), unchosen(tree)) {
				t.Errorf("%s: %s", p.Title, wrong)
			}
		}
	}
}

// mixed are the joins that bring series of several clusters together.
func mixed(tree any) []string {
	var out []string
	walk(tree, func(node map[string]any) {
		matching, _ := node["matching"].(map[string]any)
		if matching == nil {
			return
		}
		if on := matching["on"] == true; on != names(matching["labels"], cluster) {
			out = append(out, fmt.Sprintf("%s joins without regard to the cluster: on %v, labels %v", node["op"], on, matching["labels"]))
		}
	})
	return out
}

// mixedUp are the aggregations and functions after which it is not known of which cluster a series is.
func mixedUp(tree any) []string {
	var out []string
	walk(tree, func(node map[string]any) {
		switch node["type"] {
		case "aggregation":
			if without := node["without"] == true; without == names(node["grouping"], cluster) {
				out = append(out, fmt.Sprintf("%s mixes clusters: without %v, labels %v", node["op"], without, node["grouping"]))
			}
		case "call":
			if f, _ := node["func"].(map[string]any); slices.Contains([]any{"vector", "scalar"}, f["name"]) {
				out = append(out, fmt.Sprintf("what %s returns is no cluster's", f["name"]))
			}
		}
	})
	return out
}

// unchosen are the selectors that have series of clusters that the user of a dashboard did not choose.
func unchosen(tree any) []string {
	var out []string
	walk(tree, func(node map[string]any) {
		matchers, ok := node["matchers"].([]any)
		if ok && !slices.ContainsFunc(matchers, func(m any) bool {
			matcher, _ := m.(map[string]any)
			return matcher["name"] == cluster && matcher["type"] == "=~"
		}) {
			out = append(out, fmt.Sprintf(`%s has no cluster=~"$cluster"`, node["name"]))
		}
	})
	return out
}

// walk visits all objects of a parsed expression.
func walk(node any, visit func(map[string]any)) {
	switch n := node.(type) {
	case map[string]any:
		visit(n)
		for _, child := range n {
			walk(child, visit)
		}
	case []any:
		for _, child := range n {
			walk(child, visit)
		}
	}
}

// names says whether a list has a label.
func names(list any, label string) bool {
	labels, _ := list.([]any)
	return slices.Contains(labels, any(label))
}
