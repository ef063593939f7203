// Package store is the actuator's port to where claims live, and to who may write them. It must never know etcd. Every
// implementation passes the suite in storetest. Start at Store.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Store keeps what must survive any crash. Implementations are safe for concurrent use.
type Store interface {
	// Load returns everything, and the revision at which it was read.
	Load(ctx context.Context) (Contents, error)
	// Prepare makes the next Load quick. Those who may have to Load soon call it from time to time.
	Prepare(ctx context.Context) error
	// Commit writes all of the batch or nothing, and only while the fence still is the leader's: an empty batch asks just
	// that. It returns the new revision. Errors: ErrFenced when another leader has taken over, ErrTooLarge; any other
	// leaves it open whether the batch was written, and only a Load can tell.
	Commit(ctx context.Context, fence Fence, b Batch) (Revision, error)
	// Remember keeps a fact that could be learned anew elsewhere, in the place of what was kept of the name. Errors: as
	// of Commit.
	Remember(ctx context.Context, fence Fence, name string, data []byte) error
	// Recall returns what was kept; nil when nothing was.
	Recall(ctx context.Context, name string) ([]byte, error)
}

// Election decides who leads.
type Election interface {
	// Campaign blocks until this candidate leads, and returns its term. Only those campaign who see the cluster, and others
	// can tell by that. Errors only when ctx ends or the store is lost for good; a lost lease while waiting is retried
	// inside.
	Campaign(ctx context.Context, candidate string) (Term, error)
	// Leader returns what the present leader campaigned with; "" when there is none.
	Leader(ctx context.Context) (string, error)
}

// Term is one leadership.
type Term struct {
	Fence Fence
	// Lost is closed when the leadership is no longer certain.
	Lost <-chan struct{}
	// Resign gives the leadership up; safe to call more than once.
	Resign func(ctx context.Context) error
	// Followed says that another candidate would lead next, and sees the cluster. Of one of a release that campaigns
	// without seeing it, that is not known.
	Followed func(ctx context.Context) (bool, error)
}

// Fence identifies a leadership: the create revision of the leader's key. Later leaders have larger ones.
type Fence struct {
	Key      string
	Revision int64
}

// Revision is the store's number of a state; it only grows.
type Revision int64

// Contents is everything that is stored.
type Contents struct {
	Revision    Revision
	Claims      []model.Claim
	Disruptions []model.DisruptionRecord
	Notices     []model.Notice
	Shortages   []model.Shortage
	// Created is the revision at which each claim was first stored.
	Created map[model.ClaimID]Revision
	// Born is when the store was first used for this cluster; zero when it never was. An instance that is older belongs
	// to a store that was lost, and must not be ended for being unknown to this one.
	Born time.Time
}

// Batch is a set of writes that stand or fall together. A nil slice changes nothing. Of several writes of one object
// the last counts, and a deletion more than those.
type Batch struct {
	PutClaims         []model.Claim
	DeleteClaims      []model.ClaimID
	PutDisruptions    []model.DisruptionRecord
	DeleteDisruptions []model.DisruptionID
	PutNotices        []model.Notice
	DeleteNotices     []string
	PutShortages      []model.Shortage
	DeleteShortages   []model.Shortage
	// Born is stored when it is not zero.
	Born time.Time
}

// MaxWrites is the largest number of writes in one Batch: etcd's default limit is 128.
const MaxWrites = 120

// Writes counts the batch's writes.
func (b Batch) Writes() int {
	n := len(b.PutClaims) + len(b.DeleteClaims) + len(b.PutDisruptions) + len(b.DeleteDisruptions) +
		len(b.PutNotices) + len(b.DeleteNotices) + len(b.PutShortages) + len(b.DeleteShortages)
	if !b.Born.IsZero() {
		n++
	}
	return n
}

// Errors that callers act on; test with errors.Is.
var (
	// ErrFenced says that another leader has taken over; nothing was written and nothing may be done any more.
	ErrFenced = errors.New("fenced: another leader has taken over")
	// ErrTooLarge says that a batch has too many writes or bytes; nothing was written.
	ErrTooLarge = errors.New("batch is too large")
)
