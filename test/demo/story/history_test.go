package story

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
)

const (
	notYet      = clusterpb.ClaimState_CLAIM_STATE_PLANNED
	launched    = clusterpb.ClaimState_CLAIM_STATE_LAUNCHED
	terminating = clusterpb.ClaimState_CLAIM_STATE_TERMINATING
	drift       = clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED
)

// at is the nth second of a story.
func at(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC) }

// web is a claim of pool web.
func web(id, image string, state clusterpb.ClaimState, change func(*sight)) sight {
	s := sight{id: id, pool: "web", image: image, state: state}
	if change != nil {
		change(&s)
	}
	return s
}

func going(disruption string) func(*sight) {
	return func(s *sight) { s.disruption, s.reason = disruption, drift }
}

func instead(disruption string) func(*sight) { return func(s *sight) { s.replaces = disruption } }

// moments are a second apart.
func moments(looks ...[]sight) history {
	var h history
	for i, claims := range looks {
		h = append(h, moment{at: at(i), claims: claims})
	}
	return h
}

func TestHistoryKeepsWhatChanges(t *testing.T) {
	look := func(state clusterpb.ClaimState) World {
		return World{Claims: []*clusterpb.Claim{claim("a", "i-1", state)}, Plan: &plannerpb.Plan{Id: "p-1"}}
	}
	blind := look(gone)
	blind.NoClaims = errors.New("away")
	var h history
	for i, w := range []World{look(initialized), look(initialized), blind, look(draining)} {
		h = h.seen(w, at(i), never)
	}
	if len(h) != 2 || h[1].at != at(3) || h[1].claims[0].state != draining {
		t.Errorf("history %+v", h)
	}
	if since := h.since(at(0)); len(since) != 1 || since[0].at != at(3) {
		t.Errorf("since the first second %+v", since)
	}
	if since := h.since(at(9)); len(since) != 0 {
		t.Errorf("since the end %+v", since)
	}
}

func TestADepartureIsToldWithItsReplacements(t *testing.T) {
	h := moments(
		[]sight{web("a", "old", initialized, nil)},
		[]sight{web("a", "old", initialized, going("d")), web("b", "", notYet, instead("d"))},
		[]sight{web("a", "old", draining, going("d")), web("b", "new", initialized, instead("d"))},
		[]sight{web("a", "old", gone, going("d")), web("b", "new", initialized, nil)},
	)
	got := h.departures("web")
	if len(got) != 1 || got[0].id != "a" || got[0].chosen != at(1) || got[0].drained != at(2) || got[0].state != gone || got[0].reason != drift {
		t.Fatalf("departures %+v", got)
	}
	if err := got[0].afterItsReplacement(); err != nil {
		t.Error(err)
	}
	if other := h.departures("minute"); len(other) != 0 {
		t.Errorf("departures of another pool %+v", other)
	}
}

func TestADrainBeforeItsReplacementIsFound(t *testing.T) {
	for name, tt := range map[string]struct {
		replacements []sight
		want         string
	}{
		"without one":          {nil, "drained without"},
		"before it is there":   {[]sight{web("b", "new", launched, instead("d"))}, "was launched"},
		"before the second is": {[]sight{web("b", "new", initialized, instead("d")), web("c", "", notYet, instead("d"))}, "was planned"},
		"of another's":         {[]sight{web("b", "new", initialized, instead("e"))}, "drained without"},
	} {
		t.Run(name, func(t *testing.T) {
			// Terminating is what is seen where the drain was short.
			got := moments(append(tt.replacements, web("a", "old", terminating, going("d")))).departures("web")
			if len(got) != 1 {
				t.Fatalf("departures %+v", got)
			}
			if err := got[0].afterItsReplacement(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("finding %v, want %q", err, tt.want)
			}
		})
	}
}

func TestARolloutGoesOneFirst(t *testing.T) {
	fresh := func(image string) bool { return image == "new" }
	old := func(id, disruption string) sight { return web(id, "old", initialized, going(disruption)) }
	proof := web("n", "new", initialized, nil)
	for name, tt := range map[string]struct {
		looks [][]sight
		most  int
		want  string // part of the finding; "" for none
	}{
		"one, and two once it has proven itself": {[][]sight{{old("a", "d"), old("b", "")}, {old("a", "d"), old("b", "e"), proof}}, 2, ""},
		"two before anything is proven":          {[][]sight{{old("a", "d"), old("b", "e")}}, 2, "at most 1"},
		"two while the proof is on its way": {
			[][]sight{{old("a", "d"), old("b", "e"), web("n", "new", launched, nil)}}, 2, "at most 1",
		},
		"three at once":                              {[][]sight{{old("a", "d"), old("b", "e"), old("c", "e"), proof}}, 3, "at most 2"},
		"what has ended counts not":                  {[][]sight{{web("a", "old", gone, going("d")), old("b", "e"), old("c", "e"), proof}}, 2, ""},
		"another pool's counts not":                  {[][]sight{{old("a", "d"), {id: "x", pool: "y", image: "old", state: initialized, disruption: "d"}}}, 1, ""},
		"a new node that goes is not of the rollout": {[][]sight{{old("a", "d"), web("m", "new", draining, going("f")), proof}}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			most, err := moments(tt.looks...).rollout("web", fresh, 2)
			if most != tt.most || (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("most %d and finding %v, want %d and %q", most, err, tt.most, tt.want)
			}
		})
	}
}

func TestAPodThatThePlannerFailsOnIsExcusedWhereItMayFail(t *testing.T) {
	left := func(pod, why string, pools ...*plannerpb.PoolMiss) *plannerpb.PendingPod {
		return &plannerpb.PendingPod{Pod: pod, Reason: &clusterpb.Reason{Message: why}, Pools: pools}
	}
	const fails = "the planner fails on it"
	w := World{Plan: &plannerpb.Plan{Id: "p-1", Pending: []*plannerpb.PendingPod{
		left("failed", fails), left("of-a-pool", "a taint", &plannerpb.PoolMiss{Reason: &clusterpb.Reason{Message: fails}}), left("fits-nowhere", "it is large"),
	}}}
	if got := (history{}).seen(w, at(0), failedOn)[0].pending; !slices.Equal(got, []string{"fits-nowhere"}) {
		t.Errorf("pending where the planner may fail: %v", got)
	}
	if got := (history{}).seen(w, at(0), never)[0].pending; len(got) != 3 {
		t.Errorf("pending where it may not: %v", got)
	}
}

func TestAPodWithoutAPlaceIsFound(t *testing.T) {
	plan := func(id string, pending ...string) moment { return moment{plan: id, pending: pending} }
	for name, tt := range map[string]struct {
		h    history
		want string
	}{
		"nothing pending":            {history{plan("p-1"), plan("p-2")}, ""},
		"one of the workload":        {history{plan("p-1"), plan("p-2", "default/web-a-b")}, "p-2 leaves default/web-a-b"},
		"one of another":             {history{plan("p-1"), plan("p-2", "default/giant")}, ""},
		"the plan of before says so": {history{plan("p-1", "default/web-a-b"), plan("p-2")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.h.leftPending("web")
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("finding %v, want %q", err, tt.want)
			}
		})
	}
}
