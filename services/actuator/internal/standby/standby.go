// Package standby keeps a candidate that does not lead up with what a leader has to know before it takes plans: what
// AWS sells and runs, what the node classes select, the cluster as it is, and what is stored. It changes nothing
// anywhere. Start reading at Parts.KeepUp.
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

const (
	// lookEvery is how often the cluster is looked at, and what is due asked for; lookFirst until the cluster was seen.
	lookEvery = 5 * time.Second
	lookFirst = 250 * time.Millisecond
)

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

// KeepUp calls campaign once the cluster was seen, and returns once the channel that it gets is closed. A candidate
// that can't see the cluster, as one without a right, would do nothing as the leader, and keep those that can from
// leading. Only where ctx ends before that is there an error. What was begun to be asked of AWS goes on.
func (p Parts) KeepUp(ctx context.Context, campaign func() (elected <-chan struct{})) error {
	var elected <-chan struct{}
	ended, every := ctx.Done(), lookFirst
	for {
		p.look(ctx)
		if elected == nil && p.Cluster.Known {
			elected, every = campaign(), lookEvery
			ended = nil // the campaign ends with ctx, too
		}
		for next := time.NewTimer(every); next != nil; {
			select {
			case <-elected:
				next.Stop()
				return nil
			case <-ended:
				next.Stop()
				return ctx.Err()
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
