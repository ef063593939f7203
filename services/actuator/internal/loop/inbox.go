package loop

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/claimspans"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/outbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/interrupt"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Parser reads the body of a notice.
type Parser func(body string) (interrupt.Message, error)

const (
	queuePause     = time.Second // after an empty answer, for queues that do not wait themselves
	queueErrorMost = 30 * time.Second
)

// inbox takes AWS's notices off the queue. receive and what it calls down to deliver are a worker's, the rest is
// the owner's.
type inbox struct {
	cfg       Config
	jobs      *jobs.Pool
	registry  *registry.Registry
	instances *observed.Instances
	outbox    *outbox.Outbox
}

func newInbox(t *term) *inbox {
	return &inbox{cfg: t.cfg, jobs: t.jobs, registry: t.registry, instances: t.instances, outbox: t.outbox}
}

// receive starts the goroutine that takes notices off the queue: each is stored before its message is deleted.
func (b *inbox) receive(ctx context.Context) {
	if b.cfg.Queue == nil {
		return
	}
	b.jobs.Go(func() {
		pause := queuePause
		for ctx.Err() == nil {
			n, err := b.receiveOnce(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				b.cfg.Log.WarnContext(ctx, "receive notices", "error", err)
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
func (b *inbox) receiveOnce(ctx context.Context) (int, error) {
	receiving, cancel := context.WithTimeout(ctx, jobs.Timeout)
	defer cancel()
	messages, err := b.cfg.Queue.Receive(receiving)
	if err != nil || len(messages) == 0 {
		return 0, err
	}
	var said []interrupt.Message
	var receipts []string
	for _, m := range messages {
		parsed, err := b.cfg.Parse(m.Body)
		if err != nil {
			// Nothing can be done with it, now or later; the log is where it is not lost.
			b.cfg.Log.WarnContext(ctx, "unreadable notice taken off the queue", "message", m.ID, "bytes", len(m.Body), "error", err)
		}
		if parsed.Doubt != "" {
			b.cfg.Log.WarnContext(ctx, "notice read in part", "message", m.ID, "doubt", parsed.Doubt)
		}
		if len(parsed.Notices)+len(parsed.Withdrawn) > 0 {
			said = append(said, parsed)
		}
		receipts = append(receipts, m.Receipt)
	}
	if err := b.deliver(ctx, said); err != nil {
		return 0, err
	}

	deleting, cancel := context.WithTimeout(ctx, jobs.Timeout)
	defer cancel()
	return len(messages), b.cfg.Queue.Delete(deleting, receipts)
}

// deliver hands notices to the owner and waits until they are stored.
func (b *inbox) deliver(ctx context.Context, said []interrupt.Message) error {
	if len(said) == 0 {
		return nil
	}
	stored := make(chan error, 1)
	if !b.jobs.Hand(ctx, func() { stored <- b.store(ctx, said) }) {
		return ctx.Err()
	}
	return <-stored
}

// store stores what concerns Kerf's instances, and drops what is withdrawn.
func (b *inbox) store(ctx context.Context, said []interrupt.Message) error {
	var batch store.Batch
	fresh := map[string]model.Notice{}
	for _, m := range said {
		for _, n := range m.Notices {
			if n, ok := b.news(ctx, n); ok {
				fresh[n.ID] = n
			}
		}
		for _, id := range m.Withdrawn {
			delete(fresh, id)
			if old := b.registry.Notices[id]; old != nil {
				batch.DeleteNotices = append(batch.DeleteNotices, id)
				b.cfg.Log.InfoContext(ctx, "notice withdrawn", "id", id, "instance", old.InstanceID, "claim", old.Claim)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(fresh)) {
		n := fresh[id]
		b.cfg.Measure.Notice(&n, time.Now())
		batch.PutNotices = append(batch.PutNotices, n)
		b.instances.PollNow(n.Claim)
		if n.Kind == model.NoticeSpotInterruption {
			batch.PutShortages = append(batch.PutShortages, b.reclaimed(n)...)
		}
		claimspans.Noticed(ctx, b.cfg.Log, n, b.registry.Claims[n.Claim])
	}
	_, err := b.registry.Write(ctx, batch)
	for _, n := range batch.PutNotices {
		if c := b.registry.Claims[n.Claim]; c != nil && err == nil {
			b.outbox.Notice(n, *c)
		}
	}
	return err
}

// news is a notice with its claim, unless it is known already: the queue may deliver a message twice, or an older one after a
// newer one. A notice about an unknown instance is dropped, unless a launch is under way that it may be about.
func (b *inbox) news(ctx context.Context, n model.Notice) (model.Notice, bool) {
	n.Claim = b.claimOf(n.InstanceID)
	if n.Claim == "" && !b.registry.Launching() {
		b.cfg.Log.InfoContext(ctx, "notice about an instance that is not Kerf's", "notice", n.ID, "instance", n.InstanceID)
		return n, false
	}
	old := b.registry.Notices[n.ID]
	return n, old == nil || n.EventTime.After(old.EventTime)
}

func (b *inbox) claimOf(instance string) model.ClaimID {
	if id := b.registry.ClaimOf(instance); id != "" {
		return id
	}
	return b.instances.ClaimOf(instance)
}

// reclaimed marks the offering of an interrupted instance: what EC2 takes back it is short of.
func (b *inbox) reclaimed(n model.Notice) []model.Shortage {
	c := b.registry.Claims[n.Claim]
	if c == nil || c.InstanceType == "" {
		return nil
	}
	return []model.Shortage{{
		InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: model.Spot,
		Until: time.Now().Add(b.cfg.Intervals.Shortage), Message: "EC2 took instance " + c.InstanceID + " back",
	}}
}

// adopted are notices that came before their claim knew its instance, with their claim.
func (b *inbox) adopted() []model.Notice {
	var out []model.Notice
	for _, n := range b.registry.Notices {
		if n.Claim != "" {
			continue
		}
		if id := b.claimOf(n.InstanceID); id != "" {
			next := *n
			next.Claim = id
			out = append(out, next)
		}
	}
	return out
}
