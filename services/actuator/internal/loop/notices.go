package loop

import (
	"context"
	"log/slog"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Parser reads the body of an announcement.
type Parser func(body string) ([]model.Notice, error)

const (
	queuePause     = time.Second // after an empty answer, for queues that do not wait themselves
	queueErrorMost = 30 * time.Second
)

// receive starts the goroutine that takes announcements off the queue: each is stored before its message is deleted.
func (l *leader) receive(ctx context.Context) {
	if l.cfg.Queue == nil {
		return
	}
	l.workers.Go(func() {
		pause := queuePause
		for ctx.Err() == nil {
			n, err := l.receiveOnce(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				l.cfg.Log.WarnContext(ctx, "receive announcements", "error", err)
				pause = min(2*pause, queueErrorMost)
			case n > 0:
				pause = 0
			default:
				pause = queuePause
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	})
}

// receiveOnce handles one batch of messages and returns how many there were.
func (l *leader) receiveOnce(ctx context.Context) (int, error) {
	receiving, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	messages, err := l.cfg.Queue.Receive(receiving)
	if err != nil || len(messages) == 0 {
		return 0, err
	}
	var notices []model.Notice
	var receipts []string
	for _, m := range messages {
		parsed, err := l.cfg.Parse(m.Body)
		if err != nil {
			// Nothing can be done with it, now or later; the log is where it is not lost.
			l.cfg.Log.WarnContext(ctx, "unreadable announcement taken off the queue", "message", m.ID, "bytes", len(m.Body), "error", err)
		}
		notices = append(notices, parsed...)
		receipts = append(receipts, m.Receipt)
	}
	if err := l.deliver(ctx, notices); err != nil {
		return 0, err
	}

	deleting, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	return len(messages), l.cfg.Queue.Delete(deleting, receipts)
}

// deliver hands notices to the owner and waits until they are stored.
func (l *leader) deliver(ctx context.Context, notices []model.Notice) error {
	if len(notices) == 0 {
		return nil
	}
	stored := make(chan error, 1)
	deliver := func() { stored <- l.note(ctx, notices) }
	select {
	case l.results <- deliver:
	case <-ctx.Done():
		return ctx.Err()
	}
	return <-stored
}

// note stores what concerns our instances. A notice about an instance that nobody knows is dropped, unless a launch is
// under way that it may be about.
func (l *leader) note(ctx context.Context, notices []model.Notice) error {
	var b store.Batch
	for _, n := range notices {
		n.Claim = l.ownerOf(n.InstanceID)
		if n.Claim == "" && !l.launching() {
			l.cfg.Log.InfoContext(ctx, "announcement about an instance that is not ours", "notice", n.ID, "instance", n.InstanceID)

			continue
		}
		if l.notices[n.ID] != nil {
			continue // the queue may deliver a message twice
		}
		b.PutNotices = append(b.PutNotices, n)
		if n.Kind == model.NoticeSpotInterruption {
			b.PutShortages = append(b.PutShortages, l.taken(n)...)
		}
		l.cfg.Log.InfoContext(ctx, "announcement", "notice", n.ID, "kind", n.Kind, "state", n.InstanceState, "instance", n.InstanceID, "claim", n.Claim)
	}
	l.pollNow = true
	if err := l.write(ctx, b); err != nil {
		l.failure = err
		return err
	}
	return nil
}

func (l *leader) ownerOf(instance string) model.ClaimID {
	for id, c := range l.claims {
		if c.InstanceID == instance {
			return id
		}
	}
	for _, i := range l.instances {
		if i.ID == instance {
			return i.Claim
		}
	}
	return ""
}

func (l *leader) launching() bool {
	for _, c := range l.claims {
		if c.State == model.ClaimLaunching {
			return true
		}
	}
	return false
}

// taken marks the offering of an interrupted instance: what EC2 takes back it is short of.
func (l *leader) taken(n model.Notice) []model.Shortage {
	c := l.claims[n.Claim]
	if c == nil || c.InstanceType == "" {
		return nil
	}
	return []model.Shortage{{
		InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: model.Spot,
		Until: time.Now().Add(l.cfg.Intervals.Shortage), Message: "EC2 took instance " + c.InstanceID + " back",
	}}
}

// adopt gives notices their claim that came before the claim knew its instance.
func (l *leader) adopt(b *store.Batch) {
	for _, n := range l.notices {
		if n.Claim != "" {
			continue
		}
		if id := l.ownerOf(n.InstanceID); id != "" {
			next := *n
			next.Claim = id
			b.PutNotices = append(b.PutNotices, next)
		}
	}
}

// poll lists the instances when it is time to.
func (l *leader) poll(ctx context.Context) {
	every := l.cfg.Intervals.Poll
	if l.expecting() {
		every = l.cfg.Intervals.FastPoll
	}
	due := l.listed.Add(every)
	if !l.pollNow && !l.listed.IsZero() && l.now.Before(due) {
		l.wake(due)
		return
	}
	var got []cloud.Instance
	var asked time.Time
	l.do(ctx, job{
		key: "instances", slot: l.slots.other, calm: min(l.cfg.Intervals.FastPoll, time.Second), first: time.Second, most: 30 * time.Second,
		run: func(ctx context.Context) (err error) {
			asked = time.Now()
			got, err = l.cfg.Cloud.Instances(ctx)
			return err
		},
		done: func(err error) {
			if err != nil {
				l.cfg.Log.WarnContext(ctx, "list instances", "error", err)
				return
			}
			l.instances, l.listed, l.pollNow = got, asked, false
			l.byClaim = make(map[model.ClaimID][]cloud.Instance, len(got))
			for _, i := range got {
				l.byClaim[i.Claim] = append(l.byClaim[i.Claim], i)
			}
		},
	})
}

// expecting says that an instance is about to come or to go.
func (l *leader) expecting() bool {
	for _, c := range l.claims {
		if c.State == model.ClaimTerminating || (c.State == model.ClaimLaunching && c.Failure != (model.Reason{})) {
			return true
		}
	}
	return false
}

// sweep ends instances that no claim names, and looks after nodes that no claim looks after.
func (l *leader) sweep(ctx context.Context) {
	seen := map[string]bool{}
	for _, i := range l.instances {
		if !i.State.Alive() || i.Claim == "" || l.owned(i) {
			continue
		}
		if i.LaunchTime.Before(l.born.Add(-time.Minute)) && l.claims[i.Claim] == nil {
			if !l.strange[i.ID] {
				l.strange[i.ID] = true
				l.cfg.Log.WarnContext(ctx, "an instance is older than this store and unknown to it; it is left alone",
					"instance", i.ID, "claim", i.Claim, "launched", i.LaunchTime)
			}

			continue
		}
		seen[i.ID] = true
		since, ok := l.orphans[i.ID]
		if !ok {
			since = l.now
			l.orphans[i.ID] = l.now
		}
		if end := since.Add(l.cfg.Intervals.Orphans); l.now.Before(end) {
			l.wake(end)

			continue
		}
		l.do(ctx, job{
			key: "orphan/" + i.ID, slot: l.slots.other, first: time.Second, most: time.Minute, calm: time.Minute,
			run: func(ctx context.Context) error {
				// The claim may be one that a later leader has stored: who leads no longer ends nobody's instance.
				if _, err := l.cfg.Store.Commit(ctx, l.fence, store.Batch{}); err != nil {
					return err
				}
				l.cfg.Log.WarnContext(ctx, "ending an instance that no claim names", "instance", i.ID, "claim", i.Claim)
				return l.cfg.Cloud.Terminate(ctx, i.ID)
			},
			done: l.logFailure(ctx, "end an instance that no claim names", slog.String("instance", i.ID)),
		})
	}
	for id := range l.orphans {
		if !seen[id] {
			delete(l.orphans, id)
		}
	}
	l.releaseNodes(ctx)
}

// owned says that a claim looks after the instance. A claim that is on its way to have one, or to have none, looks after
// every instance with its tag.
func (l *leader) owned(i cloud.Instance) bool {
	c := l.claims[i.Claim]
	if c == nil || c.State.Ended() {
		return false
	}
	return c.InstanceID == "" || c.InstanceID == i.ID || c.State == model.ClaimTerminating
}
