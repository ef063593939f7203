// Package shrinking tells Kubernetes which pods to delete first when a workload is scaled down: it has deletion costs
// written. It must never decide which those are: package shrink does. Start reading at Costs.
package shrinking

import (
	"context"
	"log/slog"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/shrink"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// mostAtOnce are written, and then the next, at least a pause later: what is to be written may have changed meanwhile.
	mostAtOnce = 150
	pause      = time.Second
	// lookEvery is how often pods are looked at that may have come since.
	lookEvery = 10 * time.Second
)

// Config is what deletion costs depend on.
type Config struct {
	// Replicas writes them; nil never does.
	Replicas cluster.Replicas

	Agenda *agenda.Agenda
	Jobs   *jobs.Pool
	Log    *slog.Logger
}

// Costs belong to the goroutine that makes the passes.
type Costs struct {
	cfg   Config
	order shrink.Order
	// asked says that it is known whether they may be written; can, that they may.
	asked, can bool
	// look is when pods are looked at next.
	look time.Time
}

// New makes costs of one who has seen no plan yet.
func New(c Config) *Costs { return &Costs{cfg: c} }

// Took takes a plan's word.
func (x *Costs) Took(nodes []model.NodeVerdict) {
	known := x.order.Known()
	x.order.Take(nodes)
	if !known && x.order.Known() {
		x.look = time.Time{}
	}
}

// Write writes costs that are due, some at a time.
func (x *Costs) Write(ctx context.Context) {
	switch {
	case x.cfg.Replicas == nil || !x.order.Known():
		return
	case !x.asked:
		x.ask(ctx)
		return
	case !x.can:
		return
	case x.cfg.Agenda.Now().Before(x.look):
		x.cfg.Agenda.Wake(x.look)
		return
	}
	due, more := x.order.Due(x.cfg.Replicas.On, mostAtOnce)
	x.look = x.cfg.Agenda.Now().Add(lookEvery)
	if more {
		x.look = x.cfg.Agenda.Now().Add(pause)
	}
	x.cfg.Agenda.Wake(x.look)
	if len(due) == 0 {
		return
	}
	x.cfg.Jobs.Do(ctx, jobs.Job{
		Key: "deletion costs", Kind: jobs.Other, First: pause, Most: time.Minute,
		Run: func(ctx context.Context) error { return x.cfg.Replicas.Cost(ctx, due) },
		Done: func(err error) {
			if err != nil {
				x.cfg.Log.WarnContext(ctx, "write deletion costs", "pods", len(due), "error", err)
			}
		},
	})
}

// ask finds out whether deletion costs may be written.
func (x *Costs) ask(ctx context.Context) {
	var can bool
	var why string
	x.cfg.Jobs.Do(ctx, jobs.Job{
		Key: "deletion costs", Kind: jobs.Other, First: time.Second, Most: 30 * time.Second,
		Run: func(ctx context.Context) (err error) {
			can, why, err = x.cfg.Replicas.CanCost(ctx)
			return err
		},
		Done: func(err error) {
			if err != nil {
				x.cfg.Log.WarnContext(ctx, "whether deletion costs may be written", "error", err)
				return
			}
			x.asked, x.can = true, can
			x.cfg.Log.InfoContext(ctx, "deletion costs", "written", can, "why", why)
		},
	})
}
