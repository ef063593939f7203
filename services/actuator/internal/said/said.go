// Package said remembers which events were written about which objects, so that nothing is said twice and no object has too
// many. It knows nothing of how they are written. Start reading at Said.
package said

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
)

const (
	// life is how long the API server keeps an event; what is still true then is said again.
	life = time.Hour
	// most bounds what is remembered. Forgetting costs a repeated event at worst.
	most = 20_000
	// An object has Burst events at once, and one more every so often: users want the last ones, and an object on which something
	// flaps must not fill etcd.
	Burst = 25
	every = time.Minute
)

// Said remembers what was said last about each object and reason. Safe for concurrent use.
type Said struct {
	now  watch
	spam *record.EventSourceObjectSpamFilter

	mu   sync.Mutex
	last map[about]what
	seed maphash.Seed
}

type about struct{ kind, namespace, name, uid, reason string }

// what keeps a message as its hash: messages are long, and two that collide cost one event.
type what struct {
	message uint64
	at      time.Time
}

// New makes one that has said nothing.
func New(now func() time.Time) *Said {
	return &Said{
		now: now, spam: record.NewEventSourceObjectSpamFilter(most, Burst, float32(1/every.Seconds()), watch(now), object),
		last: map[about]what{}, seed: maphash.MakeSeed(),
	}
}

// Known says whether the event is the last that was said about its object with its reason, and is still there.
func (s *Said) Known(e cluster.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[aboutOf(e)]
	return ok && last.message == maphash.String(s.seed, e.Message) && s.now.Since(last.at) < life
}

// TooMuch says whether so much was written about the event's object that this one is left out. It counts the question.
func (s *Said) TooMuch(e *corev1.Event) bool { return s.spam.Filter(e) }

// Note remembers that an event was written.
func (s *Said) Note(e cluster.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) >= most {
		maps.DeleteFunc(s.last, func(_ about, w what) bool { return s.now.Since(w.at) >= life })
	}
	if len(s.last) >= most {
		clear(s.last)
	}
	s.last[aboutOf(e)] = what{maphash.String(s.seed, e.Message), s.now()}
}

func aboutOf(e cluster.Event) about { return about{e.Kind, e.Namespace, e.Name, e.UID, e.Reason} }

// object is what an event is about.
func object(e *corev1.Event) string {
	o := e.InvolvedObject
	return o.Kind + "/" + o.Namespace + "/" + o.Name + "/" + string(o.UID)
}

// watch is the clock that the filter looks at.
type watch func() time.Time

// Now is the time.
func (w watch) Now() time.Time { return w() }

// Since is how long ago that was.
func (w watch) Since(t time.Time) time.Duration { return w().Sub(t) }
