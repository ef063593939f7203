// Package correlator remembers which events were written about which objects, so that none is written twice and no
// object has too many, as EventCorrelator of client-go does. It knows nothing of how they are written. Start reading at
// Correlator.
package correlator

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
	// life is how long the API server keeps an event; what is still true then is written again.
	life = time.Hour
	// most bounds what is remembered. Forgetting costs a repeated event at worst.
	most = 20_000
	// An object has Burst events at once, and one more every so often: users want the last ones, and an object on which
	// something flaps must not fill etcd.
	Burst = 25
	every = time.Minute
)

// Correlator remembers the last event of each object and reason. Safe for concurrent use.
type Correlator struct {
	now func() time.Time

	mu   sync.Mutex
	last map[subject]message
	seed maphash.Seed
	// rates are those of the objects about which events were written.
	rates map[string]*rate.Limiter
}

type subject struct{ kind, namespace, name, uid, reason string }

// message is kept as its hash: messages are long, and two that collide cost one event.
type message struct {
	hash uint64
	at   time.Time
}

// New makes one that has seen no event.
func New(now func() time.Time) *Correlator {
	return &Correlator{now: now, last: map[subject]message{}, seed: maphash.MakeSeed(), rates: map[string]*rate.Limiter{}}
}

// Known says whether the event is the last one of its object and reason, and is still there.
func (c *Correlator) Known(e cluster.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.last[subjectOf(e)]
	return ok && last.hash == maphash.String(c.seed, e.Message) && c.now().Sub(last.at) < life
}

// TooMuch says whether so much was written about the event's object that this one is left out. It counts the question.
func (c *Correlator) TooMuch(e *corev1.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, key := c.now(), object(e)
	if c.rates[key] == nil {
		if len(c.rates) >= most {
			maps.DeleteFunc(c.rates, func(_ string, r *rate.Limiter) bool { return r.TokensAt(now) >= Burst }) // as if nothing had been written
		}
		if len(c.rates) >= most {
			clear(c.rates)
		}
		c.rates[key] = rate.NewLimiter(rate.Every(every), Burst)
	}
	return !c.rates[key].AllowN(now, 1)
}

// Note remembers that an event was written.
func (c *Correlator) Note(e cluster.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.last) >= most {
		maps.DeleteFunc(c.last, func(_ subject, m message) bool { return c.now().Sub(m.at) >= life })
	}
	if len(c.last) >= most {
		clear(c.last)
	}
	c.last[subjectOf(e)] = message{maphash.String(c.seed, e.Message), c.now()}
}

func subjectOf(e cluster.Event) subject { return subject{e.Kind, e.Namespace, e.Name, e.UID, e.Reason} }

// object is what an event is about.
func object(e *corev1.Event) string {
	o := e.InvolvedObject
	return o.Kind + "/" + o.Namespace + "/" + o.Name + "/" + string(o.UID)
}
