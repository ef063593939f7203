package disruption

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

var update = flag.Bool("update", false, "write the golden files anew")

func at(minutes float64) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes * float64(time.Minute)))
}

// claim is a member whose node, if it has one, is ready and without pods.
func claim(id model.ClaimID, s model.ClaimState) Member {
	m := Member{Claim: &model.Claim{ID: id, NodePool: "default", State: s, Reached: min(s, model.ClaimInitialized)}}
	if s == model.ClaimRegistered || s == model.ClaimInitialized || s == model.ClaimDraining {
		m.Node = &Node{Name: model.NodeName("n-" + id), Ready: true}
	}
	return m
}

func plain(name string) cluster.Pod {
	return cluster.Pod{Namespace: "default", Name: name, Ready: true}
}

func protectedPod(until time.Time) cluster.Pod {
	p := plain("kept")
	p.DoNotDisrupt, p.DoNotDisruptUntil = true, until
	return p
}

func daemonPod(ready bool) cluster.Pod {
	p := plain("agent")
	p.Daemon, p.Ready = true, ready
	return p
}

// example is one thing that can be seen of a disruption with one candidate, c1, and one replacement, r1, ten minutes after
// it was accepted. It begins as a disruption that could drain now: r1 is ready, and c1 is tainted.
type example struct {
	name string
	edit func(d *model.DisruptionRecord, f *Facts)
	now  time.Time
}

func candidate(edit func(m *Member)) func(*model.DisruptionRecord, *Facts) {
	return func(_ *model.DisruptionRecord, f *Facts) { edit(&f.Candidates[0]) }
}

func replacement(edit func(m *Member)) func(*model.DisruptionRecord, *Facts) {
	return func(_ *model.DisruptionRecord, f *Facts) { edit(&f.Replacements[0]) }
}

func candidateIs(s model.ClaimState, reason func(d *model.DisruptionRecord) model.DisruptionReason) func(*model.DisruptionRecord, *Facts) {
	return func(d *model.DisruptionRecord, f *Facts) {
		f.Candidates[0] = claim("c1", s)
		f.Candidates[0].Claim.DisruptionReason = reason(d)
	}
}

func same(d *model.DisruptionRecord) model.DisruptionReason { return d.Reason }

func deleted(*model.DisruptionRecord) model.DisruptionReason { return model.ReasonDeleted }

func hasPods(pods ...cluster.Pod) func(*Member) { return func(m *Member) { m.Node.Pods = pods } }

func ofReplacement() []example {
	in := func(s model.ClaimState) func(*model.DisruptionRecord, *Facts) {
		return replacement(func(m *Member) { *m = claim("r1", s) })
	}
	return []example{
		{name: "the replacement is planned", edit: in(model.ClaimPlanned)},
		{name: "the replacement has joined", edit: in(model.ClaimRegistered)},
		{name: "the replacement has joined, 31 minutes on", edit: in(model.ClaimRegistered), now: at(31)},
		{name: "the replacement is being drained", edit: in(model.ClaimDraining)},
		{name: "the replacement has failed", edit: replacement(func(m *Member) {
			*m = claim("r1", model.ClaimFailed)
			m.Claim.Reached = model.ClaimLaunched
			m.Claim.Failure = model.Reason{Code: model.CodeRegistrationTimeout, Message: "it did not join"}
		})},
		{name: "the replacement is not stored any more", edit: replacement(func(m *Member) { *m = Member{} })},
		{name: "the replacement's node is silent", edit: replacement(func(m *Member) { m.Node.Ready = false })},
		{name: "the replacement's node is silent, 31 minutes on", edit: replacement(func(m *Member) { m.Node.Ready = false }), now: at(31)},
		{name: "the replacement's node is gone", edit: replacement(func(m *Member) { m.Node = nil })},
		{name: "a DaemonSet's pod is not ready there", edit: replacement(hasPods(daemonPod(false)))},
		{name: "a DaemonSet's pod is waited for", edit: func(_ *model.DisruptionRecord, f *Facts) {
			f.WaitForDaemonPods = true
			hasPods(daemonPod(false))(&f.Replacements[0])
		}},
		{name: "a DaemonSet's pod was waited for", edit: func(_ *model.DisruptionRecord, f *Facts) {
			f.WaitForDaemonPods = true
			hasPods(daemonPod(true))(&f.Replacements[0])
		}},
	}
}

func ofCandidate() []example {
	expired := func(bounded bool) func(m *Member) {
		return func(m *Member) {
			m.Claim.ExpireTime = at(5)
			if bounded {
				m.Claim.TerminationGracePeriod = new(time.Hour)
			}
			m.Node.Pods = []cluster.Pod{protectedPod(time.Time{})}
		}
	}
	stops := func(_ *model.DisruptionRecord, f *Facts) {
		f.Stops = func(pool model.PoolName, _ model.DisruptionReason) bool { return pool == "default" }
	}
	gone := plain("web")
	gone.DeletionTime = at(9)
	return []example{
		{name: "the candidate is not tainted yet", edit: candidate(func(m *Member) { m.Node.Tainted = false })},
		{name: "the candidate is not tainted, 31 minutes on", edit: candidate(func(m *Member) { m.Node.Tainted = false }), now: at(31)},
		{name: "a protected pod has come", edit: candidate(hasPods(protectedPod(time.Time{})))},
		{name: "a pod has come that is protected for a while", edit: candidate(hasPods(protectedPod(at(20))))},
		{name: "a pod has come that was protected", edit: candidate(hasPods(protectedPod(at(10))))},
		{name: "a protected pod has come, and it has expired", edit: candidate(expired(false))},
		{name: "the same, and its drain is bounded", edit: candidate(expired(true))},
		{name: "another pod has come", edit: candidate(hasPods(plain("web")))},
		{name: "a pod that is being deleted is there", edit: candidate(hasPods(gone))},
		{name: "a DaemonSet's pod has come", edit: candidate(hasPods(daemonPod(true)))},
		{name: "a budget of none has come", edit: stops},
		{name: "a budget of none has come, and it has expired", edit: func(d *model.DisruptionRecord, f *Facts) {
			stops(d, f)
			f.Candidates[0].Claim.ExpireTime = at(5)
		}},
		{name: "a budget of none has come, and it is staged", edit: func(d *model.DisruptionRecord, f *Facts) {
			stops(d, f)
			d.Staged, f.Allows = true, func(model.PoolName, model.DisruptionReason, int) bool { return false }
		}},
		{name: "it drains for this, and a budget of none has come", edit: func(d *model.DisruptionRecord, f *Facts) {
			candidateIs(model.ClaimDraining, same)(d, f)
			stops(d, f)
		}},
		{name: "it drains for this", edit: candidateIs(model.ClaimDraining, same)},
		{name: "it drains for another reason", edit: candidateIs(model.ClaimDraining, deleted)},
		{name: "its drain was begun, and a protected pod is there", edit: func(d *model.DisruptionRecord, f *Facts) {
			candidateIs(model.ClaimDraining, same)(d, f)
			hasPods(protectedPod(time.Time{}))(&f.Candidates[0])
		}},
		{name: "its instance was lost", edit: func(d *model.DisruptionRecord, f *Facts) {
			candidateIs(model.ClaimTerminating, same)(d, f)
			f.Candidates[0].Claim.Failure.Code = model.CodeInstanceLost
		}},
		{name: "its node is gone", edit: candidate(func(m *Member) { m.Node = nil })},
		{name: "it is gone for this", edit: candidateIs(model.ClaimGone, same)},
		{name: "it is not stored any more", edit: candidate(func(m *Member) { *m = Member{} })},
	}
}

// examples are what the golden table prints.
func examples() []example {
	out := []example{{name: "all is as it should be", edit: func(*model.DisruptionRecord, *Facts) {}}}
	out = append(out, ofReplacement()...)
	out = append(out, ofCandidate()...)
	return append(out,
		example{name: "it has ended", edit: func(d *model.DisruptionRecord, f *Facts) {
			d.EndTime = at(9)
			f.Replacements = nil
		}},
		example{name: "it was rolled back", edit: func(d *model.DisruptionRecord, _ *Facts) { d.EndTime, d.RolledBack = at(9), true }},
	)
}

func reasons() []model.DisruptionReason {
	return []model.DisruptionReason{
		model.ReasonEmpty, model.ReasonUnderutilized, model.ReasonDrifted, model.ReasonExpired, model.ReasonUnhealthy, model.ReasonSurplus,
	}
}

func replaces(reason model.DisruptionReason) bool {
	return reason != model.ReasonEmpty && reason != model.ReasonSurplus
}

func accepted(reason model.DisruptionReason) (model.DisruptionRecord, Facts) {
	d := model.DisruptionRecord{ID: "d1", Reason: reason, Candidates: []model.ClaimID{"c1"}, AcceptTime: at(0)}
	f := Facts{Candidates: []Member{claim("c1", model.ClaimInitialized)}}
	f.Candidates[0].Claim.Disruption, f.Candidates[0].Claim.DisruptionReason = "d1", reason
	f.Candidates[0].Node.Tainted = true
	if replaces(reason) {
		d.Replacements, f.Replacements = []model.ClaimID{"r1"}, []Member{claim("r1", model.ClaimInitialized)}
	}
	return d, f
}

func lookUp(f Facts) func(model.ClaimID) *model.Claim {
	return func(id model.ClaimID) *model.Claim {
		for _, m := range slices.Concat(f.Candidates, f.Replacements) {
			if m.Claim != nil && m.Claim.ID == id {
				return m.Claim
			}
		}
		return nil
	}
}

// TestTable prints what a disruption does about everything that is seen; docs and diagrams are written from it.
func TestTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("The life of a disruption: what it does about what is seen ten minutes after it was accepted.\n")
	for _, reason := range reasons() {
		fmt.Fprintf(&b, "\n%s\n", reason)
		for _, x := range examples() {
			if !replaces(reason) && slices.ContainsFunc(ofReplacement(), func(y example) bool { return x.name == y.name }) {
				continue
			}
			d, f := accepted(reason)
			x.edit(&d, &f)
			f.Claim = lookUp(f)
			now := x.now
			if now.IsZero() {
				now = at(10)
			}
			fmt.Fprintf(&b, "  %-50s → %s\n", x.name, describe(d, Step(d, f, now)))
		}
	}
	const golden = "testdata/table.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the table has changed; if it should have, run go test ./disruption -update (-want +got):\n%s", d)
	}
}

func describe(before model.DisruptionRecord, r Result) string {
	out := "goes on"
	switch {
	case !before.EndTime.IsZero():
		out = "stays"
	case r.Disruption.RolledBack:
		out = "is rolled back"
	case !r.Disruption.EndTime.IsZero():
		out = "ends"
	}
	for _, e := range r.Effects {
		switch e.Kind {
		case EffectDrain:
			out += "; drain " + string(e.Claim)
			if !e.Deadline.IsZero() {
				out += " at once"
			}
		case EffectRollBack:
			out += "; release " + string(e.Claim)
		case EffectEvent:
			out += fmt.Sprintf("; tell %s %q", e.Event.Kind, e.Event.Message)
		case EffectUnspecified:
			out += "; ?"
		}
	}
	if !r.Wake.IsZero() {
		out += "  (looks again)"
	}
	return out
}

func TestAllCandidatesMustEnd(t *testing.T) {
	d := model.DisruptionRecord{ID: "d1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c1", "c2", "c3"}, AcceptTime: at(0)}
	drains := claim("c2", model.ClaimDraining)
	drains.Claim.DisruptionReason = model.ReasonUnderutilized
	f := Facts{Candidates: []Member{claim("c1", model.ClaimInitialized), drains, {}}}
	r := Step(d, f, at(1))
	if want := []Effect{{Kind: EffectDrain, Claim: "c1"}}; cmp.Diff(want, r.Effects) != "" || !r.Disruption.EndTime.IsZero() {
		t.Errorf("%+v, want that c1 is drained, too, though its drain was not stored with that of c2", r)
	}
	f.Candidates = []Member{claim("c1", model.ClaimGone), claim("c2", model.ClaimFailed), {}}
	if r = Step(d, f, at(2)); len(r.Effects) > 0 || !r.Disruption.EndTime.Equal(at(2)) || r.Disruption.RolledBack {
		t.Errorf("%+v, want that it has ended", r)
	}
}

// TestStages: of a staged disruption as many candidates are drained as budgets let go, the next once one of these is empty.
func TestStages(t *testing.T) {
	for name, c := range map[string]struct {
		states  []model.ClaimState // of c1, c2, c3
		allowed int                // how many more nodes may be drained
		edit    func(d *model.DisruptionRecord, f *Facts)
		now     time.Time
		drains  []model.ClaimID
		stay    []model.ClaimID
	}{
		"one at a time":   {allowed: 1, drains: []model.ClaimID{"c1"}},
		"two at a time":   {allowed: 2, drains: []model.ClaimID{"c1", "c2"}},
		"budgets are out": {},
		"the first is being drained": {
			states: []model.ClaimState{model.ClaimDraining}, allowed: 0,
		},
		"the first is empty": {
			states: []model.ClaimState{model.ClaimTerminating}, allowed: 1, drains: []model.ClaimID{"c2"},
		},
		"a protected pod has come to the second meanwhile": {
			states: []model.ClaimState{model.ClaimTerminating}, allowed: 1, drains: []model.ClaimID{"c3"}, stay: []model.ClaimID{"c2"},
			edit: func(_ *model.DisruptionRecord, f *Facts) {
				f.Candidates[1].Node.Pods = []cluster.Pod{protectedPod(time.Time{})}
			},
		},
		"a replacement is lost meanwhile": {
			states: []model.ClaimState{model.ClaimDraining}, allowed: 1, stay: []model.ClaimID{"c2", "c3"},
			edit: func(_ *model.DisruptionRecord, f *Facts) { f.Replacements[0] = claim("r1", model.ClaimFailed) },
		},
		"a replacement is silent meanwhile": {
			states: []model.ClaimState{model.ClaimDraining}, allowed: 1,
			edit: func(_ *model.DisruptionRecord, f *Facts) { f.Replacements[0].Node.Ready = false },
		},
		"it has taken too long": {
			states: []model.ClaimState{model.ClaimDraining}, allowed: 1, now: at(31), stay: []model.ClaimID{"c2", "c3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, f := accepted(model.ReasonUnderutilized)
			d.Staged, d.Candidates, f.Candidates = true, []model.ClaimID{"c1", "c2", "c3"}, nil
			for i, id := range d.Candidates {
				m := claim(id, model.ClaimInitialized)
				if i < len(c.states) {
					m = claim(id, c.states[i])
				}
				m.Claim.Disruption, m.Claim.DisruptionReason = d.ID, d.Reason
				if m.Node != nil {
					m.Node.Tainted = true
				}
				f.Candidates = append(f.Candidates, m)
			}
			f.Allows = func(pool model.PoolName, why model.DisruptionReason, more int) bool {
				return pool == "default" && why == d.Reason && more <= c.allowed
			}
			if c.edit != nil {
				c.edit(&d, &f)
			}
			if c.now.IsZero() {
				c.now = at(10)
			}
			r := Step(d, f, c.now)
			var drains, stay []model.ClaimID
			for _, e := range r.Effects {
				switch e.Kind {
				case EffectDrain:
					drains = append(drains, e.Claim)
				case EffectRollBack:
					stay = append(stay, e.Claim)
				default:
				}
			}
			if !slices.Equal(drains, c.drains) || !slices.Equal(stay, c.stay) {
				t.Errorf("drains %v, lets %v stay; want %v, %v", drains, stay, c.drains, c.stay)
			}
			for _, id := range d.Candidates {
				if Released(&r.Disruption, id) != slices.Contains(c.stay, id) {
					t.Errorf("%s is released: %v", id, Released(&r.Disruption, id))
				}
			}
			if !r.Disruption.EndTime.IsZero() || r.Disruption.RolledBack {
				t.Errorf("it has ended: %+v", r.Disruption)
			}
		})
	}
}

// TestBudgetsAreAskedNoMoreThanThereAreDrains: each question is a look at all claims, and each pass has them.
func TestBudgetsAreAskedNoMoreThanThereAreDrains(t *testing.T) {
	d, f := accepted(model.ReasonUnderutilized)
	d.Staged, d.Candidates, f.Candidates = true, nil, nil
	for i := range 1000 {
		m := claim(model.ClaimID(fmt.Sprintf("c%04d", i)), model.ClaimInitialized)
		d.Candidates, f.Candidates = append(d.Candidates, m.Claim.ID), append(f.Candidates, m)
		m.Node.Tainted = true
	}
	asked := 0
	f.Allows = func(_ model.PoolName, _ model.DisruptionReason, more int) bool {
		asked++
		return more <= 3
	}
	if r := Step(d, f, at(10)); len(r.Effects) != 3 || asked != 4 {
		t.Errorf("budgets were asked %d times for %d drains, want four times for three", asked, len(r.Effects))
	}
}

func TestReleased(t *testing.T) {
	for name, c := range map[string]struct {
		record *model.DisruptionRecord
		want   bool
	}{
		"one that goes on keeps its candidates":   {&model.DisruptionRecord{Candidates: []model.ClaimID{"c1"}}, false},
		"one that has ended as it should does so": {&model.DisruptionRecord{Candidates: []model.ClaimID{"c1"}, EndTime: at(1)}, false},
		"one that was rolled back lets them go":   {&model.DisruptionRecord{Candidates: []model.ClaimID{"c1"}, EndTime: at(1), RolledBack: true}, true},
		"one that was left out is let go":         {&model.DisruptionRecord{Candidates: []model.ClaimID{"c2"}}, true},
		"one that is not known lets them go":      {nil, true},
	} {
		if got := Released(c.record, "c1"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestForgotten(t *testing.T) {
	records := map[model.DisruptionID]*model.DisruptionRecord{}
	add := func(id string, d model.DisruptionRecord) {
		d.ID = model.DisruptionID(id)
		records[d.ID] = &d
	}
	add("goes-on", model.DisruptionRecord{AcceptTime: at(0)})
	add("old", model.DisruptionRecord{EndTime: at(0)})
	add("failed-drift", model.DisruptionRecord{EndTime: at(0), Reason: model.ReasonDrifted, RolledBack: true})
	add("drift", model.DisruptionRecord{EndTime: at(0), Reason: model.ReasonDrifted})
	add("new", model.DisruptionRecord{EndTime: at(1)})
	if d := cmp.Diff([]model.DisruptionID{"drift", "old"}, Forgotten(records, time.Hour, at(360))); d != "" {
		t.Errorf("after six hours (-want +got):\n%s", d)
	}
	if got := Forgotten(records, 7*time.Hour, at(360)); len(got) > 0 {
		t.Errorf("%v are forgotten before the claims are", got)
	}
	for i := range maxRecords {
		add(fmt.Sprintf("many-%04d", i), model.DisruptionRecord{EndTime: at(2)})
	}
	if d := cmp.Diff([]model.DisruptionID{"drift", "failed-drift", "new", "old"}, Forgotten(records, time.Hour, at(300))); d != "" {
		t.Errorf("of too many the oldest go (-want +got):\n%s", d)
	}
}
