// Package sight knows whether what plans are made of above all, pods and nodes, is seen as it is. A cache whose watch is
// lost stands still without a word, and plans that are made of it buy for pods that have long had a node.
//
// It is told what informers hear of the API server, and must never know a client or a cache. Start reading at Sight.
package sight

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/internal/kubeclient/watches"
)

const (
	// lostAfter is how long the lists of a resource fail before its watch counts as lost: informers try again up to a
	// minute apart, so that it takes one to two minutes until that is known.
	lostAfter = 45 * time.Second
	// stillAfter is how long a watch has brought nothing when it counts as lost although it has moved since the API
	// server's last answer. One that is open has a bookmark each minute.
	stillAfter = 90 * time.Second
)

// Sight is whether the resources that it was given are seen. Make it with New; safe for concurrent use once it runs.
type Sight struct {
	now    func() time.Time
	tell   func(why string)
	silent func() time.Time

	mu      sync.Mutex
	begun   bool // all was read once; before, nothing is lost
	watches []*watching
	told    string
}

// New makes one that tells why sight is lost, and "" once it is back. Tell must not block; nil is for one that hears
// nothing. Silent is since when the API server answers nothing, zero while it does: an informer whose connection is
// refused asks for its watch again and again, and reports no error. It is nil where that is not known.
func New(now func() time.Time, tell func(why string), silent func() time.Time) *Sight {
	return &Sight{now: now, tell: tell, silent: silent}
}

// errSilent is what fails where informers report nothing.
var errSilent = errors.New("it does not answer")

// watching is one resource's watch.
type watching struct {
	*watches.Watch

	revision func() string // up to which the cache is filled
	lost     string        // why; "": it is not lost
	// seen is how many looks in a row have found it at work. One that is lost must have worked at two, so that what the
	// list has brought was passed on.
	seen int
	// last is its revision at the last look, moved when a look has found another one, or an object has come.
	last  string
	moved time.Time
}

// fail notes that it does not work.
func (w *watching) fail(err error) {
	w.Fails(err)
	w.seen = 0
}

func (w *watching) lose(why error) {
	w.lost = fmt.Sprintf("the watcher can't read %s from the API server: %s", w.Resource(), why)
}

// still says that it has brought nothing for too long while the API server was silent.
func (w *watching) still(silent, now time.Time) bool {
	if silent.IsZero() || now.Sub(silent) < lostAfter {
		return false
	}
	return w.moved.Before(silent) || now.Sub(w.moved) >= stillAfter
}

// Watch adds a resource. Revision is up to which its cache is filled. Call it before Run.
func (s *Sight) Watch(resource string, revision func() string) {
	s.watches = append(s.watches, &watching{Watch: watches.New(resource, nil, s.now, revision), revision: revision})
}

func (s *Sight) of(resource string) *watching {
	for _, w := range s.watches {
		if w.Resource() == resource {
			return w
		}
	}
	return nil
}

// Failed notes that a resource could not be read.
func (s *Sight) Failed(resource string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.of(resource)
	if w == nil || !s.begun {
		return
	}
	w.fail(err)
	if s.now().Sub(w.Broken()) >= lostAfter {
		w.lose(err)
		s.say()
	}
}

// Works notes that a resource has brought news.
func (s *Sight) Works(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.of(resource); w != nil {
		w.Works()
		w.moved = s.now()
	}
}

// Run looks at what is lost until ctx is done; call it once all was read.
func (s *Sight) Run(ctx context.Context) {
	s.mu.Lock()
	s.begun = true
	for _, w := range s.watches {
		w.last = w.revision()
	}
	s.mu.Unlock()
	tick := time.NewTicker(watches.CheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.look()
		case <-ctx.Done():
			return
		}
	}
}

func (s *Sight) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var silent time.Time
	if s.silent != nil {
		silent = s.silent()
	}
	for _, w := range s.watches {
		if r := w.revision(); r != w.last {
			w.last, w.moved = r, s.now()
		}
		if w.lost == "" && w.still(silent, s.now()) {
			w.fail(errSilent)
			w.lose(errSilent)
		}
		w.Check()
		if w.lost == "" || !w.Broken().IsZero() {
			continue
		}
		if w.seen++; w.seen > 1 {
			w.lost, w.seen = "", 0
		}
	}
	s.say()
}

// say tells when why sight is lost is another than before. The first watch that is lost is enough.
func (s *Sight) say() {
	why := ""
	for _, w := range s.watches {
		if why == "" {
			why = w.lost
		}
	}
	if (why == "") == (s.told == "") || s.tell == nil {
		return
	}
	s.told = why
	s.tell(why)
}
