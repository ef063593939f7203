package metrics_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/internal/metrics"
)

const monitoring = "../../../deploy/monitoring"

// queries are the expressions of the dashboard and of the alerts, by panel or alert.
func queries(t *testing.T) map[string][]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	read(t, "kerf.json", &dashboard, json.Unmarshal)
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert string `json:"alert"`
					Expr  string `json:"expr"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	read(t, "rules.yaml", &rules, func(b []byte, into any) error { return yaml.Unmarshal(b, into) })
	out := map[string][]string{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			out[p.Title] = append(out[p.Title], target.Expr)
		}
	}
	for _, g := range rules.Spec.Groups {
		for _, r := range g.Rules {
			out[r.Alert] = append(out[r.Alert], r.Expr)
		}
	}
	return out
}

func read(t *testing.T, name string, into any, decode func([]byte, any) error) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(monitoring, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := decode(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestMonitoringAsksForMetricsOfTheTable wants that dashboards and alerts name metrics, labels and values that there are.
func TestMonitoringAsksForMetricsOfTheTable(t *testing.T) {
	table := map[string]metrics.Instrument{}
	for _, i := range metrics.Table() {
		name := i.PrometheusName()
		table[name] = i
		if i.Kind == metrics.Histogram {
			table[name+"_bucket"], table[name+"_count"], table[name+"_sum"] = i, i, i
		}
	}
	selector := regexp.MustCompile(`\b((?:kerf|http_client)_[a-z_]+)(\{[^}]*\})?`)
	matcher := regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping := regexp.MustCompile(`(?:by|on|group_left)\s*\([^)]*\)`)
	asked := 0
	for where, exprs := range queries(t) {
		for _, expr := range exprs {
			for _, m := range selector.FindAllStringSubmatch(grouping.ReplaceAllString(expr, ""), -1) {
				asked++
				i, ok := table[m[1]]
				if !ok {
					t.Errorf("%s: there is no metric %s", where, m[1])
					continue
				}
				for _, has := range matcher.FindAllStringSubmatch(m[2], -1) {
					if !says(i, has[1], has[2], has[3]) {
						t.Errorf("%s: %s has no label %s that may be %q", where, m[1], has[1], has[3])
					}
				}
			}
		}
	}
	if asked < 50 {
		t.Errorf("%d selectors were found", asked)
	}
}

// TestEveryMetricIsShown wants that the dashboard or an alert asks for each metric.
func TestEveryMetricIsShown(t *testing.T) {
	var all strings.Builder
	for _, exprs := range queries(t) {
		all.WriteString(strings.Join(exprs, "\n") + "\n")
	}
	for _, i := range metrics.Table() {
		if !strings.Contains(all.String(), i.PrometheusName()) {
			t.Errorf("deploy/monitoring has nothing for %s", i.PrometheusName())
		}
	}
}

func says(i metrics.Instrument, label, operator, value string) bool {
	if label == "cluster" { // the scraper's, and no attribute
		return true
	}
	for _, a := range i.Attributes {
		if strings.ReplaceAll(string(a.Key), ".", "_") == label {
			absent := value == "" // is how a query asks for what has no such label
			return operator != "=" || absent || len(a.Values) == 0 || slices.Contains(a.Values, value)
		}
	}
	return false
}
