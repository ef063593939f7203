package loop

import (
	"context"
	"log/slog"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/core/model"
)

// orphans ends instances that no claim names.
type orphans struct {
	cfg       Config
	agenda    *agenda.Agenda
	jobs      *jobs.Pool
	registry  *registry.Registry
	instances *observed.Instances

	// since is when each orphan that EC2 shows was first seen to be one.
	since map[string]time.Time
	// foreign are instances of another store that were warned about.
	foreign map[string]bool
}

func newOrphans(t *term) *orphans {
	return &orphans{
		cfg: t.cfg, agenda: t.agenda, jobs: t.jobs, registry: t.registry, instances: t.instances,
		since: map[string]time.Time{}, foreign: map[string]bool{},
	}
}

// sweep ends the orphans that were orphans for long enough. An instance that is older than the store belongs to one that
// was lost, and is left alone.
func (o *orphans) sweep(ctx context.Context) {
	seen := map[string]bool{}
	for _, i := range o.instances.All {
		if !i.State.Alive() || i.Claim == "" || o.owned(i) {
			continue
		}
		if i.LaunchTime.Before(o.registry.Born.Add(-time.Minute)) && o.registry.Claims[i.Claim] == nil {
			if !o.foreign[i.ID] {
				o.foreign[i.ID] = true
				o.cfg.Log.WarnContext(ctx, "an instance is older than this store and unknown to it; it is left alone",
					"instance", i.ID, "claim", i.Claim, "launched", i.LaunchTime)
			}
			continue
		}
		seen[i.ID] = true
		since, ok := o.since[i.ID]
		if !ok {
			since = o.agenda.Now()
			o.since[i.ID] = since
		}
		if o.agenda.Due(since.Add(o.cfg.Intervals.Orphans)) {
			o.end(ctx, i)
		}
	}
	for id := range o.since {
		if !seen[id] {
			delete(o.since, id)
		}
	}
}

func (o *orphans) end(ctx context.Context, i cloud.Instance) {
	o.jobs.Do(ctx, jobs.Job{
		Key: "orphan/" + i.ID, First: time.Second, Most: time.Minute, RepeatAfter: time.Minute,
		Run: func(ctx context.Context) error {
			// The claim may be one that a later leader has stored: only the present leader may end its instance.
			if err := o.registry.Leads(ctx); err != nil {
				return err
			}
			o.cfg.Log.WarnContext(ctx, "ending an instance that no claim names", "instance", i.ID, "claim", i.Claim)
			return o.cfg.Cloud.Terminate(ctx, i.ID)
		},
		Done: logFailure(ctx, o.cfg.Log, "end an instance that no claim names", slog.String("instance", i.ID)),
	})
}

// owned says that a claim looks after the instance. A claim that is on its way to have one, or to have none, looks after
// every instance with its tag.
func (o *orphans) owned(i cloud.Instance) bool {
	c := o.registry.Claims[i.Claim]
	if c == nil || c.State.Ended() {
		return false
	}
	return c.InstanceID == "" || c.InstanceID == i.ID || c.State == model.ClaimTerminating
}
