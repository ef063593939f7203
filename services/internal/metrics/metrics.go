// Package metrics is the one home of what Kerf measures: names, units, attributes, the sets their values come from, and the
// words of the reference. Services record through a Recorder by an instrument's ID, so that no name occurs anywhere else.
//
// It must never know where a figure comes from, and what decides must never know it: shells and adapters record. Start
// reading at table.go, then Recorder; legacy.go has Karpenter's names.
package metrics

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kerf-dev/kerf/services/internal/boot"
)

// Kind is how the values of an instrument come.
type Kind int

// The kinds.
const (
	// Counter only grows.
	Counter Kind = iota + 1
	// Histogram is a distribution.
	Histogram
	// Gauge is asked for when somebody collects.
	Gauge
)

// String is the word of the reference.
func (k Kind) String() string { return [...]string{"", "counter", "histogram", "gauge"}[k] }

// Instrument is a row of the reference.
type Instrument struct {
	ID   ID
	Name string
	Kind Kind
	Unit string
	// Services are who measures it.
	Services   []Service
	Attributes []Attribute
	// Text is a sentence.
	Text string
	// Buckets are the upper bounds of a histogram's.
	Buckets []float64
}

// Attribute is a dimension of an instrument.
type Attribute struct {
	Key attribute.Key
	// Values are all that there are; empty where they are names of the cluster's objects or the like.
	Values []string
	// Text says what it is where values do not.
	Text string
}

// Service is a process that measures.
type Service string

// The services, by the names that they start under.
const (
	Planner  Service = "planner"
	Watcher  Service = "watcher"
	Actuator Service = "actuator"
)

// Recorder records what one service measures. A nil Recorder records nothing and costs nothing. Safe for concurrent use.
type Recorder struct {
	meter      metric.Meter
	counters   map[ID]metric.Float64Counter
	histograms map[ID]metric.Float64Histogram
	gauges     map[ID]metric.Float64ObservableGauge
}

// For makes the recorder of a started service and has its metrics served under Karpenter's names, too, where its config
// says so. It is nil where metrics are off.
func For(svc *boot.Service, of Service, legacyNames bool) (*Recorder, error) {
	if !svc.Metering.On() {
		return nil, nil //nolint:nilnil // a nil Recorder works
	}
	if legacyNames {
		svc.Metering.Also(Legacy)
	}
	r, err := New(svc.Metering.Meter("kerf.dev/metrics"), of)
	if err != nil {
		return nil, err
	}
	v := boot.ReadVersion()
	return r, r.Observe(func(o Observation) {
		o.Set(BuildInfo, 1, Version.String(v.Version), Revision.String(v.Revision), GoVersion.String(v.Go))
		o.Set(CertificateLeft, svc.Certificates.Left())
	})
}

// New makes the instruments of a service.
func New(m metric.Meter, of Service) (*Recorder, error) {
	r := &Recorder{
		meter: m, counters: map[ID]metric.Float64Counter{}, histograms: map[ID]metric.Float64Histogram{},
		gauges: map[ID]metric.Float64ObservableGauge{},
	}
	for _, i := range Table() {
		if !i.by(of) {
			continue
		}
		if err := r.make(i); err != nil {
			return nil, fmt.Errorf("metric %s: %w", i.Name, err)
		}
	}
	return r, nil
}

// Values are all that an attribute of an instrument may be.
func Values(id ID, key attribute.Key) []string {
	for _, i := range Table() {
		for _, a := range i.Attributes {
			if i.ID == id && a.Key == key {
				return a.Values
			}
		}
	}
	return nil
}

func (i Instrument) by(of Service) bool {
	return slices.Contains(i.Services, of)
}

func (r *Recorder) make(i Instrument) (err error) {
	unit, text := metric.WithUnit(i.Unit), metric.WithDescription(i.Text)
	switch i.Kind {
	case Counter:
		r.counters[i.ID], err = r.meter.Float64Counter(i.Name, unit, text)
		if err == nil {
			r.begin(i)
		}
	case Histogram:
		r.histograms[i.ID], err = r.meter.Float64Histogram(i.Name, unit, text, metric.WithExplicitBucketBoundaries(i.Buckets...))
	case Gauge:
		r.gauges[i.ID], err = r.meter.Float64ObservableGauge(i.Name, unit, text)
	}
	return err
}

// begin begins a counter's series at zero where all of them are known, so that the first event is a growth that queries
// see.
func (r *Recorder) begin(i Instrument) {
	series := [][]attribute.KeyValue{nil}
	for _, a := range i.Attributes {
		var next [][]attribute.KeyValue
		for _, s := range series {
			for _, v := range a.Values {
				next = append(next, append(slices.Clip(s), a.Key.String(v)))
			}
		}
		series = next
	}
	for _, s := range series {
		r.counters[i.ID].Add(context.Background(), 0, metric.WithAttributes(s...))
	}
}

// Add adds to a counter.
func (r *Recorder) Add(id ID, n float64, attributes ...attribute.KeyValue) {
	if r == nil {
		return
	}
	r.counters[id].Add(context.Background(), n, metric.WithAttributes(attributes...))
}

// Record records one value of a histogram.
func (r *Recorder) Record(id ID, v float64, attributes ...attribute.KeyValue) {
	if r == nil {
		return
	}
	r.histograms[id].Record(context.Background(), v, metric.WithAttributes(attributes...))
}

// Observation is one collection.
type Observation struct {
	to     metric.Observer
	gauges map[ID]metric.Float64ObservableGauge
}

// Set says what a gauge is now.
func (o Observation) Set(id ID, v float64, attributes ...attribute.KeyValue) {
	o.to.ObserveFloat64(o.gauges[id], v, metric.WithAttributes(attributes...))
}

// Observe has f called at each collection, from any goroutine, to set gauges. What f does not set is not there.
func (r *Recorder) Observe(f func(Observation)) error {
	if r == nil {
		return nil
	}
	all := make([]metric.Observable, 0, len(r.gauges))
	for _, g := range r.gauges {
		all = append(all, g)
	}
	_, err := r.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		f(Observation{to: to, gauges: r.gauges})
		return nil
	}, all...)
	return err
}
