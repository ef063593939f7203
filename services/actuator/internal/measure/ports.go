package measure

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/metrics"
)

// since records how long something took that has begun then, and the kind of its error.
func (m *Measure) since(begun time.Time, id metrics.ID, failed string, attributes ...attribute.KeyValue) {
	if failed != "" {
		attributes = append(attributes, metrics.ErrorType.String(failed))
	}
	m.recorder.Record(id, time.Since(begun).Seconds(), attributes...)
}

// asked is a request to AWS.
func (m *Measure) asked(operation string, f func() error) error {
	return m.askedFor(subject{operation: operation}, f)
}

// askedFor is one that may be for an object.
func (m *Measure) askedFor(s subject, f func() error) error {
	_, err := answeredFor(m, s, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// answered is a request to AWS that has an answer.
func answered[T any](m *Measure, operation string, f func() (T, error)) (T, error) {
	return answeredFor(m, subject{operation: operation}, f)
}

// answeredFor is one that may be for an object.
func answeredFor[T any](m *Measure, s subject, f func() (T, error)) (T, error) {
	begun := time.Now()
	answer, err := f()
	kind := cloudError(err)
	m.since(begun, metrics.CloudDuration, kind, metrics.Operation.String(s.operation))
	if !errors.Is(err, context.Canceled) { // the term is over, which says nothing of AWS
		m.failing.note(s, kind, begun, time.Now())
	}
	return answer, err
}

func cloudError(err error) string {
	var capacity *cloud.CapacityError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &capacity):
		return metrics.ErrorCapacity
	case errors.Is(err, cloud.ErrThrottled):
		return metrics.ErrorThrottled
	case awserror.Protected(err):
		return metrics.ErrorInvalid
	case errors.Is(err, cloud.ErrUnauthorized):
		return metrics.ErrorUnauthorized
	case errors.Is(err, cloud.ErrClassNotReady):
		return metrics.ErrorNotReady
	case errors.Is(err, cloud.ErrInvalid), errors.Is(err, cloud.ErrTokenMismatch):
		return metrics.ErrorInvalid
	}
	switch awserror.Of(err) { // of ports that have no words for it, as the queue's
	case awserror.Unauthorized:
		return metrics.ErrorUnauthorized
	case awserror.Throttled:
		return metrics.ErrorThrottled
	case awserror.NotFound:
		return metrics.ErrorNotFound
	default:
		return metrics.ErrorOther
	}
}

// Cloud measures a cloud.
func (m *Measure) Cloud(next cloud.Cloud) cloud.Cloud {
	if m == nil {
		return next
	}
	return measuredCloud{next, m}
}

type measuredCloud struct {
	cloud.Cloud
	m *Measure
}

// Launch implements cloud.Cloud.
func (c measuredCloud) Launch(ctx context.Context, r cloud.Request) ([]cloud.Instance, error) {
	capacity := ""
	if len(r.Offerings) > 0 {
		capacity = r.Offerings[0].CapacityType.String()
	}
	begun := time.Now()
	got, err := answered(c.m, "launch", func() ([]cloud.Instance, error) { return c.Cloud.Launch(ctx, r) })
	c.m.since(begun, metrics.LaunchDuration, cloudError(err), metrics.Pool.String(string(r.NodePool)), metrics.CapacityType.String(capacity))
	return got, err
}

// Tag implements cloud.Cloud.
func (c measuredCloud) Tag(ctx context.Context, i cloud.Instance) error {
	return c.m.asked("tag", func() error { return c.Cloud.Tag(ctx, i) })
}

// Terminate implements cloud.Cloud.
func (c measuredCloud) Terminate(ctx context.Context, ids ...string) error {
	return c.m.asked("terminate", func() error { return c.Cloud.Terminate(ctx, ids...) })
}

// Instances implements cloud.Cloud.
func (c measuredCloud) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	return answered(c.m, "instances", func() ([]cloud.Instance, error) { return c.Cloud.Instances(ctx, some...) })
}

// Classes measures the resolution of node classes.
func (m *Measure) Classes(next cloud.Classes) cloud.Classes {
	if m == nil {
		return next
	}
	return measuredClasses{next, m}
}

type measuredClasses struct {
	cloud.Classes
	m *Measure
}

// classObject is a class as a metric names it.
func classObject(name model.NodeClassName) string { return "ec2nodeclass/" + string(name) }

// Resolve implements cloud.Classes.
func (c measuredClasses) Resolve(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return answeredFor(c.m, subject{"resolve_class", classObject(s.Name)}, func() (cloud.Class, error) { return c.Classes.Resolve(ctx, s) })
}

// Release implements cloud.Classes.
func (c measuredClasses) Release(ctx context.Context, s cloud.ClassSpec) error {
	return c.m.askedFor(subject{"release_class", classObject(s.Name)}, func() error { return c.Classes.Release(ctx, s) })
}

// Sweep implements cloud.Classes.
func (c measuredClasses) Sweep(ctx context.Context, unused time.Duration) ([]string, error) {
	return answered(c.m, "sweep_class", func() ([]string, error) { return c.Classes.Sweep(ctx, unused) })
}

// Market measures a market.
func (m *Measure) Market(next cloud.Market) cloud.Market {
	if m == nil {
		return next
	}
	return measuredMarket{next, m}
}

type measuredMarket struct {
	cloud.Market
	m *Measure
}

// InstanceTypes implements cloud.Market.
func (c measuredMarket) InstanceTypes(ctx context.Context) ([]catalog.Type, error) {
	return answered(c.m, "instance_types", func() ([]catalog.Type, error) { return c.Market.InstanceTypes(ctx) })
}

// OnDemandPrices implements cloud.Market.
func (c measuredMarket) OnDemandPrices(ctx context.Context) (map[model.TypeName]int64, error) {
	return answered(c.m, "on_demand_prices", func() (map[model.TypeName]int64, error) { return c.Market.OnDemandPrices(ctx) })
}

// SpotPrices implements cloud.Market.
func (c measuredMarket) SpotPrices(ctx context.Context) (map[cloud.TypeZone]int64, error) {
	return answered(c.m, "spot_prices", func() (map[cloud.TypeZone]int64, error) { return c.Market.SpotPrices(ctx) })
}

// Checks measures what is asked about instances' checks.
func (m *Measure) Checks(next cloud.Checks) cloud.Checks {
	if m == nil {
		return next
	}
	return measuredChecks{next, m}
}

type measuredChecks struct {
	cloud.Checks
	m *Measure
}

// Statuses implements cloud.Checks.
func (c measuredChecks) Statuses(ctx context.Context) ([]cloud.Status, error) {
	return answered(c.m, "instance_statuses", func() ([]cloud.Status, error) { return c.Checks.Statuses(ctx) })
}

// Shifts measures what is asked about zonal shifts; nil stays nil.
func (m *Measure) Shifts(next cloud.Shifts) cloud.Shifts {
	if m == nil || next == nil {
		return next
	}
	return measuredShifts{next, m}
}

type measuredShifts struct {
	cloud.Shifts
	m *Measure
}

// ShiftedZones implements cloud.Shifts.
func (c measuredShifts) ShiftedZones(ctx context.Context) ([]string, error) {
	return answered(c.m, "shifted_zones", func() ([]string, error) { return c.Shifts.ShiftedZones(ctx) })
}

// Queue measures a queue; nil stays nil.
func (m *Measure) Queue(next cloud.Queue) cloud.Queue {
	if m == nil || next == nil {
		return next
	}
	return measuredQueue{next, m}
}

type measuredQueue struct {
	cloud.Queue
	m *Measure
}

// Receive implements cloud.Queue.
func (c measuredQueue) Receive(ctx context.Context) ([]cloud.Message, error) {
	return answered(c.m, "receive_notices", func() ([]cloud.Message, error) { return c.Queue.Receive(ctx) })
}

// Delete implements cloud.Queue.
func (c measuredQueue) Delete(ctx context.Context, receipts []string) error {
	return c.m.asked("delete_notices", func() error { return c.Queue.Delete(ctx, receipts) })
}

// Store measures a store.
func (m *Measure) Store(next store.Store) store.Store {
	if m == nil {
		return next
	}
	return measuredStore{next, m}
}

type measuredStore struct {
	store.Store
	m *Measure
}

// Load implements store.Store.
func (s measuredStore) Load(ctx context.Context) (store.Contents, error) {
	begun := time.Now()
	got, err := s.Store.Load(ctx)
	s.m.since(begun, metrics.StoreDuration, storeError(err), metrics.Operation.String("load"))
	return got, err
}

// Commit implements store.Store.
func (s measuredStore) Commit(ctx context.Context, fence store.Fence, b store.Batch) (store.Revision, error) {
	operation := "commit"
	if b.Writes() == 0 {
		operation = "lead"
	}
	begun := time.Now()
	got, err := s.Store.Commit(ctx, fence, b)
	s.m.since(begun, metrics.StoreDuration, storeError(err), metrics.Operation.String(operation))
	return got, err
}

func storeError(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, store.ErrFenced):
		return metrics.ErrorFenced
	case errors.Is(err, store.ErrTooLarge):
		return metrics.ErrorTooLarge
	default:
		return metrics.ErrorOther
	}
}

// Cluster measures evictions.
func (m *Measure) Cluster(next cluster.Cluster) cluster.Cluster {
	if m == nil {
		return next
	}
	return measuredCluster{next, m}
}

type measuredCluster struct {
	cluster.Cluster
	m *Measure
}

// Evict implements cluster.Cluster.
func (c measuredCluster) Evict(ctx context.Context, e cluster.Eviction) error {
	err := c.Cluster.Evict(ctx, e)
	result := metrics.Evicted
	switch {
	case errors.Is(err, cluster.ErrNotFound):
		return err // it has gone by itself
	case errors.Is(err, cluster.ErrBlocked):
		result = metrics.Blocked
	case err != nil:
		result = metrics.Failed
	case e.Force:
		result = metrics.Deleted
	}
	c.m.recorder.Add(metrics.Evictions, 1, metrics.Result.String(result))
	return err
}
