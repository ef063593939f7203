package embedded

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func start(t *testing.T, c Config) *Etcd {
	t.Helper()
	c.NoSync = true
	e, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	return e
}

func client(t *testing.T, e *Etcd) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // nothing to lose
	return c
}

func TestOneThatWasFullHasRoomAgainAfterAStart(t *testing.T) {
	c := Config{Dir: t.TempDir(), quota: 8 << 20}
	e := start(t, c)
	value := strings.Repeat("x", 1<<20)
	for range 100 { // all but the last are history
		if _, err := client(t, e).Put(t.Context(), "a", value); errors.Is(err, rpctypes.ErrNoSpace) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client(t, e).Put(t.Context(), "a", value); !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatalf("it is not full: %v", err)
	}
	e.Stop()
	var log bytes.Buffer
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	e = start(t, c)
	if _, err := client(t, e).Put(t.Context(), "b", value); err != nil {
		t.Error(err)
	}
	if got, err := client(t, e).Get(t.Context(), "a"); err != nil || len(got.Kvs) != 1 {
		t.Errorf("what was stored is lost: %v, %v", got, err)
	}
	if !strings.Contains(log.String(), "etcd was full") {
		t.Errorf("nothing is said of it:\n%s", log.String())
	}
}

func TestItsFailureIsTold(t *testing.T) {
	e := start(t, Config{Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Run(ctx); err != nil {
		t.Errorf("one that runs: %v", err)
	}
	e.server.Server.HardStop()
	if err := e.Run(t.Context()); err == nil {
		t.Error("one that has stopped is not told of")
	}
}

func TestErrorsOfEtcdAreInTheLogAndNothingLess(t *testing.T) {
	var log bytes.Buffer
	z := zap.New(core{log: slog.New(slog.NewTextHandler(&log, nil))}).With(zap.String("member", "kerf"))
	z.Info("fine")
	z.Warn("slow")
	z.Error("failed to save entries", zap.Error(errors.New("no space left on device")))
	for _, want := range []string{"level=ERROR", "failed to save entries", "no space left on device", "member:kerf"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q does not say %q", log.String(), want)
		}
	}
	if strings.Count(log.String(), "\n") != 1 {
		t.Errorf("more than the error is logged:\n%s", log.String())
	}
}
