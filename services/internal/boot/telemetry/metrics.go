package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
)

// maxSeries is how many series one metric may have. What comes beyond is summed up in one that says
// otel_metric_overflow="true".
const maxSeries = 1000

// maxScrapes is how many answers are made at once; the others wait for the scraper's patience.
const maxScrapes = 2

// MetricsConfig is the "metrics" section of a service's config. Metrics are served on health_listen, and pushed where
// the environment says by OTLP.
type MetricsConfig struct {
	// LegacyNames serves the metrics that have a counterpart in Karpenter under Karpenter's names as well.
	LegacyNames bool `json:"legacy_names"`
}

// Metering makes meters, and serves what they have measured. The zero value is off: it measures nothing.
type Metering struct {
	provider *sdkmetric.MeterProvider // nil: off
	// scraped is what is served; nil where nothing is.
	scraped *prometheus.Registry
	log     *slog.Logger
	also    prometheus.Gatherer
}

// MeteringOptions say what is measured for whom. All but Scraped are required.
type MeteringOptions struct {
	// Getenv reads the OTEL_* variables; the exporters read the rest of them themselves.
	Getenv           func(string) string
	Log              *slog.Logger
	Service, Version string
	// Scraped says that the metrics are served.
	Scraped bool
}

// StartMetering makes a Metering that is served, if that is so, and pushes by OTLP where the environment says so; with
// neither it is off. It is never global, so that services which share a process do not meet.
func StartMetering(ctx context.Context, o MeteringOptions) (*Metering, error) {
	pushed, err := wanted(o.Getenv, "METRICS")
	if err != nil || disabled(o.Getenv) || !o.Scraped && !pushed {
		return &Metering{}, err
	}
	res, err := newResource(ctx, o.Service, o.Version)
	if err != nil {
		return nil, err
	}
	m := &Metering{log: o.Log}
	// Exemplars would keep a reservoir for each bucket of each series.
	options := []sdkmetric.Option{
		sdkmetric.WithResource(res), sdkmetric.WithCardinalityLimit(maxSeries), sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter),
	}
	if o.Scraped {
		m.scraped = prometheus.NewRegistry()
		reader, err := otelprometheus.New(otelprometheus.WithRegisterer(m.scraped), otelprometheus.WithoutScopeInfo())
		if err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
		m.scraped.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		options = append(options, sdkmetric.WithReader(reader))
	}
	if pushed {
		exporter, err := newMetricExporter(ctx, o.Getenv)
		if err != nil {
			return nil, err
		}
		reportFailures(o.Log)
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	m.provider = sdkmetric.NewMeterProvider(options...)
	return m, nil
}

// newMetricExporter picks the wire protocol; unset means grpc.
func newMetricExporter(ctx context.Context, getenv func(string) string) (sdkmetric.Exporter, error) {
	web, err := overHTTP(getenv, "METRICS")
	if err != nil {
		return nil, err
	}
	if web {
		return otlpmetrichttp.New(ctx)
	}
	return otlpmetricgrpc.New(ctx)
}

// On says whether anything is measured at all.
func (m *Metering) On() bool { return m.provider != nil }

// Meter returns a meter of that name; while metering is off one that does nothing.
func (m *Metering) Meter(name string) metric.Meter {
	if m.provider == nil {
		return noop.Meter{}
	}
	return m.provider.Meter(name)
}

// Also adds to what is served what f makes of it. Call it before Handler.
func (m *Metering) Also(f func(prometheus.Gatherer) prometheus.Gatherer) {
	if m.scraped != nil {
		m.also = f(m.gatherer())
	}
}

func (m *Metering) gatherer() prometheus.Gatherer {
	if m.also != nil {
		return m.also
	}
	return m.scraped
}

// Handler serves the metrics in Prometheus' formats; nil where they are not scraped.
func (m *Metering) Handler() http.Handler {
	if m.scraped == nil {
		return nil
	}
	return promhttp.HandlerFor(m.gatherer(), promhttp.HandlerOpts{
		ErrorLog: scrapeLog{m.log}, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes,
	})
}

// Shutdown pushes what was measured last, until ctx ends.
func (m *Metering) Shutdown(ctx context.Context) error {
	if m == nil || m.provider == nil {
		return nil
	}
	err := m.provider.Shutdown(ctx)
	if errors.Is(err, sdkmetric.ErrReaderShutdown) {
		return nil // it was called before
	}
	return err
}

// scrapeLog takes the errors of answers to scrapers.
type scrapeLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) { l.log.Warn("serve metrics", KeyError, fmt.Sprint(v...)) }
