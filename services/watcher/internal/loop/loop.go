// Package loop drives the cluster: it folds what is observed into the snapshot, asks for a plan when one is due, and
// relays plans to the actuator's leader.
//
// One goroutine owns the snapshot and takes every decision about when (package pace does the reckoning); one more runs
// the plan at hand, so that folding never waits for a planner. It must never look for which nodes to launch or to
// disrupt. Start reading at Loop.Run, then cycle.
package loop

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/watcher/internal/inventory"
	"github.com/kerf-dev/kerf/services/watcher/internal/measure"
	"github.com/kerf-dev/kerf/services/watcher/internal/pace"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// Planner answers a snapshot with a plan. It is called by one goroutine at a time.
type Planner interface {
	Plan(ctx context.Context, s snapshot.Snapshot, d *plannerpb.Decide) (*plannerpb.Plan, error)
	Close()
}

// Actuator takes plans for its leader.
type Actuator interface {
	Apply(ctx context.Context, r *actuatorpb.ApplyRequest) (*actuatorpb.ApplyResponse, error)
}

// Config is what a Loop works with. All fields but Measure are required.
type Config struct {
	Planner  Planner
	Actuator Actuator
	Pace     pace.Config
	// Policy goes with each question; it is never changed.
	Policy *clusterpb.Policy
	// PlanTimeout and ApplyTimeout bound one plan and one relay.
	PlanTimeout, ApplyTimeout time.Duration
	// Seen is called once the cluster was read as a whole.
	Seen func()
	// Publish is called with each new snapshot, and Relayed each plan that was relayed with what the actuator answered.
	// Trouble is called when what keeps plans from being made or carried out is another than before, with it; "" is
	// nothing. None of them may block.
	Publish func(snapshot.Snapshot)
	Relayed func(*plannerpb.Plan, []*actuatorpb.Verdict)
	Trouble func(string)

	// PlannerAddress and ActuatorAddresses are for messages.
	PlannerAddress    string
	ActuatorAddresses []string

	Log    *slog.Logger
	Tracer trace.Tracer
	Now    func() time.Time
	// Measure may be nil.
	Measure *measure.Measure
}

// Inputs are where observations come from.
type Inputs struct {
	Cluster   <-chan snapshot.Batch
	Inventory <-chan inventory.Update
}

// Loop is one watcher's loop. Make it with New; Run may be called once.
type Loop struct {
	cfg      Config
	snapshot snapshot.Snapshot
	backlog  backlog
	bound    bound
	triggers triggers
	pace     pace.State

	readWhole bool // the cluster was read as a whole
	led       bool // an actuator's leader is followed
	driver    bool
	paused    string      // why none is, where that is this watcher's own will
	results   chan result // of the plan at hand
	running   bool

	// relayed is what the actuator's leader was told last; anew says that there is another one since the plan at hand
	// began, or that this watcher has not driven all the time: what that plan told does not count.
	relayed relayed
	anew    bool
	// knownProblems are those of users' objects in the last plan.
	knownProblems map[string]bool
	resume        string // where the last search for nodes to disrupt ended
	trouble       trouble
	told          string // of what is in the way
}

// New makes a loop.
func New(cfg Config) *Loop {
	return &Loop{cfg: cfg, backlog: newBacklog(), bound: newBound(cfg.Tracer, cfg.Now), triggers: newTriggers(), results: make(chan result, 1)}
}

// Run runs until ctx is done. It starts one goroutine at a time, for the plan at hand, and waits for it.
func (l *Loop) Run(ctx context.Context, in Inputs) error {
	defer l.cfg.Planner.Close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if l.running {
				<-l.results
			}
			return ctx.Err()
		case b := <-in.Cluster:
			if len(b.Whole) > 0 && !l.readWhole {
				l.readWhole = true
				l.cfg.Seen()
			}
			l.fold(ctx, b, time.Time{})
		case u := <-in.Inventory:
			l.hear(ctx, u)
		case r := <-l.results:
			l.finish(ctx, r)
		case <-timer.C:
		}
		l.admit()
		l.pace = l.pace.Drive(l.driver && l.readWhole, l.cfg.Now())
		d := l.pace.Next(l.cfg.Pace, l.cfg.Now())
		switch {
		case d.Plan:
			l.begin(ctx, d)
		case !d.Wake.IsZero():
			timer.Reset(d.Wake.Sub(l.cfg.Now()))
		default:
			timer.Stop()
		}
	}
}

// fold makes the next snapshot. whole is when the inventory in the batch was asked for, if it is a whole one.
func (l *Loop) fold(ctx context.Context, b snapshot.Batch, whole time.Time) {
	next := b.Fold(l.snapshot)
	if next.Revision == l.snapshot.Revision && whole.IsZero() {
		return
	}
	delta := snapshot.Diff(l.snapshot, next)
	fresh, arrived := l.backlog.follow(delta)
	l.bound.follow(&l.snapshot, delta)
	l.triggers.follow(&l.snapshot, delta)
	was := l.snapshot
	l.snapshot = next
	l.pace = l.pace.Observe(pace.Observation{
		NewPods: fresh, Arrived: arrived, Pods: next.Len(snapshot.Pod), Work: l.backlog.work(), Waiting: l.backlog.waiting(),
		Inventory: next.InventoryRevision, WholeSince: whole,
	}, l.cfg.Now())
	if l.readWhole {
		l.cfg.Measure.Changed(&was, delta)
		l.cfg.Measure.Saw(next)
		l.cfg.Publish(next)
	}
	l.cfg.Log.DebugContext(ctx, "folded", keyRevision, next.Revision, "events", len(b.Events), "new_pods", fresh)
}

// hear takes what the leader said. When its stream has ended, it is not known who drives, so that this watcher does not.
func (l *Loop) hear(ctx context.Context, u inventory.Update) {
	l.led, l.paused = len(u.Batch.Events) > 0, u.Paused
	if u.Driver != l.driver {
		l.driver = u.Driver
		l.cfg.Measure.Drives(u.Driver)
		l.cfg.Log.InfoContext(ctx, "driver changed", "driver", u.Driver)
		l.relayed, l.anew = relayed{}, true
	}
	var whole time.Time
	if u.Whole {
		whole = u.Asked
		l.relayed, l.anew = relayed{}, true
	}
	l.fold(ctx, u.Batch, whole)
}

// begin starts a plan for the snapshot as it is now.
func (l *Loop) begin(ctx context.Context, d pace.Decision) {
	l.pace = l.pace.Started(d)
	l.running, l.anew = true, false
	c := cycle{
		cfg: l.cfg, decision: d, snapshot: l.snapshot, pods: len(l.backlog.pending), relayed: l.relayed, resume: l.resume,
		links: l.triggers.take(d.Everything, l.cfg.Now()),
	}
	go func() { l.results <- c.run(ctx) }()
}

// finish takes what became of the plan at hand.
func (l *Loop) finish(ctx context.Context, r result) {
	l.running = false
	if l.resume = r.resume; !l.anew {
		l.relayed = r.relayed
	}
	if r.applied != nil {
		l.bound.planned(r.applied, r.refused, l.backlog.pending, &l.snapshot)
	}
	l.triggers.finished(r)
	l.pace = l.pace.Finished(l.cfg.Pace, r.outcome, l.cfg.Now())
	l.report(ctx, r)
	l.tell(ctx, r)
}

// tell says once what is wrong with users' objects, before it is in the way, and again when it has come back.
func (l *Loop) tell(ctx context.Context, r result) {
	if !r.swept {
		return
	}
	known, said := map[string]bool{}, 0
	for _, p := range r.problems {
		subject := convert.SubjectText(p.GetSubject())
		key := subject + " " + p.GetCode().String()
		known[key] = true
		if l.knownProblems[key] {
			continue
		}
		if said++; said <= maxRejections {
			l.cfg.Log.WarnContext(ctx, "problem", "subject", subject, "code", p.GetCode().String(), "reason", p.GetMessage(),
				"remedy", p.GetRemedy())
		}
	}
	l.knownProblems = known
}
