// Package metricstest shows tests what a Recorder has recorded. Start reading at New.
package metricstest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/kerf-dev/kerf/services/internal/metrics"
)

// New makes a recorder, and what scrapers see of it.
func New(t *testing.T, of metrics.Service) (*metrics.Recorder, prometheus.Gatherer) {
	t.Helper()
	registry := prometheus.NewRegistry()
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		t.Fatal(err)
	}
	r, err := metrics.New(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"), of)
	if err != nil {
		t.Fatal(err)
	}
	return r, registry
}

// Series are the series whose metrics' names begin so, sorted, one a line: name, labels, value. Of a histogram it is
// the number of values. Series that are zero are left out where all is not set.
func Series(t *testing.T, g prometheus.Gatherer, prefix string, all bool) []string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		if len(f.GetMetric()) == 0 {
			t.Errorf("%s has no series: it cannot be served", f.GetName())
		}
		if !strings.HasPrefix(f.GetName(), prefix) {
			continue
		}
		for _, m := range f.GetMetric() {
			if v := value(m); all || v != 0 {
				out = append(out, line(f.GetName(), m, v))
			}
		}
	}
	slices.Sort(out)
	return out
}

func value(m *dto.Metric) float64 {
	if h := m.GetHistogram(); h != nil {
		return float64(h.GetSampleCount())
	}
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

func line(name string, m *dto.Metric, v float64) string {
	var b strings.Builder
	b.WriteString(name)
	for _, l := range m.GetLabel() {
		fmt.Fprintf(&b, " %s=%s", l.GetName(), l.GetValue())
	}
	fmt.Fprintf(&b, ": %v", v)
	return b.String()
}
