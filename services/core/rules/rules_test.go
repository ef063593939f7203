package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// noon is when the tests ask.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// at is a time so many minutes after noon.
func at(minutes float64) time.Time { return noon().Add(time.Duration(minutes * float64(time.Minute))) }

func minutes(n int) *time.Duration {
	d := time.Duration(n) * time.Minute
	return &d
}

// answer is what a rule says; until is in minutes after noon, 0 for never.
type answer struct {
	code  model.Code
	until float64
}

func says(r model.Reason, until time.Time) answer {
	a := answer{code: r.Code}
	if !until.IsZero() {
		a.until = until.Sub(noon()).Minutes()
	}
	return a
}

func check(t *testing.T, got, want answer) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnhealthy(t *testing.T) {
	has := func(kind, status string, since float64) []model.NodeCondition {
		return []model.NodeCondition{{Type: kind, Status: status, TransitionTime: at(since)}}
	}
	own := model.RepairPolicy{Conditions: []model.RepairCondition{{Type: "Disk", Status: "True", After: 7 * time.Minute}}}
	for name, tc := range map[string]struct {
		policy     model.RepairPolicy
		conditions []model.NodeCondition
		want       answer
	}{
		"a node without conditions":         {want: answer{}},
		"not ready for a while":             {conditions: has("Ready", "Unknown", -10), want: answer{0, 20}},
		"not ready for too long":            {conditions: has("Ready", "False", -30), want: answer{model.CodeUnhealthy, 0}},
		"a broken accelerator waits less":   {conditions: has("AcceleratedHardwareReady", "False", -4), want: answer{0, 6}},
		"each default has a condition":      {conditions: has("ContainerRuntimeReady", "False", -31), want: answer{model.CodeUnhealthy, 0}},
		"a condition that is well":          {conditions: has("Ready", "True", -99)},
		"a condition of the policy":         {own, has("Disk", "True", -4), answer{0, 3}},
		"one that the policy does not name": {own, has("Ready", "False", -99), answer{}},
		"repair is off":                     {model.RepairPolicy{Off: true}, has("Ready", "False", -99), answer{}},
		"since when is not known":           {conditions: []model.NodeCondition{{Type: "Ready", Status: "False"}}},
		"the first of two to last too long": {
			conditions: append(has("Ready", "False", -10), has("AcceleratedHardwareReady", "False", -4)...), want: answer{0, 6},
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, says(rules.Unhealthy(tc.policy, tc.conditions, noon())), tc.want) })
	}
}

func TestRepairGuardRoundsUp(t *testing.T) {
	for name, tc := range map[string]struct {
		share, unhealthy, nodes int
		guarded                 bool
	}{
		"one of one":              {0, 1, 1, false},
		"one of five is a fifth":  {0, 1, 5, false},
		"two of five":             {0, 2, 5, true},
		"two of six":              {0, 2, 6, false},
		"a share of the policy's": {50, 3, 6, false},
		"more than that":          {50, 4, 6, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules.RepairGuard(model.RepairPolicy{MaxUnhealthyPercent: tc.share}, "default", tc.unhealthy, tc.nodes)
			if guarded := r.Code == model.CodeRepairGuard; guarded != tc.guarded {
				t.Errorf("%v %q, want %v", guarded, r.Message, tc.guarded)
			}
		})
	}
}

func TestAge(t *testing.T) {
	for name, tc := range map[string]struct {
		created, expires float64 // 0 for none
		expiring         answer
		expired          answer
	}{
		"it may live for ever":             {-60, 0, answer{}, answer{}},
		"long before its end":              {-6000, 90, answer{0, 30}, answer{0, 90}},
		"the last hour of a long life":     {-6000, 60, answer{model.CodeExpired, 60}, answer{0, 60}},
		"before the last tenth of a short": {-60, 40, answer{0, 30}, answer{0, 40}},
		"the last tenth of a short life":   {-90, 10, answer{model.CodeExpired, 10}, answer{0, 10}},
		"its birth is not known":           {0, 5, answer{0, 5}, answer{0, 5}},
		"it is over":                       {-90, -1, answer{model.CodeExpired, 0}, answer{model.CodeExpired, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &model.Claim{}
			if tc.created != 0 {
				c.CreateTime = at(tc.created)
			}
			if tc.expires != 0 {
				c.ExpireTime = at(tc.expires)
			}
			check(t, says(rules.Expiring(c, noon())), tc.expiring)
			check(t, says(rules.Expired(c, noon())), tc.expired)
		})
	}
}

func TestConsolidateAfter(t *testing.T) {
	for name, tc := range map[string]struct {
		after     *time.Duration
		ready     float64
		lastEvent float64 // 0 for none
		want      answer
	}{
		"a pool that never consolidates": {nil, -50, -20, answer{model.CodeConsolidateAfter, 0}},
		"a pod came lately":              {minutes(30), -50, -20, answer{model.CodeConsolidateAfter, 10}},
		"it has been quiet":              {minutes(20), -50, -20, answer{}},
		"without pods, since it was ready": {
			minutes(55), -50, 0, answer{model.CodeConsolidateAfter, 5},
		},
		"at once":                           {minutes(0), 0, 0, answer{}},
		"at once, by a clock that is ahead": {minutes(0), -50, 2, answer{}},
		"a pod will have come":              {minutes(30), -50, 60, answer{model.CodeConsolidateAfter, 90}},
	} {
		t.Run(name, func(t *testing.T) {
			var last time.Time
			if tc.lastEvent != 0 {
				last = at(tc.lastEvent)
			}
			check(t, says(rules.ConsolidateAfter(tc.after, at(tc.ready), last, noon())), tc.want)
		})
	}
}

func TestNoNodeIsQuietForLessThanNoTime(t *testing.T) {
	r, _ := rules.ConsolidateAfter(minutes(30), at(60), time.Time{}, noon())
	if want := "it has been quiet for 0s, and its pool asks for 30m0s"; r.Message != want {
		t.Errorf("%q, want %q", r.Message, want)
	}
}

func TestOfferingsAndBuffersHaveTheirTime(t *testing.T) {
	plain := func(yes bool, until time.Time) answer {
		a := says(model.Reason{}, until)
		if yes {
			a.code = 1
		}
		return a
	}
	check(t, plain(rules.Unavailable(&model.Offering{}, noon())), answer{})
	check(t, plain(rules.Unavailable(&model.Offering{UnavailableUntil: at(3)}, noon())), answer{1, 3})
	check(t, plain(rules.Unavailable(&model.Offering{UnavailableUntil: at(0)}, noon())), answer{})
	check(t, plain(rules.Unavailable(&model.Offering{UnavailableUntil: at(3), ZoneShifted: true}, noon())), answer{1, 0})

	buffer := func(start, end time.Time) answer {
		return plain(rules.BufferActive(&model.CapacityBuffer{StartTime: start, ExpireTime: end}, noon()))
	}
	check(t, buffer(time.Time{}, time.Time{}), answer{1, 0})
	check(t, buffer(at(4), at(8)), answer{0, 4})
	check(t, buffer(at(-4), at(8)), answer{1, 8})
	check(t, buffer(at(-8), at(0)), answer{})
	check(t, buffer(at(8), at(4)), answer{})
}

func TestEarliestLeavesOutZero(t *testing.T) {
	if got := rules.Earliest(time.Time{}, at(3), time.Time{}, at(2)); !got.Equal(at(2)) {
		t.Errorf("got %s", got)
	}
	if got := rules.Earliest(time.Time{}); !got.IsZero() {
		t.Errorf("got %s", got)
	}
}

func TestBudgets(t *testing.T) {
	count := func(n int32) model.DisruptionBudget { return model.DisruptionBudget{Count: n} }
	share := func(n int32) model.DisruptionBudget { return model.DisruptionBudget{Count: n, IsPercent: true} }
	scheduled := func(line string, n int) model.DisruptionBudget {
		return model.DisruptionBudget{Schedule: line, Duration: *minutes(n)}
	}
	only := func(why model.DisruptionReason) model.DisruptionBudget {
		return model.DisruptionBudget{Reasons: []model.DisruptionReason{why}}
	}
	type budgets []model.DisruptionBudget
	for name, tc := range map[string]struct {
		budgets                 budgets
		nodes, disrupting, more int
		allowed                 bool
		until                   float64
	}{
		"no budget":                             {nil, 3, 0, 3, true, 0},
		"as many as it allows":                  {budgets{count(2)}, 9, 1, 1, true, 0},
		"one more":                              {budgets{count(2)}, 9, 1, 2, false, 0},
		"the least of several":                  {budgets{count(5), count(1)}, 9, 0, 2, false, 0},
		"a share is rounded up":                 {budgets{share(10)}, 11, 1, 1, true, 0},
		"a share of none":                       {budgets{share(0)}, 11, 0, 1, false, 0},
		"more are disrupted than it says":       {budgets{count(1)}, 9, 4, 1, false, 0},
		"for another reason":                    {budgets{only(model.ReasonEmpty)}, 9, 0, 1, true, 0},
		"for this reason":                       {budgets{only(model.ReasonDrifted)}, 9, 0, 1, false, 0},
		"its window is open":                    {budgets{scheduled("0 11 * * *", 90)}, 9, 0, 1, false, 30},
		"its window is to open":                 {budgets{scheduled("30 12 * * *", 90)}, 9, 0, 1, true, 30},
		"the first window that changes":         {budgets{scheduled("30 12 * * *", 90), scheduled("0 11 * * *", 70)}, 9, 0, 1, false, 10},
		"its window is always open":             {budgets{scheduled("@hourly", 60)}, 9, 0, 1, false, 0},
		"a schedule that can't be read":         {budgets{{Count: 9, Schedule: "soon", Duration: time.Hour}}, 9, 0, 1, false, 0},
		"weekday 7 is refused, as by Karpenter": {budgets{{Count: 9, Schedule: "0 11 * * 7", Duration: time.Hour}}, 9, 0, 1, false, 0},
		"a budget that allows all, and no":      {budgets{share(100)}, 9, 3, 7, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			active, until := rules.ActiveBudgets(tc.budgets, noon())
			r := rules.BudgetAllows(active, model.ReasonDrifted, rules.PoolNodes{
				Pool: "default", Nodes: tc.nodes, Disrupting: tc.disrupting, More: tc.more,
			})
			if r.OK() != tc.allowed {
				t.Errorf("allowed %v: %s", r.OK(), r.Message)
			}
			check(t, says(model.Reason{}, until), answer{0, tc.until})
		})
	}
}

func TestABudgetThatIsClosedSaysUntilWhen(t *testing.T) {
	scheduled := model.DisruptionBudget{Schedule: "0 11 * * *", Duration: *minutes(90)}
	for name, tc := range map[string]struct {
		count  int32
		remedy string
	}{
		"that lets none go": {0, "wait until 2026-03-02 12:30 UTC, or raise spec.disruption.budgets"},
		"that is used up":   {1, "wait, or raise spec.disruption.budgets"},
	} {
		t.Run(name, func(t *testing.T) {
			scheduled.Count = tc.count
			active, _ := rules.ActiveBudgets([]model.DisruptionBudget{scheduled}, noon())
			r := rules.BudgetAllows(active, model.ReasonDrifted, rules.PoolNodes{Nodes: 3, Disrupting: 1, More: 1})
			if r.Remedy != tc.remedy || !strings.Contains(r.Message, "by the schedule 0 11 * * * until 2026-03-02 12:30 UTC) is used up") {
				t.Errorf("it says %q (%s), want the remedy %s", r.Message, r.Remedy, tc.remedy)
			}
		})
	}
}

func TestBudgetsForDriftCapWhatIsReplacedInTime(t *testing.T) {
	for name, tc := range map[string]struct {
		reasons []model.DisruptionReason
		caps    bool
	}{
		"a budget for all reasons":     {nil, true},
		"for drift, and others":        {[]model.DisruptionReason{model.ReasonEmpty, model.ReasonDrifted}, true},
		"for emptiness and underuse":   {[]model.DisruptionReason{model.ReasonEmpty, model.ReasonUnderutilized}, false},
		"for unhealthy nodes":          {[]model.DisruptionReason{model.ReasonUnhealthy}, false},
		"for nodes that are to expire": {[]model.DisruptionReason{model.ReasonExpired}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if caps := rules.BudgetCaps(&model.DisruptionBudget{Reasons: tc.reasons}, model.ReasonExpired); caps != tc.caps {
				t.Errorf("it caps them: %v, want %v", caps, tc.caps)
			}
		})
	}
}

func TestOnlyBudgetsThatSaySoCapUnhealthyNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		reasons []model.DisruptionReason
		allowed bool
	}{
		"a budget for all reasons": {nil, true},
		"for another one":          {[]model.DisruptionReason{model.ReasonDrifted}, true},
		"for unhealthy nodes":      {[]model.DisruptionReason{model.ReasonDrifted, model.ReasonUnhealthy}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules.BudgetAllows([]rules.ActiveBudget{{DisruptionBudget: model.DisruptionBudget{Reasons: tc.reasons}}}, model.ReasonUnhealthy, rules.PoolNodes{Nodes: 3, More: 1})
			if r.OK() != tc.allowed {
				t.Errorf("allowed %v: %s", r.OK(), r.Message)
			}
		})
	}
}

func TestZoneShifted(t *testing.T) {
	shifted := map[string]bool{"a": true}
	for zone, want := range map[string]model.Code{"a": model.CodeZoneShifted, "b": model.CodeNone, "": model.CodeNone} {
		if got := rules.ZoneShifted(zone, shifted); got.Code != want {
			t.Errorf("zone %q: %+v, want code %d", zone, got, want)
		}
	}
}

func TestNodesCountForRepairWhileTheyRun(t *testing.T) {
	for state := model.ClaimPlanned; !state.Ended(); state++ {
		want := state == model.ClaimRegistered || state == model.ClaimInitialized || state == model.ClaimDraining
		if got := rules.CountsForRepair(&model.Claim{State: state}); got != want {
			t.Errorf("%s counts: %v, want %v", state, got, want)
		}
	}
}

func TestUnwellNodesNeedNotHaveBeenSoForLong(t *testing.T) {
	for name, tc := range map[string]struct {
		state     model.ClaimState
		condition model.NodeCondition
		unwell    bool
	}{
		"for a minute":                    {model.ClaimInitialized, model.NodeCondition{Type: "Ready", Status: "Unknown", TransitionTime: noon().Add(-time.Minute)}, true},
		"for a minute, being drained":     {model.ClaimDraining, model.NodeCondition{Type: "Ready", Status: "Unknown", TransitionTime: noon().Add(-time.Minute)}, true},
		"since it is not known when":      {model.ClaimInitialized, model.NodeCondition{Type: "Ready", Status: "Unknown"}, false},
		"ready":                           {model.ClaimInitialized, model.NodeCondition{Type: "Ready", Status: "True", TransitionTime: noon().Add(-time.Hour)}, false},
		"for a minute, and starting":      {model.ClaimRegistered, model.NodeCondition{Type: "Ready", Status: "False", TransitionTime: noon().Add(-time.Minute)}, false},
		"for an hour, and still to start": {model.ClaimRegistered, model.NodeCondition{Type: "Ready", Status: "False", TransitionTime: noon().Add(-time.Hour)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &model.Claim{State: tc.state}
			if got := rules.Unwell(model.RepairPolicy{}, claim, []model.NodeCondition{tc.condition}, noon()); got != tc.unwell {
				t.Errorf("unwell is %v, want %v", got, tc.unwell)
			}
		})
	}
}
