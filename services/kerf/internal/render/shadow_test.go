package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/kerf/internal/goldentest"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
	"github.com/kerf-dev/kerf/services/kerf/internal/preview"
	"github.com/kerf-dev/kerf/services/kerf/internal/render"
	"github.com/kerf-dev/kerf/services/kerf/internal/shadow"
)

// report is what a shadow says of the plan that has something in each part.
func report() shadow.Report {
	v := everything()
	return shadow.Report{
		Time: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), Snapshot: v.Snapshot,
		Run:   preview.Run{First: v.Plan, Rounds: 3, Settled: true, CostBefore: 384_000, CostAfter: 96_000},
		Fresh: shadow.Decisions{Launches: v.Plan.GetNodeClaims()[:1], Disruptions: v.Plan.GetDisruptions(), Gone: 1},
		Notes: []string{"2 NodeClaims are not launched yet, and do not count"},
		Total: shadow.Total{
			Plans: 60, Watched: time.Hour, Cost: 384_000, WithKerf: 96_000, Removed: 2, Replaced: 1, Evictions: 2,
		},
	}
}

func TestShadow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := render.Shadow(&out, report(), nil, page.Style{}); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	if err := render.ShadowTotal(&out, report().Total, page.Style{}); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "shadow.txt", out.String())
}

func TestAShadowIsSilentWhileNothingChanges(t *testing.T) {
	t.Parallel()
	before, now := report(), report()
	now.Fresh, now.Notes = shadow.Decisions{}, nil
	tests := map[string]struct {
		change func(*shadow.Report)
		want   string
	}{
		"nothing changes":                 {func(*shadow.Report) {}, ""},
		"the cluster gets more expensive": {func(r *shadow.Report) { r.Run.CostBefore += 10 }, "2 nodes, $0.38401 an hour"},
		"Kerf would do it for less":       {func(r *shadow.Report) { r.Run.CostAfter -= 10 }, "with Kerf $0.09599 (-75.0%) after 3 rounds"},
		"a decision is none any more": {
			func(r *shadow.Report) { r.Fresh.Gone = 2 }, "2 decisions of the plan before",
		},
		"a note is new": {func(r *shadow.Report) { r.Notes = []string{"something"} }, "something"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			r := now
			tt.change(&r)
			if err := render.Shadow(&out, r, &before, page.Style{}); err != nil {
				t.Fatal(err)
			}
			if (tt.want == "") != (out.Len() == 0) || !strings.Contains(out.String(), strings.TrimPrefix(tt.want, "2 nodes")) {
				t.Errorf("wrote %q, want %q", out.String(), tt.want)
			}
		})
	}
}

func TestAReportIsOneLineForMachines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := render.ShadowJSON(&out, report()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Time                       time.Time
		CostSettledMicroUsdPerHour string
		Total                      struct{ Evictions int }
		Plan                       struct{ Disruptions []any }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("%v in %q", err, out.String())
	}
	if got.CostSettledMicroUsdPerHour != "96000" || got.Total.Evictions != 2 || len(got.Plan.Disruptions) != 2 || got.Time.Hour() != 12 {
		t.Errorf("got %+v", got)
	}
}
