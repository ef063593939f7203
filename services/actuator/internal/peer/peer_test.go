package peer

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func listen(t *testing.T, address string) (net.Listener, <-chan net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	return l, accepted
}

func watch(ctx context.Context, address string) <-chan bool {
	died := make(chan bool, 1)
	go func() { died <- Died(ctx, address) }()
	return died
}

func TestAProcessThatIsGoneHasDied(t *testing.T) {
	l, accepted := listen(t, "127.0.0.1:0")
	died := watch(t.Context(), l.Addr().String())
	c := <-accepted
	_ = l.Close()
	_ = c.Close()
	select {
	case is := <-died:
		if !is {
			t.Error("it has not died")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("its death was not noticed")
	}
}

func TestAProcessThatEndsConnectionsLives(t *testing.T) {
	l, accepted := listen(t, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	died := watch(ctx, l.Addr().String())
	for range 3 {
		_ = (<-accepted).Close()
	}
	<-accepted
	cancel()
	if <-died {
		t.Error("a process that listens has died")
	}
}

// A network policy may refuse each connection to a process that lives.
func TestAProcessThatWasNeverReachedHasNotDied(t *testing.T) {
	l, _ := listen(t, "127.0.0.1:0")
	address := l.Addr().String()
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if Died(ctx, address) {
		t.Error("a process that was never reached has died")
	}
}

func TestAnAddressThatIsNoneIsNoDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if Died(ctx, "no address") {
			t.Error("it has died")
		}
	})
}
