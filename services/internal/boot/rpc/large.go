package rpc

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
)

// ReasonTooLarge says that a message is larger than its receiver takes.
const ReasonTooLarge = "TOO_LARGE"

// refusedFor is how the library words that a message is too large, whichever end it is that refuses it. A server that
// refuses a unary request does so before any code of ours is asked.
const refusedFor = "received message larger than max ("

// large puts that in words that name the limit and the way out; other errors stay as they are.
func large(err error) error {
	st, ok := status.FromError(err)
	if !ok || st.Code() != codes.ResourceExhausted {
		return err
	}
	_, figures, ok := strings.Cut(st.Message(), refusedFor)
	var n, most int64
	if _, bad := fmt.Sscanf(figures, "%d vs. %d)", &n, &most); !ok || bad != nil {
		return err
	}
	return rpcerr.New(codes.ResourceExhausted, ReasonTooLarge,
		"a message of %d bytes, and its receiver takes at most %d: send what is large in parts, as a session does, "+
			"or raise max_recv_bytes where it is received (a server has it under limits)", n, most)
}

func unaryLarge() grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		return large(invoke(ctx, method, req, reply, cc, opts...))
	}
}

func streamLarge() grpc.StreamClientInterceptor {
	return func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		s, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			return nil, err
		}
		return largeStream{s}, nil
	}
}

type largeStream struct{ grpc.ClientStream }

// RecvMsg implements grpc.ClientStream. What a server refuses comes by it too.
func (s largeStream) RecvMsg(m any) error { return large(s.ClientStream.RecvMsg(m)) }
