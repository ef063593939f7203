package disruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// keepRecords is how long ended disruptions are remembered at least: as long as a policy may let moved pods rest.
	keepRecords = model.LongestPodRest
	// maxRecords is how many of them are kept at most: the oldest go first.
	maxRecords = 4000
	// keepFailures is how long drift whose replacement failed is remembered: longer than several of its longest pauses,
	// or a row of failures would be forgotten while it goes on.
	keepFailures = 24 * time.Hour
)

// Forgotten are the ended disruptions whose records are not needed any more, sorted: they are long over, or there are too
// many. Planners look back as far as drift may be paused, and leave pods alone that were moved lately. History is how long
// ended claims are remembered.
func Forgotten(records map[model.DisruptionID]*model.DisruptionRecord, history time.Duration, now time.Time) []model.DisruptionID {
	var out []model.DisruptionID
	var kept []*model.DisruptionRecord
	for id, d := range records {
		keep := max(keepRecords, history)
		if d.RolledBack && d.Reason == model.ReasonDrifted {
			keep = max(keep, keepFailures)
		}
		switch {
		case d.EndTime.IsZero():
		case now.Sub(d.EndTime) >= keep:
			out = append(out, id)
		default:
			kept = append(kept, d)
		}
	}
	if n := len(kept) - maxRecords; n > 0 {
		slices.SortFunc(kept, func(a, b *model.DisruptionRecord) int {
			return cmp.Or(a.EndTime.Compare(b.EndTime), cmp.Compare(a.ID, b.ID))
		})
		for _, d := range kept[:n] {
			out = append(out, d.ID)
		}
	}
	slices.Sort(out)
	return out
}
