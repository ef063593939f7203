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
	"github.com/kerf-dev/kerf/services/actuator/orphan"
)

// orphans ends instances that no claim names.
type orphans struct {
	cfg       Config
	agenda    *agenda.Agenda
	jobs      *jobs.Pool
	registry  *registry.Registry
	instances *observed.Instances

	// since is what the last verdict remembers.
	since map[string]time.Time
	// foreign are instances of another store that were warned about.
	foreign map[string]bool
}

func newOrphans(t *term) *orphans {
	return &orphans{
		cfg: t.cfg, agenda: t.agenda, jobs: t.jobs, registry: t.registry, instances: t.instances,
		foreign: map[string]bool{},
	}
}

// sweep ends the orphans whose time is up.
func (o *orphans) sweep(ctx context.Context) {
	v := orphan.Judge(orphan.World{
		Instances: o.instances.All, Claims: o.registry.Claims, Born: o.registry.Born, Now: o.agenda.Now(),
		Patience: o.cfg.Intervals.Orphans,
	}, o.since)
	o.since = v.Since
	o.agenda.Wake(v.Next)
	for _, i := range v.Foreign {
		if !o.foreign[i.ID] {
			o.foreign[i.ID] = true
			o.cfg.Log.WarnContext(ctx, "an instance is older than this store and unknown to it; it is left alone",
				"instance", i.ID, "claim", i.Claim, "launched", i.LaunchTime)
		}
	}
	for _, i := range v.End {
		o.end(ctx, i)
	}
}

func (o *orphans) end(ctx context.Context, i cloud.Instance) {
	o.jobs.Do(ctx, jobs.Job{
		Key: "orphan/" + i.ID, First: time.Second, Most: time.Minute, RepeatAfter: time.Minute,
		Run: func(ctx context.Context) error {
			o.cfg.Log.WarnContext(ctx, "ending an instance that no claim names", "instance", i.ID, "claim", i.Claim)
			return o.cfg.Cloud.Terminate(ctx, i.ID)
		},
		Done: logFailure(ctx, o.cfg.Log, "end an instance that no claim names", slog.String("instance", i.ID)),
	})
}
