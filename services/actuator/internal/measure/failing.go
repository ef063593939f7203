package measure

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kerf-dev/kerf/services/internal/metrics"
)

const (
	// forgotten is for how long the last call of an operation counts: twice as long as the longest pause between two tries.
	forgotten = 2 * time.Hour
	// objectForgotten is the same of what is done for one object, which is tried again each minute while it fails, and
	// may take two. It is less than what alerts wait for: what is not tried any more, as the object is being deleted,
	// is no failure.
	objectForgotten = 5 * time.Minute
	// mostObjects is for how many of them a failure is remembered: where so many fail the cause is not the object.
	mostObjects = 100
)

// failing is which of the operations that are repeated for ever fail, and since when. Counts do not tell it: some are
// tried again after half an hour or an hour, so that no window holds two of their failures. Safe for concurrent use.
type failing struct {
	mu sync.Mutex
	of map[subject]failed
}

// subject is an operation; of those that are done for each object, as for each class, with the object, such as
// ec2nodeclass/default, while it fails: one that is well hides none that always fails.
type subject struct{ operation, object string }

// failed is since when all calls have failed, and when and how the last one did; "" where it did not.
type failed struct {
	since, last time.Time
	kind        string
}

// over says that the last call is too old to count.
func (x failed) over(s subject, now time.Time) bool {
	if s.object != "" {
		return now.Sub(x.last) >= objectForgotten
	}
	return now.Sub(x.last) > forgotten
}

// repeated says whether an operation is asked for again and again, whatever claims and plans there are: of the others
// an old failure says nothing.
func repeated(operation string) bool {
	return slices.Contains(metrics.Values(metrics.CloudFailing, metrics.Operation), operation)
}

// note takes the outcome of a call that began and ended then; kind is "" where it did not fail.
func (f *failing) note(s subject, kind string, begun, ended time.Time) {
	if !repeated(s.operation) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	was, known := f.of[s]
	if s.object != "" {
		if kind == "" {
			delete(f.of, s)
			return
		}
		if !known && f.objects(ended) >= mostObjects {
			return
		}
	}
	if was.kind == "" || was.over(s, ended) {
		was.since = begun
	}
	f.of[s] = failed{since: was.since, last: ended, kind: kind}
}

// objects is for how many objects something fails; it forgets what is too old.
func (f *failing) objects(now time.Time) int {
	n := 0
	for s, x := range f.of {
		switch {
		case s.object == "":
		case x.over(s, now):
			delete(f.of, s)
		default:
			n++
		}
	}
	return n
}

// observe shows it. Of objects that there says are gone nothing is left.
func (f *failing) observe(o metrics.Observation, there func(object string) bool, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s, x := range f.of {
		attributes := []attribute.KeyValue{metrics.Operation.String(s.operation)}
		switch {
		case s.object != "" && (!there(s.object) || x.over(s, now)):
			delete(f.of, s)
			continue
		case x.kind == "" || x.over(s, now):
			o.Set(metrics.CloudFailing, 0, attributes...)
			continue
		case s.object != "":
			attributes = append(attributes, metrics.Object.String(s.object))
		}
		o.Set(metrics.CloudFailing, now.Sub(x.since).Seconds(), append(attributes, metrics.ErrorType.String(x.kind))...)
	}
}
