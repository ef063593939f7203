// Package inbox takes what AWS says about instances: the notices that come by the queue, and what is wrong with
// instances by EC2's own checks. Each notice is stored before its message is deleted.
//
// It must never decide what becomes of a notice: lifecycle does. Start reading at Inbox.Receive.
package inbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/actuator/internal/measure"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/outbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/interrupt"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Parser reads the body of a notice.
type Parser func(body string) (interrupt.Message, error)

const (
	queuePause     = time.Second // after an empty answer, for queues that do not wait themselves
	queueErrorMost = 30 * time.Second
	// fullAnswer is how many messages one answer holds at most: behind such an answer there are likely more.
	fullAnswer = 10
	// helpers is how many receive beside the first while there are more: an account's queue has the messages of all its
	// clusters.
	helpers = 7
)

// Config is what an inbox depends on.
type Config struct {
	Queue  cloud.Queue  // nil: no notices come by a queue
	Checks cloud.Checks // nil: EC2's checks are not asked for
	Parse  Parser

	Jobs      *jobs.Pool
	Registry  *registry.Registry
	Instances *observed.Instances
	Classes   *market.Classes
	Outbox    *outbox.Outbox
	Pools     func() []cluster.Pool
	Measure   *measure.Measure
	Log       *slog.Logger
	// Shortage is how long EC2 is believed to be short of what it took back.
	Shortage time.Duration
	// Repair says how many nodes may be unhealthy for any to be taken away for it.
	Repair model.RepairPolicy
}

// Inbox is one leader's. What receives and asks are workers; the rest belongs to the owner of the jobs.
type Inbox struct {
	cfg     Config
	helpers chan struct{}
	// calledOff are notices that were withdrawn lately, by their ids.
	calledOff map[string]calledOff
	// noQueue is when each pool's users were told last that the queue is not there.
	noQueue map[model.PoolName]time.Time
}

// calledOff is when AWS said last that a notice holds no longer, and when that was heard: what was said before holds no
// longer.
type calledOff struct{ said, heard time.Time }

// New makes an inbox that does nothing yet.
func New(c Config) *Inbox {
	return &Inbox{cfg: c, helpers: make(chan struct{}, helpers), calledOff: map[string]calledOff{}, noQueue: map[model.PoolName]time.Time{}}
}

// Receive starts the workers, which go on until ctx ends.
func (b *Inbox) Receive(ctx context.Context) {
	if b.cfg.Queue != nil {
		b.cfg.Jobs.Go(func() { b.receive(ctx) })
	}
	if b.cfg.Checks != nil {
		first := b.impaired()
		b.cfg.Jobs.Go(func() { b.watch(ctx, first) })
	}
}

func (b *Inbox) receive(ctx context.Context) {
	pause, fails := queuePause, 0
	for ctx.Err() == nil {
		n, err := b.receiveOnce(ctx)
		if err == nil && fails > 0 {
			b.cfg.Log.InfoContext(ctx, "notices are received again", "failures", fails)
			fails = 0
		}
		switch {
		case err != nil && ctx.Err() == nil:
			if fails++; jobs.Telling(fails) {
				b.cfg.Log.WarnContext(ctx, "receive notices: AWS's interruptions are not heard meanwhile; trying again", "failures", fails, "error", err)
			}
			// AWS denies access to a queue that the role's policy does not name, be it there or not.
			if awserror.Of(err) == awserror.NotFound || awserror.LacksRight(err) {
				b.cfg.Jobs.Hand(ctx, func() { b.tellOfNoQueue(err) })
			}
			pause = min(max(2*pause, queuePause), queueErrorMost) // there is none after a message
		case n > 0:
			pause = 0
		default:
			pause = queuePause
		}
		if n == fullAnswer {
			b.help(ctx)
		}
		sleep(ctx, pause)
	}
}

// tellAgain is when what is still so is said again: an API server keeps an event for an hour, and within that the same
// is no news.
const tellAgain = time.Hour + time.Minute

// tellOfNoQueue says of each pool that the queue is not there, or not for this actuator, as where its name is mistyped.
// Everything else goes on without it, so that no one would look; pools that are new hear of it, too.
func (b *Inbox) tellOfNoQueue(err error) {
	told := map[model.PoolName]time.Time{}
	for _, p := range b.cfg.Pools() {
		at := b.noQueue[p.Name]
		if now := time.Now(); now.Sub(at) >= tellAgain && b.cfg.Outbox.NoQueue(p.Name, err) {
			at = now
		}
		told[p.Name] = at
	}
	b.noQueue = told
}

// help lets another worker receive for as long as there are many messages.
func (b *Inbox) help(ctx context.Context) {
	select {
	case b.helpers <- struct{}{}:
	default:
		return
	}
	b.cfg.Jobs.Go(func() {
		defer func() { <-b.helpers }()
		for n := fullAnswer; n == fullAnswer && ctx.Err() == nil; {
			var err error
			if n, err = b.receiveOnce(ctx); err != nil {
				return // the first receiver meets the same, and says so
			}
			if n == fullAnswer {
				b.help(ctx)
			}
		}
	})
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// said is what one message says.
type said struct {
	interrupt.Message

	receipt string
}

// receiveOnce handles one answer of the queue and returns how many messages it had.
func (b *Inbox) receiveOnce(ctx context.Context) (int, error) {
	receiving, cancel := context.WithTimeout(ctx, jobs.Timeout)
	defer cancel()
	messages, err := b.cfg.Queue.Receive(receiving)
	if err != nil || len(messages) == 0 {
		return 0, err
	}
	var telling []said
	var over []string // receipts
	for _, m := range messages {
		parsed, err := b.cfg.Parse(m.Body)
		b.cfg.Measure.Message(err == nil)
		if err != nil {
			// Nothing can be done with it, now or later; the log is where it is not lost.
			b.cfg.Log.WarnContext(ctx, "unreadable notice taken off the queue", "message", m.ID, "bytes", len(m.Body), "error", err)
		}
		if parsed.Doubt != "" {
			b.cfg.Log.WarnContext(ctx, "notice read in part", "message", m.ID, "doubt", parsed.Doubt)
		}
		if len(parsed.Notices)+len(parsed.Withdrawn) > 0 {
			telling = append(telling, said{parsed, m.Receipt})
		} else {
			over = append(over, m.Receipt)
		}
	}
	done, err := b.deliver(ctx, telling)
	if err != nil {
		return 0, err
	}
	deleting, cancel := context.WithTimeout(ctx, jobs.Timeout)
	defer cancel()
	if over = append(over, done...); len(over) == 0 {
		return len(messages), nil
	}
	return len(messages), b.cfg.Queue.Delete(deleting, over)
}

// deliver hands messages to the owner, waits until what they say is stored, and returns the receipts of those that are
// done with.
func (b *Inbox) deliver(ctx context.Context, telling []said) (done []string, err error) {
	if len(telling) == 0 {
		return nil, nil
	}
	type outcome struct {
		done   []string
		stored bool
		err    error
	}
	result := make(chan outcome, 1)
	handed := b.cfg.Jobs.Hand(ctx, func() {
		var o outcome
		o.done, o.stored, o.err = b.store(ctx, telling)
		result <- o
	})
	if !handed {
		return nil, ctx.Err()
	}
	o := <-result
	if o.err == nil && !o.stored {
		// Only a leader knows that an instance is not Kerf's: its successor may have launched it.
		o.err = b.cfg.Registry.Leads(ctx)
	}
	return o.done, o.err
}
