package rules_test

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

func TestWhichClaimsLeave(t *testing.T) {
	of := func(kind model.NoticeKind, claim model.ClaimID, instance string) model.Notice {
		return model.Notice{Kind: kind, Claim: claim, InstanceID: instance}
	}
	tests := map[string]struct {
		claim   func(*model.Claim)
		notices []model.Notice
		want    bool
	}{
		"nothing tells of it":            {},
		"it has just been planned":       {claim: func(c *model.Claim) { *c = model.Claim{ID: "c1", State: model.ClaimPlanned} }},
		"it is drained":                  {claim: func(c *model.Claim) { c.State = model.ClaimDraining }, want: true},
		"it is gone":                     {claim: func(c *model.Claim) { c.State = model.ClaimGone }, want: true},
		"it has failed":                  {claim: func(c *model.Claim) { c.State = model.ClaimFailed }, want: true},
		"a disruption takes it":          {claim: func(c *model.Claim) { c.Disruption = "d-1" }, want: true},
		"its drain has a deadline":       {claim: func(c *model.Claim) { c.DrainDeadline = at(1) }, want: true},
		"its instance is interrupted":    {notices: []model.Notice{of(model.NoticeSpotInterruption, "", "i-1")}, want: true},
		"its instance stops":             {notices: []model.Notice{of(model.NoticeStateChange, "", "i-1")}, want: true},
		"a notice names it":              {notices: []model.Notice{of(model.NoticeSpotInterruption, "c1", "")}, want: true},
		"its instance may be rebooted":   {notices: []model.Notice{of(model.NoticeScheduledChange, "c1", "i-1")}},
		"its instance may be rebalanced": {notices: []model.Notice{of(model.NoticeRebalanceRecommendation, "c1", "i-1")}},
		"another one is interrupted":     {notices: []model.Notice{of(model.NoticeSpotInterruption, "c2", "i-2")}},
		"it has no instance yet, and a notice names none": {
			claim: func(c *model.Claim) { c.InstanceID = "" }, notices: []model.Notice{of(model.NoticeSpotInterruption, "c2", "")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := model.Claim{ID: "c1", State: model.ClaimInitialized, InstanceID: "i-1"}
			if tt.claim != nil {
				tt.claim(&c)
			}
			if got := rules.InterruptedBy(slices.Values(tt.notices)).Leaving(&c); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
