package kubeclient

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// silence is how long an API server may not answer before that is worth a line.
const silence = 5 * time.Second

// Reach is whether an API server answers. It logs once that it answers nothing any more, and once that it answers again:
// where nothing listens at its address client-go itself tries again without a word, and of what was read before a service
// goes on as if nothing were. Safe for concurrent use.
type Reach struct {
	log *slog.Logger

	mu    sync.Mutex
	since time.Time // of the first question without an answer since the last answer; zero: it answers
	told  bool
}

// NewReach is for an API server that was not asked anything yet.
func NewReach(log *slog.Logger) *Reach { return &Reach{log: log} }

// Wrap wraps a transport of one of the API server's clients, each of which is to have it.
func (r *Reach) Wrap(next http.RoundTripper) http.RoundTripper { return reachTransport{r, next} }

// Silent is since when the API server answers nothing, where the log says so; zero while it answers.
func (r *Reach) Silent() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.told {
		return time.Time{}
	}
	return r.since
}

type reachTransport struct {
	*Reach

	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t reachTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		t.answered(req)
	} else if !errors.Is(req.Context().Err(), context.Canceled) {
		t.silent(req, err)
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport that it made.
func (t reachTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (r *Reach) silent(req *http.Request, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		r.since = time.Now()
	}
	if took := time.Since(r.since); took >= silence && !r.told {
		r.told = true
		r.log.WarnContext(req.Context(), "the API server does not answer; trying again until it does", "server", server(req),
			"silent", took.Round(time.Second), "error", err)
	}
}

func (r *Reach) answered(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told {
		r.log.InfoContext(req.Context(), "the API server answers again", "server", server(req), "silent", time.Since(r.since).Round(time.Second))
	}
	r.since, r.told = time.Time{}, false
}

func server(req *http.Request) string { return req.URL.Scheme + "://" + req.URL.Host }
