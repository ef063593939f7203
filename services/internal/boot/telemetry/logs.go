package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// Logs sends log lines by OTLP. The zero value is off.
type Logs struct {
	provider *sdklog.LoggerProvider // nil: off
}

// StartLogs sends log lines where OTEL_LOGS_EXPORTER is otlp, or OTEL_EXPORTER_OTLP_LOGS_ENDPOINT is set. The endpoint
// for all signals alone does not send them: they are on stderr, which most clusters collect, and would be stored twice.
// What can't be sent is told to log, which must not be one that sends.
func StartLogs(ctx context.Context, getenv func(string) string, log *slog.Logger, service, version string) (Logs, error) {
	asked := getenv("OTEL_LOGS_EXPORTER") != "" || getenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT") != ""
	if !asked || disabled(getenv) {
		return Logs{}, nil
	}
	on, err := wanted(getenv, "LOGS")
	if err != nil || !on {
		return Logs{}, err
	}
	exporter, err := newLogExporter(ctx, getenv)
	if err != nil {
		return Logs{}, fmt.Errorf("logs: %w", err)
	}
	res, err := newResource(ctx, service, version)
	if err != nil {
		return Logs{}, err
	}
	reportFailures(log)
	return Logs{provider: sdklog.NewLoggerProvider(sdklog.WithResource(res), sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))}, nil
}

// newLogExporter picks the wire protocol; unset means grpc.
func newLogExporter(ctx context.Context, getenv func(string) string) (sdklog.Exporter, error) {
	web, err := overHTTP(getenv, "LOGS")
	if err != nil {
		return nil, err
	}
	if web {
		return otlploghttp.New(ctx)
	}
	return otlploggrpc.New(ctx)
}

// Also returns a logger that writes what log does, and sends it as well. The ids of the context's span are the record's
// own.
func (l Logs) Also(log *slog.Logger, name string) *slog.Logger {
	if l.provider == nil {
		return log
	}
	sent := otelslog.NewHandler(name, otelslog.WithLoggerProvider(l.provider))
	return slog.New(slog.NewMultiHandler(log.Handler(), like{sent, log.Handler()}))
}

// Shutdown sends the lines that are still queued, until ctx ends.
func (l Logs) Shutdown(ctx context.Context) error {
	if l.provider == nil {
		return nil
	}
	return l.provider.Shutdown(ctx)
}

// like takes the records that another handler takes.
type like struct {
	slog.Handler
	level slog.Handler
}

func (h like) Enabled(ctx context.Context, level slog.Level) bool { return h.level.Enabled(ctx, level) }

func (h like) WithAttrs(attrs []slog.Attr) slog.Handler {
	return like{h.Handler.WithAttrs(attrs), h.level}
}

func (h like) WithGroup(name string) slog.Handler { return like{h.Handler.WithGroup(name), h.level} }
