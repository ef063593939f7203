package measure

import (
	"slices"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/internal/metrics"
)

// forgotten is for how long the last call of an operation counts: twice as long as the longest pause between two tries.
const forgotten = 2 * time.Hour

// failing is which of the operations that are repeated for ever fail, and since when. Counts do not tell it: some are tried again
// after half an hour or an hour, so that no window holds two of their failures. Safe for concurrent use.
type failing struct {
	mu sync.Mutex
	of map[string]failed // by operation
}

// failed is since when all calls have failed, and when and how the last one did; "" where it did not.
type failed struct {
	since, last time.Time
	kind        string
}

// repeated says whether an operation is asked for again and again, whatever claims and plans there are: of the others an old failure
// says nothing.
func repeated(operation string) bool {
	return slices.Contains(metrics.Values(metrics.CloudFailing, metrics.Operation), operation)
}

// note takes the outcome of a call that began and ended then; kind is "" where it did not fail.
func (f *failing) note(operation, kind string, begun, ended time.Time) {
	if !repeated(operation) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.of[operation]
	if was.kind == "" || ended.Sub(was.last) > forgotten {
		was.since = begun
	}
	f.of[operation] = failed{since: was.since, last: ended, kind: kind}
}

func (f *failing) observe(o metrics.Observation, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for operation, x := range f.of {
		switch {
		case x.kind == "" || now.Sub(x.last) > forgotten:
			o.Set(metrics.CloudFailing, 0, metrics.Operation.String(operation))
		default:
			o.Set(metrics.CloudFailing, now.Sub(x.since).Seconds(), metrics.Operation.String(operation), metrics.ErrorType.String(x.kind))
		}
	}
}
