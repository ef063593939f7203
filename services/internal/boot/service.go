// Package boot is what the main of every Kerf service has in common: flags, one
// strict config in YAML or JSON, logging, tracing, metering, a gRPC server with the manners of boot/rpc,
// health, signals, and an orderly end. It must never know what the services do:
// no noun of their domain occurs here. Start reading at Main, then Start and
// Service.Run.
//
// A service's root package has a Config that embeds ServiceConfig and a
// Run(ctx, Config) error that calls Start, registers its gRPC services and calls
// Service.Run; its main is one call of Main.
package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// flushTimeout bounds the export of the last spans, figures and lines when a service ends.
const flushTimeout = 5 * time.Second

// Duration is config.Duration, for the configs of services.
type Duration = config.Duration

// ServiceConfig is the part of the config that all services share. Embed it. Its
// zero value is safe: plaintext on a free loopback port, JSON logs at info.
type ServiceConfig struct {
	rpc.ServerConfig
	Log     telemetry.LogConfig     `json:"log"`
	Metrics telemetry.MetricsConfig `json:"metrics"`

	// Logger, if set, is used instead of one made from Log that writes to stderr.
	Logger *slog.Logger `json:"-"`
	// OnListen, if set, is told the address once it is bound; listen may have
	// asked for any free port.
	OnListen func(net.Addr) `json:"-"`
}

// Service is a started service: bound, not serving yet. It is owned by the
// goroutine that made it until Run, and must be ended by Run or Close.
type Service struct {
	*rpc.Server // register gRPC services here

	Log      *slog.Logger
	Tracing  telemetry.Tracing
	Tracer   trace.Tracer
	Metering *telemetry.Metering

	logs telemetry.Logs
	lis  net.Listener
}

// Start checks cfg and sets up logging, tracing and the server, and binds its
// address, so that what is wrong is known before any work is done.
func Start(ctx context.Context, name string, cfg ServiceConfig) (*Service, error) {
	version := ReadVersion().Version
	log := cfg.Logger
	if log == nil {
		log = telemetry.NewLogger(os.Stderr, cfg.Log, name, version)
	}
	if err := config.Check(cfg); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	logs, err := telemetry.StartLogs(ctx, os.Getenv, log, name, version)
	if err != nil {
		return nil, err
	}
	written, log := log, logs.Also(log, "kerf.dev/"+name) // what can't be sent is written alone
	tracing, err := telemetry.StartTracing(ctx, os.Getenv, written, name, version)
	if err != nil {
		return nil, errors.Join(err, logs.Shutdown(ctx))
	}
	s := &Service{Log: log, Tracing: tracing, Tracer: tracing.Tracer("kerf.dev/" + name), logs: logs}
	s.Metering, err = telemetry.StartMetering(ctx, telemetry.MeteringOptions{
		Getenv: os.Getenv, Log: written, Service: name, Version: version, Scraped: cfg.HealthListen != "",
	})
	if err == nil {
		s.Server, err = rpc.NewServer(cfg.ServerConfig, log, tracing)
	}
	if err == nil {
		s.lis, err = s.Listen(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if cfg.OnListen != nil {
		cfg.OnListen(s.Addr())
	}
	return s, nil
}

// Addr returns the address that the server is bound to.
func (s *Service) Addr() net.Addr { return s.lis.Addr() }

// Dial makes a connection to another service, traced and with our logger; see
// rpc.Dial. Pass the descriptors of the services whose idempotent methods are to
// be retried. The caller closes it.
func (s *Service) Dial(cfg rpc.ClientConfig, services ...protoreflect.ServiceDescriptor) (*grpc.ClientConn, error) {
	return rpc.Dial(cfg, rpc.DialOptions{Log: s.Log, Tracing: s.Tracing, Certificates: &s.Certificates, Services: services})
}

// Run serves and runs the tasks until ctx is done or one of them fails. Then the
// server drains while the tasks still work for the calls that end, and only then
// are the tasks cancelled. It returns when all have ended and closes the service.
func (s *Service) Run(ctx context.Context, tasks ...Task) error {
	defer func() {
		if err := s.Close(); err != nil {
			s.Log.Warn("close", telemetry.KeyError, err)
		}
	}()
	taskCtx, stopTasks := context.WithCancel(context.WithoutCancel(ctx))
	defer stopTasks()
	s.Metrics = s.Metering.Handler()
	g := newGroup(ctx)
	g.start(g.ctx, Task{Name: "rpc server", Run: func(ctx context.Context) error {
		defer stopTasks()
		return s.Serve(ctx, s.lis)
	}})
	for _, t := range tasks {
		g.start(taskCtx, t)
	}
	err := g.wait()
	s.Log.InfoContext(ctx, "stopped")
	return err
}

// Close frees what Start took and flushes telemetry. Run does it; call it only
// where Run is not reached. Calling it twice is harmless.
func (s *Service) Close() error {
	if s.lis != nil {
		_ = s.lis.Close() // closed already where the server has served
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := errors.Join(s.Tracing.Shutdown(ctx), s.Metering.Shutdown(ctx), s.logs.Shutdown(ctx)); err != nil {
		return fmt.Errorf("flush telemetry: %w", err)
	}
	return nil
}
