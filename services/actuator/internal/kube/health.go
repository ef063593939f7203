package kube

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// healthEvery is how often a broken watch of a resource on which nothing happens is looked at.
const healthEvery = 5 * time.Second

// health is whether a resource's watch works. It logs when that changes, and not at each of the many tries that a long
// outage takes. Safe for concurrent use.
type health struct {
	name     string
	log      *slog.Logger
	revision func() string // the revision up to which the cache is filled

	mu     sync.Mutex
	broken bool
	since  string // the revision at which it broke
}

// fails notes an error of the watch. Watches that end and revisions that are too old to go on from are everyday life.
func (h *health) fails(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	h.check() // it may have worked since the last error
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken {
		return
	}
	h.broken, h.since = true, h.revision()
	h.log.Warn("watch interrupted; trying again", "resource", h.name, "error", err)
}

// check notes that the watch works if the cache has gone on since it broke.
func (h *health) check() {
	h.mu.Lock()
	moved := h.broken && h.revision() != h.since
	h.mu.Unlock()
	if moved {
		h.works()
	}
}

// works notes that the watch has brought something.
func (h *health) works() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.broken {
		return
	}
	h.broken = false
	h.log.Info("watch works again", "resource", h.name)
}
