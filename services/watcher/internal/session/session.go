// Package session keeps one planner up to date with the snapshot, and asks it for plans.
//
// It sends a whole snapshot at first, then only how the snapshot has changed since the last question. Any error, a gap in
// the revisions among them, ends the planner's stream; the next question opens a new one with a whole snapshot, so that
// nothing the planner forgot can be missed. It must never decide when to plan or what becomes of a plan. Start reading at
// Client.Plan.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// maxPlanBytes bounds what a plan may grow to over all its parts.
const maxPlanBytes = 256 << 20

// Config is what a Client works with.
type Config struct {
	Planner plannerpb.PlannerServiceClient
	Header  wire.Header
	// PartBytes is how large a message may grow; zero is wire.MaxPartBytes.
	PartBytes int
}

// Client is one session after another. It is owned by one goroutine.
type Client struct {
	cfg    Config
	stream plannerpb.PlannerService_SessionClient // nil: none is open
	cancel context.CancelFunc
	held   snapshot.Snapshot // what the planner holds
}

// New makes a client; it does not connect.
func New(cfg Config) *Client {
	if cfg.PartBytes < 1 {
		cfg.PartBytes = wire.MaxPartBytes
	}
	return &Client{cfg: cfg}
}

// Plan asks for a plan for s. A session that has gone stale since the last question, as any planner's may, is replaced
// once by a new one; an error on a new one is returned, and the next call begins anew.
func (c *Client) Plan(ctx context.Context, s snapshot.Snapshot, d *plannerpb.Decide) (*plannerpb.Plan, error) {
	stale := c.stream != nil
	plan, err := c.ask(ctx, s, d)
	if err != nil && stale && ctx.Err() == nil {
		plan, err = c.ask(ctx, s, d)
	}
	if err != nil {
		return nil, fmt.Errorf("plan revision %d: %w", s.Revision, err)
	}
	return plan, nil
}

// Close ends the session, if there is one.
func (c *Client) Close() {
	if c.stream != nil {
		c.cancel()
		c.stream = nil
	}
}

// ask puts one question to the session; after an error there is no session.
func (c *Client) ask(ctx context.Context, s snapshot.Snapshot, d *plannerpb.Decide) (*plannerpb.Plan, error) {
	if c.stream == nil {
		if err := c.open(ctx); err != nil {
			return nil, err
		}
	}
	// The stream outlives the question; a question that has no more time ends it.
	defer context.AfterFunc(ctx, c.cancel)()
	plan, err := c.exchange(s, d)
	if err != nil {
		c.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	c.held = s
	return plan, nil
}

// open starts a stream that belongs to no trace, as it serves many.
func (c *Client) open(ctx context.Context) error {
	life := trace.ContextWithSpanContext(context.WithoutCancel(ctx), trace.SpanContext{})
	life, cancel := context.WithCancel(life)
	stream, err := c.cfg.Planner.Session(life)
	if err != nil {
		cancel()
		return err
	}
	c.stream, c.cancel, c.held = stream, cancel, snapshot.Snapshot{}
	return nil
}

func (c *Client) exchange(s snapshot.Snapshot, d *plannerpb.Decide) (*plannerpb.Plan, error) {
	for m := range c.update(s) {
		if err := c.send(m); err != nil {
			return nil, err
		}
	}
	if err := c.send(&plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Decide{Decide: d}}); err != nil {
		return nil, err
	}
	return c.receive(s.Revision)
}

// update is what brings the planner up to s, each message made when it is to be sent.
func (c *Client) update(s snapshot.Snapshot) iter.Seq[*plannerpb.SessionRequest] {
	return func(yield func(*plannerpb.SessionRequest) bool) {
		if c.held.Revision == 0 {
			for p, last := range wire.Parts(s, c.cfg.Header, c.cfg.PartBytes) {
				part := &clusterpb.SnapshotPart{Snapshot: p, Last: last}
				if !yield(&plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Snapshot{Snapshot: part}}) {
					return
				}
			}
			return
		}
		if c.held.Revision == s.Revision {
			return
		}
		parts := wire.DeltaParts(snapshot.Diff(c.held, s), c.cfg.Header, c.cfg.PartBytes)
		for i, p := range parts {
			part := &clusterpb.DeltaPart{Delta: p, Last: i == len(parts)-1}
			if !yield(&plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Delta{Delta: part}}) {
				return
			}
		}
	}
}

// send reports the planner's own error where it has ended the stream.
func (c *Client) send(m *plannerpb.SessionRequest) error {
	err := c.stream.Send(m)
	if !errors.Is(err, io.EOF) {
		return err
	}
	for {
		if _, err := c.stream.Recv(); err != nil {
			return ended(err)
		}
	}
}

// receive puts a plan together.
func (c *Client) receive(revision uint64) (*plannerpb.Plan, error) {
	plan := &plannerpb.Plan{}
	for bytes := 0; ; {
		m, err := c.stream.Recv()
		if err != nil {
			return nil, ended(err)
		}
		part := m.GetPlan()
		if part == nil {
			return nil, errors.New("the planner sent a message that is no part of a plan")
		}
		if bytes += proto.Size(part); bytes > maxPlanBytes {
			return nil, fmt.Errorf("the plan is larger than %d bytes", maxPlanBytes)
		}
		proto.Merge(plan, part.GetPlan())
		if part.GetLast() {
			break
		}
	}
	if plan.GetRevision() != revision {
		return nil, fmt.Errorf("the planner answered for revision %d", plan.GetRevision())
	}
	return plan, nil
}

// ended names the planner's orderly end of the stream, which is an error while an answer is due.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the planner ended the session without an answer")
	}
	return err
}
