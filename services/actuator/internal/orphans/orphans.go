// Package orphans looks after what the store does not know: it takes up claims that the store has lost, and ends
// instances that no claim names. It must never decide which those are: package orphan does. Start reading at Orphans.
package orphans

import (
	"context"
	"log/slog"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/orphan"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Config is what orphans depend on.
type Config struct {
	Agenda    *agenda.Agenda
	Jobs      *jobs.Pool
	Registry  *registry.Registry
	Instances *observed.Instances
	Cluster   *observed.Cluster
	Cloud     cloud.Cloud // ends nothing unless this leader leads
	// Mirrored is what the object of a claim says of it.
	Mirrored func(model.ClaimID) (c model.Claim, there bool, err error)
	// OfUser tells a NodeClaim that a user has written that nothing is done for it, and says whether it did.
	OfUser func(model.ClaimID) bool
	// Record is what a claim remembers of its instance.
	Record func(*model.Claim, cloud.Instance) lifecycle.Instance
	Log    *slog.Logger
	// Patience is how long an instance may be an orphan before it is ended.
	Patience time.Duration
}

// Orphans belong to the goroutine that makes the passes.
type Orphans struct {
	cfg Config
	// verdict is the last one, and judged what it was made of.
	verdict orphan.Verdict
	judged  seen
	// foreign are instances of another store that were warned about, and objects of claims that can't be read.
	foreign map[string]bool
	// told are NodeClaims that users have written, and that were told of.
	told map[model.ClaimID]bool
	// looked is what was looked at for claims that were lost, and waiting since when each has had neither instance nor
	// node.
	looked  seen
	waiting map[model.ClaimID]time.Time
}

// seen is what an answer is made of, as counters of changes.
type seen struct{ instances, writes, objects int }

// New makes orphans of one who has seen none yet.
func New(c Config) *Orphans {
	return &Orphans{cfg: c, foreign: map[string]bool{}, waiting: map[model.ClaimID]time.Time{}}
}

// Adopted are the claims that the store has lost, made anew from their objects and instances; they are to be stored.
// One that has neither instance nor node is given time: its instance may not be seen yet.
func (o *Orphans) Adopted(ctx context.Context) []model.Claim {
	now := o.seen()
	if !o.cfg.Instances.Named() || now == o.looked && len(o.waiting) == 0 {
		return nil
	}
	o.looked = now
	var out []model.Claim
	waiting := map[model.ClaimID]time.Time{}
	for _, id := range o.cfg.Cluster.ClaimObjects {
		if o.cfg.Registry.Claims[id] != nil {
			continue
		}
		c, there := o.mirrored(ctx, id)
		if !there {
			continue
		}
		at := o.cfg.Agenda.Now()
		node := o.cfg.Cluster.Node(&c)
		if i := alive(o.cfg.Instances.Of(id), c.InstanceID); i != nil {
			record := o.cfg.Record(&c, *i)
			leaving := node != nil && node.Leaving() && !node.Terminating
			if i.Untagged {
				c.Launch = i.Launch // by which it is found, as long as it lacks the tag
			}
			out = append(out, lifecycle.Adopt(c, &record, leaving, at))
			o.cfg.Log.WarnContext(ctx, "a claim that the store has lost is taken up again", "claim", id, "instance", i.ID, "node", c.Node)
			continue
		}
		since, known := o.waiting[id]
		if !known {
			since = at
		}
		switch {
		case node != nil: // whatever it runs on, it runs
		case at.Before(since.Add(o.cfg.Patience)):
			waiting[id] = since
			o.cfg.Agenda.Wake(since.Add(o.cfg.Patience))
		default:
			out = append(out, lifecycle.Adopt(c, nil, false, at))
			o.cfg.Log.WarnContext(ctx, "a claim that the store has lost has no instance; what is left of it is removed", "claim", id)
		}
	}
	o.waiting = waiting
	return out
}

// Lost are the claims of which only objects are left, by the provider ids that these name.
func (o *Orphans) Lost() map[string]model.ClaimID {
	out := map[string]model.ClaimID{}
	for _, id := range o.cfg.Cluster.ClaimObjects {
		if o.cfg.Registry.Claims[id] != nil {
			continue
		}
		if c, there, err := o.cfg.Mirrored(id); err == nil && there && c.ProviderID != "" {
			out[c.ProviderID] = id
		}
	}
	return out
}

func (o *Orphans) seen() seen {
	return seen{o.cfg.Instances.Version(), o.cfg.Registry.Writes(), o.cfg.Cluster.Objects()}
}

// mirrored is what a claim's object says; there is none where it can't be read, which is said once.
func (o *Orphans) mirrored(ctx context.Context, id model.ClaimID) (c model.Claim, there bool) {
	c, there, err := o.cfg.Mirrored(id)
	if err == nil {
		return c, there
	}
	if key := "object/" + string(id); !o.foreign[key] {
		o.foreign[key] = true
		o.cfg.Log.WarnContext(ctx, "a NodeClaim that the store does not know can't be read; it is left alone", "claim", id, "error", err)
	}
	return model.Claim{}, false
}

// TellUsers tells of NodeClaims that users have written, which are no orders here: each once.
func (o *Orphans) TellUsers(ctx context.Context) {
	told := map[model.ClaimID]bool{}
	for _, id := range o.cfg.Cluster.UserClaims {
		switch {
		case o.told[id]:
			told[id] = true
		case o.cfg.OfUser(id):
			told[id] = true
			o.cfg.Log.WarnContext(ctx, "nothing is launched for a NodeClaim that belongs to no NodePool", "claim", id)
		}
	}
	o.told = told
}

// alive is the instance that a claim had, or else the newest one with its tag, of those that are alive; nil where none is.
func alive(list []cloud.Instance, had string) (found *cloud.Instance) {
	for k := range list {
		i := &list[k]
		switch {
		case !i.State.Alive():
		case i.ID == had:
			return i
		case found == nil || i.LaunchTime.After(found.LaunchTime):
			found = i
		}
	}
	return found
}

// Sweep ends the orphans whose time is up.
func (o *Orphans) Sweep(ctx context.Context) {
	now := o.seen()
	if now == o.judged && len(o.verdict.Since)+len(o.verdict.Foreign) == 0 || !o.cfg.Instances.Named() {
		return // without an orphan, time alone makes none
	}
	o.judged = now
	o.verdict = orphan.Judge(orphan.World{
		Instances: o.cfg.Instances.All, Claims: o.cfg.Registry.Claims, Born: o.cfg.Registry.Born, Now: o.cfg.Agenda.Now(),
		Patience: o.cfg.Patience,
		Mirrored: func(id model.ClaimID) bool { // an object that can't be read is an object, too
			_, there, err := o.cfg.Mirrored(id)
			return there || err != nil
		},
		Registered: o.cfg.Cluster.Registered,
	}, o.verdict.Since)
	o.cfg.Agenda.Wake(o.verdict.Next)
	for _, i := range o.verdict.Foreign {
		if !o.foreign[i.ID] {
			o.foreign[i.ID] = true
			o.cfg.Log.WarnContext(ctx, "an instance is unknown to this store, and older than it or a node; it is left alone",
				"instance", i.ID, "claim", i.Claim, "launched", i.LaunchTime)
		}
	}
	for _, i := range o.verdict.End {
		o.end(ctx, i)
	}
}

func (o *Orphans) end(ctx context.Context, i cloud.Instance) {
	key := "orphan/" + i.ID
	o.cfg.Jobs.Do(ctx, jobs.Job{
		Key: key, First: time.Second, Most: time.Minute, RepeatAfter: time.Minute,
		Run: func(ctx context.Context) error {
			o.cfg.Log.WarnContext(ctx, "ending an instance that no claim names", "instance", i.ID, "claim", i.Claim)
			return o.cfg.Cloud.Terminate(ctx, i.ID)
		},
		Done: o.cfg.Jobs.LogFailure(ctx, o.cfg.Log, key, "end an instance that no claim names", slog.String("instance", i.ID)),
	})
}
