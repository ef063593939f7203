package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/claimspans"
	"github.com/kerf-dev/kerf/services/actuator/internal/outbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
	"github.com/kerf-dev/kerf/services/internal/spans"
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
func (l *Loop) call(ctx context.Context, f func(*term) error) error {
	l.mu.Lock()
	h := l.leading
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
	case h.requests <- func(t *term) { result <- f(t) }:
	case <-h.done:
		return &NotLeaderError{}
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-result:
		return err
	case <-h.done:
	}
	select {
	case err := <-result: // it was done all the same: a subscription whose maker does not hear of it would drive for ever
		return err
	default:
		return ErrUnknown
	}
}

// Apply checks a plan and stores what is accepted of it; it is carried out from then on, whatever happens to the caller
// or to this leader.
func (l *Loop) Apply(ctx context.Context, p model.Plan, pending []Pending, dryRun bool) (Answer, error) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = telemetry.ContextFromTraceparent(ctx, p.Traceparent)
	}
	ctx, span := l.cfg.Tracer.Start(ctx, spans.Apply, trace.WithAttributes(
		spans.PlanID.String(string(p.ID)), spans.Inventory.Int64(p.InventoryRevision)))
	defer span.End()
	if parent := telemetry.TraceparentFromContext(ctx); parent != "" {
		p.Traceparent = parent
	}
	var answer Answer
	err := l.call(ctx, func(t *term) (err error) {
		answer, err = t.apply(ctx, p, pending, dryRun)
		return err
	})
	return answer, err
}

// apply runs on the leader's goroutine. It looks at the cluster afresh, because the last pass may be a moment old.
func (t *term) apply(ctx context.Context, p model.Plan, pending []Pending, dryRun bool) (Answer, error) {
	if !t.ready {
		return Answer{}, ErrNotReady
	}
	ctx = context.WithoutCancel(ctx) // a caller that goes away must not leave half a group
	t.agenda.Look(time.Now())
	t.cluster.Look(ctx)
	outcome := apply.Verify(p, t.state())
	answer := Answer{Verdicts: outcome.Verdicts, Revision: t.registry.Revision()}
	if dryRun {
		return answer, nil
	}
	claimspans.Verdicts(trace.SpanFromContext(ctx), outcome.Verdicts, leaving(outcome.Groups))
	going(t.outbox, p, outcome.Groups)
	for _, b := range registry.Grouped(outcome.Groups) {
		if err := t.commit(ctx, b); err != nil {
			return Answer{}, err
		}
	}
	if outcome.Stale.OK() {
		t.claims.noteDeferred(p.Nodes)
		t.nominations.Took(p)
		t.shrinking.Took(p.Nodes)
		t.outbox.Became(p.Objects)
		for _, v := range p.Nodes {
			t.outbox.Stays(v)
		}
		t.outbox.Pods(func(yield func(model.PodID, model.Reason) bool) {
			for _, x := range pending {
				if !yield(model.PodID(x.Pod), x.Reason) {
					return
				}
			}
		}, p.Placements)
	} else {
		t.cfg.Log.InfoContext(ctx, "plan is stale", "plan", p.ID, "why", outcome.Stale.Message)
	}
	t.show()
	answer.Revision = t.registry.Revision()
	accepted := 0
	for _, v := range outcome.Verdicts {
		if v.Accepted {
			accepted++
		} else {
			t.cfg.Log.InfoContext(ctx, "decision rejected", "plan", p.ID, "decision", v.Decision, "why", v.Reason.Message)
		}
	}
	claimspans.Disrupting(ctx, t.cfg.Log, p, outcome.Groups)
	if len(outcome.Verdicts) > 0 {
		t.cfg.Log.InfoContext(ctx, "plan applied", "plan", p.ID, "accepted", accepted, "rejected", len(outcome.Verdicts)-accepted,
			"revision", answer.Revision)
	}
	return answer, nil
}

// going tells the outbox why claims go, before what is stored has users told that they do.
func going(o *outbox.Outbox, p model.Plan, groups []apply.Group) {
	why := claimspans.Why(p)
	for _, g := range groups {
		if d := g.Disruption; d != nil {
			o.Goes(d.ID, d.Candidates, why[d.ID])
		}
	}
}

// leaving are the claims that accepted disruptions take away.
func leaving(groups []apply.Group) []model.Claim {
	var out []model.Claim
	for _, g := range groups {
		for _, c := range g.Claims {
			if g.Disruption != nil && slices.Contains(g.Disruption.Candidates, c.ID) {
				out = append(out, c)
			}
		}
	}
	return out
}

// commit stores a batch as one, for a caller: where it is not known whether it was written, the term is over.
func (t *term) commit(ctx context.Context, b store.Batch) error {
	changes, err := t.registry.Commit(ctx, b)
	t.follow(ctx, changes)
	if err != nil && !errors.Is(err, store.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// state is what plans are checked against.
func (t *term) state() apply.State {
	s := apply.State{
		Now: t.agenda.Now(), Revision: t.registry.Revision(), Region: t.cfg.Region, Created: t.registry.Created,
		Market: t.market, MarketKnown: t.market.Known(), Repair: t.cfg.Repair,
		ShiftedZones: t.market.ShiftedZones(), AllNodes: t.cluster.Nodes, Unbound: t.cfg.Unbound, PodsUnseen: t.cluster.PodsUnseen, Interrupted: t.registry.Interrupted(),
		Claims: map[model.ClaimID]model.Claim{}, Disruptions: map[model.DisruptionID]model.DisruptionRecord{},
		Pools: map[model.PoolName]cluster.Pool{}, Classes: map[model.NodeClassName]apply.Class{},
		Nodes: map[model.ClaimID]cluster.Node{}, Instances: map[model.ClaimID]rules.Placement{},
	}
	for id, c := range t.registry.Claims {
		s.Claims[id] = *c
		if n := t.cluster.Node(c); n != nil && !c.State.Ended() {
			s.Nodes[id] = *n
		}
		if i := shown(t.instances, c, t.classes.Get(c.NodeClass)); i != nil {
			s.Instances[id] = *i
		}
	}
	for id, d := range t.registry.Disruptions {
		s.Disruptions[id] = *d
	}
	for _, p := range t.cluster.Pools {
		s.Pools[p.Name] = p
	}
	for name, c := range presentClasses(t.classes) {
		group := t.registry.Shortages.InGroup(t.classes.Get(name).Resolved().PlacementGroup.ID)
		c.Short = make(map[apply.OfferingKey]time.Time, len(group))
		for key, until := range group {
			c.Short[apply.OfferingKey{InstanceType: key.InstanceType, Zone: key.Zone, CapacityType: key.CapacityType}] = until
		}
		s.Classes[name] = *c
	}
	return s
}

// Subscribe opens a view of the inventory. The caller closes it.
func (l *Loop) Subscribe(ctx context.Context, watcher string, drive bool) (*Subscription, error) {
	var s *Subscription
	err := l.call(ctx, func(*term) error {
		s = l.hub.subscribe(watcher, drive)
		return nil
	})
	return s, err
}

// Shown is the newest inventory, nil where there is none yet, and how many watchers follow it; false where this
// candidate does not lead. It never waits.
func (l *Loop) Shown() (inv *inventory.Inventory, watchers int, leads bool) {
	l.mu.Lock()
	leads = l.leading != nil
	l.mu.Unlock()
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	return l.hub.current, len(l.hub.subs), leads
}

// Inventory returns the newest inventory.
func (l *Loop) Inventory(ctx context.Context) (*inventory.Inventory, error) {
	var inv *inventory.Inventory
	err := l.call(ctx, func(*term) error {
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
	err := l.call(ctx, func(t *term) error {
		c := t.registry.Claims[id]
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
	err := l.call(ctx, func(t *term) error {
		c := t.registry.Claims[id]
		if c == nil {
			return fmt.Errorf("claim %s: %w", id, ErrNotFound)
		}
		out = *c
		if c.State >= model.ClaimDraining {
			return nil // it is on its way, or over
		}
		e := lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: model.ReasonDeleted}
		if n := t.cluster.Node(c); n != nil {
			e.Node, e.NodeThere = *n, true
		}
		r := lifecycle.Step(*c, e, time.Now())
		if err := t.commit(context.WithoutCancel(ctx), store.Batch{PutClaims: []model.Claim{r.Claim}}); err != nil {
			return err
		}
		out = *t.registry.Claims[id]
		return nil // the next pass sees the new state and asks for what it needs
	})
	out.Pods = slices.Clone(out.Pods)
	return out, err
}
