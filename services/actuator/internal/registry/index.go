package registry

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// put takes a claim over that is new, or another than before.
func (r *Registry) put(c *model.Claim) {
	if old := r.Claims[c.ID]; old == nil {
		r.sorted, r.replaced = nil, nil
	} else {
		r.unindex(old)
		r.replaced = append(r.replaced, c)
	}
	r.Claims[c.ID] = c
	switch {
	case c.State.Ended():
		r.ended[c.ID] = c
	case c.State != model.ClaimInitialized:
		r.underWay[c.ID] = c
	}
	if c.InstanceID != "" {
		r.instances[c.InstanceID] = c.ID
	}
	if c.ProviderID != "" {
		r.providers[c.ProviderID] = c.ID
	}
	if c.Launch != "" {
		if r.launches[c.Launch] == nil {
			r.launches[c.Launch] = map[model.ClaimID]*model.Claim{}
		}
		r.launches[c.Launch][c.ID] = c
	}
}

func (r *Registry) drop(id model.ClaimID) {
	if old := r.Claims[id]; old != nil {
		r.unindex(old)
		r.sorted, r.replaced = nil, nil
	}
	delete(r.Claims, id)
	delete(r.Created, id)
}

func (r *Registry) unindex(c *model.Claim) {
	delete(r.underWay, c.ID)
	delete(r.ended, c.ID)
	delete(r.launches[c.Launch], c.ID)
	if len(r.launches[c.Launch]) == 0 {
		delete(r.launches, c.Launch)
	}
	if r.instances[c.InstanceID] == c.ID {
		delete(r.instances, c.InstanceID)
	}
	if r.providers[c.ProviderID] == c.ID {
		delete(r.providers, c.ProviderID)
	}
}

// touch notes the claims that a batch says something of.
func (r *Registry) touch(b store.Batch) {
	for i := range b.PutClaims {
		r.touched[b.PutClaims[i].ID] = true
	}
	for _, n := range b.PutNotices {
		r.touched[n.Claim] = true
	}
	for _, id := range b.DeleteNotices {
		if n := r.Notices[id]; n != nil {
			r.touched[n.Claim] = true
		}
	}
	disruption := func(d *model.DisruptionRecord) {
		for _, id := range slices.Concat(d.Candidates, d.Replacements) {
			r.touched[id] = true
		}
	}
	for i := range b.PutDisruptions {
		disruption(&b.PutDisruptions[i])
	}
	for _, id := range b.DeleteDisruptions {
		if d := r.Disruptions[id]; d != nil {
			disruption(d)
		}
	}
}

// Touched are the claims of which something was written since it was last asked: of themselves, of a disruption that names
// them, or of a notice. Some may not be there any more.
func (r *Registry) Touched() map[model.ClaimID]bool {
	out := r.touched
	r.touched = map[model.ClaimID]bool{}
	return out
}

// Writes counts what was written: what is made of the registry alone is the same while this is.
func (r *Registry) Writes() int { return r.writes }

// UnderWay are the claims that have neither ended nor come to rest as Initialized, in no order.
func (r *Registry) UnderWay() iter.Seq[*model.Claim] { return maps.Values(r.underWay) }

// OfProvider is the claim whose instance has the provider id; "" when there is none.
func (r *Registry) OfProvider(id string) model.ClaimID { return r.providers[id] }

// Together are the claims that one call launches, by id.
func (r *Registry) Together(launch string) []*model.Claim {
	return slices.SortedFunc(maps.Values(r.launches[launch]), func(a, b *model.Claim) int { return cmp.Compare(a.ID, b.ID) })
}

// Sorted are the claims by id. The list never changes, and callers must not change it.
func (r *Registry) Sorted() []*model.Claim {
	byID := func(a, b *model.Claim) int { return cmp.Compare(a.ID, b.ID) }
	switch {
	case r.sorted == nil:
		r.sorted = slices.SortedFunc(maps.Values(r.Claims), byID)
	case len(r.replaced) > 0:
		r.sorted = slices.Clone(r.sorted)
		for _, c := range r.replaced {
			if i, ok := slices.BinarySearchFunc(r.sorted, c, byID); ok {
				r.sorted[i] = c
			}
		}
	}
	r.replaced = nil
	return r.sorted
}
