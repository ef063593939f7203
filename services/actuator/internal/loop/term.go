package loop

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/disruption"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/claimspans"
	"github.com/kerf-dev/kerf/services/actuator/internal/fenced"
	"github.com/kerf-dev/kerf/services/actuator/internal/inbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/launching"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/actuator/internal/nominating"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/orphans"
	"github.com/kerf-dev/kerf/services/actuator/internal/outbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/internal/relief"
	"github.com/kerf-dev/kerf/services/actuator/internal/shrinking"
	"github.com/kerf-dev/kerf/services/actuator/internal/standby"
	"github.com/kerf-dev/kerf/services/actuator/internal/statuses"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

const (
	// passGap is the least time between two passes, so that a storm of pod events costs one.
	passGap = 20 * time.Millisecond
	// idleWake is the longest time between two passes.
	idleWake = 30 * time.Second
)

// term is one candidacy and the leadership that comes of it: it stands by, and then makes passes until it ends. All of
// it, and all that its parts hold, belongs to the goroutine that runs run; workers hand their results back to that.
type term struct {
	cfg Config
	hub *hub
	// lost is closed when the leadership is no longer certain.
	lost <-chan struct{}
	// calls are what callers ask of the leader.
	calls *handle

	agenda    *agenda.Agenda
	jobs      *jobs.Pool
	registry  *registry.Registry
	cluster   *observed.Cluster
	instances *observed.Instances
	market    *market.Market
	classes   *market.Classes
	outbox    *outbox.Outbox
	quiet     statuses.Quiet
	relief    relief.Leader

	claims      *claims
	nominations *nominating.Nominations
	shrinking   *shrinking.Costs
	launching   *launching.Launching
	effects     *effects
	inbox       *inbox.Inbox
	orphans     *orphans.Orphans

	// ready says that everything was asked for once: before, nothing is shown and no plan is taken. It stays true.
	ready bool
}

func newTerm(c Config, h *hub) *term {
	t := &term{hub: h, calls: &handle{requests: make(chan func(*term)), done: make(chan struct{})}, agenda: &agenda.Agenda{}}
	t.agenda.Change()
	t.jobs = jobs.New(t.agenda, c.Launches, c.Evictions)
	t.relief = relief.Leader{Agenda: t.agenda, Jobs: t.jobs}
	t.registry = registry.New(c.Store, t.agenda)
	leads := t.registry.Leads
	c.Cloud, c.Classes, c.Kube = fenced.Cloud(c.Cloud, leads), fenced.Classes(c.Classes, leads), fenced.Cluster(c.Kube, leads)
	c.Nominator, c.Replicas = fenced.Nominator(c.Nominator, leads), fenced.Replicas(c.Replicas, leads)
	t.cfg = c
	t.cluster = observed.NewCluster(c.Kube, t.agenda, c.Log)
	t.instances = observed.NewInstances(c.Cloud, t.agenda, t.jobs, c.Log,
		observed.Intervals{Poll: c.Intervals.Poll, Fast: c.Intervals.FastPoll})
	t.market = market.New(market.Config{
		Agenda: t.agenda, Jobs: t.jobs, Log: c.Log, Market: c.Market, Classes: c.Classes, Shifts: c.Shifts, Fallback: c.Fallback, Settings: c.Settings,
		Region: c.Region, Memory: t.registry,
		TypesEvery: c.Intervals.Types, SpotEvery: c.Intervals.Spot, ClassesEvery: c.Intervals.Classes, TemplatesUnused: c.Intervals.Templates,
	})
	t.classes = market.NewClasses(t.market)
	t.outbox = outbox.New(c.Kube, t.agenda, t.jobs, c.Log)
	t.claims = newClaims(t)
	t.nominations = nominating.New(nominating.Config{
		Nominator: c.Nominator, Always: c.AlwaysNominate, Agenda: t.agenda, Jobs: t.jobs, Registry: t.registry, Cluster: t.cluster, Log: c.Log,
		Look: t.claims.look, DaemonsFirst: c.WaitForDaemonPods,
	})
	t.claims.nominations = t.nominations
	t.shrinking = shrinking.New(shrinking.Config{Replicas: c.Replicas, Agenda: t.agenda, Jobs: t.jobs, Log: c.Log})
	t.launching = launching.New(launching.Config{
		Cluster: c.Cluster, Cloud: c.Cloud, Agenda: t.agenda, Jobs: t.jobs, Registry: t.registry, Instances: t.instances, Classes: t.classes,
		Log: c.Log, Tracer: c.Tracer, Happened: t.claims.happened, Record: t.claims.record, Available: t.claims.available, VCPU: t.market.VCPU,
		Shortage: c.Intervals.Shortage, Lost: func() map[string]model.ClaimID { return t.orphans.Lost() },
	})
	t.claims.waited = t.launching.Waited
	t.effects = newEffects(t)
	t.inbox = inbox.New(inbox.Config{
		Queue: c.Queue, Checks: c.Checks, Parse: c.Parse, Jobs: t.jobs, Registry: t.registry, Instances: t.instances, Classes: t.classes,
		Outbox: t.outbox, Measure: c.Measure, Log: c.Log, Shortage: c.Intervals.Shortage, Repair: c.Repair,
		Pools: func() []cluster.Pool { return t.cluster.Pools },
	})
	t.orphans = orphans.New(orphans.Config{
		Agenda: t.agenda, Jobs: t.jobs, Registry: t.registry, Instances: t.instances, Cluster: t.cluster, Cloud: t.cfg.Cloud, Log: c.Log,
		Patience: c.Intervals.Orphans, Mirrored: c.Kube.Claim, OfUser: t.outbox.OfUser, Record: t.claims.record,
	})
	return t
}

var errLeaseLost = errors.New("the lease is lost")

// errBlind says that the leader has made way.
var errBlind = errors.New("this actuator has not seen the cluster for a minute and a half, and the next in line sees it")

// standBy keeps up with what a leader has to know of AWS before it takes plans, and campaigns while it sees the cluster.
func (t *term) standBy(ctx context.Context) (store.Term, error) {
	return standby.Parts{
		Store: t.cfg.Store, Agenda: t.agenda, Jobs: t.jobs, Cluster: t.cluster, Instances: t.instances, Market: t.market, Classes: t.classes,
		Log: t.cfg.Log, Ask: t.cfg.Ask, Prepared: t.cfg.Prepared, Ready: t.cfg.Ready,
		Campaign: func(ctx context.Context) (store.Term, error) { return t.cfg.Election.Campaign(ctx, t.cfg.Name) },
	}.KeepUp(ctx)
}

// run leads until ctx ends, the term is lost or a write fails.
func (t *term) run(ctx context.Context, won store.Term) error {
	t.lost = won.Lost
	t.relief.Followed = won.Followed
	if err := t.registry.Load(ctx, won.Fence); err != nil {
		return err
	}
	t.claims.begun = time.Now()
	t.instances.Lead(t.registry.Claims, t.launching.Resolve)
	t.classes.Lead()
	for _, c := range t.registry.Claims {
		t.classes.Learn(*c)
	}
	t.nominations.Begin(ctx)
	t.inbox.Receive(ctx)
	for {
		select {
		case <-t.lost:
			return errLeaseLost
		default:
		}
		begun := time.Now()
		if err := t.pass(ctx); err != nil {
			return err
		}
		// In a large cluster a pass takes longer: it never has more than a quarter of the time.
		took := time.Since(begun)
		if err := t.wait(ctx, begun.Add(max(passGap, 4*took))); err != nil {
			return err
		}
	}
}

// wait blocks until there is something to do, and not before the given time unless a caller asks.
func (t *term) wait(ctx context.Context, notBefore time.Time) error {
	for _, something := t.agenda.Next(); ; {
		wake, _ := t.agenda.Next()
		if idle := t.agenda.Now().Add(idleWake); wake.IsZero() || wake.After(idle) {
			wake = idle
		}
		if something || wake.Before(notBefore) {
			wake = notBefore
		}
		timer := time.NewTimer(time.Until(wake))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-t.lost:
			timer.Stop()
			return errLeaseLost
		case <-timer.C:
			return nil
		case <-t.cfg.Kube.Changed():
		case f := <-t.jobs.Results():
			f()
		case f := <-t.calls.requests:
			f(t)
		}
		timer.Stop()
		if err := t.registry.Err(); err != nil {
			return err
		}
		something = true
	}
}

// pass looks at everything once: observe, decide, store, act, show. Intent is stored before anything acts on it.
func (t *term) pass(ctx context.Context) error {
	t.agenda.Begin(time.Now())
	t.cluster.Look(ctx)
	if t.relief.Look(ctx, t.cluster.Silent) {
		return errBlind
	}
	t.refresh(ctx)
	if t.cluster.Known {
		t.nominations.Keep(ctx)
		writes, effects := t.decide(ctx)
		changes, err := t.registry.Write(ctx, writes)
		t.follow(ctx, changes)
		if err != nil {
			return err
		}
		for _, e := range effects {
			t.effects.act(ctx, e)
		}
		t.launching.Tag(ctx)
		t.nominations.Write(ctx)
		t.shrinking.Write(ctx)
		t.orphans.Sweep(ctx)
		t.orphans.TellUsers(ctx)
		t.releaseNodes(ctx)
		if t.jobs.Tidy() {
			t.claims.forget()
			t.claims.forgetRefusals()
			t.launching.Forget()
		}
	}
	t.show()
	t.publish(ctx)
	return nil
}

// refresh asks for what is due: instances, what is sold for how much, what node classes select.
func (t *term) refresh(ctx context.Context) {
	t.instances.Poll(ctx, t.registry.Expecting())
	t.market.Refresh(ctx)
	if t.cluster.Known {
		t.classes.Refresh(ctx, t.cluster.Classes, t.cluster.Pools, t.registry.Needed)
	}
	t.market.Reprice(t.registry.NewShortages(), t.registry.Shortages)
	if t.ready {
		t.classes.Sweep(ctx, t.registry.Needed)
		t.classes.Keep(ctx)
	} else if t.cluster.Known && t.market.Asked() && !t.instances.Listed.IsZero() && t.classes.Asked() {
		t.ready = true
		t.agenda.Change()
	}
}

// claimEffect is something to do for a claim.
type claimEffect struct {
	claim  *model.Claim
	effect lifecycle.Effect
}

// decide lets the pure packages answer to what is seen. What they say is not true before it is written.
func (t *term) decide(ctx context.Context) (store.Batch, []claimEffect) {
	b := t.registry.Outdated(t.cluster.ClaimObjects, t.cfg.Intervals.History, t.cfg.Intervals.Shortage)
	b.DeleteDisruptions = disruption.Forgotten(t.registry.Disruptions, t.cfg.Intervals.History, t.agenda.Now())
	b.PutDisruptions = t.disrupt()
	b.PutNotices = t.inbox.Adopted()
	if t.ready {
		b.PutClaims = t.orphans.Adopted(ctx)
	}
	var effects []claimEffect
	var changed, attempts []*model.Claim // attempts are those of which a launch begins
	due := t.claims.begin(t.ready)
	for _, old := range due {
		r := t.claims.advance(*old)
		t.claims.looked(old.ID, r)
		next := r.Claim
		if next.State == model.ClaimLaunching && next.Attempt > old.Attempt {
			attempts = append(attempts, &next)
		}
		if !reflect.DeepEqual(old, &next) {
			changed = append(changed, &next)
			if next.State != old.State {
				t.agenda.Again()
			}
		}
		for _, e := range r.Effects {
			effects = append(effects, claimEffect{claim: &next, effect: e})
		}
	}
	t.launching.Together(attempts)
	for _, c := range changed {
		b.PutClaims = append(b.PutClaims, *c)
	}
	if t.cfg.passedOver != nil {
		t.passOver(due)
	}
	t.claims.end()
	return b, effects
}

// disrupt moves the disruptions on that have not ended, and returns those that have changed.
func (t *term) disrupt() []model.DisruptionRecord {
	var changed []model.DisruptionRecord
	for _, d := range t.registry.Ongoing() {
		r := disruption.Step(*d, t.disruptionFacts(d), t.agenda.Now())
		t.agenda.Wake(r.Wake)
		if !reflect.DeepEqual(*d, r.Disruption) {
			t.cfg.Measure.Disruption(&r.Disruption)
			changed = append(changed, r.Disruption)
		}
		for _, e := range r.Effects {
			switch e.Kind {
			case disruption.EffectDrain:
				t.claims.happened(e.Claim, lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: d.Reason, Deadline: e.Deadline})
			case disruption.EffectRollBack:
				t.claims.happened(e.Claim, lifecycle.Event{Kind: lifecycle.EventRollBack, Disruption: d.ID})
			case disruption.EffectEvent:
				t.outbox.Event(e.Event)
			case disruption.EffectUnspecified:
			}
		}
	}
	return changed
}

func (t *term) disruptionFacts(d *model.DisruptionRecord) disruption.Facts {
	return disruption.Facts{
		Candidates: t.members(d.Candidates), Replacements: t.members(d.Replacements), WaitForDaemonPods: t.cfg.WaitForDaemonPods,
		Claim: func(id model.ClaimID) *model.Claim { return t.registry.Claims[id] }, Allows: t.allows, Stops: t.stops,
		Others: func(yield func(*model.DisruptionRecord) bool) {
			for id, other := range t.registry.Disruptions {
				if id != d.ID && !yield(other) {
					return
				}
			}
		},
	}
}

// allows says that budgets let so many more nodes of a pool be drained now. Those that wait for their turn are not counted.
func (t *term) allows(pool model.PoolName, why model.DisruptionReason, more int) bool {
	p := t.pool(pool)
	if p == nil || !p.NotReady.OK() {
		return false // its budgets are not known
	}
	nodes := rules.PoolNodes{Pool: pool, More: more}
	for _, c := range t.registry.Claims {
		n := t.cluster.Node(c)
		if c.NodePool != pool || n == nil || !apply.Counted(*c) {
			continue
		}
		nodes.Nodes++
		d := t.registry.Disruptions[c.Disruption]
		if c.State == model.ClaimDraining || !n.Ready || d != nil && !d.Staged {
			nodes.Disrupting++
		}
	}
	active, _ := rules.ActiveBudgets(p.Budgets, t.agenda.Now())
	return rules.BudgetAllows(active, why, nodes).OK()
}

// stops says that a budget lets none of a pool's nodes go for a reason.
func (t *term) stops(pool model.PoolName, why model.DisruptionReason) bool {
	p := t.pool(pool)
	if p == nil {
		return false
	}
	active, _ := rules.ActiveBudgets(p.Budgets, t.agenda.Now())
	return rules.BudgetStops(active, why, pool)
}

func (t *term) pool(name model.PoolName) *cluster.Pool {
	i := slices.IndexFunc(t.cluster.Pools, func(p cluster.Pool) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &t.cluster.Pools[i]
}

func (t *term) members(ids []model.ClaimID) []disruption.Member {
	out := make([]disruption.Member, len(ids))
	for i, id := range ids {
		c := t.registry.Claims[id]
		if out[i].Claim = c; c == nil {
			continue
		}
		if n := t.cluster.Node(c); n != nil {
			out[i].Node = &disruption.Node{Name: n.Name, Ready: n.Ready, Tainted: n.Disrupted(), Pods: n.Pods}
		}
	}
	return out
}

// follow follows claims that were stored: the log, the trace, the events that users see, and what launches have told.
func (t *term) follow(ctx context.Context, changes []registry.Change) {
	for _, change := range changes {
		old, c := change.Old, change.New
		if old == nil && c.State > model.ClaimPlanned {
			continue // it was taken up again
		}
		t.cfg.Measure.Claim(old, c, t.registry.Disruptions[c.Replaces])
		if old == nil {
			claimspans.Came(ctx, t.cfg.Log, c)
			t.outbox.Bought(*c)
			continue
		}
		if old.State != c.State {
			claimspans.Came(ctx, t.cfg.Log, c)
			claimspans.Phases(ctx, t.cfg.Tracer, t.registry.Revision(), *old, *c)
			t.classes.Moved(*old, *c)
			t.classes.Learn(*c)
			switch {
			case c.State == model.ClaimRegistered:
				t.nominations.Opened()
			case c.State == model.ClaimTerminating && c.Failure.Code == model.CodeInsufficientCapacity:
				t.launching.Unfilled(ctx, *c)
			}
		}
		t.outbox.Changed(*old, *c)
		if c.State.Ended() {
			t.jobs.Forget("/" + string(c.ID))
			if c.Launch != "" {
				t.jobs.Forget("/" + c.Launch)
			}
		}
	}
}
