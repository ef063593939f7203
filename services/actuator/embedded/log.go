package embedded

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// core hands etcd's errors to the service's log, and nothing that is less: etcd says much of what it does well.
type core struct {
	log  *slog.Logger
	with []zap.Field
}

// Enabled implements zapcore.Core.
func (core) Enabled(l zapcore.Level) bool { return l >= zapcore.ErrorLevel }

// With implements zapcore.Core.
func (c core) With(fields []zap.Field) zapcore.Core {
	return core{c.log, slices.Concat(c.with, fields)}
}

// Check implements zapcore.Core.
func (c core) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write implements zapcore.Core.
func (c core) Write(e zapcore.Entry, fields []zap.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range slices.Concat(c.with, fields) {
		f.AddTo(values)
	}
	c.log.LogAttrs(context.Background(), slog.LevelError, "embedded etcd", slog.String("etcd", e.Message), slog.Any("etcd_fields", values.Fields))
	return nil
}

// Sync implements zapcore.Core.
func (core) Sync() error { return nil }
