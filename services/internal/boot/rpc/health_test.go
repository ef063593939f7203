package rpc_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

// TestHealthKeepsNothingOfItsCallers has callers that anyone in the cluster may be: what a process keeps of each call
// is what ends it.
func TestHealthKeepsNothingOfItsCallers(t *testing.T) {
	f := fixture{server: rpc.ServerConfig{HealthListen: freeAddress(t)}}
	f.start(t)
	for name, conn := range map[string]*grpc.ClientConn{
		"the address of probes": dialPlain(t, f.server.HealthListen), "the server's own": f.dial(t, rpc.ClientConfig{}),
	} {
		t.Run(name, func(t *testing.T) {
			client := healthv1.NewHealthClient(conn)
			if _, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "made up"}); status.Code(err) != codes.NotFound {
				t.Errorf("a check of a service that is not there: %v", err)
			}
			for _, service := range []string{"", rpc.Readiness, "made up"} {
				stream, err := client.Watch(t.Context(), &healthv1.HealthCheckRequest{Service: service})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stream.Recv(); status.Code(err) != codes.Unimplemented {
					t.Errorf("a watch of %q: %v", service, err)
				}
			}
		})
	}
	large := &healthv1.HealthCheckRequest{Service: strings.Repeat("x", 60_000)}
	_, err := healthv1.NewHealthClient(dialPlain(t, f.server.HealthListen)).Check(t.Context(), large, grpc.WaitForReady(true))
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a check with a name of 60 kB: %v", err)
	}
}

func TestOldConnectionsGiveWayToProbes(t *testing.T) {
	f := fixture{server: rpc.ServerConfig{HealthListen: freeAddress(t)}}
	f.start(t)
	check := func() error {
		conn := dialPlain(t, f.server.HealthListen)
		defer conn.Close() //nolint:errcheck // nothing to lose
		_, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
		return err //nolint:wrapcheck // looked at here
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	var held []net.Conn
	for range 200 {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", f.server.HealthListen)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() }) //nolint:errcheck // nothing to lose
		held = append(held, conn)
	}
	if err := check(); err != nil {
		t.Errorf("a probe beside connections that are held: %v", err)
	}
	open := 0
	for _, conn := range held {
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		_, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			open++
		}
	}
	if open > 64 {
		t.Errorf("%d connections are held, want 64 at most", open)
	}
}

func TestHealthChecksAreBoundedBesideOtherCalls(t *testing.T) {
	f := fixture{server: rpc.ServerConfig{}}
	f.start(t)
	conn := f.dial(t, rpc.ClientConfig{})
	for range 16 { // which never send what they ask
		_, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, "/grpc.health.v1.Health/Check")
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one check more: %v", err)
	}
	if err := do(t.Context(), conn); err != nil {
		t.Errorf("another call: %v", err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	lis, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	return lis.Addr().String()
}

func dialPlain(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // nothing to lose
	return conn
}
