package metrics

import (
	"strings"

	"github.com/prometheus/otlptranslator"
)

// PrometheusName is the instrument's name as scrapers see it.
func (i Instrument) PrometheusName() string {
	kind := map[Kind]otlptranslator.MetricType{
		Counter: otlptranslator.MetricTypeMonotonicCounter, Histogram: otlptranslator.MetricTypeHistogram, Gauge: otlptranslator.MetricTypeGauge,
	}[i.Kind]
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	name, err := namer.Build(otlptranslator.Metric{Name: i.Name, Unit: i.Unit, Type: kind})
	if err != nil {
		return ""
	}
	return name
}

// label is an attribute's name as scrapers see it.
func label(key string) string { return strings.ReplaceAll(key, ".", "_") }
