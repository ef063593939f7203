package inbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/interrupt"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

const (
	checksEvery = time.Minute
	// deniedPause is how long EC2 is not asked where the right to ask is missing. Credentials that are wrong or old are
	// renewed sooner.
	deniedPause = time.Hour
)

// impaired is when impairments that are stored were first seen: who led before may have waited for them, and EC2 does
// not always say.
func (b *Inbox) impaired() map[string]time.Time {
	first := map[string]time.Time{}
	for id, n := range b.cfg.Registry.Notices {
		if interrupt.OfStatus(id) && n.InstanceState == model.StateImpaired {
			first[n.InstanceID] = n.EventTime
		}
	}
	return first
}

// watch asks EC2 what is wrong with instances, and has it stored. First is when each impairment was first seen.
func (b *Inbox) watch(ctx context.Context, first map[string]time.Time) {
	for fails := 0; ctx.Err() == nil; {
		pause := checksEvery
		err := b.check(ctx, first)
		if err == nil {
			fails = 0
		} else {
			fails++
		}
		switch {
		case errors.Is(err, cloud.ErrUnauthorized) && awserror.LacksRight(err):
			b.cfg.Log.WarnContext(ctx, "instances' status checks are not looked at: allow ec2:DescribeInstanceStatus", "error", err)
			pause = deniedPause
		case err != nil && ctx.Err() == nil && jobs.Telling(fails):
			b.cfg.Log.WarnContext(ctx, "ask for instances' status checks", "error", err)
		}
		sleep(ctx, pause)
	}
}

func (b *Inbox) check(ctx context.Context, first map[string]time.Time) error {
	asking, cancel := context.WithTimeout(ctx, checksEvery)
	defer cancel()
	list, err := b.cfg.Checks.Statuses(asking)
	if err != nil {
		return err
	}
	now := time.Now()
	since(list, first, now)
	notices := interrupt.Statuses(list, now)
	failing := slices.Collect(maps.Keys(first))
	result := make(chan error, 1)
	if !b.cfg.Jobs.Hand(ctx, func() { result <- b.checked(ctx, notices, failing) }) {
		return ctx.Err()
	}
	return <-result
}

// since dates impairments of which EC2 does not say since when they are: from when they were first seen.
func since(list []cloud.Status, first map[string]time.Time, now time.Time) {
	impaired := map[string]bool{}
	for i := range list {
		s := &list[i]
		if !s.Impaired {
			continue
		}
		impaired[s.InstanceID] = true
		if first[s.InstanceID].IsZero() {
			first[s.InstanceID] = now
		}
		if s.ImpairedSince.IsZero() {
			s.ImpairedSince = first[s.InstanceID]
		}
	}
	for id := range first {
		if !impaired[id] {
			delete(first, id)
		}
	}
}

// checked stores what is wrong with Kerf's instances now, and drops what is not any more. Where the checks of many
// nodes of a pool fail, for however long, the cause is hardly the nodes, and none of them is given up for it.
func (b *Inbox) checked(ctx context.Context, notices []model.Notice, failing []string) error {
	var batch store.Batch
	news, listed := map[string]model.Notice{}, map[string]bool{}
	var of []model.Notice
	impaired := map[model.PoolName]int{}
	for _, id := range failing {
		if c := b.cfg.Registry.Claims[b.cfg.Registry.ClaimOf(id)]; c != nil {
			impaired[c.NodePool]++
		}
	}
	for _, n := range notices {
		n.Claim = b.cfg.Registry.ClaimOf(n.InstanceID)
		c := b.cfg.Registry.Claims[n.Claim]
		if c == nil {
			continue
		}
		listed[n.ID] = true
		of = append(of, n)
	}
	guards, kept := b.guards(impaired), map[model.PoolName]int{}
	for _, n := range of {
		pool := b.cfg.Registry.Claims[n.Claim].NodePool
		if _, guarded := guards[pool]; guarded && n.InstanceState == model.StateImpaired {
			kept[pool]++
			continue
		}
		if old := b.cfg.Registry.Notices[n.ID]; old == nil || !old.StartTime.Equal(n.StartTime) || !old.Deadline.Equal(n.Deadline) {
			news[n.ID] = n
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(kept)) { // once for each: where a zone fails they are hundreds, for hours
		b.cfg.Log.WarnContext(ctx, "instances whose status checks fail are kept", "pool", pool, "instances", kept[pool], "why", guards[pool].Message)
	}
	for id := range b.cfg.Registry.Notices {
		if interrupt.OfStatus(id) && !listed[id] {
			batch.DeleteNotices = append(batch.DeleteNotices, b.withdrawn(ctx, id)...)
		}
	}
	return b.write(ctx, batch, news)
}

// guards are why none is given up of the pools of which too many instances are impaired.
func (b *Inbox) guards(impaired map[model.PoolName]int) map[model.PoolName]model.Reason {
	out := map[model.PoolName]model.Reason{}
	if len(impaired) == 0 {
		return out
	}
	nodes := map[model.PoolName]int{}
	for _, c := range b.cfg.Registry.Claims {
		if c.InstanceID != "" && !c.State.Ended() {
			nodes[c.NodePool]++
		}
	}
	for pool, n := range impaired {
		if why := rules.RepairGuard(b.cfg.Repair, pool, n, nodes[pool]); !why.OK() {
			out[pool] = why
		}
	}
	return out
}
