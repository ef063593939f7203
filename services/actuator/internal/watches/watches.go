// Package watches says of the watches that feed caches whether they work. It must never know what is watched. Start reading
// at Watch.
package watches

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// CheckEvery is how often a broken watch of a resource on which nothing happens is looked at.
const CheckEvery = 5 * time.Second

// Watch is whether a resource's watch works. It logs when that changes, and not at each of the many tries that a long
// outage takes. Safe for concurrent use.
type Watch struct {
	name     string
	log      *slog.Logger
	revision func() string // the revision up to which the cache is filled

	mu     sync.Mutex
	broken time.Time // since when; zero while it works
	since  string    // the revision at which it broke
}

// New is for a resource's watch that has not failed yet; revision is the one up to which its cache is filled.
func New(resource string, log *slog.Logger, revision func() string) *Watch {
	return &Watch{name: resource, log: log, revision: revision}
}

// Fails notes an error of the watch. Watches that end and revisions that are too old to go on from are everyday life.
func (w *Watch) Fails(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	w.Check() // it may have worked since the last error
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.broken.IsZero() {
		return
	}
	w.broken, w.since = time.Now(), w.revision()
	w.log.Warn("watch interrupted; trying again", "resource", w.name, "error", err)
}

// Broken is since when the watch has brought nothing; zero while it works.
func (w *Watch) Broken() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// Check notes that the watch works if the cache has gone on since it broke.
func (w *Watch) Check() {
	w.mu.Lock()
	moved := !w.broken.IsZero() && w.revision() != w.since
	w.mu.Unlock()
	if moved {
		w.Works()
	}
}

// Works notes that the watch has brought something.
func (w *Watch) Works() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken.IsZero() {
		return
	}
	w.broken = time.Time{}
	w.log.Info("watch works again", "resource", w.name)
}
