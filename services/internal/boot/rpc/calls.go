package rpc

import (
	"context"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// calls counts the calls in flight, over all connections. It refuses one too many before anything of its request is read: a
// message takes memory as soon as it comes in, long before a handler is asked. Safe for concurrent use.
type calls struct {
	most int64
	now  atomic.Int64
}

// tap is a tap.ServerInHandle.
func (c *calls) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if strings.HasPrefix(info.FullMethodName, healthPrefix) {
		return ctx, nil // a server that has much to do is not dead
	}
	if n := c.now.Add(1); n > c.most {
		c.now.Add(-1)
		return nil, status.Errorf(codes.ResourceExhausted,
			"%d calls are in flight, as many as limits.max_calls allows: try again later, raise it, or add replicas", c.most)
	}
	context.AfterFunc(ctx, func() { c.now.Add(-1) }) // it is the stream's, which ends with the call
	return ctx, nil
}
