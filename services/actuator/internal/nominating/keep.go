package nominating

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/nominate"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// mostKeeping is how long a replacement is kept closed once the drain that it is for has begun: DaemonSet pods wait
	// as well. Before that it is mostIdle from when it is ready, because another replacement may be late.
	mostKeeping = 10 * time.Second
	mostIdle    = time.Minute
	// mostStaged is both how long a replacement is kept closed and for how long no pods are to go to nodes that are to
	// be removed later, where nodes are drained one after the other.
	mostStaged = 2 * time.Minute
	// lateArrival is how long after the end of the drain a controller may make the last pod.
	lateArrival = 2 * time.Second
	// mostFirm is how long no pods are to go to nodes that are to be removed later on account of one disruption: a
	// drain may be stuck.
	mostFirm = 30 * time.Second
	// firmFor is for how long after pods were moved none are to go to nodes that are to be removed later: where the
	// next are moved within that time, these nodes are not written in between.
	firmFor = 5 * time.Second
)

// keeping is a replacement that is kept closed until the pods are there that come in place of those that are moved to
// it. Their names are not known before they are there, and the scheduler binds them within milliseconds where it may.
// So it finds nothing: the nodes that are to go later are shut (firm), and those that stay have what the plan leaves
// them.
type keeping struct {
	arrivals nominate.Arrivals
	// joined is when its node did; ready is when it was in use first, but for being closed; began is when the drain
	// did, and drained when no pods were left. Zero before.
	joined, ready, began, drained time.Time
	// until is when it opens, in ns since the epoch. Its worker reads it.
	until atomic.Int64
	// most is how long it is kept closed once the drain has begun.
	most time.Duration
	// gathering says that its worker lets pods in, done that the node is open to all.
	gathering, done bool
}

func (k *keeping) over(now time.Time) bool { return now.UnixNano() >= k.until.Load() }

// Keep looks which replacements are kept for pods that are on their way, before claims are looked at.
func (x *Nominations) Keep(ctx context.Context) {
	if !x.bind || x.cfg.DaemonsFirst {
		return
	}
	now := x.cfg.Agenda.Now()
	for _, d := range x.cfg.Registry.Ongoing() {
		if d.Reason == model.ReasonUnhealthy || len(d.Pods) == 0 {
			continue
		}
		x.keepFor(d)
		if x.moves(d) {
			x.firm = now.Add(firmFor)
		}
	}
	maps.DeleteFunc(x.moving, func(id model.DisruptionID, _ time.Time) bool {
		d := x.cfg.Registry.Disruptions[id]
		return d == nil || !d.EndTime.IsZero()
	})
	for id, k := range x.kept {
		x.follow(ctx, id, k)
	}
	if now.Before(x.firm) {
		x.cfg.Agenda.Wake(x.firm)
	}
	if firm := now.Before(x.firm); firm != x.wasFirm {
		x.wasFirm = firm
		x.lookAtDeferred()
	}
}

// keepFor keeps the replacements of a disruption that are not in use yet.
func (x *Nominations) keepFor(d *model.DisruptionRecord) {
	for _, id := range d.Replacements {
		c := x.cfg.Registry.Claims[id]
		if c == nil || c.State >= model.ClaimInitialized || x.kept[id] != nil || !plain(c) {
			continue
		}
		if n := x.cfg.Cluster.Node(c); n != nil && n.Open() {
			continue // it was let open before it was known that pods may be bound: others may be there
		}
		if arrivals := nominate.To(c); len(arrivals) > 0 {
			x.kept[id] = &keeping{arrivals: arrivals, most: unlessStaged(d, mostKeeping)}
		}
	}
}

// plain says that a claim's pods ask for no devices, whose names have a domain: what provides these may not tolerate a
// node that is closed, and such pods are the scheduler's to place.
func plain(c *model.Claim) bool {
	return !slices.ContainsFunc(c.Requests, func(a model.Amount) bool { return strings.Contains(string(a.Resource), "/") })
}

// moves says that the pods of a disruption are being moved, and have been for no longer than is to be expected.
func (x *Nominations) moves(d *model.DisruptionRecord) bool {
	if !x.every(d.Replacements, model.ClaimInitialized) || x.every(d.Candidates, model.ClaimTerminating) {
		return false
	}
	since, known := x.moving[d.ID]
	if !known {
		since = x.cfg.Agenda.Now()
		x.moving[d.ID] = since
	}
	return x.cfg.Agenda.Now().Before(since.Add(unlessStaged(d, mostFirm)))
}

func unlessStaged(d *model.DisruptionRecord, most time.Duration) time.Duration {
	if d.Staged {
		return mostStaged
	}
	return most
}

// follow says until when a replacement is kept, and has pods let in from when their nodes are drained.
func (x *Nominations) follow(ctx context.Context, id model.ClaimID, k *keeping) {
	now, c := x.cfg.Agenda.Now(), x.cfg.Registry.Claims[id]
	var d *model.DisruptionRecord
	if c != nil && c.State <= model.ClaimInitialized {
		d = x.cfg.Registry.Disruptions[c.Replaces]
	}
	if d == nil || d.RolledBack {
		k.until.Store(now.UnixNano())
	} else {
		if n := x.cfg.Cluster.Node(c); n != nil {
			k.joined = n.CreateTime
		}
		if k.ready.IsZero() && c.State == model.ClaimInitialized {
			k.ready = now
		}
		if k.began.IsZero() && slices.ContainsFunc(d.Candidates, func(id model.ClaimID) bool { return x.past(id, model.ClaimDraining) }) {
			k.began = now
		}
		if k.drained.IsZero() && x.every(d.Candidates, model.ClaimTerminating) {
			k.drained = now
		}
		k.until.Store(k.opens())
	}
	switch {
	case k.gathering: // its worker ends it
	case k.done || k.over(now):
		x.release(id, k)
	default:
		x.cfg.Agenda.Wake(time.Unix(0, k.until.Load()))
		if !k.ready.IsZero() {
			k.gathering = x.gather(ctx, c, k)
		}
	}
}

// past says that a claim has reached a state that comes at its end, or is forgotten.
func (x *Nominations) past(id model.ClaimID, s model.ClaimState) bool {
	c := x.cfg.Registry.Claims[id]
	return c == nil || c.State >= s
}

func (x *Nominations) every(ids []model.ClaimID, s model.ClaimState) bool {
	return !slices.ContainsFunc(ids, func(id model.ClaimID) bool { return !x.past(id, s) })
}

// opens is when a replacement opens to all, in ns since the epoch.
func (k *keeping) opens() int64 {
	switch {
	case k.joined.IsZero():
		return math.MaxInt64
	case k.ready.IsZero(): // what makes it ready may not tolerate that it is closed
		return k.joined.Add(mostWaiting).UnixNano()
	case k.began.IsZero():
		return k.ready.Add(mostIdle).UnixNano()
	case k.drained.IsZero():
		return k.began.Add(k.most).UnixNano()
	}
	return min(k.began.Add(k.most).UnixNano(), k.drained.Add(lateArrival).UnixNano())
}

// gather has a worker let pods in, until all have come, one of them is the scheduler's to place, or it is time.
func (x *Nominations) gather(ctx context.Context, c *model.Claim, k *keeping) bool {
	o := x.opening(c.ID, c.Node)
	o.arrivals = k.arrivals
	if o.room == nil {
		return false
	}
	b := x.binding(o)
	return x.cfg.Jobs.Do(ctx, jobs.Job{
		Key: "keep/" + string(c.ID), Kind: jobs.Open,
		Run: func(ctx context.Context) error {
			b.gather(ctx, k)
			return nil
		},
		Done: func(error) {
			x.cfg.Log.InfoContext(ctx, "moved pods came", "claim", c.ID, "pods", len(b.came), "missing", k.arrivals.Missing(b.came))
			k.gathering = false
			x.release(c.ID, k)
		},
	})
}

func (b *binding) gather(ctx context.Context, k *keeping) {
	b.waits = true // no other node waits for this one
	for rest := kubeletLag; !k.over(time.Now()) && k.arrivals.Missing(b.came) > 0 && pause(ctx, rest); rest = bindEvery {
		wanted := without(b.wanted(), b.refused) // those have a node by now, most likely
		if len(b.bindable(wanted)) > 0 {
			b.attempt(ctx)
		} else if b.schedulers(wanted) {
			break
		}
	}
	b.settle(ctx)
}

// schedulers says that some pods are there, and that the scheduler alone can place them, for their volumes or host
// ports. One that has no room is not: another may.
func (b *binding) schedulers(list []cluster.Nomination) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(n cluster.Nomination) bool {
		_, bindable := b.cfg.Nominator.Bindable(n.Pod.ID)
		_, unbound := b.opening.world.Unbound(n.Pod.ID)
		return bindable || !unbound
	})
}

// release lets a node open to all. A claim that is not in use by then is not kept again.
func (x *Nominations) release(id model.ClaimID, k *keeping) {
	if !k.done {
		k.done = true
		x.cfg.Look(id)
		x.cfg.Agenda.Again()
	}
	if c := x.cfg.Registry.Claims[id]; c == nil || c.State >= model.ClaimInitialized {
		delete(x.kept, id)
	}
}

// lookAtDeferred has the claims looked at whose nodes are to go later.
func (x *Nominations) lookAtDeferred() {
	for id, c := range x.cfg.Registry.Claims {
		if c.RemovalDeferred {
			x.cfg.Look(id)
		}
	}
}

// Keeps says that a claim's node stays closed for now.
func (x *Nominations) Keeps(id model.ClaimID) bool {
	k := x.kept[id]
	return k != nil && !k.done
}

// Firm says that no pods are to go to a node that is to be removed later. One that the newest plan has pods on is not
// meant: there they find room without another node.
func (x *Nominations) Firm(node model.NodeName) bool {
	return x.cfg.Agenda.Now().Before(x.firm) && !x.expected.Load().On(node)
}

// Later says which pods of a claim that is drained go to nodes that are kept for them; nil for none.
func (x *Nominations) Later(c *model.Claim) func(model.PodID) bool {
	d := x.cfg.Registry.Disruptions[c.Disruption]
	if d == nil || !slices.ContainsFunc(d.Replacements, x.Keeps) {
		return nil
	}
	return func(p model.PodID) bool {
		return slices.ContainsFunc(d.Replacements, func(id model.ClaimID) bool {
			c := x.cfg.Registry.Claims[id]
			if c == nil || !x.Keeps(id) {
				return false
			}
			_, bought := slices.BinarySearch(c.Pods, p)
			return bought
		})
	}
}
