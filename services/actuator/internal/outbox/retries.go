package outbox

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	retryFirst = 500 * time.Millisecond
	// retryMost is long enough that a thousand objects that a webhook refuses leave the client's requests to others.
	retryMost = time.Minute
)

// retries are the entries that failed when they were published last, and wait for another try each on its own: one that
// is refused for good holds up no other. So are claims whose objects were let go: where another's finalizer keeps them,
// they are asked for with each view, and there may be more than go in one publication.
type retries struct {
	failed map[cluster.Entry]retry
	// wanted are those of failed that the present view wants: what no view wants any more is not tried again.
	wanted map[cluster.Entry]retry
	// next is when the first of them is tried again that is too early for the last view; zero for none.
	next time.Time
}

// retry is when an entry is due again that has failed.
type retry struct {
	fails int // in a row; 0 for an object that was let go
	due   time.Time
}

// begin begins a view, and end ends it.
func (x *retries) begin() { x.wanted, x.next = map[cluster.Entry]retry{}, time.Time{} }

func (x *retries) end() { x.failed = x.wanted }

// due says of an entry that a view wants whether it is to be published now, and whether it has failed before.
func (x *retries) due(e cluster.Entry, now time.Time) (is, again bool) {
	r, again := x.failed[e]
	if !again {
		return true, false
	}
	x.wanted[e] = r
	if !now.Before(r.due) {
		return true, true
	}
	if x.next.IsZero() || r.due.Before(x.next) {
		x.next = r.due
	}
	return false, true
}

// fail notes that an entry has failed, and returns how often it has in a row.
func (x *retries) fail(e cluster.Entry) int {
	r := x.failed[e]
	pause := min(retryMost, retryFirst<<min(r.fails, 10))
	x.failed[e] = retry{r.fails + 1, time.Now().Add(pause)}
	return r.fails + 1
}

// took notes of each entry of a publication how it went. It returns the publication without those that failed, and what
// is worth a line in the log of these.
func (x *retries) took(p cluster.Publication, failed cluster.NotPublished) (cluster.Publication, cluster.NotPublished) {
	telling := cluster.NotPublished{}
	for e, err := range failed {
		if jobs.Telling(x.fail(e)) {
			telling[e] = err
		}
	}
	fails := func(e cluster.Entry) bool {
		if failed[e] == nil {
			delete(x.failed, e)
		}
		return failed[e] != nil
	}
	p.Claims = less(p.Claims, func(c model.Claim) bool { return fails(cluster.ClaimEntry(c.ID)) })
	p.ForgetClaims = less(p.ForgetClaims, func(id model.ClaimID) bool { return fails(cluster.ForgetClaimEntry(id)) })
	for _, id := range p.ForgetClaims {
		x.failed[cluster.ForgetClaimEntry(id)] = retry{due: time.Now().Add(retryMost)}
	}
	p.Pools = less(p.Pools, func(s cluster.PoolStatus) bool { return fails(cluster.PoolEntry(s.Name)) })
	p.Classes = less(p.Classes, func(s cluster.ClassStatus) bool { return fails(cluster.ClassEntry(s.Name)) })
	p.ForgetClasses = less(p.ForgetClasses, func(n model.NodeClassName) bool { return fails(cluster.ForgetClassEntry(n)) })
	p.States = less(p.States, func(s model.ObjectState) bool { return fails(cluster.StateEntry(s)) })
	p.Events = less(p.Events, func(e cluster.Event) bool { return fails(cluster.EventEntry(e)) })
	return p, telling
}

// less is a list without some of it. The list stays as it is: others may have it.
func less[T any](list []T, some func(T) bool) []T { return slices.DeleteFunc(slices.Clone(list), some) }
