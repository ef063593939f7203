// Package launching has EC2 make the instances of claims: equal claims by one call, whose answer is then handed out
// among them.
//
// It must never decide which claims are launched (lifecycle), nor which of them go together and whose an instance is
// (launches). Start reading at Launching.Launch.
package launching

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/claimspans"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/launches"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Config is what launching depends on.
type Config struct {
	// Cluster is the cluster's name.
	Cluster   string
	Cloud     cloud.Cloud
	Agenda    *agenda.Agenda
	Jobs      *jobs.Pool
	Registry  *registry.Registry
	Instances *observed.Instances
	Classes   *market.Classes
	Log       *slog.Logger
	Tracer    trace.Tracer
	// Happened tells a claim what happened to it, and Record is what it remembers of its instance.
	Happened func(model.ClaimID, lifecycle.Event)
	Record   func(*model.Claim, cloud.Instance) lifecycle.Instance
	// Lost are the claims that the store has lost, by the provider ids of their objects.
	Lost func() map[string]model.ClaimID
	// Available are the offerings that EC2 is believed to have for a claim of the class.
	Available func(model.NodeClassName, []model.RankedOffering) []model.RankedOffering
	// VCPU is how many vCPUs a type has.
	VCPU func(model.TypeName) int64
	// Shortage is how long a shortage is believed the first time.
	Shortage time.Duration
}

// Launching belongs to the goroutine that makes the passes.
type Launching struct {
	cfg    Config
	owners *launches.Owners
	// paused is the work whose pauses a claim's next attempt takes over: it failed, and made nothing.
	paused map[model.ClaimID]string
	// mismatched are the claims of whose launch EC2 says that its token is another request's.
	mismatched map[model.ClaimID]mismatch
	// untagged are instances that lack the tag of their claim, by it.
	untagged map[model.ClaimID]cloud.Instance
}

// mismatch is since when EC2 has said so, and of which attempt: what it said of one is nothing about the next.
type mismatch struct {
	attempt string
	since   time.Time
}

// New makes a Launching that has launched nothing.
func New(c Config) *Launching {
	return &Launching{
		cfg: c, owners: launches.NewOwners(c.Registry.Claims), paused: map[model.ClaimID]string{},
		mismatched: map[model.ClaimID]mismatch{}, untagged: map[model.ClaimID]cloud.Instance{},
	}
}

// Together names the calls of claims that begin an attempt, sorted by id.
func (l *Launching) Together(claims []*model.Claim) { launches.Together(l.cfg.Cluster, claims) }

// Resolve names the claims of instances that lack the tag. Of one that the store has lost the object still says whose
// instance it is.
func (l *Launching) Resolve(list []cloud.Instance) {
	lost := sync.OnceValue(l.cfg.Lost)
	of := func(providerID string) model.ClaimID {
		if id := l.cfg.Registry.OfProvider(providerID); id != "" {
			return id
		}
		return lost()[providerID]
	}
	l.owners.Resolve(list, launches.Stored{Of: of, Members: l.cfg.Registry.Together})
	for _, i := range list {
		if i.Untagged && i.Claim != "" && i.State.Alive() {
			l.untagged[i.Claim] = i
		}
	}
}

// key is of a claim's attempt, or of the call that it has in common with others.
func key(c model.Claim) string {
	if c.Launch != "" {
		return "launch/" + c.Launch
	}
	return fmt.Sprintf("launch/%d/%s", c.Attempt, c.ID)
}

// line is what a claim's launch waits in line as.
func line(c *model.Claim) string {
	if c.Launch != "" {
		return "/" + c.Launch
	}
	return "/" + string(c.ID)
}

// Waited is how long a claim's launch has waited for others.
func (l *Launching) Waited(c *model.Claim) time.Duration { return l.cfg.Jobs.Waited(line(c)) }

// Launch asks EC2 for a claim's instance, and for those of the claims that are launched with it.
func (l *Launching) Launch(ctx context.Context, c model.Claim) {
	class := l.cfg.Classes.Get(c.NodeClass)
	if class == nil || !class.NotReady().OK() || l.cfg.Instances.AskedAt(c.ID).IsZero() {
		l.cfg.Agenda.Wake(l.cfg.Agenda.Now().Add(time.Second)) // the launch timeout sees to it that this ends
		return
	}
	if from, ok := l.paused[c.ID]; ok {
		l.cfg.Jobs.Inherit(key(c), from)
		delete(l.paused, c.ID)
	}
	r := l.request(c, class)
	l.cfg.Classes.Launches()
	var got []cloud.Instance
	l.cfg.Jobs.Do(ctx, jobs.Job{
		Key: key(c), Kind: jobs.Launch, For: line(&c), First: time.Second, Most: 30 * time.Second,
		RepeatAfter: time.Minute, // the answer moves the claims on
		Run: func(ctx context.Context) error {
			return claimspans.Launched(ctx, l.cfg.Tracer, c, func(ctx context.Context) (err error) {
				got, err = l.cfg.Cloud.Launch(ctx, r)
				return err
			})
		},
		Done: func(err error) { l.launched(ctx, c, got, err) },
	})
}

// request is what EC2 is asked for. It takes one capacity type at a time, and one reservation; the best offering's goes
// first.
func (l *Launching) request(c model.Claim, class *market.Class) cloud.Request {
	r := cloud.Request{
		Claim: c.ID, Count: c.LaunchSize, Token: launches.Token(l.cfg.Cluster, &c), NodePool: c.NodePool, Class: class.Resolved(), Spec: class.Spec,
		MaxPods: map[model.TypeName]int64{}, EFA: c.Requests.Value(instancetype.EFA) > 0,
		Enclaves: c.Requests.Value(instancetype.NitroSandbox) > 0,
	}
	if c.Launch != "" { // the same for each of them that repeats it
		r.Claim = ""
	}
	first, reservation, worth := c.Offerings[0].CapacityType, c.Offerings[0].ReservationID, worth(c)
	for _, o := range c.Offerings {
		if o.CapacityType == first && o.ReservationID == reservation && worth(o) {
			r.Offerings = append(r.Offerings, o)
			r.MaxPods[o.InstanceType] = class.Shapes()[o.InstanceType].Allocatable.Value(model.Pods)
		}
	}
	for _, x := range c.Labels {
		if x.Key != labels.CapacityType {
			r.Labels = append(r.Labels, x)
		}
	}
	r.Labels = append(r.Labels, model.Label{Key: labels.CapacityType, Value: first.String()})
	r.Taints = slices.Concat(c.Taints, c.StartupTaints, []model.Taint{{Key: labels.TaintUnregistered, Effect: model.NoExecute}})
	return r
}

// worth says which offerings are launched: of spot, from which EC2 chooses by how much there is too, what costs no more
// than the claim does on demand. A claim that must stay flexible keeps all.
func worth(c model.Claim) func(model.RankedOffering) bool {
	var onDemand int64
	for _, o := range c.Offerings {
		if o.CapacityType == model.OnDemand && (onDemand == 0 || o.Price < onDemand) {
			onDemand = o.Price
		}
	}
	flexible := slices.ContainsFunc(c.Requirements, func(r model.Requirement) bool { return r.MinValues > 0 })
	return func(o model.RankedOffering) bool {
		return o.CapacityType != model.Spot || onDemand == 0 || flexible || o.Price <= onDemand || o == c.Offerings[0]
	}
}

// launched hands a call's instances out to the claims that it was made for. Those for which there is none learn why.
func (l *Launching) launched(ctx context.Context, c model.Claim, made []cloud.Instance, err error) {
	waiting := []*model.Claim{&c}
	if c.Launch != "" {
		l.Resolve(made)
		waiting = slices.DeleteFunc(l.cfg.Registry.Together(c.Launch), func(x *model.Claim) bool { return x.InstanceID != "" || x.State.Ended() })
	}
	of := map[model.ClaimID]cloud.Instance{}
	for _, i := range made {
		of[i.Claim] = i
	}
	short := lifecycle.Shortages(c, err)
	if len(made) > 0 && len(short) == 0 {
		short = made[0].Short
	}
	l.learn(ctx, l.groupOf(c), made, l.ofMarket(c, short))
	refused := false
	for _, x := range waiting {
		if i, ok := of[x.ID]; ok {
			got := l.cfg.Record(x, i)
			l.cfg.Classes.Took(got.Offering)
			l.cfg.Happened(x.ID, lifecycle.Event{Kind: lifecycle.EventLaunched, Instance: got})
			continue
		}
		l.failed(*x, err)
		refused = true
	}
	if refused && err != nil {
		claimspans.Refused(ctx, l.cfg.Log, c, err)
	}
}

// ofMarket leaves out shortages of a reservation: one has no room until EC2 says otherwise, which is asked for often.
func (l *Launching) ofMarket(c model.Claim, short []model.Shortage) []model.Shortage {
	if len(short) > 0 && c.Offerings[0].CapacityType == model.Reserved {
		l.cfg.Classes.Exhausted(c.Offerings[0].ReservationID)
		return nil
	}
	return short
}

// Unfilled remembers that EC2 had no capacity after all for an instance that it had begun. What it was begun as counts:
// a claim that the store has lost has no offerings any more.
func (l *Launching) Unfilled(ctx context.Context, c model.Claim) {
	c.Offerings = []model.RankedOffering{{
		InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, ReservationID: c.ReservationID,
	}}
	l.learn(ctx, l.groupOf(c), nil, l.ofMarket(c, []model.Shortage{{
		InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, Message: c.Failure.Message,
	}}))
}

// groupOf is the placement group that a claim is launched into; "" for none.
func (l *Launching) groupOf(c model.Claim) string {
	if class := l.cfg.Classes.Get(c.NodeClass); class != nil {
		return class.Resolved().PlacementGroup.ID
	}
	return ""
}

// failed tells a claim that the call made no instance for it.
func (l *Launching) failed(c model.Claim, err error) {
	if err == nil { // every instance of the call is another's
		l.cfg.Instances.PollNow(c.ID)
		return
	}
	if c.State != model.ClaimLaunching {
		return // it was given up; what it had is looked for
	}
	e := lifecycle.LaunchFailed(c, err)
	if errors.Is(err, cloud.ErrTokenMismatch) {
		e.Failure = l.mismatch(c, time.Now())
	}
	switch e.Failure {
	case lifecycle.FailureCapacity:
		e.Offerings = l.untried(c)
	case lifecycle.FailureRefused:
		l.cfg.Classes.Refused(c.NodeClass, e.Reason.Message, err)
	case lifecycle.FailureLater:
		e.Offerings = l.available(c)
		l.paused[c.ID] = key(c)
	case lifecycle.FailureRetry, lifecycle.FailureUnspecified:
		l.cfg.Instances.PollNow(c.ID)
	}
	l.cfg.Happened(c.ID, e)
}

// mismatch says what comes of a launch whose token EC2 knows, with another request. That was an earlier call of the same
// attempt, as by a leader that has ended before it heard the answer: what EC2 knows of subnets' addresses, and of images,
// has changed meanwhile, and is not stored. What that call made is the claim's. So it is looked for until EC2 would show
// it, and only then is there another attempt.
func (l *Launching) mismatch(c model.Claim, now time.Time) lifecycle.Failure {
	m := l.mismatched[c.ID]
	if attempt := key(c); m.attempt != attempt {
		m = mismatch{attempt, now}
		l.mismatched[c.ID] = m
	}
	if l.cfg.Instances.AskedAt(c.ID).Before(m.since.Add(lifecycle.VisibilityDelay)) {
		return lifecycle.FailureRetry
	}
	return lifecycle.FailureLater
}

// learn remembers what EC2 has none of, for the placement group where there is one, at once: plans are checked against
// it. What it has made instances of is short no longer. Where it can't be stored the term is over.
func (l *Launching) learn(ctx context.Context, group string, made []cloud.Instance, short []model.Shortage) {
	var b store.Batch
	still := shortage.Memory{}
	for _, s := range short {
		s = l.cfg.Registry.Shortages.Again(shortage.Within(group, s), l.cfg.Shortage, time.Now())
		if key := shortage.KeyOf(s); still[key].Until.IsZero() {
			still[key] = s
			b.PutShortages = append(b.PutShortages, s)
		}
	}
	had := shortage.Memory{}
	for _, i := range made {
		key := shortage.Key{InstanceType: i.InstanceType, Zone: i.Zone, CapacityType: i.CapacityType}
		for _, s := range l.cfg.Registry.Shortages.Seen(key, l.cfg.VCPU(i.InstanceType)) {
			had[shortage.KeyOf(s)] = s
		}
		here := shortage.Within(group, model.Shortage{InstanceType: i.InstanceType, Zone: i.Zone, CapacityType: i.CapacityType})
		if s, ok := l.cfg.Registry.Shortages[shortage.KeyOf(here)]; ok {
			had[shortage.KeyOf(s)] = s
		}
	}
	for key, s := range had {
		if _, is := still[key]; is {
			continue
		}
		if eased, over := shortage.Eased(s, time.Now()); over {
			b.DeleteShortages = append(b.DeleteShortages, s)
		} else {
			b.PutShortages = append(b.PutShortages, eased)
		}
	}
	if b.Writes() == 0 {
		return
	}
	if _, err := l.cfg.Registry.Write(ctx, b); err != nil {
		l.cfg.Log.WarnContext(ctx, "store shortages", "error", err)
	}
}

// untried is what is left of a claim's offerings: those that EC2 was not asked for, or did not say it has none of.
func (l *Launching) untried(c model.Claim) []model.RankedOffering {
	left := l.available(c)
	if len(left) < len(c.Offerings) {
		return left
	}
	return nil // EC2 named none of them; asking for the same again would go on for ever
}

// available is what EC2 is believed to have now of a claim's offerings.
func (l *Launching) available(c model.Claim) []model.RankedOffering {
	l.cfg.Agenda.Look(time.Now())
	return l.cfg.Available(c.NodeClass, c.Offerings)
}

// Tag writes the tags of claims that their instances lack, once it is stored whose they are.
func (l *Launching) Tag(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(l.untagged)) {
		c, i := l.cfg.Registry.Claims[id], l.untagged[id]
		switch {
		case c == nil || c.State.Ended():
			delete(l.untagged, id)
			continue
		case c.InstanceID != i.ID:
			continue
		}
		l.cfg.Jobs.Do(ctx, jobs.Job{
			Key: "tag/" + string(id), Kind: jobs.Tag, First: time.Second, Most: time.Minute, RepeatAfter: time.Minute,
			Run: func(ctx context.Context) error { return l.cfg.Cloud.Tag(ctx, i) },
			Done: func(err error) {
				if err != nil {
					l.cfg.Log.WarnContext(ctx, "tag instance", "claim", id, "instance", i.ID, "error", err)
					return
				}
				delete(l.untagged, id)
			},
		})
	}
}

// Forget forgets what is over.
func (l *Launching) Forget() {
	l.owners.Forget()
	over := func(id model.ClaimID) bool {
		c := l.cfg.Registry.Claims[id]
		return c == nil || c.State != model.ClaimLaunching
	}
	maps.DeleteFunc(l.paused, func(id model.ClaimID, _ string) bool { return over(id) })
	maps.DeleteFunc(l.mismatched, func(id model.ClaimID, _ mismatch) bool { return over(id) })
}
