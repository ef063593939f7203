package story

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// Audit checks what must be true at every moment of a story, however often services are killed: every instance was
// launched for a claim, none was launched twice for the same claim, and every instance that lives belongs to a live claim.
func (w World) Audit() error {
	var errs []error
	launched := map[string][]string{}
	for _, i := range w.AWS.Instances {
		claim := i.Tags[labels.Claim]
		if claim == "" {
			errs = append(errs, fmt.Errorf("instance %s has no tag %s", i.ID, labels.Claim))
			continue
		}
		launched[claim] = append(launched[claim], i.ID)
	}
	for _, claim := range slices.Sorted(maps.Keys(launched)) {
		if ids := launched[claim]; len(ids) > 1 {
			errs = append(errs, fmt.Errorf("doubled: claim %s has launched %d instances: %v", claim, len(ids), ids))
		}
	}
	return errors.Join(append(errs, w.leaked()...)...)
}

func (w World) leaked() []error {
	if w.NoClaims != nil {
		return []error{fmt.Errorf("list claims: %w", w.NoClaims)}
	}
	instances := map[string]string{}
	for _, c := range w.Live() {
		instances[c.GetId()] = c.GetInstanceId()
	}
	var errs []error
	for _, i := range w.Instances() {
		claim := i.Tags[labels.Claim]
		if id, ok := instances[claim]; !ok {
			errs = append(errs, fmt.Errorf("leaked: instance %s lives, its claim %s does not", i.ID, claim))
		} else if id != i.ID {
			errs = append(errs, fmt.Errorf("doubled: instance %s lives, its claim %s has instance %q", i.ID, claim, id))
		}
	}
	return errs
}
