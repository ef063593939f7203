package server_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// ends ends a session in order and waits until the planner has ended it too.
func (c client) ends() {
	c.t.Helper()
	if err := c.CloseSend(); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.Recv(); !errors.Is(err, io.EOF) {
		c.t.Fatal(err)
	}
}

func TestMoreSessionsThanAllowedAreRefused(t *testing.T) {
	c := dial(t, server.Config{Limits: server.Limits{Sessions: 2}})
	var held []client
	for range 2 {
		s := open(t, c)
		s.send(part(snapshot(1), true), decide(question()))
		s.plan()
		held = append(held, s)
	}
	open(t, c).fails(codes.ResourceExhausted, server.ReasonBusy, "2 sessions, as many as sessions.max_sessions allows")
	held[0].ends()
	again := open(t, c)
	again.send(part(snapshot(1), true), decide(question()))
	again.plan()
}

func TestSessionsAndRequestsAreBoundedInSum(t *testing.T) {
	c := dial(t, server.Config{Limits: server.Limits{SnapshotBytes: 100_000, TotalBytes: 150_000}})
	first := open(t, c)
	first.send(part(snapshot(150), true), decide(question()))
	first.plan()
	second := open(t, c)
	second.send(part(snapshot(150), true))
	second.fails(codes.ResourceExhausted, server.ReasonBusy, "sessions.max_total_bytes allows: end a session, raise it")
	_, err := c.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: snapshot(150), Decide: question()})
	if e := checkError(t, err, codes.ResourceExhausted, server.ReasonBusy, "sessions.max_total_bytes"); e.RetryAfter <= 0 {
		t.Errorf("retry after %s", e.RetryAfter)
	}
	// The first one goes on, and may shrink; what it gives up others may have.
	gone := &clusterpb.Removed{}
	for i := range 140 {
		gone.Pods = append(gone.Pods, waiting(i).GetId())
	}
	first.send(delta(&clusterpb.Delta{BaseRevision: 1, Revision: 2, Removed: gone}, true), decide(question()))
	first.plan()
	whole(t, c, snapshot(150), question())
	first.ends()
	last := open(t, c)
	last.send(part(snapshot(150), true), decide(question()))
	last.plan()
}

func TestADeltaThatNeverEndsIsRefused(t *testing.T) {
	c := dial(t, server.Config{Limits: server.Limits{SnapshotBytes: 100_000}})
	s := open(t, c)
	s.send(part(snapshot(1), true))
	for range 20 { // the same pods each time
		s.send(delta(&clusterpb.Delta{BaseRevision: 1, Revision: 2, Upserted: &clusterpb.Snapshot{Pods: snapshot(20).Pods}}, false))
	}
	s.fails(codes.ResourceExhausted, server.ReasonTooLarge, "the delta has more than 100000 bytes")
}

func TestQuestionsThatWaitAreBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	slow := func(in model.Input) (model.Plan, error) {
		entered <- struct{}{}
		<-release
		return plan.Decide(in)
	}
	c := dial(t, server.Config{Decide: slow, Limits: server.Limits{Decides: 1, Waiting: 1}})
	answers := make(chan error, 3)
	ask := func() {
		_, err := c.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: snapshot(1), Decide: question()})
		answers <- err
	}
	go ask()
	<-entered
	// Of two more one waits and the other is refused, at once.
	go ask()
	go ask()
	_ = checkError(t, <-answers, codes.ResourceExhausted, server.ReasonBusy, "1 plans are being made and 1 questions wait")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			select {
			case <-entered:
			case <-ctx.Done():
			}
		}
	}()
	close(release)
	for range 2 {
		if err := <-answers; err != nil {
			if e, ok := rpcerr.From(err); ok {
				t.Errorf("%s: %s", e.Reason, e.Message)
			}
			t.Error(err)
		}
	}
}
