// Package standby keeps a candidate that does not lead up with what a leader has to know before it takes plans: what
// AWS sells and runs, what the node classes select, the cluster as it is, and what is stored. It changes nothing
// anywhere. Start reading at Parts.KeepUp.
package standby

import (
	"context"
	"log/slog"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/relief"
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
	Log       *slog.Logger
	// Campaign stands in line until it leads or its context ends.
	Campaign func(context.Context) (store.Term, error)
	// Ask asks the API server something, so that its silence is noticed; nil leaves that to the watches.
	Ask func(context.Context) error
	// Prepared asks for what else must have been heard once before this candidate can take over; nil for nothing.
	Prepared func(context.Context) error
	// Ready is told whether this candidate can take over, or leads; may be nil.
	Ready func(bool)
}

// KeepUp stands by until this candidate leads. It campaigns only while it sees the cluster: one that can't, as without a
// right or cut off from the API server, would do nothing as the leader, and keep those that can from leading. An error
// says that ctx has ended, or that the campaign has failed for good. What was begun to be asked of AWS goes on.
func (p Parts) KeepUp(ctx context.Context) (store.Term, error) {
	s := standing{Parts: p}
	for {
		s.look(ctx)
		s.stand(ctx)
		every := lookEvery
		if !s.Cluster.Known {
			every = lookFirst
		}
		if over, err := s.wait(ctx, every); over {
			return s.won, err
		}
	}
}

// standing is a candidate that stands by.
type standing struct {
	Parts

	sight relief.Candidate
	line  *place // nil while it does not stand in line
	won   store.Term

	told, ready bool // what Ready was told
	blind       bool // the log has that it does not see
	prepared    bool // the store has answered, and what Prepared asks
}

// place is a place in the line.
type place struct {
	ended chan struct{} // closed when the campaign has; then won and err are set
	won   store.Term
	err   error
	leave context.CancelFunc
	left  bool
}

// stand joins the line, or leaves it, by what is seen.
func (s *standing) stand(ctx context.Context) {
	if !s.Cluster.Known {
		return
	}
	sees := s.sight.Look(s.Cluster.Silent, s.Agenda.Now())
	if blind := !sees; blind != s.blind {
		s.blind = blind
		if blind {
			s.Log.WarnContext(ctx, "this actuator does not stand by until it sees the cluster again", "silent", time.Since(s.Cluster.Silent).Round(time.Second))
		} else {
			s.Log.InfoContext(ctx, "this actuator sees the cluster again and stands by")
		}
	}
	switch {
	case !sees:
		if s.line != nil {
			s.line.left = true
			s.line.leave()
		}
		s.tell(false)
	case s.line == nil:
		s.line = s.join(ctx)
		s.canLead()
	}
}

// canLead tells that this candidate can take over, once it stands in line and all has answered that it needs: where that
// does not for those of a new release, a rollout waits with them. That it answers no more is the leader's trouble, too.
func (s *standing) canLead() {
	if s.prepared && s.line != nil && !s.line.left {
		s.tell(true)
	}
}

func (s *standing) join(ctx context.Context) *place {
	ctx, cancel := context.WithCancel(ctx)
	l := &place{ended: make(chan struct{}), leave: cancel}
	go func() {
		defer close(l.ended)
		defer cancel()
		l.won, l.err = s.Campaign(ctx)
	}()
	return l
}

func (s *standing) tell(ready bool) {
	if s.told && s.ready == ready {
		return
	}
	s.told, s.ready = true, ready
	if s.Ready != nil {
		s.Ready(ready)
	}
}

// wait waits for the next look, and says whether there is none, as the candidate leads or has to stop.
func (s *standing) wait(ctx context.Context, every time.Duration) (over bool, err error) {
	ended, campaign := ctx.Done(), (<-chan struct{})(nil)
	if s.line != nil {
		ended, campaign = nil, s.line.ended // the campaign ends with ctx, too
	}
	next := time.NewTimer(every)
	defer next.Stop()
	for {
		select {
		case <-campaign:
			return s.over(ctx)
		case <-ended:
			return true, ctx.Err()
		case f := <-s.Jobs.Results():
			f()
		case <-next.C:
			return false, nil
		}
	}
}

// over is what comes after a campaign: who has won leads, also where it was just about to leave the line.
func (s *standing) over(ctx context.Context) (over bool, err error) {
	l := s.line
	s.line = nil
	if l.err == nil {
		s.won = l.won
		s.tell(true)
		return true, nil
	}
	return !l.left || ctx.Err() != nil, l.err
}

// prepare has the store, and what this candidate needs besides, answer.
func (s *standing) prepare(ctx context.Context) error {
	if err := s.Store.Prepare(ctx); err != nil || s.Prepared == nil {
		return err //nolint:wrapcheck // it says what failed
	}
	return s.Prepared(ctx)
}

func (s *standing) look(ctx context.Context) {
	s.Agenda.Begin(time.Now())
	const key = "prepare"
	failed := s.Jobs.LogFailure(ctx, s.Log, key, "prepare to lead")
	s.Jobs.Do(ctx, jobs.Job{
		Key: key, First: time.Second, Most: 30 * time.Second, Run: s.prepare,
		Done: func(err error) {
			s.prepared = s.prepared || err == nil
			failed(err)
			s.canLead()
		},
	})
	s.Cluster.Look(ctx)
	s.Cluster.Touched() // the leader looks at all
	s.Instances.Poll(ctx, nil)
	s.Market.Refresh(ctx)
	if !s.Cluster.Known {
		return
	}
	if s.Ask != nil {
		s.Jobs.Do(ctx, jobs.Job{
			Key: "ask", Kind: jobs.Ask, First: relief.AskAgain, Most: relief.AskAgain, RepeatAfter: relief.AskEvery, Run: relief.Ask(s.Ask),
		})
	}
	s.Classes.Refresh(ctx, s.Cluster.Classes, s.Cluster.Pools, func(model.NodeClassName) bool { return true })
}
