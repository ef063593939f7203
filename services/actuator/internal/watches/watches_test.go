package watches_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/internal/watches"
)

func TestHealthIsLoggedWhenItChanges(t *testing.T) {
	var log bytes.Buffer
	revision := "1"
	w := watches.New("pods", slog.New(slog.NewTextHandler(&log, nil)), func() string { return revision })
	lines := func(want int, after string) {
		t.Helper()
		if got := strings.Count(log.String(), "\n"); got != want {
			t.Errorf("%d lines after %s, want %d:\n%s", got, after, want, log.String())
		}
	}
	refused := errors.New("connection refused")
	w.Works()
	w.Fails(io.EOF)
	lines(0, "a watch that ended as they do")
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
