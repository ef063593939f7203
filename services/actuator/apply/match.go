package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/require"
)

// violated says which requirement an offering does not meet; "" when it meets all. Keys of the user's own, which no
// offering has, are met by the claim: its requirements must leave only values that the pool allows. A key that the pool
// does not name is refused: what the claim chooses becomes a label of the node, and workloads are kept apart by labels.
// So is a value that no label can have: it becomes a part of the kubelet's command line.
func violated(has map[string]string, asked demands) string {
	for _, r := range asked.claim {
		value, present := has[r.Key]
		if mine, ok := chosen(r); ok && !present {
			if !isLabelValue(mine) {
				return fmt.Sprintf("the claim's requirement on %s has the value %.100q: want one that a label can have, of up to 63 letters, "+
					"digits, '-', '_' and '.', with a letter or digit at both ends", r.Key, mine)
			}
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

// isLabelValue says whether Kubernetes takes the text as the value of a label. Its own library has the rule, which a
// pure package does not import.
func isLabelValue(s string) bool {
	const alnum = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return len(s) <= 63 && strings.Trim(s, alnum+"-_.") == "" && (s == "" || strings.ContainsRune(alnum, rune(s[0])) && strings.ContainsRune(alnum, rune(s[len(s)-1])))
}

// ofOffering says that a label describes the instance, or is Kerf's to set: a claim can't choose it.
func ofOffering(key string) bool {
	return labels.WellKnown(key) || key == labels.Hostname || strings.HasPrefix(key, labels.Karpenter+"/")
}
