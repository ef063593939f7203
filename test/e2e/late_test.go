package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
)

// TestTheStoryEndsRightWhileThePlannerIsLate has a planner that answers late, at random times: it costs nothing but
// time. One that panics is TestTheStoryEndsRightWhileThePlannerPanics's, one that is killed
// TestTheStoryEndsRightWhileAServiceIsKilled's.
func TestTheStoryEndsRightWhileThePlannerIsLate(t *testing.T) {
	t.Parallel()
	b := between{random: rand.New(rand.NewPCG(seed(t), 0))}
	s := startWith(t, stack.Options{Examples: today, Between: func(planner string) string { return b.serve(t, planner) }})
	play(t, story.Options{Stack: s, Steps: story.Steps(), Late: true})
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Logf("%d of %d messages of the planner's were late", b.late, b.answers)
	if b.late == 0 {
		t.Error("the planner was never late")
	}
}

const (
	// oneIn is how many messages of the planner's there are for each that is late, and mostLate how late such a one is
	// at most.
	oneIn    = 8
	mostLate = 4 * time.Second
)

// between stands between watchers and the planner. It knows nothing of what they say to each other.
type between struct {
	mu            sync.Mutex
	random        *rand.Rand
	answers, late int
}

// frame is a message as it is on the wire; frames read and write those.
type frame struct{ data []byte }

type frames struct{}

func (frames) Name() string { return "proto" }

func (frames) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("%T is no frame", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(f.data)}, nil
}

func (frames) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("%T is no frame", v)
	}
	f.data = data.Materialize()
	return nil
}

// serve serves until the test ends, and returns where.
func (b *between) serve(t *testing.T, planner string) string {
	t.Helper()
	const most = 64 << 20
	conn, err := grpc.NewClient(planner, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(frames{}), grpc.MaxCallRecvMsgSize(most)))
	if err != nil {
		t.Fatal(err)
	}
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(frames{}), grpc.MaxRecvMsgSize(most),
		grpc.UnknownServiceHandler(func(_ any, watcher grpc.ServerStream) error { return b.pass(conn, watcher) }))
	go func() { _ = server.Serve(lis) }()
	t.Cleanup(func() {
		server.Stop()
		_ = conn.Close()
	})
	return lis.Addr().String()
}

// pass passes one call on.
func (b *between) pass(conn *grpc.ClientConn, watcher grpc.ServerStream) error {
	ctx, cancel := context.WithCancel(watcher.Context())
	defer cancel()
	method, _ := grpc.MethodFromServerStream(watcher)
	md, _ := metadata.FromIncomingContext(ctx)
	planner, err := conn.NewStream(metadata.NewOutgoingContext(ctx, md), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	go func() {
		for {
			f := &frame{}
			if err := watcher.RecvMsg(f); err != nil {
				if errors.Is(err, io.EOF) {
					_ = planner.CloseSend()
				}
				return
			}
			if planner.SendMsg(f) != nil {
				return // RecvMsg says why
			}
		}
	}()
	for {
		f := &frame{}
		if err := planner.RecvMsg(f); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(b.next()):
		}
		if err := watcher.SendMsg(f); err != nil {
			return err
		}
	}
}

// next is how late the planner's next message is.
func (b *between) next() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers++
	if b.random.IntN(oneIn) > 0 {
		return 0
	}
	b.late++
	return time.Duration(b.random.Int64N(int64(mostLate)))
}
