package sim_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/sim"
)

// brief is two hours of a small cluster, with all that happens in a day.
func brief(seed uint64) sim.Config {
	return sim.Config{Seed: seed, Length: 2 * time.Hour, Pods: 90}
}

func play(t *testing.T, cfg sim.Config) *sim.Day {
	t.Helper()
	d, err := sim.Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNoWorkloadIsHurt(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			d := play(t, brief(seed))
			if n := d.Violations(); n > 0 {
				t.Errorf("rules were broken %d times (go run ./test/sim/cmd/sim -length 2h -pods 90 -bound 0 -seed %d):\n%s", n, seed,
					strings.Join(d.Broken, "\n"))
			}
			if d.Plans < 100 || d.RollOuts < 10 || d.Decisions["Underutilized"] == 0 || d.Decisions["Drifted"] == 0 || d.Decisions["Expired"] == 0 {
				t.Errorf("hardly anything happened: %d plans, %d rollouts, decisions %v", d.Plans, d.RollOuts, d.Decisions)
			}
		})
	}
}

// TestSeveralDaysOnSpotHurtNoWorkload plays seven short days of the cluster that Week is of.
func TestSeveralDaysOnSpotHurtNoWorkload(t *testing.T) {
	t.Parallel()
	cfg := sim.Week(1)
	cfg.Length, cfg.Pods, cfg.BoundEvery = 30*time.Minute, 40, 0
	d := play(t, cfg)
	if n := d.Violations(); n > 0 {
		t.Errorf("rules were broken %d times:\n%s", n, strings.Join(d.Broken, "\n"))
	}
	if len(d.Samples) < 7*30 || d.Decisions["Underutilized"] == 0 {
		t.Errorf("hardly anything happened:\n%s", report(t, d))
	}
	if text := report(t, d); !strings.HasPrefix(text, "7 days of 30m0s, seed 1") {
		t.Errorf("the report is of something else:\n%s", text)
	}
}

func TestTheSameSeedIsTheSameDay(t *testing.T) {
	t.Parallel()
	cfg := brief(9)
	cfg.Length, cfg.Pods, cfg.BoundEvery = time.Hour, 60, 20*time.Minute
	one, other := play(t, cfg), play(t, cfg)
	if !bytes.Equal(one.Picture(), other.Picture()) || report(t, one) != report(t, other) {
		t.Error("two runs with one seed differ")
	}
	cfg.Seed++
	if bytes.Equal(one.Picture(), play(t, cfg).Picture()) {
		t.Error("another seed is the same day")
	}
	if one.Bound <= 0 || one.Cost < one.Bound {
		t.Errorf("the day cost $%.2f, its bound is $%.2f", one.Cost, one.Bound)
	}
	if err := xml.Unmarshal(one.Picture(), &struct{}{}); err != nil {
		t.Fatalf("the picture is no XML: %v", err)
	}
}

func report(t *testing.T, d *sim.Day) string {
	t.Helper()
	var b strings.Builder
	if err := d.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAPlannerThatBreaksARuleIsSeen edits plans, so that what the simulation counts is known to be counted.
func TestAPlannerThatBreaksARuleIsSeen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tamper func(s *model.Snapshot, p *model.Plan)
		count  func(d *sim.Day) int
	}{
		"more nodes at once than budgets allow": {
			func(s *model.Snapshot, p *model.Plan) { take(s, p, func(*model.Claim) bool { return true }) },
			func(d *sim.Day) int { return d.Budgets },
		},
		"a node with a pod that must not be disrupted": {
			func(s *model.Snapshot, p *model.Plan) { take(s, p, runs(s, "shop/ledger-")) },
			func(d *sim.Day) int { return d.Protected },
		},
		"a pod whose budget allows no eviction": {
			func(s *model.Snapshot, p *model.Plan) { take(s, p, runs(s, "shop/quorum-")) },
			func(d *sim.Day) int { return d.PodBudgets },
		},
		"a pod without a destination": {
			func(_ *model.Snapshot, p *model.Plan) {
				for i := range p.Disruptions {
					if d := &p.Disruptions[i]; len(d.Destinations) > 0 {
						d.Destinations = d.Destinations[1:]
						return
					}
				}
			},
			func(d *sim.Day) int { return d.NoDestination },
		},
		"pods that go to a node that goes": {
			func(_ *model.Snapshot, p *model.Plan) {
				for i := range p.Disruptions {
					d := &p.Disruptions[i]
					for k := range d.Destinations {
						d.Destinations[k] = model.Placement{Pod: d.Destinations[k].Pod, Node: model.NodeName(d.Candidates[0])}
					}
				}
			},
			func(d *sim.Day) int { return d.NoDestination },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := brief(1)
			cfg.Length, cfg.Pods, cfg.Tamper = time.Hour, 70, tt.tamper
			if d := play(t, cfg); tt.count(d) == 0 || d.SecondOpinion == 0 {
				t.Errorf("was not seen:\n%s", report(t, d))
			}
		})
	}
}

func TestAPlannerThatForgetsWhatItMovedIsSeen(t *testing.T) {
	t.Parallel()
	cfg := brief(1)
	cfg.Forget = true
	if d := play(t, cfg); d.MovedTwice == 0 {
		t.Errorf("pods were moved as if nothing had been moved before, and no one saw it:\n%s", report(t, d))
	}
}

// take adds a disruption of all claims of a kind that are well and stay.
func take(s *model.Snapshot, p *model.Plan, which func(*model.Claim) bool) {
	goes := map[model.ClaimID]bool{}
	for i := range p.Disruptions {
		for _, id := range p.Disruptions[i].Candidates {
			goes[id] = true
		}
	}
	d := model.Disruption{ID: model.DisruptionID("d-tampered-" + p.ID), Reason: model.ReasonUnderutilized}
	for i := range s.Claims {
		if c := &s.Claims[i]; c.State == model.ClaimInitialized && c.Disruption == "" && !goes[c.ID] && which(c) {
			d.Candidates = append(d.Candidates, c.ID)
		}
	}
	if len(d.Candidates) > 0 && p.Now.Minute() == 30 {
		p.Disruptions = append(p.Disruptions, d)
	}
}

// runs says whether a pod of that prefix runs on a claim's node.
func runs(s *model.Snapshot, prefix string) func(*model.Claim) bool {
	return func(c *model.Claim) bool {
		return slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Node == c.Node && strings.HasPrefix(string(p.ID), prefix) })
	}
}
