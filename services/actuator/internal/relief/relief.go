// Package relief says by who sees the cluster who stands in line to lead, and when a leader makes way. A process that is
// cut off from the API server, while etcd hears it, would lead for ever and do nothing, though others see all.
//
// Where no one sees, the line is empty before the leader looks for others, and it leads on: its successor would see no
// more. It must never know how leaders are elected. Start reading at Candidate and Leader.
package relief

import (
	"context"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
)

const (
	// leaveAfter is how long nothing is seen when a candidate leaves the line. It hears within AskEvery and askTimeout that
	// the API server is silent: together that is to be well below makeWayAfter, see above.
	leaveAfter = 15 * time.Second
	// joinAfter is how long one that saw nothing must have seen all before it stands in line again. Who sees only now and
	// then is no better than the leader, and the two would take the lead from each other.
	joinAfter = 30 * time.Second
	// makeWayAfter is how long a leader sees nothing when it makes way for one that sees. A watch that was interrupted and
	// works again may show that by a bookmark alone, and there is one each minute.
	makeWayAfter = 90 * time.Second
	// AskEvery is how often a candidate asks the API server something, and AskAgain after an answer that did not come: its
	// watches alone would notice a silence minutes later than the leader, who asks for much else.
	AskEvery, AskAgain = 10 * time.Second, 5 * time.Second
	// askTimeout is how long an answer is waited for: longer than an API server that has much to do keeps a request waiting
	// for its turn.
	askTimeout = 20 * time.Second
	// lineEvery is how often a leader that sees nothing looks who stands in line.
	lineEvery = 5 * time.Second
)

// Ask bounds a question to the API server that is asked for its answer's sake.
func Ask(ask func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		return ask(ctx)
	}
}

// Candidate is whether one that does not lead stands in line. The zero Candidate has not looked yet.
type Candidate struct {
	stands bool
	blind  time.Time // when a look last saw nothing; zero for never
}

// Look says whether it stands in line from now on. Silent is since when nothing is seen, zero while the cluster is.
func (c *Candidate) Look(silent, now time.Time) (stands bool) {
	if !silent.IsZero() {
		c.blind = now
	}
	switch {
	case silent.IsZero() && (c.blind.IsZero() || now.Sub(c.blind) >= joinAfter):
		c.stands = true
	case !silent.IsZero() && now.Sub(silent) >= leaveAfter:
		c.stands = false
	}
	return c.stands
}

// Leader is whether one that leads makes way. It belongs to the goroutine that makes the passes.
type Leader struct {
	Agenda *agenda.Agenda
	Jobs   *jobs.Pool
	// Followed asks whether the next in line sees the cluster.
	Followed func(context.Context) (bool, error)

	followed bool // the answer; it counts for as long as the silence that it was asked in
}

// Look says that the leader is to make way now. Silent is since when it sees nothing, zero while it sees the cluster.
func (l *Leader) Look(ctx context.Context, silent time.Time) (makesWay bool) {
	if silent.IsZero() || !l.Agenda.Due(silent.Add(makeWayAfter)) {
		l.followed = false
		return false
	}
	if l.followed {
		return true
	}
	var followed bool
	l.Jobs.Do(ctx, jobs.Job{
		Key: "followed", First: lineEvery, Most: lineEvery, RepeatAfter: lineEvery,
		Run: func(ctx context.Context) (err error) {
			followed, err = l.Followed(ctx)
			return err
		},
		Done: func(err error) { l.followed = err == nil && followed },
	})
	return false
}
