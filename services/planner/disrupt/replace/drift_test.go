package replace

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// noon is when the tests plan.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

func TestDriftIsPausedAfterAReplacementFailedByItself(t *testing.T) {
	claims := map[model.ClaimID]*model.Claim{
		"old":       {NodePool: "default", State: model.ClaimInitialized},
		"failed":    {NodePool: "default", State: model.ClaimFailed},
		"reclaimed": {NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonInterrupted},
		"deleted":   {NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonDeleted},
		"surplus":   {NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonSurplus},
	}
	tests := map[string]struct {
		replacement model.ClaimID
		ended       time.Duration
		paused      bool
	}{
		"it failed":                         {"failed", 14 * time.Minute, true},
		"it failed, and the pause is over":  {"failed", 15 * time.Minute, false},
		"AWS reclaimed it":                  {"reclaimed", time.Minute, false},
		"a user deleted it":                 {"deleted", time.Minute, false},
		"its static pool was made smaller":  {"surplus", time.Minute, false},
		"what became of it is not known":    {"forgotten", time.Minute, true},
		"the other pool has its own record": {"", time.Minute, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := view.NewWorld(&model.Snapshot{}, model.Policy{}, noon())
			if err != nil {
				t.Fatal(err)
			}
			v := view.NewView(w)
			v.Snapshot.Disruptions = []model.DisruptionRecord{{
				Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"old"}, Replacements: []model.ClaimID{tt.replacement},
				EndTime: noon().Add(-tt.ended), RolledBack: true,
			}}
			if tt.replacement == "" {
				v.Snapshot.Disruptions[0].Candidates = []model.ClaimID{"other"}
			}
			v.ClaimIndex = claims
			x := &replacer{v: v, canaries: make([]int, 1), pauses: make(map[*view.Pool]model.Reason)}
			r := x.canary(&view.Pool{NodePool: &model.NodePool{Name: "default"}})
			if paused := r.Code == model.CodeCanary; paused != tt.paused {
				t.Errorf("paused is %v (%s), want %v", paused, r.Message, tt.paused)
			}
		})
	}
}
