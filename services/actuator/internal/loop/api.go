package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// Errors of the calls below.
var (
	// ErrNotReady says that this leader has not seen everything yet; ask again in a moment.
	ErrNotReady = errors.New("the leader has just begun and has not seen everything yet")
	// ErrNotFound says that there is no such claim.
	ErrNotFound = errors.New("no such claim")
	// ErrUnknown says that the leadership ended during the call: what was asked may have been done or not, and can be
	// asked again.
	ErrUnknown = errors.New("the leadership ended during the call")
)

// NotLeaderError says that another candidate must be asked.
type NotLeaderError struct {
	// Leader is what it campaigned with; "" while there is none.
	Leader string
}

// Error implements error.
func (e *NotLeaderError) Error() string {
	if e.Leader == "" {
		return "not the leader, and there is none now"
	}
	return "not the leader; " + e.Leader + " is"
}

// Pending is a pod that a plan leaves pending, and why.
type Pending struct {
	Pod    string // namespace/name
	Reason model.Reason
}

// Answer is what became of a plan.
type Answer struct {
	Verdicts []model.Verdict
	// Revision is the inventory revision that contains the effects.
	Revision int64
}

// call runs f on the leader's goroutine and waits for it.
func (l *Loop) call(ctx context.Context, f func(*leader) error) error {
	l.mu.Lock()
	h := l.term
	l.mu.Unlock()
	if h == nil {
		leader, err := l.cfg.Election.Leader(ctx)
		if err != nil {
			return errors.Join(&NotLeaderError{}, err)
		}
		if leader == l.cfg.Name {
			leader = "" // elected, and not at work yet
		}
		return &NotLeaderError{Leader: leader}
	}
	result := make(chan error, 1)
	select {
	case h.requests <- func(ld *leader) { result <- f(ld) }:
	case <-h.done:
		return &NotLeaderError{}
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-result:
		return err
	case <-h.done:
		return ErrUnknown
	}
}

// Apply checks a plan and stores what is accepted of it; it is carried out from then on, whatever happens to the caller
// or to this leader.
func (l *Loop) Apply(ctx context.Context, p model.Plan, pending []Pending, dryRun bool) (Answer, error) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = telemetry.ContextFromTraceparent(ctx, p.Traceparent)
	}
	ctx, span := l.cfg.Tracer.Start(ctx, "actuator.Apply", trace.WithAttributes(
		attribute.String(keyPlan, string(p.ID)), attribute.Int64(keyRevision, p.InventoryRevision)))
	defer span.End()
	if parent := telemetry.TraceparentFromContext(ctx); parent != "" {
		p.Traceparent = parent
	}
	var answer Answer
	err := l.call(ctx, func(ld *leader) (err error) {
		answer, err = ld.apply(ctx, p, pending, dryRun)
		return err
	})
	return answer, err
}

// apply runs on the leader's goroutine. It looks at the cluster afresh, because the last pass may be a moment old.
func (l *leader) apply(ctx context.Context, p model.Plan, pending []Pending, dryRun bool) (Answer, error) {
	if !l.ready {
		return Answer{}, ErrNotReady
	}
	ctx = context.WithoutCancel(ctx) // a caller that goes away must not leave half a group
	l.now = time.Now()
	l.observe(ctx)
	outcome := apply.Verify(p, l.state())
	answer := Answer{Verdicts: outcome.Verdicts, Revision: l.revision}
	if dryRun {
		return answer, nil
	}
	for _, b := range grouped(outcome.Groups, l.fence.Revision) {
		err := l.commit(ctx, b)
		if errors.Is(err, store.ErrTooLarge) {
			return Answer{}, err // nothing of it was written, and nothing else is in doubt
		}
		if err != nil {
			l.failure = err
			return Answer{}, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
	l.pending(pending)
	l.tell()
	answer.Revision = l.revision
	accepted := 0
	for _, v := range outcome.Verdicts {
		if v.Accepted {
			accepted++
		} else {
			l.cfg.Log.InfoContext(ctx, "decision rejected", "plan", p.ID, "decision", v.Decision, "why", v.Reason.Message)
		}
	}
	if len(outcome.Verdicts) > 0 {
		l.cfg.Log.InfoContext(ctx, "plan applied", "plan", p.ID, "accepted", accepted, "rejected", len(outcome.Verdicts)-accepted,
			"revision", l.revision)
	}
	return answer, nil
}

// grouped packs groups into batches without cutting any.
func grouped(groups []apply.Group, fence int64) []store.Batch {
	var out []store.Batch
	var b store.Batch
	size := 0
	for _, g := range groups {
		n, bytes := len(g.Claims), 0
		for _, c := range g.Claims {
			bytes += store.ClaimBytes(c)
		}
		if g.Disruption != nil {
			n++
			bytes += store.DisruptionBytes(*g.Disruption)
		}
		if b.Writes() > 0 && (b.Writes()+n > store.MaxWrites || size+bytes > store.MaxBytes) {
			out = append(out, b)
			b, size = store.Batch{}, 0
		}
		size += bytes
		for _, c := range g.Claims {
			c.Fence = fence
			b.PutClaims = append(b.PutClaims, c)
		}
		if g.Disruption != nil {
			b.PutDisruptions = append(b.PutDisruptions, *g.Disruption)
		}
	}
	return append(out, b)
}

// state is what plans are checked against.
func (l *leader) state() apply.State {
	s := apply.State{
		Now: l.now, Revision: l.revision, Region: l.cfg.Region, Created: l.created, Offerings: l.world.prices,
		Claims: map[model.ClaimID]model.Claim{}, Disruptions: map[model.DisruptionID]model.DisruptionRecord{},
		Pools: map[model.PoolName]cluster.Pool{}, Classes: map[model.NodeClassName]apply.Class{}, Nodes: map[model.ClaimID]cluster.Node{},
		Instances: map[model.ClaimID]rules.Placement{}, MarketKnown: l.world.known(), Repair: l.cfg.Repair,
	}
	for id, c := range l.claims {
		s.Claims[id] = *c
		if n := l.nodeOf(*c); n != nil && !c.State.Ended() {
			s.Nodes[id] = *n
		}
		if i, ok := l.shown(*c); ok {
			s.Instances[id] = i
		}
	}
	for id, d := range l.disruptions {
		s.Disruptions[id] = *d
	}
	for _, p := range l.seen.Pools {
		s.Pools[p.Name] = p
	}
	for name, c := range l.world.presentClasses() {
		s.Classes[name] = *c
	}
	return s
}

// Subscribe opens a view of the inventory. The caller closes it.
func (l *Loop) Subscribe(ctx context.Context, watcher string, drive bool) (*Subscription, error) {
	var s *Subscription
	err := l.call(ctx, func(*leader) error {
		s = l.hub.subscribe(watcher, drive)
		return nil
	})
	return s, err
}

// Inventory returns the newest inventory.
func (l *Loop) Inventory(ctx context.Context) (*inventory.Inventory, error) {
	var inv *inventory.Inventory
	err := l.call(ctx, func(*leader) error {
		if inv = l.hub.get(); inv == nil {
			return ErrNotReady
		}
		return nil
	})
	return inv, err
}

// Claim returns one claim as it is now.
func (l *Loop) Claim(ctx context.Context, id model.ClaimID) (model.Claim, error) {
	var out model.Claim
	err := l.call(ctx, func(ld *leader) error {
		c := ld.claims[id]
		if c == nil {
			return fmt.Errorf("claim %s: %w", id, ErrNotFound)
		}
		out = *c
		return nil
	})
	return out, err
}

// Delete drains a claim's node and ends its instance, whatever budgets say. It returns once that is stored.
func (l *Loop) Delete(ctx context.Context, id model.ClaimID) (model.Claim, error) {
	var out model.Claim
	err := l.call(ctx, func(ld *leader) error {
		c := ld.claims[id]
		if c == nil {
			return fmt.Errorf("claim %s: %w", id, ErrNotFound)
		}
		out = *c
		if c.State >= model.ClaimDraining {
			return nil // it is on its way, or over
		}
		r := lifecycle.Step(*c, lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: model.ReasonDeleted}, time.Now())
		out = r.Claim
		out.Fence = ld.fence.Revision
		if err := ld.commit(context.WithoutCancel(ctx), store.Batch{PutClaims: []model.Claim{out}}); err != nil {
			ld.failure = err
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		return nil // the next pass sees the new state and asks for what it needs
	})
	out.Pods = slices.Clone(out.Pods)
	return out, err
}
