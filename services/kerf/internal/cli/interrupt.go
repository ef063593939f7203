package cli

import (
	"context"
	"io"

	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

// read reads files, which an interrupt ends: what they come through may have nothing to say, as a terminal or a pipe has.
func read(ctx context.Context, paths []string, stdin io.Reader) ([]offline.File, error) {
	return interruptible(ctx, func() ([]offline.File, error) { return offline.Read(paths, stdin) })
}

// interruptible waits for f, but no longer than ctx lasts. It starts a goroutine, which the end of the process ends.
func interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
