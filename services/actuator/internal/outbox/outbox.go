// Package outbox is what Kubernetes' users are shown: the objects of claims, the status of pools and classes, events. It
// knows what they were shown already, and publishes what is new. Start reading at Outbox.Publish.
package outbox

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// maxEvents bounds the events that wait; the oldest go first, because the newest are true.
	maxEvents = 1000
	// publishGap is the least time between two publications: a claim takes several steps within it, and is shown once.
	publishGap = 500 * time.Millisecond
	// maxClaims bounds the claims of one publication, of up to three requests each, and maxForgotten those whose
	// objects it removes, of three each: where 1,000 go at once, their successors, events and statuses are to be seen
	// in between.
	maxClaims    = 200
	maxForgotten = 100
	// republish is how soon a claim's object is made again that was removed by force.
	republish = 10 * time.Second
)

// Outbox belongs to the owner of the jobs.
type Outbox struct {
	kube   cluster.Cluster
	agenda *agenda.Agenda
	jobs   *jobs.Pool
	log    *slog.Logger

	// claims, pools and classes are as they were published last; those that are no more are not among them.
	claims  map[model.ClaimID]shown
	pools   map[model.PoolName]cluster.PoolStatus
	classes map[model.NodeClassName]cluster.ClassStatus
	// states are what the last plan made of other objects of users, told those of them that were published.
	states []model.ObjectState
	told   map[string]model.ObjectState
	// publishedAt is when the last publication ended, with or without success.
	publishedAt time.Time
	// publishing says that one goes on.
	publishing bool
	// seen is what the last view was made of that is published, and lookedAt when that was.
	seen     any
	lookedAt time.Time
	// events wait to be published, at most maxEvents; those of pods wait for room there.
	events []cluster.Event
	pods   pods
	// retries are what failed of the last publications, and late is how many events are too early for another try, as
	// of the last view.
	retries retries
	late    int
	// failures are what was reported last of what holds up each claim.
	failures map[model.ClaimID]string
	// kept is what was said last of what keeps each claim's node.
	kept map[model.ClaimID]model.Code
	// going is why each claim goes that this leader has accepted a disruption of.
	going map[model.ClaimID]going
}

// going is a disruption, and why there is one.
type going struct {
	disruption model.DisruptionID
	why        string
}

// shown is a claim as users see it.
type shown struct {
	claim          *model.Claim
	consolidatable bool
}

// View is what users should see.
type View struct {
	// Claims are all claims, sorted by id; Objects are the claims whose objects are there.
	Claims  []*model.Claim
	Objects []model.ClaimID
	// Consolidatable are the claims whose nodes have been quiet for long enough.
	Consolidatable map[model.ClaimID]bool
	// Pools and Classes are all but the classes that are being deleted. ForgetClasses are those of the latter whose
	// finalizer may go.
	Pools         []cluster.PoolStatus
	Classes       []cluster.ClassStatus
	ForgetClasses []model.NodeClassName
}

// New makes an outbox of one who has shown nothing yet.
func New(k cluster.Cluster, a *agenda.Agenda, j *jobs.Pool, log *slog.Logger) *Outbox {
	return &Outbox{
		kube: k, agenda: a, jobs: j, log: log, claims: map[model.ClaimID]shown{}, pools: map[model.PoolName]cluster.PoolStatus{},
		classes: map[model.NodeClassName]cluster.ClassStatus{}, failures: map[model.ClaimID]string{},
		kept: map[model.ClaimID]model.Code{}, going: map[model.ClaimID]going{}, told: map[string]model.ObjectState{},
	}
}

// Due says whether a view is to be published: it is made of something else than the last one, which of is compared with, or
// events wait, or something that failed. A claim's object that was removed by force is found missing a little later.
func (o *Outbox) Due(of any) bool {
	if o.publishing || !o.agenda.Due(o.publishedAt.Add(publishGap)) {
		return false
	}
	again := !o.retries.next.IsZero() && o.agenda.Due(o.retries.next)
	return again || of != o.seen || len(o.events) > o.late || len(o.pods.untold) > 0 || o.agenda.Now().Sub(o.lookedAt) > republish
}

// Publish sends what users do not see yet of a view that is made of that. One publication goes on at a time, so their order
// holds. Done is called with what has succeeded of it.
func (o *Outbox) Publish(ctx context.Context, of any, v View, done func(cluster.Publication)) {
	p, claims := o.news(v)
	if len(p.Claims)+len(p.Pools)+len(p.Classes)+len(p.Events)+len(p.ForgetClaims)+len(p.ForgetClasses)+len(p.States) == 0 {
		o.seen, o.lookedAt = of, o.agenda.Now()
		return
	}
	o.seen = nil // there may be more than goes in one
	var failed cluster.NotPublished
	o.publishing = o.jobs.Do(ctx, jobs.Job{
		Key: "publish", Kind: jobs.Kube, First: 500 * time.Millisecond, Most: 10 * time.Second,
		Run: func(ctx context.Context) error {
			err := o.kube.Publish(ctx, p)
			if errors.As(err, &failed) {
				return nil // each entry has its own pause
			}
			return err
		},
		Done: func(err error) {
			o.publishedAt, o.publishing = time.Now(), false
			if err != nil {
				o.log.WarnContext(ctx, "publish", "error", err)
				return
			}
			taken, telling := o.retries.took(p, failed)
			if len(telling) > 0 {
				o.log.WarnContext(ctx, "publish", "error", telling)
			}
			o.note(taken, slices.DeleteFunc(claims, func(c *model.Claim) bool { return failed[cluster.ClaimEntry(c.ID)] != nil }))
			done(taken)
		},
	})
}

// note takes a publication, and the claims in it, as what users see now.
func (o *Outbox) note(p cluster.Publication, claims []*model.Claim) {
	for _, c := range claims {
		o.claims[c.ID] = shown{c, p.Consolidatable[c.ID]}
	}
	for _, s := range p.Pools {
		o.pools[s.Name] = s
	}
	for _, s := range p.Classes {
		o.classes[s.Name] = s
	}
	for _, s := range p.States {
		o.told[s.Subject] = s
	}
	o.drop(p.Events)
}

// news is the part of a view that users do not see yet, and the view's claims in it. What has failed is left out until
// it is due again.
func (o *Outbox) news(v View) (cluster.Publication, []*model.Claim) {
	o.tellPods()
	o.retries.begin()
	defer o.retries.end()
	early := func(e cluster.Entry) bool {
		due, _ := o.retries.due(e, o.agenda.Now())
		return !due
	}
	p := cluster.Publication{Consolidatable: v.Consolidatable}
	claims := o.newClaims(v)
	for _, c := range claims {
		p.Claims = append(p.Claims, *c)
	}
	for _, c := range v.Claims {
		if !c.State.Ended() {
			continue
		}
		o.forget(c.ID)
		if _, object := slices.BinarySearch(v.Objects, c.ID); object && !early(cluster.ForgetClaimEntry(c.ID)) && len(p.ForgetClaims) < maxForgotten {
			p.ForgetClaims = append(p.ForgetClaims, c.ID)
		}
	}
	p.Pools = less(changed(o.pools, v.Pools, func(s cluster.PoolStatus) model.PoolName { return s.Name }),
		func(s cluster.PoolStatus) bool { return early(cluster.PoolEntry(s.Name)) })
	p.Classes = less(changed(o.classes, v.Classes, func(s cluster.ClassStatus) model.NodeClassName { return s.Name }),
		func(s cluster.ClassStatus) bool { return early(cluster.ClassEntry(s.Name)) })
	p.States = less(changed(o.told, o.states, func(s model.ObjectState) string { return s.Subject }),
		func(s model.ObjectState) bool { return early(cluster.StateEntry(s)) })
	p.ForgetClasses = less(v.ForgetClasses, func(n model.NodeClassName) bool { return early(cluster.ForgetClassEntry(n)) })
	p.Events = less(o.events, func(e cluster.Event) bool { return early(cluster.EventEntry(e)) })
	o.late = len(o.events) - len(p.Events)
	p.Events = p.Events[:min(len(p.Events), maxHints)]
	return p, claims
}

// newClaims are the claims of a view that users do not see as they are, and that are to be published now.
func (o *Outbox) newClaims(v View) []*model.Claim {
	var out []*model.Claim
	// What can wait for the next publication: a new leader has shown nothing yet, and what the one before has shown is
	// mostly right. What was refused once may be again.
	later := 0
	for _, c := range v.Claims {
		_, object := slices.BinarySearch(v.Objects, c.ID)
		was, waits := o.claims[c.ID], false
		switch {
		case c.State.Ended():
			continue
		case was.claim == nil && object && c.State == model.ClaimInitialized:
			waits = true
		case was.claim == nil || was.claim != c && !reflect.DeepEqual(*was.claim, *c), !object && o.agenda.Now().Sub(o.publishedAt) > republish:
		case was.consolidatable != v.Consolidatable[c.ID]:
			waits = true
		default:
			continue
		}
		due, again := o.retries.due(cluster.ClaimEntry(c.ID), o.agenda.Now())
		if waits = waits || again; !due || waits && later == maxHints {
			continue
		}
		if waits {
			later++
		}
		out = append(out, c)
	}
	if len(out) <= maxClaims {
		return out
	}
	// Those without an object first: their nodes want it as their owner.
	absent := func(c *model.Claim) bool {
		_, object := slices.BinarySearch(v.Objects, c.ID)
		return !object
	}
	present := less(out, absent)
	out = append(slices.DeleteFunc(out, func(c *model.Claim) bool { return !absent(c) }), present...)
	return out[:maxClaims]
}

// drop takes events off the queue that were published.
func (o *Outbox) drop(published []cluster.Event) {
	left := map[cluster.Event]int{}
	for _, e := range published {
		left[e]++
	}
	o.events = slices.DeleteFunc(o.events, func(e cluster.Event) bool {
		left[e]--
		return left[e] >= 0
	})
}

// forget drops what is remembered of a claim that has ended. It is asked for with each view in which the claim is: when
// the claim ended, a publication may have gone on that had it, or a plan been made that knew its node.
func (o *Outbox) forget(id model.ClaimID) {
	delete(o.claims, id)
	delete(o.failures, id)
	delete(o.kept, id)
	delete(o.going, id)
}

// Became notes what a plan has made of objects of users whose status is written.
func (o *Outbox) Became(states []model.ObjectState) {
	if !reflect.DeepEqual(o.states, states) {
		o.states, o.seen = states, nil
	}
}

// changed are the statuses that are not as they were shown. What is no more is forgotten: another object of its name was
// shown nothing yet.
func changed[N ~string, S any](shown map[N]S, now []S, name func(S) N) []S {
	there := map[N]bool{}
	var out []S
	for _, s := range now {
		there[name(s)] = true
		if was, ok := shown[name(s)]; !ok || !reflect.DeepEqual(was, s) {
			out = append(out, s)
		}
	}
	for n := range shown {
		if !there[n] {
			delete(shown, n)
		}
	}
	return out
}
