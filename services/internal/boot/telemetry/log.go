package telemetry

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

// Attribute keys that every service's log lines share.
const (
	KeyService  = "service"
	KeyVersion  = "version"
	KeyTraceID  = "trace_id"
	KeySpanID   = "span_id"
	KeyError    = "error"
	KeyAddress  = "address"
	KeyMethod   = "method"
	KeyCode     = "code"
	KeyClient   = "client"
	KeyDuration = "duration"
	KeyStack    = "stack"
)

// LogConfig is the "log" section of a service's config.
type LogConfig struct {
	// Level is how much is told: debug, info, warn or error; empty is info.
	Level string `json:"level"`
	// Format is how lines are written: json or text; empty is json.
	Format string `json:"format"`
}

// Validate implements config.Validator.
func (c LogConfig) Validate() error {
	if _, ok := level(c.Level); !ok {
		return config.Errorf("level", "%q is none of debug, info, warn, error", c.Level)
	}
	if c.Format != "" && c.Format != "json" && c.Format != "text" {
		return config.Errorf("format", "%q is neither json nor text", c.Format)
	}
	return nil
}

func level(name string) (slog.Level, bool) {
	switch name {
	case "debug":
		return slog.LevelDebug, true
	case "", "info":
		return slog.LevelInfo, true
	case "warn":
		return slog.LevelWarn, true
	case "error":
		return slog.LevelError, true
	default:
		return 0, false
	}
}

// NewLogger returns a logger that writes to w and adds service, version and, from
// the context of each call, the trace and span ids. It sets no global.
func NewLogger(w io.Writer, cfg LogConfig, service, version string) *slog.Logger {
	lvl, _ := level(cfg.Level)
	opts := &slog.HandlerOptions{Level: lvl}
	var h slog.Handler = slog.NewJSONHandler(w, opts)
	if cfg.Format == "text" {
		h = slog.NewTextHandler(w, opts)
	}
	return slog.New(traceHandler{h}).With(KeyService, service, KeyVersion, version)
}

// traceHandler adds the ids of the context's span to each record.
type traceHandler struct{ slog.Handler }

func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r.AddAttrs(slog.String(KeyTraceID, sc.TraceID().String()), slog.String(KeySpanID, sc.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
