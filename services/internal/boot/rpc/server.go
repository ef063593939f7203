package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

const (
	handshakeTimeout = 10 * time.Second
	maxHeaderBytes   = 64 << 10
)

// Readiness is the service of which health says whether this one is of use. The others serve as soon as it listens: a
// probe of theirs tells whether the process lives, and must not have it started again because something else is not
// there.
const Readiness = "readiness"

var errDraining = errors.New("server is shutting down")

// Server is a gRPC server with the manners of this package. Register services on
// it before Serve, which may be called once.
type Server struct {
	*grpc.Server
	// Health may be told more than what Serve says: every registered service
	// serves from Serve on, none from the stop signal on. So does Readiness,
	// unless it is held.
	Health *health.Server
	// Certificates has that of the server, and those of the clients that were made with it.
	Certificates Certificates
	// Metrics, if set before Serve, answers /metrics on health_listen.
	Metrics http.Handler

	cfg  ServerConfig
	log  *slog.Logger
	held bool // Readiness
	// draining is done once the server stops; it ends the streams, which have no
	// end of their own. It is the server's life, not a call's.
	draining context.Context //nolint:containedctx // see above
	drain    context.CancelFunc
}

// NewServer checks cfg and makes a server; it does not listen.
func NewServer(cfg ServerConfig, log *slog.Logger, tracing telemetry.Tracing) (*Server, error) {
	if err := config.Check(cfg); err != nil {
		return nil, err
	}
	s := &Server{Health: health.NewServer(), cfg: cfg, log: log}
	s.draining, s.drain = context.WithCancel(context.Background())
	opts := s.options(tracing)
	if s.secure() {
		m, err := cfg.TLS.material(log)
		if err != nil {
			return nil, err
		}
		s.Certificates.add(m)
		opts = append(opts, grpc.Creds(serverCredentials(m)))
	}
	s.Server = grpc.NewServer(opts...)
	healthv1.RegisterHealthServer(s, probes{s.Health})
	return s, nil
}

func (s *Server) secure() bool { return s.cfg.TLS.CertFile != "" }

func (s *Server) options(tracing telemetry.Tracing) []grpc.ServerOption {
	l, k := s.cfg.Limits, s.cfg.Keepalive
	inFlight := &calls{most: int64(orDefault(l.MaxCalls, DefaultMaxCalls))}
	opts := []grpc.ServerOption{
		grpc.InTapHandle(inFlight.tap),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(orDefault(l.MaxRecvBytes, DefaultMaxMessageBytes)),
		grpc.MaxConcurrentStreams(orDefault(l.MaxStreams, DefaultMaxStreams)),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.WaitForHandlers(true), // what handlers use is closed after Serve returns
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge:      l.ConnectionAge.Or(DefaultConnectionAge),
			MaxConnectionAgeGrace: l.ConnectionAgeGrace.Or(DefaultConnectionAgeGrace),
			Time:                  k.Time.Or(DefaultKeepaliveTime),
			Timeout:               k.Timeout.Or(DefaultKeepaliveTimeout),
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             k.MinTime.Or(DefaultKeepaliveMinTime),
			PermitWithoutStream: true,
		}),
	}
	if tracing.On() {
		opts = append(opts, grpc.StatsHandler(otelgrpc.NewServerHandler(otelOptions(tracing)...)))
	}
	return opts
}

// otelOptions trace calls but not the probes among them.
func otelOptions(t telemetry.Tracing) []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(t.Provider()),
		otelgrpc.WithPropagators(t.Propagator()),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
	}
}

// HoldReadiness keeps Readiness from serving until release is called, which may
// be done at any time, and again. Call it before Serve.
func (s *Server) HoldReadiness() (release func()) {
	s.held = true
	s.Ready(false)
	return func() { s.Ready(true) }
}

// Ready says from when Readiness was held on whether it serves.
func (s *Server) Ready(is bool) {
	status := healthv1.HealthCheckResponse_NOT_SERVING
	if is {
		status = healthv1.HealthCheckResponse_SERVING
	}
	s.Health.SetServingStatus(Readiness, status)
}

// Listen opens the configured address.
func (s *Server) Listen(ctx context.Context) (net.Listener, error) {
	addr := s.cfg.Listen
	if addr == "" {
		addr = DefaultListen
	}
	var lc net.ListenConfig
	lis, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return lis, nil
}

// Serve serves on lis (and on health_listen) until ctx is done, then stops
// gracefully: health says NOT_SERVING, streams end with UNAVAILABLE, unary calls
// have the shutdown grace, and what is left is cut off. It closes lis and starts
// goroutines that have ended when it returns.
func (s *Server) Serve(ctx context.Context, lis net.Listener) error {
	defer s.drain()
	reflection.Register(s) // v1 and v1alpha
	if unknown := s.cfg.Authz.unknown(s.GetServiceInfo()); len(unknown) > 0 {
		_ = lis.Close()
		return fmt.Errorf("authz: %s: not served here; services are %s", strings.Join(unknown, ", "),
			strings.Join(slices.Sorted(maps.Keys(s.GetServiceInfo())), ", "))
	}
	stopHealth, err := s.serveHealth(ctx)
	if err != nil {
		_ = lis.Close()
		return err
	}
	defer stopHealth()
	s.Health.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	if !s.held {
		s.Health.SetServingStatus(Readiness, healthv1.HealthCheckResponse_SERVING)
	}
	for name := range s.GetServiceInfo() {
		s.Health.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	served := make(chan error, 1)
	go func() { served <- s.Server.Serve(lis) }()
	s.log.InfoContext(ctx, "serving", telemetry.KeyAddress, lis.Addr().String(), "tls", s.secure())
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", lis.Addr(), err)
	case <-ctx.Done():
	}
	s.stop()
	<-served //nolint:errcheck // Serve's answer after a stop is that it was stopped
	return nil
}

// stop ends all calls, by force once the grace is over.
func (s *Server) stop() {
	grace := s.cfg.ShutdownGrace.Or(DefaultShutdownGrace)
	s.Health.Shutdown()
	s.drain()
	force := time.AfterFunc(grace, func() {
		s.log.Warn("shutdown grace is over; cutting calls off", telemetry.KeyDuration, grace)
		s.Server.Stop()
	})
	defer force.Stop()
	s.GracefulStop()
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
