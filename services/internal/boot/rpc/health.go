package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// What health_listen, which anyone in the cluster may call, takes memory for at most: probes and scrapes are few and small.
const (
	maxHealthConnections = 64
	maxHealthStreams     = 16 // of a connection
	maxHealthMessage     = 4 << 10
	maxHealthBuffer      = 64 << 10 // of a connection, the least that HTTP/2 knows
	// scrapeTimeout is for the making of an answer to a scraper and its reading, as Prometheus has it.
	scrapeTimeout = 10 * time.Second
)

// probes answer what is asked once, as kubelets do. They can't be watched: the library keeps each name that was watched for
// as long as it lives, also those that a caller has made up, and a Watch ends when the caller likes.
type probes struct{ *health.Server }

// Watch implements healthv1.HealthServer. Clients of gRPC that get this answer take the server for healthy.
func (probes) Watch(*healthv1.HealthCheckRequest, healthv1.Health_WatchServer) error {
	return status.Error(codes.Unimplemented, "health is not watched here: call Check")
}

// serveHealth serves health and metrics on their own address, if there is one: gRPC and plain HTTP share it.
func (s *Server) serveHealth(ctx context.Context) (stop func(), err error) {
	if s.cfg.HealthListen == "" {
		return func() {}, nil
	}
	var lc net.ListenConfig
	lis, err := lc.Listen(ctx, "tcp", s.cfg.HealthListen)
	if err != nil {
		return nil, fmt.Errorf("health_listen: %w", err)
	}
	web := s.healthServer()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := web.Serve(&newest{Listener: lis, most: maxHealthConnections}); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serve health", telemetry.KeyAddress, lis.Addr().String(), telemetry.KeyError, err)
		}
	}()
	return func() { _ = web.Close(); <-done }, nil // probes and scrapes have nothing to lose
}

func (s *Server) healthServer() *http.Server {
	probe := grpc.NewServer(grpc.MaxRecvMsgSize(maxHealthMessage))
	healthv1.RegisterHealthServer(probe, probes{s.Health})
	mux := http.NewServeMux()
	if s.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			// Anyone may ask, and few answers are made at once: two that no one reads would be all that there ever are.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeTimeout)) // which both protocols have
			s.Metrics.ServeHTTP(w, r)
		})
	}
	web := &http.Server{
		ReadHeaderTimeout: handshakeTimeout, MaxHeaderBytes: maxHeaderBytes, IdleTimeout: DefaultConnectionAge,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: maxHealthStreams, MaxReceiveBufferPerConnection: maxHealthBuffer},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), Protocols: &http.Protocols{},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				probe.ServeHTTP(w, r)
				return
			}
			mux.ServeHTTP(w, r)
		}),
	}
	web.Protocols.SetHTTP1(true)
	web.Protocols.SetUnencryptedHTTP2(true)
	return web
}

// newest is a listener that keeps the newest connections. With as many as it may have it closes the oldest for the next
// one: to refuse the next one would let a caller that holds connections keep out the kubelet, which then ends the process.
type newest struct {
	net.Listener
	most int

	mu   sync.Mutex
	open []*connection // oldest first
}

// Accept implements net.Listener.
func (n *newest) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller's own listener
	}
	c := &connection{Conn: conn, of: n}
	if oldest := n.add(c); oldest != nil {
		_ = oldest.Close()
	}
	return c, nil
}

// add returns the connection that is one too many, if one is.
func (n *newest) add(c *connection) *connection {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = append(n.open, c)
	if len(n.open) <= n.most {
		return nil
	}
	return n.open[0]
}

// connection is one of a listener's, which forgets it when it is closed.
type connection struct {
	net.Conn
	of *newest
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.open = slices.DeleteFunc(c.of.open, func(o *connection) bool { return o == c })
	c.of.mu.Unlock()
	return c.Conn.Close() //nolint:wrapcheck // the caller's own connection
}
