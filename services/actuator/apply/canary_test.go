package apply

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// adrift is ten running claims of which all but the last two have drifted; c8 and c9 are of another pool.
func adrift() State {
	s := ten()
	pool := s.Pools["default"]
	pool.Name = "other"
	s.Pools["other"] = pool
	for id, c := range s.Claims {
		c.PoolHash, c.ClassHash = "of the past", "ch"
		if id >= "c8" {
			c.NodePool = "other"
		}
		s.Claims[id] = c
	}
	return s
}

func drifting(id model.DisruptionID, candidates ...model.ClaimID) model.Disruption {
	return model.Disruption{ID: id, Reason: model.ReasonDrifted, Candidates: candidates}
}

// grown adds a claim of the present template.
func grown(edits ...func(*model.Claim, *cluster.Node)) func(*State) {
	return func(s *State) {
		c, n := s.Claims["c0"], cluster.Node{Name: "n-new", Ready: true}
		c.ID, c.PoolHash, c.NodePool = "new", "h", "default"
		for _, edit := range edits {
			edit(&c, &n)
		}
		s.Claims["new"], s.Nodes["new"] = c, n
	}
}

func TestDriftGoesByCanary(t *testing.T) {
	for name, c := range map[string]struct {
		edit     []func(*State)
		asked    []model.Disruption
		accepted []string
	}{
		"one node of a pool at a time": {
			asked: []model.Disruption{drifting("d-1", "c0"), drifting("d-2", "c1")}, accepted: []string{"d-1"},
		},
		"not two at once": {asked: []model.Disruption{drifting("d-1", "c0", "c1")}},
		"pools do not wait for each other": {
			asked: []model.Disruption{drifting("d-1", "c0"), drifting("d-2", "c8")}, accepted: []string{"d-1", "d-2"},
		},
		"one that goes already is waited for": {
			edit: []func(*State){func(s *State) {
				s.Disruptions["d-0"] = model.DisruptionRecord{ID: "d-0", Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"c5"}}
			}},
			asked: []model.Disruption{drifting("d-1", "c0"), drifting("d-2", "c8")}, accepted: []string{"d-2"},
		},
		"one that goes for another reason is not": {
			edit: []func(*State){func(s *State) {
				s.Disruptions["d-0"] = model.DisruptionRecord{ID: "d-0", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c5"}}
			}},
			asked: []model.Disruption{drifting("d-1", "c0")}, accepted: []string{"d-1"},
		},
		"one that is gone is not": {
			edit: []func(*State){func(s *State) {
				s.Disruptions["d-0"] = model.DisruptionRecord{ID: "d-0", Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"c5"}, EndTime: at(-1)}
			}},
			asked: []model.Disruption{drifting("d-1", "c0")}, accepted: []string{"d-1"},
		},
		"once one has proven itself, as many as the budget allows": {
			edit:     []func(*State){grown()},
			asked:    []model.Disruption{drifting("d-1", "c0", "c1"), drifting("d-2", "c2")},
			accepted: []string{"d-1", "d-2"},
		},
		"one that is not ready proves nothing":       {edit: []func(*State){grown(func(_ *model.Claim, n *cluster.Node) { n.Ready = false })}, asked: []model.Disruption{drifting("d-1", "c0", "c1")}},
		"one that is not initialized proves nothing": {edit: []func(*State){grown(func(c *model.Claim, _ *cluster.Node) { c.State = model.ClaimRegistered })}, asked: []model.Disruption{drifting("d-1", "c0", "c1")}},
		"one that goes proves nothing":               {edit: []func(*State){grown(func(c *model.Claim, _ *cluster.Node) { c.Disruption = "d-0" })}, asked: []model.Disruption{drifting("d-1", "c0", "c1")}},
		"one that has drifted itself proves nothing": {edit: []func(*State){grown(func(c *model.Claim, _ *cluster.Node) { c.Drifted.Code = 54 })}, asked: []model.Disruption{drifting("d-1", "c0", "c1")}},
		"one of another class proves nothing":        {edit: []func(*State){grown(func(c *model.Claim, _ *cluster.Node) { c.ClassHash = "old" })}, asked: []model.Disruption{drifting("d-1", "c0", "c1")}},
		"one of another pool proves nothing":         {edit: []func(*State){grown(func(c *model.Claim, _ *cluster.Node) { c.NodePool = "other" })}, asked: []model.Disruption{drifting("d-1", "c0", "c1")}},
		"other reasons need no canary": {
			asked:    []model.Disruption{{ID: "d-1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c0", "c1"}}},
			accepted: []string{"d-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := adrift()
			for _, edit := range c.edit {
				edit(&s)
			}
			p := plan()
			p.Disruptions = c.asked
			for _, v := range Verify(p, s).Verdicts {
				if want := slices.Contains(c.accepted, v.Decision); v.Accepted != want || (!want && v.Reason.Code != model.CodeCanary) {
					t.Errorf("%+v, want accepted %v, or CANARY", v, want)
				}
			}
		})
	}
}

// failures are drift disruptions that ended so many minutes ago; one with "!" failed, one with "?" was needed again,
// of one with "x" AWS took the replacement.
func failures(ends ...string) func(*State) {
	return func(s *State) {
		for i, end := range ends {
			var minutes int
			var mark string
			if _, err := fmt.Sscanf(end, "%d%s", &minutes, &mark); err != nil && mark != "" {
				panic(err)
			}
			id := fmt.Sprintf("f%d", i)
			d := model.DisruptionRecord{
				ID: model.DisruptionID(id), Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"c0"}, Replacements: []model.ClaimID{model.ClaimID("r-" + id)},
				EndTime: at(-minutes), RolledBack: mark != "",
			}
			replacement := s.Claims["c0"]
			replacement.ID, replacement.State, replacement.Reached = d.Replacements[0], model.ClaimFailed, model.ClaimLaunched
			switch mark {
			case "", "?":
				replacement.State, replacement.Reached = model.ClaimInitialized, model.ClaimInitialized
			case "x":
				replacement.State, replacement.DisruptionReason = model.ClaimGone, model.ReasonInterrupted
			}
			s.Claims[replacement.ID], s.Disruptions[d.ID] = replacement, d
		}
	}
}

func TestDriftIsHeldAfterItsReplacementFailed(t *testing.T) {
	for name, c := range map[string]struct {
		ends   []string
		paused bool
	}{
		"none failed":                                {ends: []string{"1"}},
		"one failed just now":                        {ends: []string{"0!"}, paused: true},
		"one failed 14 minutes ago":                  {ends: []string{"14!"}, paused: true},
		"one failed 15 minutes ago":                  {ends: []string{"15!"}},
		"one that worked ends the row":               {ends: []string{"60!", "40", "16!"}},
		"one that worked since forgives":             {ends: []string{"5!", "1"}},
		"a node that was needed again is no failure": {ends: []string{"1?"}},
		"nor is a replacement that AWS took":         {ends: []string{"1x"}},
		"nor does it end a row":                      {ends: []string{"60!", "29!", "1?"}, paused: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := adrift()
			grown()(&s) // proof of the template does not excuse a failure
			failures(c.ends...)(&s)
			p := plan()
			p.Disruptions = []model.Disruption{drifting("d-1", "c1"), drifting("d-2", "c8")}
			want := model.Code(0)
			if c.paused {
				want = model.CodeCanary
			}
			o := Verify(p, s)
			if got := code(t, o, "d-1"); got != want {
				t.Errorf("%+v, want reason %d", o.Verdicts, want)
			}
			if code(t, o, "d-2") != 0 {
				t.Errorf("%+v: another pool waits as well", o.Verdicts)
			}
		})
	}
}
