package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// deadlineMargin is taken off every client's deadline. Without it both ends time
// out at once, and the client reports its own "deadline exceeded" where ours
// would have said what it was that took so long.
const deadlineMargin = 20 * time.Millisecond

func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	start := time.Now()
	defer func() { s.finish(ctx, info.FullMethod, start, err) }()
	defer recovered(&err)
	bounded, cancel, err := s.admit(ctx, info.FullMethod, s.cfg.Limits.CallTimeout.Or(DefaultCallTimeout))
	if err != nil {
		return nil, err
	}
	defer cancel()
	return handler(bounded, req)
}

func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	start := time.Now()
	defer func() { s.finish(ss.Context(), info.FullMethod, start, err) }()
	defer recovered(&err)
	ctx, cancel, err := s.admit(ss.Context(), info.FullMethod, 0)
	if err != nil {
		return err
	}
	defer cancel()
	ctx, drain := context.WithCancelCause(ctx)
	defer drain(nil)
	defer context.AfterFunc(s.draining, func() { drain(errDraining) })()
	err = handler(srv, &endingStream{ServerStream: ss, ctx: ctx})
	if err != nil && context.Cause(ctx) == errDraining { //nolint:errorlint // our own sentinel, never wrapped
		return status.Error(codes.Unavailable, errDraining.Error())
	}
	return err
}

// admit authorises a call and bounds its time. A call without deadline gets
// timeout, or stays unbounded where timeout is zero (streams).
func (s *Server) admit(ctx context.Context, method string, timeout time.Duration) (context.Context, context.CancelFunc, error) {
	if s.secure() {
		if err := s.cfg.Authz.authorise(ctx, method); err != nil {
			return nil, nil, err
		}
	}
	deadline, ok := ctx.Deadline()
	switch {
	case !ok && timeout == 0:
		return ctx, func() {}, nil
	case !ok:
		ctx, cancel := context.WithTimeout(ctx, timeout)
		return ctx, cancel, nil
	}
	left := time.Until(deadline) - deadlineMargin
	if left <= 0 {
		return nil, nil, status.Errorf(codes.DeadlineExceeded, "%s: less than %s were left on arrival; nothing was done", method, deadlineMargin)
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	return ctx, cancel, nil
}

// panicError is what a handler that panicked returns: the client learns that it
// happened, the log also where.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func (e *panicError) GRPCStatus() *status.Status {
	return status.New(codes.Internal, "internal error: the handler panicked; see the server's log")
}

// recovered must be deferred itself, for recover to work.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = &panicError{value: v, stack: debug.Stack()}
	}
}

// finish logs a failed call, once and here.
func (s *Server) finish(ctx context.Context, method string, start time.Time, err error) {
	if err == nil {
		return
	}
	code := codeOf(err)
	attrs := []slog.Attr{
		slog.String(telemetry.KeyMethod, method), slog.String(telemetry.KeyCode, code.String()),
		slog.Duration(telemetry.KeyDuration, time.Since(start)), slog.Any(telemetry.KeyError, err),
	}
	if ids := Identities(ctx); len(ids) > 0 {
		attrs = append(attrs, slog.String(telemetry.KeyClient, ids[0]))
	}
	if p, ok := err.(*panicError); ok { //nolint:errorlint // made by recovered, never wrapped
		attrs = append(attrs, slog.String(telemetry.KeyStack, string(p.stack)))
	}
	s.log.LogAttrs(ctx, levelOf(code, err), "call failed", attrs...)
}

// codeOf is the code that the library will send for err.
func codeOf(err error) codes.Code {
	if st, ok := status.FromError(err); ok {
		return st.Code()
	}
	return status.FromContextError(err).Code()
}

func levelOf(code codes.Code, err error) slog.Level {
	if e := (*rpcerr.Error)(nil); errors.As(err, &e) && e.Reason == rpcerr.ReasonNotLeader {
		return slog.LevelDebug // the client looks for the leader, and asks each replica several times a second while there is none
	}
	switch code {
	case codes.Canceled:
		return slog.LevelDebug // the client went away; it knows
	case codes.Unknown, codes.Internal, codes.DataLoss:
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
}

// endingStream is a stream that ends with its context, even for a handler that
// waits in Recv, which the library wakes only when the connection breaks.
type endingStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream is one call
}

// Context implements grpc.ServerStream.
func (s *endingStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. The goroutine that it leaves behind when
// the context ends first is woken by the library once the handler has returned.
func (s *endingStream) RecvMsg(m any) error {
	got := make(chan error, 1)
	go func() { got <- large(s.ServerStream.RecvMsg(m)) }()
	select {
	case err := <-got:
		return err
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}
