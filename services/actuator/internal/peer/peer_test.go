package peer

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// process listens until it is ended, and counts how often it is dialled.
func process(t *testing.T) (address string, dialled *atomic.Int64, end func()) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end = func() { _ = l.Close() }
	t.Cleanup(end)
	dialled = &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dialled.Add(1)
			_ = c.Close()
		}
	}()
	return l.Addr().String(), dialled, end
}

func TestAProcessThatIsGoneHasDied(t *testing.T) {
	address, dialled, end := process(t)
	died := make(chan bool, 1)
	go func() { died <- Died(t.Context(), address) }()
	for dialled.Load() < 2 {
		<-time.After(time.Millisecond)
	}
	select {
	case <-died:
		t.Fatal("a process that listens has died")
	default:
	}
	end()
	select {
	case is := <-died:
		if !is {
			t.Error("it has not died")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("its death was not noticed")
	}
}

// A network policy may refuse each connection to a process that lives.
func TestAProcessThatWasNeverReachedHasNotDied(t *testing.T) {
	address, _, end := process(t)
	end()
	ctx, cancel := context.WithTimeout(t.Context(), (sure+2)*every)
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

func TestAProcessThatListensEverywhereHasNoName(t *testing.T) {
	for name, want := range map[string]bool{
		"10.0.0.7:7500": true, "[fd00::7]:7500": true, "kerf-actuator-0.kerf:7500": true, ":7500": false, "[::]:7500": false, "0.0.0.0:7500": false, "a": false, "": false,
	} {
		if got := Watch(name) != nil; got != want {
			t.Errorf("Watch(%q) is there: %t, want %t", name, got, want)
		}
	}
}
