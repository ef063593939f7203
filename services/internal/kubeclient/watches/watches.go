// Package watches says of the watches that feed caches whether they work. It must never know what is watched, nor what
// follows for whom: how long a watch may be broken is the services' own matter. Start reading at Watch.
package watches

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// CheckEvery is how often a broken watch of a resource on which nothing happens is looked at.
const CheckEvery = 5 * time.Second

// Trouble says that an informer's error is one. Watches that end, also in the middle of a line, and revisions that are too
// old to go on from are everyday life, and with ctx all watches end.
func Trouble(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!apierrors.IsResourceExpired(err) && !apierrors.IsGone(err)
}

// Watch is whether a resource's watch works. It logs when that changes, and not at each of the many tries that a long
// outage takes. Safe for concurrent use.
type Watch struct {
	resource string
	log      *slog.Logger
	now      func() time.Time
	revision func() string // the revision up to which the cache is filled

	mu     sync.Mutex
	broken time.Time // since when; zero while it works
	since  string    // the revision at which it broke
}

// New is for a resource's watch that has not failed yet; revision is the one up to which its cache is filled. Log is nil
// where somebody else logs.
func New(resource string, log *slog.Logger, now func() time.Time, revision func() string) *Watch {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Watch{resource: resource, log: log, now: now, revision: revision}
}

// Resource is what it watches.
func (w *Watch) Resource() string { return w.resource }

// Fails notes trouble with the watch.
func (w *Watch) Fails(err error) {
	w.Check() // it may have worked since the last error
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.broken.IsZero() {
		return
	}
	w.broken, w.since = w.now(), w.revision()
	w.log.Warn("watch interrupted; trying again", "resource", w.resource, "error", err)
}

// Broken is since when the watch has brought nothing, as far as Check has looked; zero while it works.
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
	w.log.Info("watch works again", "resource", w.resource)
}
