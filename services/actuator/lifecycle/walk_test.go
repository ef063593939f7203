package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// world is EC2 and a cluster as far as one claim is concerned: tokens are honoured, and things happen by chance.
type world struct {
	now     time.Time
	stored  model.Claim // what the store holds
	tokens  map[int]string
	state   map[string]string // instances: "running", "ending", "ended"
	node    bool
	tainted bool
}

// TestRandomLives walks random lives of a claim, crashes included, and checks what must never happen.
func TestRandomLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: at(0), tokens: map[int]string{}, state: map[string]string{}}
		w.stored = inState(model.ClaimPlanned)
		for range rapid.IntRange(5, 80).Draw(t, "steps") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 240).Draw(t, "seconds")) * time.Second)
			w.happen(t)
			e := w.event(t)
			before := w.stored
			r := Step(before, e, w.now)
			check(t, before, r)
			w.stored = r.Claim // intent first
			for _, x := range r.Effects {
				if rapid.Bool().Draw(t, "crash before the effect") {
					break
				}
				w.act(t, x)
			}
			if w.stored.State.Ended() {
				w.ended(t)
			}
			if late := w.now.Sub(w.stored.StateTime) >= InitializationTimeout; late && e.Kind == EventTick && w.stored.State == model.ClaimRegistered {
				t.Fatalf("the claim has been Registered for %s", w.now.Sub(w.stored.StateTime))
			}
		}
	})
}

func check(t *rapid.T, before model.Claim, r Result) {
	after := r.Claim
	if after.State < before.State {
		t.Fatalf("from %s back to %s", before.State, after.State)
	}
	if before.State.Ended() && (after.State != before.State || len(r.Effects) > 0) {
		t.Fatalf("an ended claim went on: %s, %v", after.State, r.Effects)
	}
	if after.Attempt > before.Attempt+1 {
		t.Fatalf("attempt %d after %d", after.Attempt, before.Attempt)
	}
	for _, e := range r.Effects {
		switch {
		case e.Kind == EffectLaunch && after.State != model.ClaimLaunching:
			t.Fatalf("a launch while the claim is stored as %s", after.State)
		case e.Kind == EffectTerminate && after.State != model.ClaimTerminating:
			t.Fatalf("a termination while the claim is stored as %s", after.State)
		case e.Kind == EffectEvict && after.State != model.ClaimDraining:
			t.Fatalf("an eviction while the claim is stored as %s", after.State)
		}
	}
	if after.State == model.ClaimFailed && after.Failure == (model.Reason{}) {
		t.Fatal("failed without a reason")
	}
}

// happen lets the world go on by itself.
func (w *world) happen(t *rapid.T) {
	for id, s := range w.state {
		if s == "ending" && rapid.Bool().Draw(t, "instance "+id+" ends") {
			w.state[id] = "ended"
		}
		if s == "running" && rapid.IntRange(0, 30).Draw(t, "instance "+id+" is lost") == 0 {
			w.state[id] = "ending"
		}
	}
}

func (w *world) act(t *rapid.T, e Effect) {
	switch e.Kind {
	case EffectLaunch:
		n := w.stored.Attempt
		if w.tokens[n] == "" && rapid.IntRange(0, 3).Draw(t, "launch works") > 0 {
			w.tokens[n] = fmt.Sprintf("i-%d", n)
			w.state[w.tokens[n]] = "running"
		}
	case EffectTerminate:
		for id, s := range w.state {
			if s == "running" {
				w.state[id] = "ending"
			}
		}
	case EffectRemoveNode:
		w.node = false
	case EffectTaintNode:
		w.tainted = true
	case EffectUntaintNode:
		w.tainted = false
	default:
	}
}

// event is something true about the world, or something that a caller wants.
func (w *world) event(t *rapid.T) Event {
	kind := EventKind(rapid.IntRange(int(EventStart), int(EventDefer)).Draw(t, "event"))
	e := Event{Kind: kind, Time: w.now, NodeThere: w.node, Offerings: inState(model.ClaimPlanned).Offerings}
	alive, ended := "", ""
	for id, s := range w.state {
		if s == "ended" {
			ended = id
		} else {
			alive = id
		}
	}
	idle := Event{Kind: EventTick}
	switch kind {
	case EventLaunched:
		id := w.tokens[w.stored.Attempt]
		if id == "" {
			return idle
		}
		e.Instance = Instance{ID: id, ProviderID: "aws:///a/" + id, LaunchTime: w.now}
	case EventLaunchFailed:
		e.Failure, e.Reason = Failure(rapid.IntRange(1, 4).Draw(t, "failure")), model.Reason{Code: 121, Message: "x"}
		if (e.Failure == FailureCapacity || e.Failure == FailureLater) && w.tokens[w.stored.Attempt] != "" {
			return idle // EC2 does not say so of a token that made an instance
		}
		if rapid.Bool().Draw(t, "nothing left") {
			e.Offerings = nil
		}
	case EventInstanceSeen:
		if alive == "" || w.state[alive] != "running" {
			return idle
		}
		e.Instance = Instance{ID: alive, ProviderID: "aws:///a/" + alive, LaunchTime: w.now}
	case EventInstanceEnding:
		if alive == "" || w.state[alive] != "ending" {
			return idle
		}
	case EventInstanceEnded:
		if ended == "" || alive != "" {
			return idle
		}
	case EventInstanceAbsent:
		if len(w.state) > 0 {
			return idle // EC2 shows what it has, later than VisibilityDelay at the latest
		}
	case EventNodeSeen:
		w.node = w.node || alive != ""
		if !w.node {
			return idle
		}
		e.Node = syncedNode(func(n *cluster.Node) {
			if w.tainted {
				disrupted(n)
			}
			if rapid.Bool().Draw(t, "the kubelet is silent") {
				n.Ready = false
				delete(n.Labels, labels.Initialized)
			}
		})
	case EventNodeAbsent:
		if w.node {
			return idle
		}
	case EventDrain:
		e.DisruptionReason = model.DisruptionReason(rapid.IntRange(1, int(model.ReasonSurplus)).Draw(t, "why"))
		if e.DisruptionReason == model.ReasonUnhealthy {
			e.Deadline = w.now
		}
	default:
	}
	return e
}

// ended checks that nothing of an ended claim is left.
func (w *world) ended(t *rapid.T) {
	for id, s := range w.state {
		if s == "running" {
			t.Fatalf("the claim is %s, and instance %s runs", w.stored.State, id)
		}
	}
}
