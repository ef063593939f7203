package rpc

import (
	"context"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// maxProbes is how many health checks are in flight. They don't count with the other calls: a server that has much to do is
// not dead.
const maxProbes = 16

// calls counts the calls in flight, over all connections. It refuses one too many before anything of its request is read: a
// message takes memory as soon as it comes in, long before a handler is asked. Safe for concurrent use.
type calls struct {
	most           int64 // without probes
	others, probes atomic.Int64
}

// tap is a tap.ServerInHandle.
func (c *calls) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if strings.HasPrefix(info.FullMethodName, healthPrefix) {
		if !enter(ctx, &c.probes, maxProbes) {
			return nil, status.Errorf(codes.ResourceExhausted, "%d health checks are in flight: try again later", maxProbes)
		}
		return ctx, nil
	}
	if !enter(ctx, &c.others, c.most) {
		return nil, status.Errorf(codes.ResourceExhausted,
			"%d calls are in flight, as many as limits.max_calls allows: try again later, raise it, or add replicas", c.most)
	}
	return ctx, nil
}

// enter counts a call until its stream, which ctx is of, has ended, and tells whether there was room for it.
func enter(ctx context.Context, now *atomic.Int64, most int64) bool {
	if now.Add(1) > most {
		now.Add(-1)
		return false
	}
	context.AfterFunc(ctx, func() { now.Add(-1) })
	return true
}
