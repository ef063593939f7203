package registry

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// unclaimed is how long a notice waits for a launch to tell whose its instance is. Most are of instances that are not
// Kerf's.
const unclaimed = 10 * time.Minute

// Outdated are the records that are not needed any more: what is long over, and shortages that have ended. A claim is
// forgotten only once its Kubernetes object is, or that would never be removed. History is how long ended claims are
// remembered, and believed how long the first shortage of an offering is.
func (r *Registry) Outdated(objects []model.ClaimID, history, believed time.Duration) store.Batch {
	var b store.Batch
	now := r.agenda.Now()
	over := func(t time.Time) bool { return now.Sub(t) >= history }
	for id, c := range r.ended {
		if _, shown := slices.BinarySearch(objects, id); over(c.StateTime) && !shown {
			b.DeleteClaims = append(b.DeleteClaims, id)
		}
	}
	for id, n := range r.Notices {
		past := over(latest(n.EventTime, n.StartTime)) // what is scheduled is announced weeks before
		if n.Claim == "" {
			past = now.Sub(n.EventTime) >= unclaimed
		}
		if c := r.Claims[n.Claim]; past || (n.Claim != "" && (c == nil || c.State.Ended())) {
			b.DeleteNotices = append(b.DeleteNotices, id)
		}
	}
	short := 0
	for _, s := range r.Shortages {
		switch {
		case !r.agenda.Due(s.Until):
			short++
		case r.agenda.Due(shortage.ForgottenAt(s, believed)):
			b.DeleteShortages = append(b.DeleteShortages, s)
		}
	}
	if short != r.short { // what is over is worth another try
		r.short, r.shortagesChanged = short, true
		r.agenda.Again()
	}
	slices.Sort(b.DeleteClaims)
	slices.Sort(b.DeleteNotices)
	return b
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// smallBytes is more than what a notice, a shortage or a deletion takes.
const smallBytes = 2 << 10

// packer cuts what must be written into batches that a store takes. No batch is over the limits unless a single group is.
type packer struct {
	full  []store.Batch
	batch store.Batch
	bytes int // of batch
}

// next is the batch that a group of writes of that many bytes goes into.
func (p *packer) next(writes, bytes int) *store.Batch {
	if n := p.batch.Writes(); n > 0 && (n+writes > store.MaxWrites || p.bytes+bytes > store.MaxBytes) {
		p.full = append(p.full, p.batch)
		p.batch, p.bytes = store.Batch{}, 0
	}
	p.bytes += bytes
	return &p.batch
}

func (p *packer) batches() []store.Batch { return append(p.full, p.batch) }

// Grouped packs groups into batches without cutting any.
func Grouped(groups []apply.Group) []store.Batch {
	var p packer
	for _, g := range groups {
		writes := len(g.Claims)
		if g.Disruption != nil {
			writes++
		}
		b := p.next(writes, g.Bytes())
		b.PutClaims = append(b.PutClaims, g.Claims...)
		if g.Disruption != nil {
			b.PutDisruptions = append(b.PutDisruptions, *g.Disruption)
		}
	}
	return p.batches()
}

// pack puts each entry of a list into the part that has space for it.
func pack[T any](p *packer, entries []T, size func(T) int, list func(*store.Batch) *[]T) {
	for _, x := range entries {
		to := list(p.next(1, size(x)))
		*to = append(*to, x)
	}
}

func small[T any](T) int { return smallBytes }

// chunks cuts a batch into batches that a store takes. Disruptions come before claims: what a disruption has decided is
// stored before a claim follows it, because a claim that does not follow is seen and asked again.
func chunks(b store.Batch) []store.Batch {
	var p packer
	pack(&p, b.PutDisruptions, store.DisruptionBytes, func(b *store.Batch) *[]model.DisruptionRecord { return &b.PutDisruptions })
	pack(&p, b.PutClaims, store.ClaimBytes, func(b *store.Batch) *[]model.Claim { return &b.PutClaims })
	pack(&p, b.DeleteClaims, small, func(b *store.Batch) *[]model.ClaimID { return &b.DeleteClaims })
	pack(&p, b.DeleteDisruptions, small, func(b *store.Batch) *[]model.DisruptionID { return &b.DeleteDisruptions })
	pack(&p, b.DeleteNotices, small, func(b *store.Batch) *[]string { return &b.DeleteNotices })
	pack(&p, b.PutNotices, small, func(b *store.Batch) *[]model.Notice { return &b.PutNotices })
	pack(&p, b.PutShortages, small, func(b *store.Batch) *[]model.Shortage { return &b.PutShortages })
	pack(&p, b.DeleteShortages, small, func(b *store.Batch) *[]model.Shortage { return &b.DeleteShortages })
	return p.batches()
}
