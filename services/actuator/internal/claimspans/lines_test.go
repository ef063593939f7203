package claimspans_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/internal/claimspans"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// TestLinesAreOfTheClaimsTrace wants that each line of a claim's life has the claim, the plan and the ids of the trace,
// which a leader that came later takes from the claim.
func TestLinesAreOfTheClaimsTrace(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	claim := model.Claim{ID: "c1", PlanID: "p1", NodePool: "default", Traceparent: "00-" + trace + "-" + span + "-01", Pods: []model.PodID{"a", "b"}}
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, telemetry.LogConfig{}, "actuator", "v1")

	claim.State = model.ClaimPlanned
	claimspans.Came(t.Context(), log, &claim)
	claimspans.Refused(t.Context(), log, claim, errors.New("no"))
	claim.State, claim.InstanceID, claim.InstanceType, claim.Zone = model.ClaimLaunched, "i-1", "m5.large", "a"
	claimspans.Came(t.Context(), log, &claim)
	claim.State, claim.Node, claim.Disruption, claim.DisruptionReason = model.ClaimDraining, "n1", "d1", model.ReasonUnderutilized
	claimspans.Came(t.Context(), log, &claim)

	of := func(more map[string]any) map[string]any {
		line := map[string]any{"level": "INFO", "service": "actuator", "version": "v1", "trace_id": trace, "span_id": span, "claim": "c1", "plan": "p1"}
		maps.Copy(line, more)
		return line
	}
	want := []map[string]any{
		of(map[string]any{"msg": "created nodeclaim", "pool": "default", "pods": 2.0}),
		of(map[string]any{"msg": "launch refused", "level": "WARN", "attempt": 0.0, "error": "no"}),
		of(map[string]any{"msg": "launched nodeclaim", "pool": "default", "instance": "i-1", "type": "m5.large", "zone": "a"}),
		of(map[string]any{
			"msg": "draining nodeclaim", "pool": "default", "instance": "i-1", "type": "m5.large", "zone": "a", "node": "n1",
			"reason": "Underutilized", "disruption": "d1",
		}),
	}
	if d := cmp.Diff(want, lines(t, &out)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDisruptionsSayWhatGoesAndWhy wants a line for each disruption that was accepted, and none for others.
func TestDisruptionsSayWhatGoesAndWhy(t *testing.T) {
	plan := model.Plan{ID: "p1", Disruptions: []model.Disruption{
		{ID: "d1", Explanation: model.Reason{Message: "m5.large does as well"}}, {ID: "d2", Explanation: model.Reason{Message: "refused"}},
	}}
	record := &model.DisruptionRecord{
		ID: "d1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c1", "c2"}, Replacements: []model.ClaimID{"c3"},
		Pods: []model.PodID{"a"}, Saving: 7,
	}
	var out bytes.Buffer
	claimspans.Disrupting(t.Context(), telemetry.NewLogger(&out, telemetry.LogConfig{}, "actuator", "v1"), plan, []apply.Group{{}, {Disruption: record}})
	want := []map[string]any{{
		"level": "INFO", "msg": "disrupting nodes", "service": "actuator", "version": "v1", "disruption": "d1", "plan": "p1", "reason": "Underutilized",
		"claims": []any{"c1", "c2"}, "replacements": []any{"c3"}, "pods": 1.0, "saving_micro_usd_per_hour": 7.0, "why": "m5.large does as well",
	}}
	if d := cmp.Diff(want, lines(t, &out)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// lines reads what was written, without the times.
func lines(t *testing.T, out *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	for decoder := json.NewDecoder(out); decoder.More(); {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		all = append(all, line)
	}
	return all
}
