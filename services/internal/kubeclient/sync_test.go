package kubeclient_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/internal/kubeclient"
)

func TestWhatIsWaitedForIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		begin := time.Now()
		informers := []kubeclient.Synced{
			{Resource: "pods", Has: func() bool { return true }},
			{Resource: "nodes", Has: func() bool { return time.Since(begin) > 80*time.Second }},
		}
		if !kubeclient.WaitForSync(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), informers) {
			t.Error("not synced")
		}
		synctest.Wait()
		if lines := strings.Count(log.String(), "missing=[nodes]"); lines != 2 { // after 10 and 70 seconds
			t.Errorf("%d lines:\n%s", lines, &log)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		var log bytes.Buffer
		never := []kubeclient.Synced{{Resource: "pods", Has: func() bool { return false }}}
		if kubeclient.WaitForSync(ctx, slog.New(slog.NewTextHandler(&log, nil)), never) || log.Len() > 0 {
			t.Errorf("synced, or told too early: %s", &log)
		}
	})
}
