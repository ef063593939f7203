// Package registry is what the store holds, in the leader's memory: claims, disruptions, notices and shortages, and how
// they are written. It must never know AWS or Kubernetes. Start reading at Registry.Commit.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Registry belongs to the goroutine that leads. What its maps hold is what is stored: nothing is put there before it was
// written, and what a pointer points to never changes; a changed object has another pointer. Others read the maps only.
type Registry struct {
	store  store.Store
	fence  store.Fence
	agenda *agenda.Agenda

	Claims map[model.ClaimID]*model.Claim
	// Created has the inventory revision that first had each of Claims, and no other claims.
	Created     map[model.ClaimID]int64
	Disruptions map[model.DisruptionID]*model.DisruptionRecord
	Notices     map[string]*model.Notice
	Shortages   shortage.Memory
	// Born is when the store was first used for this cluster.
	Born time.Time

	// underWay are those of Claims that have neither ended nor come to rest as Initialized, and ended those that have
	// ended.
	underWay, ended map[model.ClaimID]*model.Claim
	// providers are the claims by the provider id of their instance, and instances by its own id.
	providers, instances map[string]model.ClaimID
	// launches are the claims by the call that launches them with others.
	launches map[string]map[model.ClaimID]*model.Claim
	// sorted are Claims by id but for replaced, which have been written since; nil where claims have come or gone.
	sorted   []*model.Claim
	replaced []*model.Claim
	// touched are claims of which something was written since Touched was asked; writes counts batches.
	touched map[model.ClaimID]bool
	writes  int

	// stored is the store's revision after the last write.
	stored store.Revision
	// revision is the inventory's that was shown last, above all that former leaders have shown.
	revision int64
	// failure is set once it is not known what the store holds: then nothing more may be written, and the term is over.
	failure error
	// shortagesChanged says that the shortages are not those that NewShortages was last asked about.
	shortagesChanged bool
	// short is how many of them are believed.
	short int
}

// Change is a claim that was written: as it was before, nil for a new one, and as it is.
type Change struct{ Old, New *model.Claim }

// New makes an empty registry, of one who does not lead yet.
func New(s store.Store, a *agenda.Agenda) *Registry {
	return &Registry{
		store: s, agenda: a, Claims: map[model.ClaimID]*model.Claim{}, Created: map[model.ClaimID]int64{},
		Disruptions: map[model.DisruptionID]*model.DisruptionRecord{}, Notices: map[string]*model.Notice{},
		Shortages: shortage.Memory{}, shortagesChanged: true,
		underWay: map[model.ClaimID]*model.Claim{}, ended: map[model.ClaimID]*model.Claim{}, providers: map[string]model.ClaimID{}, instances: map[string]model.ClaimID{},
		launches: map[string]map[model.ClaimID]*model.Claim{},
		touched:  map[model.ClaimID]bool{},
	}
}

// Load reads what former leaders left. From then on the registry writes with the fence.
func (r *Registry) Load(ctx context.Context, f store.Fence) error {
	r.fence = f
	c, err := r.store.Load(ctx)
	if err != nil {
		return err
	}
	for i := range c.Claims {
		r.put(&c.Claims[i])
	}
	for id, revision := range c.Created {
		r.Created[id] = inventory.FromStore(int64(revision))
	}
	for i := range c.Disruptions {
		r.Disruptions[c.Disruptions[i].ID] = &c.Disruptions[i]
	}
	for i := range c.Notices {
		r.Notices[c.Notices[i].ID] = &c.Notices[i]
	}
	for _, s := range c.Shortages {
		r.Shortages[shortage.KeyOf(s)] = s
	}
	r.stored, r.Born = c.Revision, c.Born
	// The campaign was a write: what an older leader has shown lies below this.
	r.revision = inventory.FromStore(max(int64(c.Revision), r.fence.Revision))
	if r.Born.IsZero() {
		r.Born = time.Now()
		_, err = r.Commit(ctx, store.Batch{Born: r.Born})
	}
	return err
}

// Err is why the term is over: a write failed, and it is not known what the store holds. The next term loads it afresh.
func (r *Registry) Err() error { return r.failure }

// Interrupted are the instances that AWS is about to take, by its notices.
func (r *Registry) Interrupted() rules.Interrupted {
	return rules.InterruptedBy(func(yield func(model.Notice) bool) {
		for _, n := range r.Notices {
			if !yield(*n) {
				return
			}
		}
	})
}

// Leads asks the store whether this leader still leads. Workers call it, too.
func (r *Registry) Leads(ctx context.Context) error {
	_, err := r.store.Commit(ctx, r.fence, store.Batch{})
	return err
}

// Remember keeps a fact for those who lead next. Workers call it.
func (r *Registry) Remember(ctx context.Context, name string, data []byte) error {
	return r.store.Remember(ctx, r.fence, name, data)
}

// Recall returns what was kept. Workers call it, also of those who do not lead.
func (r *Registry) Recall(ctx context.Context, name string) ([]byte, error) {
	return r.store.Recall(ctx, name)
}

// Write stores a batch whose parts need not stand together, in as many commits as it takes, and returns the changes of
// claims that were written, also with an error.
func (r *Registry) Write(ctx context.Context, b store.Batch) ([]Change, error) {
	var changes []Change
	for _, part := range chunks(b) {
		some, err := r.Commit(ctx, part)
		changes = append(changes, some...)
		if err != nil {
			return changes, err
		}
	}
	return changes, nil
}

// Commit stores a batch as one and takes it over into memory. Claims are written with the leader's fence. An error other
// than store.ErrTooLarge ends the term.
func (r *Registry) Commit(ctx context.Context, b store.Batch) ([]Change, error) {
	if r.failure != nil {
		return nil, r.failure
	}
	if b.Writes() == 0 {
		return nil, nil
	}
	for i := range b.PutClaims {
		b.PutClaims[i].Fence = r.fence.Revision
	}
	revision, err := r.store.Commit(ctx, r.fence, b)
	if errors.Is(err, store.ErrTooLarge) {
		return nil, err // nothing was written, and nothing else is in doubt
	}
	if err != nil {
		r.failure = fmt.Errorf("store: %w", err)
		return nil, r.failure
	}
	r.stored = revision
	r.agenda.Change()
	return r.takeOver(b), nil
}

// takeOver brings the memory to what was written.
func (r *Registry) takeOver(b store.Batch) []Change {
	var changes []Change
	r.writes++
	r.touch(b)
	for i := range b.PutClaims {
		c := &b.PutClaims[i]
		old := r.Claims[c.ID]
		r.put(c)
		if old == nil {
			r.Created[c.ID] = inventory.Next(r.revision, int64(r.stored))
		}
		changes = append(changes, Change{Old: old, New: c})
	}
	for _, id := range b.DeleteClaims {
		r.drop(id)
	}
	for i := range b.PutDisruptions {
		r.Disruptions[b.PutDisruptions[i].ID] = &b.PutDisruptions[i]
	}
	for _, id := range b.DeleteDisruptions {
		delete(r.Disruptions, id)
	}
	for i := range b.PutNotices {
		r.Notices[b.PutNotices[i].ID] = &b.PutNotices[i]
	}
	for _, id := range b.DeleteNotices {
		delete(r.Notices, id)
	}
	for _, s := range b.PutShortages {
		r.Shortages[shortage.KeyOf(s)] = s
	}
	for _, s := range b.DeleteShortages {
		delete(r.Shortages, shortage.KeyOf(s))
	}
	r.shortagesChanged = r.shortagesChanged || len(b.PutShortages)+len(b.DeleteShortages) > 0
	return changes
}

// Revision is the inventory's that was shown last.
func (r *Registry) Revision() int64 { return r.revision }

// NextRevision is the one that the inventory is shown with next.
func (r *Registry) NextRevision() int64 {
	r.revision = inventory.Next(r.revision, int64(r.stored))
	return r.revision
}

// NewShortages says whether the shortages have changed since it was last asked.
func (r *Registry) NewShortages() bool {
	changed := r.shortagesChanged
	r.shortagesChanged = false
	return changed
}

// Needed says that a claim of the class, or of any class for "", is not over yet.
func (r *Registry) Needed(class model.NodeClassName) bool {
	for _, c := range r.Claims {
		if !c.State.Ended() && (class == "" || c.NodeClass == class) {
			return true
		}
	}
	return false
}

// ClaimOf is the claim with the instance; "" when there is none.
func (r *Registry) ClaimOf(instance string) model.ClaimID { return r.instances[instance] }

// Expecting are the claims of which an instance is about to come or to go, so that EC2 should be asked often, in no order.
func (r *Registry) Expecting() []model.ClaimID {
	var out []model.ClaimID
	for id, c := range r.underWay {
		imageUnknown := c.InstanceID != "" && c.ImageID == "" && c.State <= model.ClaimInitialized // the launch did not say it
		if c.State == model.ClaimTerminating || (c.State == model.ClaimLaunching && c.Failure != (model.Reason{})) || imageUnknown {
			out = append(out, id)
		}
	}
	return out
}

// LaunchingSince is when the first of the launches began that go on, and whose instances are not known yet; zero for none.
func (r *Registry) LaunchingSince() time.Time {
	var first time.Time
	for _, c := range r.underWay {
		if c.State == model.ClaimLaunching && (first.IsZero() || c.StateTime.Before(first)) {
			first = c.StateTime
		}
	}
	return first
}

// Ongoing are the disruptions that have not ended, by id.
func (r *Registry) Ongoing() []*model.DisruptionRecord {
	var out []*model.DisruptionRecord
	for _, d := range r.Disruptions {
		if d.EndTime.IsZero() {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *model.DisruptionRecord) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
