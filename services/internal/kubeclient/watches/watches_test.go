package watches_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kerf-dev/kerf/services/internal/kubeclient/watches"
)

func TestHealthIsLoggedWhenItChanges(t *testing.T) {
	var log bytes.Buffer
	revision := "1"
	w := watches.New("pods", slog.New(slog.NewTextHandler(&log, nil)), time.Now, func() string { return revision })
	lines := func(want int, after string) {
		t.Helper()
		if got := strings.Count(log.String(), "\n"); got != want {
			t.Errorf("%d lines after %s, want %d:\n%s", got, after, want, log.String())
		}
	}
	refused := errors.New("connection refused")
	w.Works()
	lines(0, "an event of a watch that works")
	for range 10 {
		w.Fails(refused)
		w.Check()
	}
	lines(1, "ten failures")
	if w.Broken().IsZero() {
		t.Error("it is not broken after ten failures")
	}
	revision = "2"
	w.Check()
	lines(2, "the cache has gone on")
	if since := w.Broken(); !since.IsZero() {
		t.Errorf("the cache has gone on, and it is broken since %s", since)
	}
	w.Fails(refused)
	lines(3, "another failure")
	w.Works()
	w.Works()
	lines(4, "two events")
	w.Fails(refused)
	revision = "3"
	w.Fails(refused)
	lines(7, "a failure that came after the watch had worked unseen")
}

func TestWatchesThatEndAreNoTrouble(t *testing.T) {
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		err     error
		stopped bool
		want    bool
	}{
		"a connection is refused":         {err: refused, want: true},
		"it is not allowed":               {err: apierrors.NewUnauthorized("no"), want: true},
		"it has ended":                    {err: io.EOF},
		"it has ended in the middle":      {err: fmt.Errorf("decode: %w", io.ErrUnexpectedEOF)},
		"the revision is too old":         {err: apierrors.NewResourceExpired("too old")},
		"the revision is no longer there": {err: apierrors.NewGone("gone")},
		"all watches end":                 {err: refused, stopped: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if c.stopped {
				stop()
			}
			if got := watches.Trouble(ctx, c.err); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
