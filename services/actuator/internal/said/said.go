// Package said remembers which events were written about which objects, so that nothing is said twice and no object has too
// many. It knows nothing of how they are written. Start reading at Said.
package said

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

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
	now func() time.Time

	mu   sync.Mutex
	last map[about]what
	seed maphash.Seed
	// rates are those of the objects about which events were written.
	rates map[string]*rate.Limiter
}

type about struct{ kind, namespace, name, uid, reason string }

// what keeps a message as its hash: messages are long, and two that collide cost one event.
type what struct {
	message uint64
	at      time.Time
}

// New makes one that has said nothing.
func New(now func() time.Time) *Said {
	return &Said{now: now, last: map[about]what{}, seed: maphash.MakeSeed(), rates: map[string]*rate.Limiter{}}
}

// Known says whether the event is the last that was said about its object with its reason, and is still there.
func (s *Said) Known(e cluster.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[aboutOf(e)]
	return ok && last.message == maphash.String(s.seed, e.Message) && s.now().Sub(last.at) < life
}

// TooMuch says whether so much was written about the event's object that this one is left out. It counts the question.
func (s *Said) TooMuch(e *corev1.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, key := s.now(), object(e)
	if s.rates[key] == nil {
		if len(s.rates) >= most {
			maps.DeleteFunc(s.rates, func(_ string, r *rate.Limiter) bool { return r.TokensAt(now) >= Burst }) // as if nothing had been written
		}
		if len(s.rates) >= most {
			clear(s.rates)
		}
		s.rates[key] = rate.NewLimiter(rate.Every(every), Burst)
	}
	return !s.rates[key].AllowN(now, 1)
}

// Note remembers that an event was written.
func (s *Said) Note(e cluster.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) >= most {
		maps.DeleteFunc(s.last, func(_ about, w what) bool { return s.now().Sub(w.at) >= life })
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
