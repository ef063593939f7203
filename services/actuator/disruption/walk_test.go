package disruption

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// world is one disruption, its claims and their nodes. What is stored survives a crash; what was to be written or done
// after the crash does not happen.
type world struct {
	now    time.Time
	record model.DisruptionRecord             // stored
	claims map[model.ClaimID]model.Claim      // stored
	nodes  map[model.ClaimID]*Node            // the cluster
	told   int                                // events that users got about the end
	budget int                                // how many nodes may be drained at once where the disruption is staged
	crash  func(before string) (crashed bool) // decides whether the process ends here
}

func newWorld(t *rapid.T) *world {
	reason := rapid.SampledFrom(reasons()).Draw(t, "reason")
	w := &world{
		now: at(0), claims: map[model.ClaimID]model.Claim{}, nodes: map[model.ClaimID]*Node{},
		record: model.DisruptionRecord{ID: "d1", Reason: reason, Candidates: []model.ClaimID{"c1", "c2"}, AcceptTime: at(0)},
		budget: 1,
	}
	w.record.Staged = reason == model.ReasonUnderutilized && rapid.Bool().Draw(t, "staged")
	for _, id := range w.record.Candidates {
		m := claim(id, model.ClaimInitialized)
		m.Claim.Node, m.Claim.StateTime = m.Node.Name, at(0)
		m.Claim.Disruption, m.Claim.DisruptionReason = "d1", reason
		w.claims[id], w.nodes[id] = *m.Claim, m.Node
	}
	if replaces(reason) {
		w.record.Replacements = []model.ClaimID{"r1"}
		w.claims["r1"] = *claim("r1", model.ClaimPlanned).Claim
	}
	return w
}

// TestRandomLives walks random lives of a disruption with crashes at every point between a Step and its last effect, and
// checks that nothing is lost and nothing happens twice.
func TestRandomLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.crash = func(before string) bool { return rapid.IntRange(0, 5).Draw(t, "crash before "+before) == 0 }
		for range rapid.IntRange(3, 40).Draw(t, "passes") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "seconds")) * time.Second)
			w.happen(t)
			w.pass(t)
		}
		w.crash = func(string) bool { return false }
		for range 100 {
			w.now = w.now.Add(time.Minute)
			w.settle()
			w.pass(t)
		}
		w.ended(t)
	})
}

// happen lets the world go on by itself.
func (w *world) happen(t *rapid.T) {
	id := rapid.SampledFrom([]model.ClaimID{"c1", "c2", "r1"}).Draw(t, "claim")
	c, there := w.claims[id]
	if !there {
		return
	}
	n := w.nodes[id]
	switch rapid.SampledFrom([]string{"goes on", "goes on", "pod", "no pods", "silent", "speaks", "lost", "deleted", "budget"}).Draw(t, "what happens") {
	case "goes on":
		w.goOn(id)
	case "pod":
		if n != nil && !n.Tainted {
			n.Pods = []cluster.Pod{protectedPod(time.Time{})}
		}
	case "no pods":
		if n != nil {
			n.Pods = nil
		}
	case "silent", "speaks":
		if n != nil {
			n.Ready = !n.Ready
		}
	case "lost":
		if c.State >= model.ClaimLaunched && c.State < model.ClaimTerminating {
			w.store(lifecycle.Step(c, lifecycle.Event{Kind: lifecycle.EventInstanceEnding}, w.now))
		}
	case "budget":
		w.budget = 1 - w.budget
	case "deleted":
		w.store(lifecycle.Step(c, lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: model.ReasonDeleted}, w.now))
	}
}

// goOn moves a claim to its next state, as far as that is not the disruption's to do.
func (w *world) goOn(id model.ClaimID) {
	c := w.claims[id]
	switch c.State {
	case model.ClaimPlanned, model.ClaimLaunching, model.ClaimLaunched, model.ClaimRegistered:
		c.State++
		c.Reached = c.State
		if c.State == model.ClaimRegistered {
			w.nodes[id] = &Node{Name: model.NodeName("n-" + id), Ready: true}
		}
	case model.ClaimDraining:
		c.State = model.ClaimTerminating
	case model.ClaimTerminating:
		c.State = model.ClaimGone
		delete(w.nodes, id)
	default:
		return
	}
	c.StateTime = w.now
	w.claims[id] = c
}

// settle lets everything go on that is on its way, without accidents.
func (w *world) settle() {
	for id := range w.claims {
		if n := w.nodes[id]; n != nil {
			n.Ready = true
		}
		w.goOn(id)
	}
}

func (w *world) facts() Facts {
	of := func(ids []model.ClaimID) []Member {
		var out []Member
		for _, id := range ids {
			c := w.claims[id]
			out = append(out, Member{Claim: &c, Node: w.nodes[id]})
		}
		return out
	}
	f := Facts{Candidates: of(w.record.Candidates), Replacements: of(w.record.Replacements)}
	f.Claim = lookUp(f)
	f.Allows = func(_ model.PoolName, _ model.DisruptionReason, more int) bool {
		for _, m := range f.Candidates {
			if m.Claim.State == model.ClaimDraining {
				more++
			}
		}
		return more <= w.budget
	}
	return f
}

// pass is what the caller of Step does: it stores the record, then lets the claims answer and stores each, then acts.
func (w *world) pass(t *rapid.T) {
	before, f := w.record, w.facts()
	r := Step(before, f, w.now)
	w.check(t, before, f, r)
	if w.crash("the record is stored") {
		return
	}
	w.record = r.Disruption
	for _, e := range r.Effects {
		if w.crash("an effect is carried out") {
			return
		}
		c := w.claims[e.Claim]
		switch e.Kind {
		case EffectDrain:
			w.store(lifecycle.Step(c, lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: before.Reason, Deadline: e.Deadline}, w.now))
		case EffectRollBack:
			w.store(lifecycle.Step(c, lifecycle.Event{Kind: lifecycle.EventRollBack, Disruption: before.ID}, w.now))
		case EffectEvent:
			if e.Event.Reason == "DisruptionRolledBack" {
				w.told++
			}
		case EffectUnspecified:
			t.Fatal("an effect of no kind")
		}
	}
	for _, id := range []model.ClaimID{"c1", "c2"} {
		w.observe(id)
	}
}

// observe lets a candidate answer to what is seen of it.
func (w *world) observe(id model.ClaimID) {
	c := w.claims[id]
	if c.Disruption != "" && Released(&w.record, id) {
		w.store(lifecycle.Step(c, lifecycle.Event{Kind: lifecycle.EventRollBack, Disruption: c.Disruption}, w.now))
	}
	c, n := w.claims[id], w.nodes[id]
	if n == nil || w.crash("a node is tainted") {
		return
	}
	seen := cluster.Node{
		Name: n.Name, Ready: n.Ready, Labels: map[string]string{labels.Registered: "true", labels.Claim: string(id), labels.Initialized: "true"},
	}
	if n.Tainted {
		seen.Taints = []model.Taint{{Key: labels.TaintDisrupted, Effect: model.NoSchedule}}
	}
	for _, e := range lifecycle.Step(c, lifecycle.Event{Kind: lifecycle.EventNodeSeen, Node: seen}, w.now).Effects {
		switch e.Kind {
		case lifecycle.EffectTaintNode:
			n.Tainted = true
		case lifecycle.EffectUntaintNode:
			n.Tainted = false
		default:
		}
	}
}

func (w *world) store(r lifecycle.Result) { w.claims[r.Claim.ID] = r.Claim }

// check is what must hold of every answer.
func (w *world) check(t *rapid.T, before model.DisruptionRecord, f Facts, r Result) {
	if !before.EndTime.IsZero() && (len(r.Effects) > 0 || !r.Disruption.EndTime.Equal(before.EndTime) || r.Disruption.RolledBack != before.RolledBack) {
		t.Fatalf("it has ended, and goes on: %+v", r)
	}
	staying := slices.ContainsFunc(f.Candidates, func(m Member) bool { return m.Claim.State < model.ClaimDraining })
	if r.Disruption.EndTime.IsZero() && len(r.Effects) == 0 && r.Wake.IsZero() && staying {
		t.Fatal("it waits, and would not be looked at again")
	}
	if r.Disruption.RolledBack && slices.ContainsFunc(f.Candidates, func(m Member) bool {
		return m.Claim.State == model.ClaimDraining && m.Claim.DisruptionReason == before.Reason
	}) {
		t.Fatal("it was rolled back after its drain had begun")
	}
	for _, e := range r.Effects {
		switch {
		case e.Kind != EffectDrain:
		case r.Disruption.RolledBack:
			t.Fatalf("%s is drained by a disruption that was rolled back", e.Claim)
		case before.Reason != model.ReasonUnhealthy && !begun(before, f) && awaited(before, f) != "":
			t.Fatalf("%s is drained before pods can go elsewhere: %s", e.Claim, awaited(before, f))
		}
	}
}

// ended checks that nothing is left to do.
func (w *world) ended(t *rapid.T) {
	if w.record.EndTime.IsZero() {
		t.Fatalf("it has not ended: %+v", w.claims)
	}
	all := []model.ClaimID{"c1", "c2"}
	if w.told > len(all) {
		t.Fatalf("it was reported %d times that %d candidates stay", w.told, len(all))
	}
	for _, id := range all {
		c, n := w.claims[id], w.nodes[id]
		if c.Live() && (c.Disruption != "" || n.Tainted) {
			t.Fatalf("candidate %s is neither gone nor free: %+v, tainted %v", id, c, n.Tainted)
		}
	}
}
