// Package server is the planner's shell: it speaks gRPC, holds the snapshots of sessions, measures time, makes spans,
// and lets nothing out that verify has not passed. It decides nothing, and keeps nothing beyond a session's life but,
// where its config asks for that, the inputs that the planner failed on (keep.go).
//
// Start reading at Server.Plan and Server.answer; session.go is the stream, state.go what a session holds, bounds.go what
// all of them may hold together, measure.go what is measured.
package server

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/spans"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/safe"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// Reasons of this server's errors; they are part of the contract.
const (
	// ReasonPlanInvalid: the planner made a plan that breaks its own rules. It is a defect of the planner.
	ReasonPlanInvalid = "PLAN_INVALID"
	// ReasonTooLarge: the snapshot of a session is larger than the configuration allows, or a plan, or one entry of it,
	// larger than a message may be.
	ReasonTooLarge = "TOO_LARGE"
	// ReasonGap: a delta does not follow on what the session holds. Send a whole snapshot.
	ReasonGap = "GAP"
	// ReasonSequence: the message may not come at this point of a session.
	ReasonSequence = "SEQUENCE"
)

// maxUnaryBytes is the largest plan that Plan answers with: what clients take in one message, less what is around it.
const maxUnaryBytes = rpc.DefaultMaxMessageBytes - 1<<10

// Config is what a Server works with. The zero value works.
type Config struct {
	// Tracer makes the spans; nil makes none.
	Tracer trace.Tracer
	// Log hears of plans that were thrown away; nil hears nothing.
	Log *slog.Logger
	// Decide makes plans from whole inputs; nil is plan.Decide, and in sessions what they keep from plan to plan.
	Decide verify.Decider
	// Limits is what callers may take.
	Limits Limits
	// FailedInputs is the folder that inputs are kept in which the planner fails on; "" keeps none.
	FailedInputs string
}

// Server implements PlannerService. It is safe for concurrent use.
type Server struct {
	plannerpb.UnimplementedPlannerServiceServer

	cfg    Config
	bounds *bounds
	busy   chan struct{} // holds one entry for each plan that is being made

	metrics *metrics.Recorder // nil: nothing is measured
}

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Tracer == nil {
		cfg.Tracer = telemetry.Tracing{}.Tracer("")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Limits.defaults(runtime.GOMAXPROCS(0))
	return &Server{cfg: cfg, bounds: &bounds{limits: cfg.Limits}, busy: make(chan struct{}, cfg.Limits.Decides)}
}

// Plan answers one whole snapshot with one plan.
func (s *Server) Plan(ctx context.Context, req *plannerpb.PlanRequest) (*plannerpb.PlanResponse, error) {
	snap, d := req.GetSnapshot(), req.GetDecide()
	held := sizeOf(snap)
	if err := s.bounds.hold(held); err != nil {
		return nil, err
	}
	defer s.bounds.hold(-held) //nolint:errcheck // less is never refused
	p, err := s.answer(ctx, question{
		revision: snap.GetRevision(), pods: len(snap.GetPods()),
		read:   func() (model.Input, error) { return convert.Input(snap, d) },
		decide: func(in *model.Input) (model.Plan, error) { return s.anew(ctx, *in) },
	}, d)
	if err != nil {
		return nil, err
	}
	if n := proto.Size(p); n > maxUnaryBytes {
		return nil, rpcerr.New(grpccodes.ResourceExhausted, ReasonTooLarge,
			"the plan has %d bytes, one message %d at most: use Session, which sends it in parts", n, maxUnaryBytes)
	}
	return &plannerpb.PlanResponse{Plan: p}, nil
}

// anew plans for a whole input.
func (s *Server) anew(ctx context.Context, in model.Input) (model.Plan, error) {
	if s.cfg.Decide != nil {
		return s.cfg.Decide(in)
	}
	alone, err := plan.NewSession(&in.Snapshot)
	if err != nil {
		return model.Plan{}, err
	}
	return alone.Decide(asked(ctx, &in))
}

// asked is an input's question to a session, which is given up when ctx ends.
func asked(ctx context.Context, in *model.Input) plan.Question {
	q := plan.QuestionOf(in)
	q.Stop = func() bool { return ctx.Err() != nil }
	return q
}

// question is what a plan is asked about.
type question struct {
	revision uint64
	pods     int
	// read reads what was asked; decide plans, and fills in of the input what is not read.
	read   func() (model.Input, error)
	decide func(*model.Input) (model.Plan, error)
}

// answer makes a plan. It waits while too many are being made. When the caller has gone, the core gives up within
// milliseconds.
func (s *Server) answer(ctx context.Context, q question, d *plannerpb.Decide) (*plannerpb.Plan, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.busy }()
	begun := time.Now()
	ctx = telemetry.ContextFromTraceparent(ctx, d.GetTraceparent())
	ctx, span := s.cfg.Tracer.Start(ctx, spans.Plan, trace.WithAttributes(
		spans.Revision.Int64(int64(q.revision)), spans.Pods.Int(q.pods)))
	defer span.End()
	p, err := s.decide(ctx, q)
	s.measured(d, time.Since(begun), err)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		return nil, err
	}
	span.SetAttributes(spans.PlanID.String(p.GetId()), spans.AwaitRoom.Int(convert.AwaitRoom(p)))
	evidence(span, p)
	p.Traceparent = telemetry.TraceparentFromContext(ctx)
	return p, nil
}

// decide goes the way of a plan: read, decide, verify, write.
func (s *Server) decide(ctx context.Context, q question) (*plannerpb.Plan, error) {
	var watch stopwatch
	watch.start()
	in, err := q.read()
	if err != nil {
		return nil, invalid(err)
	}
	watch.lap("convert")
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var stack string
	a, err := safe.Decide(in, func(in *model.Input) (model.Plan, error) {
		if watch.has("decide") {
			watch.lap("verify")
		}
		defer noteStack(&stack)
		p, err := q.decide(in)
		watch.lap("decide")
		return p, err
	}, func(in model.Input) (model.Plan, error) {
		defer noteStack(&stack)
		return s.anew(ctx, in)
	})
	failed := s.tell(ctx, q.revision, &a, stack)
	if err != nil {
		return nil, undecided(ctx, err)
	}
	if len(a.Broken) > 0 {
		return nil, rpcerr.New(grpccodes.Internal, ReasonPlanInvalid, "the plan for input %s at revision %d breaks %d rules and was thrown away: %s",
			failed, q.revision, len(a.Broken), verify.Join(a.Broken))
	}
	watch.lap("verify")
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := convert.Plan(a.Plan)
	out.Timings = watch.laps
	return out, nil
}

// noteStack notes where a panic was that passes by, the first one. It must be deferred itself.
func noteStack(stack *string) {
	if v := recover(); v != nil {
		if *stack == "" {
			*stack = string(debug.Stack())
		}
		panic(v)
	}
}

// tell notes which plans were thrown away, why, and what the next ones did without: the claims that they excluded, all
// disruptions, or the pods and pools that the planner fails on. It is a defect of the planner. It returns the hash of
// the input that it first failed on, which is kept; "" where there is none.
func (s *Server) tell(ctx context.Context, revision uint64, a *safe.Answer, stack string) (failed string) {
	if a.Failed == nil {
		return ""
	}
	failed, err := plan.Hash(a.Failed)
	if err != nil {
		failed = "unknown: " + err.Error()
	}
	kept := s.keep(failed, a.Failed)
	s.metrics.Add(metrics.PlanThrown, float64(len(a.Thrown)))
	if stack != "" || len(a.LeftOut)+len(a.LeftPools)+len(a.Broken) > 0 {
		s.cfg.Log.ErrorContext(ctx, "the planner failed: what it was asked is kept where the config names a folder, and the pods in question stay pending",
			"revision", revision, "input", failed, "kept", kept, "classes", a.LeftOut, "pools", a.LeftPools, telemetry.KeyStack, stack)
	}
	for _, t := range a.Thrown {
		excluded := make([]string, len(t.Excluded))
		for i, id := range t.Excluded {
			excluded[i] = string(id)
		}
		broken := verify.Join(t.Broken)
		trace.SpanFromContext(ctx).AddEvent(spans.ThrownAway, trace.WithAttributes(
			spans.Message.String(broken), spans.Excluded.StringSlice(excluded)))
		s.cfg.Log.WarnContext(ctx, "a plan broke rules and is made again without some of its disruptions, or without all",
			"revision", revision, "input", failed, "kept", kept, "broken", broken, "excluded", excluded)
	}
	return failed
}

// undecided says why there is no plan: no one waits for it any more, or the request is at fault.
func undecided(ctx context.Context, err error) error {
	if errors.Is(err, plan.ErrStopped) {
		return ctx.Err()
	}
	return invalid(err)
}

// invalid says what is wrong with a request; nil is nothing.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	var bad *convert.Error
	if !errors.As(err, &bad) {
		return rpcerr.New(grpccodes.InvalidArgument, rpcerr.ReasonInvalid, "invalid request: %s", err)
	}
	out := rpcerr.New(grpccodes.InvalidArgument, rpcerr.ReasonInvalid, "invalid request: %s", shorten(bad))
	for _, p := range bad.Problems {
		out.Violations = append(out.Violations, rpcerr.Violation{Field: p.Path, Problem: p.String()})
	}
	return out
}

// shorten keeps the message readable; the details have the rest.
func shorten(bad *convert.Error) error {
	const most = 10
	if len(bad.Problems) <= most {
		return bad
	}
	return &convert.Error{Problems: bad.Problems[:most], More: bad.More + len(bad.Problems) - most}
}

// stopwatch measures the parts of a plan's making.
type stopwatch struct {
	last time.Time
	laps []*plannerpb.Timing
}

func (w *stopwatch) start() { w.last = time.Now() }

// lap ends a part; what is done in several goes is one part.
func (w *stopwatch) lap(part string) {
	now := time.Now()
	took := now.Sub(w.last)
	w.last = now
	if i := w.find(part); i >= 0 {
		w.laps[i].Duration = durationpb.New(w.laps[i].GetDuration().AsDuration() + took)
		return
	}
	w.laps = append(w.laps, &plannerpb.Timing{Part: part, Duration: durationpb.New(took)})
}

func (w *stopwatch) has(part string) bool { return w.find(part) >= 0 }

func (w *stopwatch) find(part string) int {
	return slices.IndexFunc(w.laps, func(t *plannerpb.Timing) bool { return t.GetPart() == part })
}
