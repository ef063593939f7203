package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/require"
)

// violated says which requirement an offering does not meet; "" when it meets all. Keys of the user's own, which no
// offering has, are met by the claim: its requirements must leave only values that the pool allows. A key that the pool does
// not name is refused: what the claim chooses becomes a label of the node, and workloads are kept apart by labels.
func violated(has map[string]string, asked demands) string {
	for _, r := range asked.claim {
		value, present := has[r.Key]
		if _, ok := chosen(r); ok && !present {
			if _, named := asked.pool.Get(r.Key); !named {
				return fmt.Sprintf("the claim's requirement %s is on a label that the pool does not name", r)
			}
			continue
		}
		if !r.Matches(value, present) {
			return fmt.Sprintf("the claim's requirement %s is not met", r)
		}
	}
	for _, r := range asked.pool {
		value, present := has[r.Key]
		if !present && !ofOffering(r.Key) {
			mine, _ := asked.claim.Get(r.Key)
			if _, ok := chosen(mine); (ok && !mine.SubsetOf(r)) || (!ok && !r.AllowsAbsent()) {
				return fmt.Sprintf("the claim does not have the pool's requirement %s", r)
			}
			continue
		}
		if !r.Matches(value, present) {
			return fmt.Sprintf("the pool's requirement %s is not met", r)
		}
	}
	return ""
}

// chosen is the value that a claim's node gets for a label of the user's own which the claim narrows to certain values.
func chosen(r require.Requirement) (string, bool) {
	values, finite := r.Values()
	if !finite || len(values) == 0 || r.AllowsAbsent() || ofOffering(r.Key) {
		return "", false
	}
	return slices.Min(values), true
}

// ofOffering says that a label describes the instance, or is Kerf's to set: a claim can't choose it.
func ofOffering(key string) bool {
	return labels.WellKnown(key) || key == labels.Hostname || strings.HasPrefix(key, labels.Karpenter+"/")
}
