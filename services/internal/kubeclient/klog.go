package kubeclient

import (
	"context"
	"log/slog"
	"sync/atomic"

	"k8s.io/klog/v2"
)

// spoken is where client-go's own lines go; nil until Log says it.
var spoken atomic.Pointer[slog.Handler] //nolint:gochecknoglobals // as klog has one logger

// klog's logger is the process's and not to be changed while somebody uses it, so it is set before anyone can. Where
// it writes to is said later, by as many services as the process has.
func init() { //nolint:gochecknoinits // see above
	klog.SetSlogLogger(slog.New(relay{func(h slog.Handler) slog.Handler { return h }}).With("by", "client-go"))
}

// Log has client-go's own lines written as the service's. What is no error is for those who look for one: it has a line
// for each resource whenever a connection breaks, which reach and the informers' owners tell of once.
func Log(log *slog.Logger) {
	var h slog.Handler = hushed{log.Handler()}
	spoken.Store(&h)
}

// relay hands records to the handler that Log was given last, and before that to the process's own. With is what was
// added to it since.
type relay struct {
	with func(slog.Handler) slog.Handler
}

func (l relay) target() slog.Handler {
	if h := spoken.Load(); h != nil {
		return l.with(*h)
	}
	return l.with(hushed{slog.Default().Handler()})
}

// Enabled implements slog.Handler.
func (l relay) Enabled(ctx context.Context, level slog.Level) bool {
	return l.target().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l relay) Handle(ctx context.Context, r slog.Record) error { //nolint:gocritic // the interface's
	return l.target().Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l relay) WithAttrs(attrs []slog.Attr) slog.Handler {
	return relay{func(h slog.Handler) slog.Handler { return l.with(h).WithAttrs(attrs) }}
}

// WithGroup implements slog.Handler.
func (l relay) WithGroup(name string) slog.Handler {
	return relay{func(h slog.Handler) slog.Handler { return l.with(h).WithGroup(name) }}
}

// hushed lowers what is below a warning to the level of debugging.
type hushed struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h hushed) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, hush(level))
}

// Handle implements slog.Handler.
func (h hushed) Handle(ctx context.Context, r slog.Record) error { //nolint:gocritic // the interface's
	r.Level = hush(r.Level)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h hushed) WithAttrs(attrs []slog.Attr) slog.Handler { return hushed{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h hushed) WithGroup(name string) slog.Handler { return hushed{h.Handler.WithGroup(name)} }

func hush(level slog.Level) slog.Level {
	if level < slog.LevelWarn {
		return min(level, slog.LevelDebug)
	}
	return level
}
