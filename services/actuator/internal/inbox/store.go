package inbox

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/claimspans"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// maxUnclaimed is how many notices about instances that are not known are stored at once. Others stay in the queue.
	maxUnclaimed = 500
	// clocks is how far AWS's clock and this one may be apart.
	clocks = time.Minute
	// calledOffFor is for how long it is known that something was called off: AWS Health sends events twice, and SQS
	// any message.
	calledOffFor = 24 * time.Hour
)

// verdict is what becomes of a notice.
type verdict int

const (
	foreign verdict = iota // its instance is not Kerf's
	known                  // it is stored already
	fresh                  // it is stored now
	later                  // it stays in the queue, and comes again
)

// store stores what concerns Kerf's instances, and drops what is withdrawn: what was said last counts, in whatever
// order it came. It returns the receipts of messages that are done with, and whether anything was written.
func (b *Inbox) store(ctx context.Context, telling []said) (done []string, wrote bool, err error) {
	var batch store.Batch
	news, over := map[string]model.Notice{}, map[string]bool{}
	unclaimed := b.unclaimed()
	slices.SortStableFunc(telling, func(x, y said) int { return x.Time.Compare(y.Time) })
	maps.DeleteFunc(b.calledOff, func(_ string, c calledOff) bool { return time.Since(c.heard) > calledOffFor })
	for _, m := range telling {
		stays := false
		for _, n := range m.Notices {
			n.Claim = b.claimOf(n.InstanceID)
			switch b.judge(n, unclaimed) {
			case foreign:
				b.cfg.Log.DebugContext(ctx, "notice about an instance that is not Kerf's", "notice", n.ID, "instance", n.InstanceID)
			case fresh:
				news[n.ID] = n
				delete(over, n.ID)
				if n.Claim == "" {
					unclaimed++
				}
			case later:
				stays = true
			case known:
			}
		}
		for _, id := range m.Withdrawn {
			if !m.Time.Before(b.calledOff[id].said) {
				b.calledOff[id] = calledOff{m.Time, time.Now()}
			}
			if old := b.cfg.Registry.Notices[id]; old != nil && m.Time.Before(old.EventTime) {
				continue // said before what is stored
			}
			delete(news, id)
			over[id] = true
		}
		if !stays {
			done = append(done, m.receipt)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(over)) {
		batch.DeleteNotices = append(batch.DeleteNotices, b.withdrawn(ctx, id)...)
	}
	return done, len(news)+batch.Writes() > 0, b.write(ctx, batch, news)
}

// judge says what becomes of a notice. One about an unknown instance may be about one that is being launched: then it is of
// interest if it takes the instance away, and was sent after that launch began.
func (b *Inbox) judge(n model.Notice, unclaimed int) verdict {
	old := b.cfg.Registry.Notices[n.ID]
	if n.Claim == "" {
		since := b.cfg.Registry.LaunchingSince()
		if since.IsZero() || !lifecycle.Interrupts(n) || n.EventTime.Before(since.Add(-clocks)) {
			return foreign
		}
	}
	if off, is := b.calledOff[n.ID]; is && !n.EventTime.After(off.said) { // it came late, or twice
		return known
	}
	switch c := b.cfg.Registry.Claims[n.Claim]; {
	case c != nil && (c.State.Ended() || c.State == model.ClaimTerminating && n.Kind == model.NoticeStateChange): // Kerf ends it
		return known
	case old != nil && !n.EventTime.After(old.EventTime): // it came twice, or an older one after a newer one
		return known
	case n.Claim == "" && old == nil && unclaimed >= maxUnclaimed:
		return later
	default:
		return fresh
	}
}

func (b *Inbox) unclaimed() int {
	n := 0
	for _, x := range b.cfg.Registry.Notices {
		if x.Claim == "" {
			n++
		}
	}
	return n
}

// withdrawn is the id if there is such a notice.
func (b *Inbox) withdrawn(ctx context.Context, id string) []string {
	old := b.cfg.Registry.Notices[id]
	if old == nil {
		return nil
	}
	b.cfg.Log.InfoContext(ctx, "notice withdrawn", "id", id, "instance", old.InstanceID, "claim", old.Claim)
	return []string{id}
}

// write stores notices, and tells of them.
func (b *Inbox) write(ctx context.Context, batch store.Batch, news map[string]model.Notice) error {
	for _, id := range slices.Sorted(maps.Keys(news)) {
		n := news[id]
		b.cfg.Measure.Notice(&n, time.Now())
		batch.PutNotices = append(batch.PutNotices, n)
		b.cfg.Instances.PollNow(n.Claim)
		if n.Kind == model.NoticeSpotInterruption {
			batch.PutShortages = append(batch.PutShortages, b.reclaimed(n)...)
		}
		claimspans.Noticed(ctx, b.cfg.Log, n, b.cfg.Registry.Claims[n.Claim])
	}
	_, err := b.cfg.Registry.Write(ctx, batch)
	for _, n := range batch.PutNotices {
		if c := b.cfg.Registry.Claims[n.Claim]; c != nil && err == nil {
			b.cfg.Outbox.Notice(n, *c)
		}
	}
	return err
}

func (b *Inbox) claimOf(instance string) model.ClaimID {
	if id := b.cfg.Registry.ClaimOf(instance); id != "" {
		return id
	}
	return b.cfg.Instances.ClaimOf(instance)
}

// reclaimed marks the offering of an interrupted instance: what EC2 takes back it is short of. Of a reservation it
// takes all back, and has no more of it until it is asked again.
func (b *Inbox) reclaimed(n model.Notice) []model.Shortage {
	c := b.cfg.Registry.Claims[n.Claim]
	if c == nil || c.InstanceType == "" {
		return nil
	}
	if c.CapacityType == model.Reserved {
		b.cfg.Classes.Exhausted(c.ReservationID)
		return nil
	}
	out := model.Shortage{
		InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: model.Spot,
		Until: time.Now().Add(b.cfg.Shortage), Message: "EC2 took instance " + c.InstanceID + " back",
	}
	if old, ok := b.cfg.Registry.Shortages[shortage.KeyOf(out)]; ok { // a launch found none: that weighs more
		out.Times = old.Times
		if old.Until.After(out.Until) {
			out.Until = old.Until
		}
	}
	return []model.Shortage{out}
}

// Adopted are notices that came before their claim knew its instance, with their claim.
func (b *Inbox) Adopted() []model.Notice {
	var out []model.Notice
	for _, n := range b.cfg.Registry.Notices {
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
