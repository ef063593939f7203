package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

func TestServerAnswersHealthAndReflection(t *testing.T) {
	var f fixture
	f.start(t)
	conn := f.dial(t, rpc.ClientConfig{})
	for _, service := range []string{"", "test.v1.Test", rpc.Readiness} {
		got, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service}, grpc.WaitForReady(true))
		if err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q = %v, %v", service, got.GetStatus(), err)
		}
	}
	v1, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
	if err := v1.Send(ask); err != nil {
		t.Fatal(err)
	}
	reply, err := v1.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, s := range reply.GetListServicesResponse().GetService() {
		listed = append(listed, s.GetName())
	}
	want := []string{
		"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
		"grpc.reflection.v1alpha.ServerReflection", "test.v1.Test",
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	alpha, err := reflectionv1alpha.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := alpha.Send(&reflectionv1alpha.ServerReflectionRequest{MessageRequest: &reflectionv1alpha.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := alpha.Recv(); err != nil {
		t.Errorf("reflection v1alpha: %v", err)
	}
}

func TestHealthListenServesHealthAndMetricsAlone(t *testing.T) {
	addr := freeAddress(t)
	f := fixture{server: rpc.ServerConfig{HealthListen: addr}, metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "kerf_up 1\n")
	})}
	f.start(t)
	conn := dialPlain(t, addr)
	got, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health = %v, %v", got.GetStatus(), err)
	}
	if err := do(t.Context(), conn); status.Code(err) != codes.Unimplemented {
		t.Errorf("another service answers there: %v", err)
	}
	for path, want := range map[string]string{"/metrics": "kerf_up 1", "/debug/pprof/": "404", "/": "404"} {
		if got := get(t, "http://"+addr+path); !strings.Contains(got, want) {
			t.Errorf("GET %s: %q", path, got)
		}
	}
}

// TestAScraperThatDoesNotReadIsCutOff has one that anyone in the cluster may be: the address is not guarded, and few
// answers are made at once.
func TestAScraperThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	ended := make(chan struct{})
	f := fixture{server: rpc.ServerConfig{HealthListen: addr}, metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for line := bytes.Repeat([]byte("x"), 1<<16); ; { // more than any buffer on the way takes
			if _, err := w.Write(line); err != nil {
				close(ended)
				return
			}
		}
	})}
	f.start(t)
	conn := dialPlain(t, addr)
	if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	var d net.Dialer
	scraper, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer scraper.Close() //nolint:errcheck // nothing to lose
	if _, err := io.WriteString(scraper, "GET /metrics HTTP/1.1\r\nHost: kerf\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the answer still waits for its reader")
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestPanicBecomesInternalAndIsLoggedWithItsStack(t *testing.T) {
	f := fixture{service: &testService{
		do:   func(context.Context) error { panic("boom 4711") },
		hold: func(grpc.ServerStream) error { panic("boom 4712") },
	}}
	f.start(t)
	conn := f.dial(t, rpc.ClientConfig{})
	err := do(t.Context(), conn)
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "4711") {
		t.Errorf("client sees %v, want INTERNAL without the panic's text", err)
	}
	stream, err := hold(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&emptypb.Empty{}); status.Code(err) != codes.Internal {
		t.Errorf("stream ends with %v, want INTERNAL", err)
	}
	f.stop()
	if err := <-f.served; err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"boom 4711", "boom 4712", "server_test.go", "level=ERROR"} {
		if !strings.Contains(f.log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, f.log.String())
		}
	}
	if err := do(t.Context(), conn); status.Code(err) != codes.Unavailable {
		t.Errorf("after the stop: %v", err)
	}
}

func TestFailedCallIsLoggedOnceAndSuccessNever(t *testing.T) {
	fail := false
	f := fixture{service: &testService{do: func(context.Context) error {
		if fail {
			return rpcerr.Invalid(rpcerr.Violation{Field: "snapshot.nodes[3]", Problem: "want a name"})
		}
		return nil
	}}}
	f.start(t)
	conn := f.dial(t, rpc.ClientConfig{})
	if err := do(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	fail = true
	err := do(t.Context(), conn)
	got, _ := rpcerr.From(err)
	if diff := cmp.Diff([]rpcerr.Violation{{Field: "snapshot.nodes[3]", Problem: "want a name"}}, got.Violations); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	if n := strings.Count(f.log.String(), "call failed"); n != 1 {
		t.Errorf("%d log lines for one failed and one good call:\n%s", n, f.log.String())
	}
}

func TestDeadlines(t *testing.T) {
	tests := map[string]struct {
		client  time.Duration // zero: none
		server  config.Duration
		want    time.Duration // what the handler has left
		refused bool
	}{
		"a client's deadline is shaved by 20 ms":              {client: time.Second, want: 980 * time.Millisecond},
		"a call without a deadline gets the default":          {want: 30 * time.Second},
		"a call without a deadline gets what the config says": {server: config.Duration(7 * time.Second), want: 7 * time.Second},
		"a call that has no time left is refused":             {client: 15 * time.Millisecond, refused: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left time.Duration
				called := false
				f := fixture{server: rpc.ServerConfig{Limits: rpc.Limits{CallTimeout: tt.server}}}
				f.service = &testService{do: func(ctx context.Context) error {
					called = true
					deadline, ok := ctx.Deadline()
					if !ok {
						t.Error("the handler has no deadline")
					}
					left = time.Until(deadline)
					return nil
				}}
				f.start(t)
				conn := f.dial(t, rpc.ClientConfig{})
				ctx, cancel := t.Context(), func() {}
				if tt.client > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.client)
				}
				defer cancel()
				err := do(ctx, conn)
				if tt.refused {
					if status.Code(err) != codes.DeadlineExceeded || called {
						t.Errorf("err = %v, handler called: %t", err, called)
					}
				} else if err != nil || left != tt.want {
					t.Errorf("err = %v, handler has %s left, want %s", err, left, tt.want)
				}
				conn.Close() //nolint:errcheck // nothing to lose
				f.stop()
				<-f.served //nolint:errcheck // only that it ended
			})
		})
	}
}

func TestServerReportsItsOwnTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fixture{service: &testService{do: func(ctx context.Context) error {
			<-ctx.Done()
			return status.Error(codes.DeadlineExceeded, "waited for the solver")
		}}}
		f.start(t)
		conn := f.dial(t, rpc.ClientConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := do(ctx, conn); !strings.Contains(err.Error(), "waited for the solver") {
			t.Errorf("the client sees %v and not the server's reason", err)
		}
		conn.Close() //nolint:errcheck // nothing to lose
		f.stop()
		<-f.served //nolint:errcheck // only that it ended
	})
}

func TestGracefulStopLetsCallsFinishAndEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fixture{service: &testService{
			do: func(context.Context) error {
				time.Sleep(3 * time.Second) // of the bubble's clock
				return nil
			},
			// The handler waits in Recv, as session handlers do.
			hold: func(ss grpc.ServerStream) error { return ss.RecvMsg(&emptypb.Empty{}) },
		}}
		f.start(t)
		conn := f.dial(t, rpc.ClientConfig{})
		stream, err := hold(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		called := make(chan error, 1)
		go func() { called <- do(t.Context(), conn) }()
		time.Sleep(time.Second)
		start := time.Now()
		f.stop()
		if err := stream.RecvMsg(&emptypb.Empty{}); status.Code(err) != codes.Unavailable || time.Since(start) != 0 {
			t.Errorf("stream ends after %s with %v, want UNAVAILABLE at once", time.Since(start), err)
		}
		if err := <-called; err != nil {
			t.Errorf("the running call fails: %v", err)
		}
		if err := <-f.served; err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("Serve returns %v after %s, want nil after the call's last 2s", err, time.Since(start))
		}
		conn.Close() //nolint:errcheck // nothing to lose
	})
}

func TestGracefulStopCutsOffWhatOutlivesTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fixture{
			server: rpc.ServerConfig{ShutdownGrace: config.Duration(4 * time.Second)},
			service: &testService{do: func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}},
		}
		f.start(t)
		conn := f.dial(t, rpc.ClientConfig{})
		called := make(chan error, 1)
		go func() { called <- do(t.Context(), conn) }()
		time.Sleep(time.Second)
		start := time.Now()
		f.stop()
		if err := <-f.served; err != nil || time.Since(start) != 4*time.Second {
			t.Errorf("Serve returns %v after %s, want nil after the grace of 4s", err, time.Since(start))
		}
		if err := <-called; status.Code(err) != codes.Unavailable {
			t.Errorf("the call ends with %v, want UNAVAILABLE", err)
		}
		if !strings.Contains(f.log.String(), "grace is over") {
			t.Error("the log does not say that calls were cut off")
		}
		conn.Close() //nolint:errcheck // nothing to lose
	})
}

func TestStreamStaysWhatItIs(t *testing.T) {
	f := fixture{service: &testService{hold: func(ss grpc.ServerStream) error {
		for {
			m := new(emptypb.Empty)
			if err := ss.RecvMsg(m); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := ss.SendMsg(m); err != nil {
				return err
			}
		}
	}}}
	f.start(t)
	stream, err := hold(t.Context(), f.dial(t, rpc.ClientConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := stream.SendMsg(&emptypb.Empty{}); err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&emptypb.Empty{}); !errors.Is(err, io.EOF) {
		t.Errorf("stream ends with %v, want EOF", err)
	}
}

func TestMessageAboveTheLimitIsRefusedInWordsThatHelp(t *testing.T) {
	f := fixture{server: rpc.ServerConfig{Limits: rpc.Limits{MaxRecvBytes: 16}}, service: &testService{
		hold: func(s grpc.ServerStream) error { return s.RecvMsg(&healthv1.HealthCheckRequest{}) },
	}}
	f.start(t)
	request := &healthv1.HealthCheckRequest{Service: strings.Repeat("x", 100)}
	check := func(t *testing.T, err error) {
		t.Helper()
		e, ok := rpcerr.From(err)
		if !ok || e.Code != codes.ResourceExhausted || e.Reason != rpc.ReasonTooLarge {
			t.Fatalf("err = %v, want RESOURCE_EXHAUSTED and TOO_LARGE", err)
		}
		for _, want := range []string{"102 bytes", "at most 16", "in parts", "max_recv_bytes"} {
			if !strings.Contains(e.Message, want) {
				t.Errorf("%q does not say %q", e.Message, want)
			}
		}
	}
	t.Run("a request", func(t *testing.T) {
		check(t, f.dial(t, rpc.ClientConfig{}).Invoke(t.Context(), "/grpc.health.v1.Health/Check", request, &healthv1.HealthCheckResponse{}))
	})
	t.Run("a message of a stream", func(t *testing.T) {
		stream, err := hold(t.Context(), f.dial(t, rpc.ClientConfig{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SendMsg(request); err != nil {
			t.Fatal(err)
		}
		check(t, stream.RecvMsg(&emptypb.Empty{}))
	})
}

func TestSpansJoinAcrossTheCallAndLeaveProbesOut(t *testing.T) {
	rec := tracetest.NewSpanRecorder()
	f := fixture{tracing: telemetry.NewTracing(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec)))}
	f.service = &testService{do: func(ctx context.Context) error {
		_, span := f.tracing.Tracer("test").Start(ctx, "inner")
		span.End()
		return nil
	}}
	f.start(t)
	conn := f.dial(t, rpc.ClientConfig{})
	if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	ctx, root := f.tracing.Tracer("test").Start(t.Context(), "root")
	if err := do(ctx, conn); err != nil {
		t.Fatal(err)
	}
	root.End()
	conn.Close() //nolint:errcheck // nothing to lose
	f.stop()
	<-f.served //nolint:errcheck // only that it ended
	var got []string
	for _, s := range rec.Ended() {
		if s.SpanContext().TraceID() != root.SpanContext().TraceID() {
			t.Errorf("span %s is in another trace", s.Name())
		}
		got = append(got, s.SpanKind().String()+" "+s.Name())
	}
	for _, want := range []string{"internal inner", "server test.v1.Test/Do", "client test.v1.Test/Do", "internal root"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("no span %q in %q", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d spans, want 4: %q", len(got), got)
	}
}

func TestMoreCallsThanAllowedAreRefused(t *testing.T) {
	f := &fixture{server: rpc.ServerConfig{Limits: rpc.Limits{MaxCalls: 2}}}
	f.service = &testService{
		do: func(context.Context) error { return nil },
		hold: func(ss grpc.ServerStream) error {
			if err := ss.SendMsg(&emptypb.Empty{}); err != nil {
				return err
			}
			return ss.RecvMsg(&emptypb.Empty{})
		},
	}
	f.start(t)
	ctx, end := context.WithCancel(t.Context())
	for range 2 { // one connection each
		stream, err := hold(ctx, f.dial(t, rpc.ClientConfig{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	conn := f.dial(t, rpc.ClientConfig{})
	if err := do(t.Context(), conn); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "limits.max_calls") {
		t.Errorf("a third call: %v", err)
	}
	if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	end()
	for last := time.Now().Add(time.Minute); do(t.Context(), conn) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(last) {
			t.Fatal("calls that have ended still count")
		}
	}
}
