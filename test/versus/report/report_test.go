package report_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/versus/history"
	"github.com/kerf-dev/kerf/test/versus/report"
)

// rampOf is a run of a ramp that costs one price when steady, and another from 100 s after the scale-down on.
func rampOf(seed uint64, side string, first, then float64) report.Run {
	h := &history.History{
		Marks: []history.Mark{{Name: report.Created, At: 1}, {Name: report.Scaled, At: 50}}, End: 250,
		Nodes: []history.Node{{Price: first, Created: 3, Deleted: 150}, {Price: then, Created: 150}},
		Pods:  []history.Pod{{Created: 1, Bound: 4, Evicted: 120, Cause: "EvictionByEvictionAPI"}},
	}
	return report.Run{Load: "ramp", Seed: seed, Side: side, History: h, Values: report.Measure("ramp", h)}
}

func results() *report.Results {
	return &report.Results{Runs: []report.Run{
		{Load: "ramp", Seed: 1, Side: report.BoundSide, Values: report.Values{"cost": 8, "scaled-cost": 4}},
		rampOf(1, "kerf", 10, 5), rampOf(2, "kerf", 12, 6), rampOf(3, "kerf", 11, 5),
		rampOf(1, "karpenter", 22, 5),
	}}
}

func TestTheTableHoldsMediansAndRatios(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := results().Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"11.00 (10.00–12.00)", "22.00", "8.00", "0.45", "1.25", "$/h when steady", "evictions"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestAPageHasTheSameTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := results().PrintMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if want := "| ramp | $/h when steady | 11.00 (10.00–12.00) | 22.00 | 8.00 | 0.45 | 1.25 |\n"; !strings.Contains(b.String(), want) {
		t.Errorf("the page lacks %q:\n%s", want, b.String())
	}
}

func TestResultsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "raw.json")
	if err := results().Write(file); err != nil {
		t.Fatal(err)
	}
	again, err := report.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var want, got strings.Builder
	if err := results().Print(&want); err != nil {
		t.Fatal(err)
	}
	if err := again.Print(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("shown again:\n%s\nwant:\n%s", got.String(), want.String())
	}
}

func TestEachLoadHasItsFigures(t *testing.T) {
	t.Parallel()
	const evicted = "EvictionByEvictionAPI"
	h := &history.History{
		Marks: []history.Mark{
			{Name: report.Burst(0), At: 1},
			{Name: report.Burst(1), At: 60},
			{Name: report.Rollout, At: 100},
			{Name: report.Day, At: 100},
			{Name: report.Storm, At: 100},
			{Name: report.RolledOut, At: 130},
		},
		End: 400,
		Nodes: []history.Node{
			{Price: 3.6, Created: 5}, {Price: 3.6, Created: 110, Deleted: 146},
		},
		Pods: []history.Pod{
			{Owner: "a", Created: 2, Refused: 3, Bound: 6, Evicted: 105, Cause: evicted},
			{Owner: "a", Created: 106, Bound: 110, Evicted: 140, Cause: "DeletionByPodGC"},
			{Owner: "a", Created: 141, Bound: 142},
		},
	}
	for load, want := range map[string]report.Values{
		"bursts":  {"first-node": 2, "p99": 4},
		"rollout": {"done": 30, "before": 3.6, "peak": 7.2, "after": 3.6, "evictions": 2, "again": 1, "p99": 4, "spent": 0.24 + 0.036},
		"day":     {"pods": 3, "nodes": 2, "spent": 0.3 + 0.036, "evictions": 2},
		"spot":    {"lost": 1, "killed": 1, "before": 3.6, "after": 3.6},
	} {
		got := report.Measure(load, h)
		for key, v := range want {
			if d := got[key] - v; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s: %s is %v, want %v", load, key, got[key], v)
			}
		}
	}
}

func TestTheFiguresOfSize(t *testing.T) {
	t.Parallel()
	h := &history.History{End: 100, Facts: map[string]float64{report.SizeFailed: 1}}
	for i := range 3 {
		at, step := float64(10*i), report.SizeStep(i)
		h.Marks = append(h.Marks, history.Mark{Name: step, At: at + 1}, history.Mark{Name: step + report.SizeIdle, At: at + 4},
			history.Mark{Name: step + report.SizeEnd, At: at + 8})
		for range 1 << i {
			h.Pods = append(h.Pods, history.Pod{Created: at + 1, Bound: at + 2})
		}
		for j := range 10 {
			h.Usage = append(h.Usage, history.Usage{
				At: at + float64(j), CPU: map[string]float64{"watcher": at + float64(j)}, Memory: map[string]uint64{"watcher": 1 << (20 + i)},
			})
		}
	}
	v := report.Measure("size", h)
	for key, want := range map[string]float64{
		"step-2pods": 3, "step-2bound": 1, "step-2memorywatcher": 2, "step-2mostwatcher": 2, "step-2idlewatcher": 100,
		"step-2cpuwatcher": 1000 * (14 - 8) / 2, report.SizeFailed: 1,
	} {
		if got := v[key]; got != want {
			t.Errorf("%s = %v, want %v", key, got, want)
		}
	}
	if got := v["growthwatcher"]; got < 0.81 || got > 0.82 { // log 2 over log 7/3
		t.Errorf("growth %v", got)
	}
}
