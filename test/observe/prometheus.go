package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// startTimeout is far beyond the second that these take, for machines that compile something beside them.
const startTimeout = 2 * time.Minute

// Prometheus is one that runs. Its methods are safe for concurrent use.
type Prometheus struct {
	process *proc.Process
	url     string
}

// StartPrometheus starts one that scrapes the targets, host:port each, by the second, and evaluates the groups of
// rules. Its files are in dir.
func StartPrometheus(ctx context.Context, dir string, targets []string, groups any) (*Prometheus, error) {
	config := map[string]any{
		"global":         map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files":     []string{filepath.Join(dir, "rules.yml")},
		"scrape_configs": []any{map[string]any{"job_name": "kerf", "static_configs": []any{map[string]any{"targets": targets}}}},
	}
	for file, v := range map[string]any{"prometheus.yml": config, "rules.yml": groups} {
		data, err := yaml.Marshal(v)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			return nil, err
		}
	}
	at, err := address()
	if err != nil {
		return nil, err
	}
	p, err := program(ctx, assets.Prometheus, filepath.Join(dir, "prometheus.log"), nil, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "prometheus"), "--web.listen-address="+at, "--log.level=warn")
	if err != nil {
		return nil, err
	}
	return &Prometheus{process: p, url: "http://" + at}, await(ctx, p, "http://"+at+"/-/ready")
}

// Stop ends it.
func (p *Prometheus) Stop() error { return p.process.Stop() }

// Series is what a query returns of one series.
type Series struct {
	Labels map[string]string
	Points []Point
}

// Point is a value at a time.
type Point struct {
	At    time.Time
	Value float64
}

// UnmarshalJSON reads [seconds, "value"].
func (p *Point) UnmarshalJSON(data []byte) error {
	var at float64
	var value string
	if err := json.Unmarshal(data, &[]any{&at, &value}); err != nil {
		return err
	}
	p.At = time.UnixMilli(int64(at * 1000))
	var err error
	p.Value, err = strconv.ParseFloat(value, 64)
	return err
}

// Query evaluates an expression now.
func (p *Prometheus) Query(ctx context.Context, expr string) ([]Series, error) {
	return p.query(ctx, "query", url.Values{"query": {expr}})
}

// Range evaluates an expression at each step of a time.
func (p *Prometheus) Range(ctx context.Context, expr string, from, to time.Time, step time.Duration) ([]Series, error) {
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	return p.query(ctx, "query_range", url.Values{
		"query": {expr}, "start": {seconds(from)}, "end": {seconds(to)}, "step": {step.String()},
	})
}

func (p *Prometheus) query(ctx context.Context, call string, q url.Values) ([]Series, error) {
	var data struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Metric map[string]string `json:"metric"`
			Value  *Point            `json:"value"`
			Values []Point           `json:"values"`
		} `json:"result"`
	}
	if err := p.get(ctx, call+"?"+q.Encode(), &data); err != nil {
		return nil, err
	}
	var out []Series
	for _, r := range data.Result {
		if r.Value != nil {
			r.Values = []Point{*r.Value}
		}
		out = append(out, Series{Labels: r.Metric, Points: r.Values})
	}
	return out, nil
}

// Names are the names of all metrics that were ever scraped.
func (p *Prometheus) Names(ctx context.Context) ([]string, error) {
	var names []string
	return names, p.get(ctx, "label/__name__/values", &names)
}

// Rule is an alert as Prometheus has evaluated it.
type Rule struct {
	Name      string `json:"name"`
	Query     string `json:"query"`
	State     string `json:"state"`
	Health    string `json:"health"`
	LastError string `json:"lastError"`
}

// Rules are all alerts.
func (p *Prometheus) Rules(ctx context.Context) ([]Rule, error) {
	var data struct {
		Groups []struct {
			Rules []Rule `json:"rules"`
		} `json:"groups"`
	}
	if err := p.get(ctx, "rules?type=alert", &data); err != nil {
		return nil, err
	}
	var out []Rule
	for _, g := range data.Groups {
		out = append(out, g.Rules...)
	}
	return out, nil
}

// Parse is an expression as Prometheus' own parser reads it: the objects that /api/v1/parse_query has for its nodes.
func (p *Prometheus) Parse(ctx context.Context, expr string) (any, error) {
	var node any
	return node, p.get(ctx, "parse_query?"+url.Values{"query": {expr}}.Encode(), &node)
}

// get asks the API for what it calls data.
func (p *Prometheus) get(ctx context.Context, call string, into any) error {
	var answer struct {
		Error string          `json:"error"`
		Data  json.RawMessage `json:"data"`
	}
	if err := get(ctx, p.url+"/api/v1/"+call, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("prometheus, %s: %s", call, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}
