package kubeclient_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"github.com/kerf-dev/kerf/services/internal/kubeclient"
)

// answers is a transport that answers with a status, or not at all.
type answers struct{ err error }

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: http.StatusForbidden}, nil
}

// lines are the log's, without times.
func lines(log *bytes.Buffer) []string {
	defer log.Reset()
	return strings.Split(strings.TrimSpace(log.String()), "\n")
}

func newLog(level slog.Level) (*bytes.Buffer, *slog.Logger) {
	var out bytes.Buffer
	return &out, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// TestAnAPIServerThatIsGoneIsTold: client-go tries again without a word where nothing listens.
func TestAnAPIServerThatIsGoneIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logger := newLog(slog.LevelInfo)
		server, reach := &answers{}, kubeclient.NewReach(logger)
		clients := []http.RoundTripper{reach.Wrap(server), reach.Wrap(server)} // of one configuration several are made
		ask := func(ctx context.Context) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example:6443/api/v1/pods", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range clients {
				if resp, err := c.RoundTrip(req); err == nil && resp.Body != nil {
					_ = resp.Body.Close()
				}
			}
			time.Sleep(time.Second)
		}
		want := func(when string, want ...string) {
			t.Helper()
			if got := strings.Join(lines(log), "\n"); got != strings.Join(want, "\n") {
				t.Errorf("%s: the log has\n%s\nwant\n%s", when, got, strings.Join(want, "\n"))
			}
		}
		ask(t.Context())
		server.err = errors.New("connection refused")
		for range 4 {
			ask(t.Context())
		}
		want("a blink", "")
		if since := reach.Silent(); !since.IsZero() {
			t.Errorf("a blink: silent since %s", since)
		}
		server.err = nil
		ask(t.Context())
		server.err = errors.New("connection refused")
		for range 60 {
			ask(t.Context())
		}
		if silent := time.Since(reach.Silent()); silent != time.Minute {
			t.Errorf("an outage: silent for %s", silent)
		}
		want("an outage", `level=WARN msg="the API server does not answer; trying again until it does" server=https://api.example:6443 silent=5s error="connection refused"`)
		server.err = nil
		ask(t.Context())
		ask(t.Context())
		if since := reach.Silent(); !since.IsZero() {
			t.Errorf("its end: silent since %s", since)
		}
		want("its end", `level=INFO msg="the API server answers again" server=https://api.example:6443 silent=1m0s`)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		server.err = context.Canceled
		for range 60 {
			ask(ended)
		}
		want("questions that were called off", "")
	})
}

// TestClientGosOwnLinesAreKerfs: they went to standard error in a form of their own, which no reader of JSON takes.
func TestClientGosOwnLinesAreKerfs(t *testing.T) {
	log, logger := newLog(slog.LevelInfo)
	kubeclient.Log(logger)
	klog.InfoS("Warning: watch ended with error", "type", "pods")
	klog.ErrorS(errors.New("no"), "Unhandled", "type", "pods")
	if got := lines(log); len(got) != 1 || got[0] != `level=ERROR msg=Unhandled by=client-go err=no type=pods` {
		t.Errorf("%q, want the error alone", got)
	}
	log, logger = newLog(slog.LevelDebug)
	kubeclient.Log(logger)
	klog.InfoS("Warning: watch ended with error", "type", "pods")
	if got := lines(log); got[0] != `level=DEBUG msg="Warning: watch ended with error" by=client-go type=pods` {
		t.Errorf("%q", got)
	}
}
