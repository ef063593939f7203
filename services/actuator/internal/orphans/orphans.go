// Package orphans ends instances that no claim names. Which those are is package orphan's to say. Start reading at Orphans.
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
	"github.com/kerf-dev/kerf/services/actuator/orphan"
)

// Config is what orphans depend on.
type Config struct {
	Agenda    *agenda.Agenda
	Jobs      *jobs.Pool
	Registry  *registry.Registry
	Instances *observed.Instances
	Cloud     cloud.Cloud // ends nothing unless this leader leads
	Log       *slog.Logger
	// Patience is how long an instance may be an orphan before it is ended.
	Patience time.Duration
}

// Orphans belong to the goroutine that makes the passes.
type Orphans struct {
	cfg Config
	// verdict is the last one, and judged what it was made of.
	verdict orphan.Verdict
	judged  seen
	// foreign are instances of another store that were warned about.
	foreign map[string]bool
}

// seen is what a verdict is made of, as counters of changes.
type seen struct{ instances, writes int }

// New makes orphans of one who has seen none yet.
func New(c Config) *Orphans { return &Orphans{cfg: c, foreign: map[string]bool{}} }

// Sweep ends the orphans whose time is up.
func (o *Orphans) Sweep(ctx context.Context) {
	now := seen{o.cfg.Instances.Version(), o.cfg.Registry.Writes()}
	if now == o.judged && len(o.verdict.Since) == 0 {
		return // without an orphan, time alone makes none
	}
	o.judged = now
	o.verdict = orphan.Judge(orphan.World{
		Instances: o.cfg.Instances.All, Claims: o.cfg.Registry.Claims, Born: o.cfg.Registry.Born, Now: o.cfg.Agenda.Now(),
		Patience: o.cfg.Patience,
	}, o.verdict.Since)
	o.cfg.Agenda.Wake(o.verdict.Next)
	for _, i := range o.verdict.Foreign {
		if !o.foreign[i.ID] {
			o.foreign[i.ID] = true
			o.cfg.Log.WarnContext(ctx, "an instance is older than this store and unknown to it; it is left alone",
				"instance", i.ID, "claim", i.Claim, "launched", i.LaunchTime)
		}
	}
	for _, i := range o.verdict.End {
		o.end(ctx, i)
	}
}

func (o *Orphans) end(ctx context.Context, i cloud.Instance) {
	o.cfg.Jobs.Do(ctx, jobs.Job{
		Key: "orphan/" + i.ID, First: time.Second, Most: time.Minute, RepeatAfter: time.Minute,
		Run: func(ctx context.Context) error {
			o.cfg.Log.WarnContext(ctx, "ending an instance that no claim names", "instance", i.ID, "claim", i.Claim)
			return o.cfg.Cloud.Terminate(ctx, i.ID)
		},
		Done: func(err error) {
			if err != nil {
				o.cfg.Log.WarnContext(ctx, "work failed", "work", "end an instance that no claim names", "error", err, "instance", i.ID)
			}
		},
	})
}
