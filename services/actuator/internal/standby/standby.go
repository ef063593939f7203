// Package standby keeps a candidate that does not lead up with what a leader has to know before it takes plans: what AWS sells
// and runs, what the node classes select, the cluster as it is, and what is stored. It changes nothing anywhere. Start reading
// at Parts.KeepUp.
package standby

import (
	"context"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// lookEvery is how often the cluster is looked at, and what is due asked for.
const lookEvery = 5 * time.Second

// Parts are what is kept up. They belong to the goroutine that calls KeepUp, and afterwards to the leader.
type Parts struct {
	Store     store.Store
	Agenda    *agenda.Agenda
	Jobs      *jobs.Pool
	Cluster   *observed.Cluster
	Instances *observed.Instances
	Market    *market.Market
	Classes   *market.Classes
}

// KeepUp returns once elected is closed. What it has begun to ask AWS for goes on.
func (p Parts) KeepUp(ctx context.Context, elected <-chan struct{}) {
	for {
		p.look(ctx)
		for next := time.NewTimer(lookEvery); next != nil; {
			select {
			case <-elected:
				next.Stop()
				return
			case f := <-p.Jobs.Results():
				f()
			case <-next.C:
				next = nil
			}
		}
	}
}

func (p Parts) look(ctx context.Context) {
	p.Agenda.Begin(time.Now())
	p.Jobs.Do(ctx, jobs.Job{Key: "prepare", First: time.Second, Most: 30 * time.Second, Run: p.Store.Prepare})
	p.Cluster.Look(ctx)
	p.Cluster.Touched() // the leader looks at all
	p.Instances.Poll(ctx, nil)
	p.Market.Refresh(ctx)
	if p.Cluster.Known {
		p.Classes.Refresh(ctx, p.Cluster.Classes, p.Cluster.Pools, func(model.NodeClassName) bool { return true })
	}
}
