package loop_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

func sortedPods(pods map[string]*clusterpb.Pod) []string { return slices.Sorted(maps.Keys(pods)) }

func TestPodsOfOneRollOutArePlannedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		opened := time.Now()
		for i := range 5 {
			w.pods(fmt.Sprintf("web-%d", i))
			w.after(20 * time.Millisecond)
		}
		w.after(100 * time.Millisecond)
		if n := w.actuator.count(); n != 1 {
			t.Fatalf("%d plans were relayed, want one", n)
		}
		if took := w.actuator.applied[0].Sub(opened); took != 160*time.Millisecond {
			t.Errorf("it was relayed after %s, want 80 ms after the last pod, four times the gap between them", took)
		}
		if pods := w.actuator.plans[0].GetNodeClaims()[0].GetPods(); len(pods) != 5 {
			t.Errorf("the plan is for %v", pods)
		}
		if kinds := w.planner.asked[0].GetKinds(); len(kinds) != 1 || kinds[0] != plannerpb.DecisionKind_DECISION_KIND_PROVISION {
			t.Errorf("the batch asked for %v", kinds)
		}
		if len(w.relayed) != 1 {
			t.Errorf("%d plans can be read by tools", len(w.relayed))
		}
	})
}

func TestEachQuestionCarriesThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pods("web-0")
		w.after(100 * time.Millisecond) // new pods
		w.after(time.Minute)            // everything anew
		kinds := map[int]bool{}
		for i, d := range w.planner.asked {
			kinds[len(d.GetKinds())] = true
			if diff := cmp.Diff(policy(), d.GetPolicy(), protocmp.Transform()); diff != "" {
				t.Errorf("question %d (-want +got):\n%s", i, diff)
			}
		}
		if len(kinds) != 2 {
			t.Errorf("the planner was asked %d times, want both for new pods and for everything", len(w.planner.asked))
		}
	})
}

func TestNoNewPlanBeforeTheInventoryHoldsTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.actuator.revision = 7
		w.pods("web-0")
		w.after(100 * time.Millisecond)
		w.pods("web-1")
		w.inventory(false, true, 6)
		w.after(time.Hour)
		if n := w.actuator.count(); n != 1 {
			t.Fatalf("%d plans before the inventory has caught up", n)
		}
		w.inventory(false, true, 7)
		if n := w.actuator.count(); n != 2 {
			t.Errorf("%d plans once it has", n)
		}
		if got := w.actuator.plans[1].GetInventoryRevision(); got != 7 {
			t.Errorf("the second plan was made from inventory %d", got)
		}
	})
}

func TestOnlyTheDriverPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.inventory(false, false, 2)
		w.pods("web-0")
		w.after(time.Hour)
		if n := len(w.planner.asked); n != 0 {
			t.Errorf("%d plans by a watcher that does not drive", n)
		}
		w.inventory(false, true, 2)
		w.after(time.Second / 2)
		if n := w.actuator.count(); n != 1 {
			t.Errorf("%d plans after it took over", n)
		}
	})
}

func TestAWatcherThatDoesNotSeeTheClusterPlansNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.trouble = nil
		w.client.Pause("the watcher can't read pods")
		w.after(time.Second)
		w.pods("web-0")
		w.after(time.Hour)
		if n := len(w.planner.asked); n != 0 {
			t.Errorf("%d plans by a watcher that does not see the cluster", n)
		}
		if d := cmp.Diff([]string{"the watcher can't read pods"}, w.trouble); d != "" {
			t.Errorf("tools are told (-want +got):\n%s", d)
		}
		w.client.Pause("")
		w.after(time.Second)
		if last := w.trouble[len(w.trouble)-1]; !strings.HasPrefix(last, "no actuator leads") {
			t.Errorf("once it looks for the leader tools are told %q", last)
		}
		w.inventory(true, true, 3)
		w.after(time.Second)
		if w.actuator.count() == 0 {
			t.Error("no plan once it sees the cluster again")
		}
	})
}

func TestRejectedDecisionsAreSaidAndPlannedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.actuator.reject = true
		w.pods("web-0")
		w.after(200 * time.Millisecond)
		w.actuator.mu.Lock()
		w.actuator.reject = false
		w.actuator.mu.Unlock()
		w.after(300 * time.Millisecond)
		if n := w.actuator.count(); n != 2 {
			t.Errorf("%d plans, want the rejected one and another", n)
		}
		if !strings.Contains(w.log.String(), "limit of pool default reached") {
			t.Errorf("the log does not say why:\n%s", w.log)
		}
	})
}

func TestAPlanThatIsTooLargeForAMessageIsCarriedOutInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.large = 5000
		w.pods("web-0")
		w.after(400 * time.Millisecond)
		w.planner.mu.Lock()
		w.planner.large = 0
		w.planner.mu.Unlock()
		w.after(time.Second)
		if n := w.actuator.count(); n < 2 {
			t.Errorf("%d plans, want one and another for the rest", n)
		}
		first := w.actuator.plans[0]
		if n, size := len(first.GetNodeClaims()), proto.Size(first); n < 3900 || n > 4100 || size > rpc.DefaultMaxMessageBytes {
			t.Errorf("%d claims, %d bytes; want as many as a message may have", n, size)
		}
		if !strings.Contains(w.log.String(), "too large for one message") {
			t.Errorf("the log does not say so:\n%s", w.log)
		}
	})
}

func TestPlannerThatIsGoneLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.set(status.Error(codes.Unavailable, "no planner today"))
		w.pods("web-0")
		w.after(time.Minute)
		w.pods("web-1")
		w.after(time.Minute)
		if warnings := strings.Count(w.log.String(), "level=WARN"); warnings != 1 {
			t.Errorf("%d warnings, want one:\n%s", warnings, w.log)
		}
		if !strings.Contains(w.log.String(), "planner=planner:1") {
			t.Errorf("the warning does not say which planner:\n%s", w.log)
		}
		w.planner.set(nil)
		w.after(11 * time.Second)
		if n := w.actuator.count(); n == 0 || len(w.actuator.plans[0].GetNodeClaims()[0].GetPods()) != 2 {
			t.Fatalf("%d plans, want one for both pods", n)
		}
		if !strings.Contains(w.log.String(), "plans are made and relayed again") {
			t.Errorf("the log does not say that it is over:\n%s", w.log)
		}
	})
}

func TestToolsAreToldWhatIsInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tell := func(want ...string) {
			t.Helper()
			if d := cmp.Diff(want, w.trouble); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			w.trouble = nil
		}
		tell("no actuator leads that the watcher can reach (actuator:1)", "")
		w.planner.set(status.Error(codes.Unavailable, "no planner today"))
		w.pods("web-0")
		w.after(time.Minute)
		tell("no plan from the planner: no planner today")
		w.inventory(false, false, 2) // another watcher drives
		tell("")
		w.inventory(false, true, 2)
		w.planner.set(nil)
		w.after(time.Minute)
		tell("no plan from the planner: no planner today", "")
		w.planner.mu.Lock()
		w.planner.sweeps = status.Error(codes.Internal, "too many nodes: "+strings.Repeat("ü", 300))
		w.planner.mu.Unlock()
		w.pods("web-1")
		w.after(time.Minute)
		if n := len(w.trouble); n != 1 || !strings.HasPrefix(w.trouble[0], "no node is removed; no plan from the planner: too many nodes: ü") || len(w.trouble[0]) > 500 {
			t.Errorf("told %q", w.trouble)
		}
	})
}

func TestPodsGetNodesWhilePlansForEverythingFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.sweeps = status.Error(codes.Internal, "too many nodes")
		for i := range 20 {
			w.pods(fmt.Sprintf("web-%d", i))
			w.after(15 * time.Second)
			if n := len(w.actuator.plans); n == 0 || len(w.actuator.plans[n-1].GetNodeClaims()[0].GetPods()) != i+1 {
				t.Fatalf("%d plans were relayed, want one for pod web-%d", n, i)
			}
		}
		if n := len(w.sweeps()); n < 20 {
			t.Errorf("%d plans for everything were asked for in five minutes", n)
		}
		const failed, again = "level=WARN msg=\"cycle failed", "plans are made and relayed again"
		if log := w.log.String(); strings.Count(log, failed) != 1 || !strings.Contains(log, "everything=true pods=1 ") || strings.Contains(log, again) {
			t.Errorf("want it said once that plans for everything fail:\n%s", log)
		}
		w.planner.mu.Lock()
		w.planner.sweeps = nil
		w.planner.mu.Unlock()
		w.after(15 * time.Second)
		if !strings.Contains(w.log.String(), again) {
			t.Errorf("the log does not say that it is over:\n%s", w.log)
		}
	})
}

func TestPendingPodsAreRelayedWhenTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pods("lost-0")
		w.after(time.Minute) // several sweeps
		if n := w.actuator.count(); n != 1 || len(w.actuator.plans[0].GetPending()) != 1 {
			t.Fatalf("%d plans were relayed for one pod that stays pending", n)
		}
		if n := len(w.planner.asked); n < 5 {
			t.Errorf("the planner was asked %d times in a minute, want every ten seconds", n)
		}
		w.pods("lost-1")
		w.after(time.Second)
		if n := w.actuator.count(); n != 2 {
			t.Errorf("%d plans after another pod", n)
		}
		w.gone("lost-0")
		w.gone("lost-1")
		w.pods("lost-2")
		w.gone("lost-2")
		w.after(time.Minute)
		if n := w.actuator.count(); n != 3 || len(w.actuator.plans[2].GetPending()) != 0 {
			t.Errorf("%d plans after all are gone, want one more, which says so", n)
		}
	})
}

func TestPlacesAreRelayedWhenTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.place = "n1"
		relayed := func(want int, why string) {
			t.Helper()
			w.after(time.Minute) // several sweeps
			if n := w.actuator.count(); n != want {
				t.Errorf("%d plans were relayed, want %d: %s", n, want, why)
			}
		}
		w.pods("placed-0", "placed-1")
		relayed(1, "two pods have a place")
		w.gone("placed-0")
		relayed(1, "that one needs none any more is no news")
		w.planner.mu.Lock()
		w.planner.place = "n2"
		w.planner.mu.Unlock()
		relayed(2, "one has another place")
		w.pods("placed-2")
		relayed(3, "one more has a place")
		w.inventory(true, true, 2)
		relayed(4, "the actuator's next leader has been told nothing")
		w.inventory(false, false, 3)
		w.inventory(false, true, 4)
		relayed(5, "another watcher drove meanwhile")
	})
}

func TestWithNothingToDoThereIsNoPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.after(time.Hour)
		if n := len(w.planner.asked); n != 0 {
			t.Errorf("%d plans for an empty cluster", n)
		}
	})
}

func TestAStaticPoolOrABufferAloneIsPlannedFor(t *testing.T) {
	pool := func(replicas *int64) snapshot.Object {
		return wire.Object(snapshot.NodePool, "fixed", &clusterpb.NodePool{Name: "fixed", Replicas: replicas})
	}
	buffer := wire.Object(snapshot.CapacityBuffer, "shop/room", &clusterpb.CapacityBuffer{Id: "shop/room"})
	for name, tc := range map[string]struct {
		object snapshot.Object
		want   []string
	}{
		"a static pool":    {pool(new(int64(2))), []string{"1s", "1m1s"}},
		"a buffer":         {buffer, []string{"1s", "1m1s"}},
		"a pool like most": {pool(nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.cluster <- snapshot.Batch{Events: []snapshot.Event{snapshot.Put(time.Now(), tc.object)}}
				w.after(90 * time.Second)
				if diff := cmp.Diff(tc.want, w.sweeps()); diff != "" {
					t.Errorf("sweeps (-want +got):\n%s", diff)
				}
				w.cluster <- snapshot.Batch{Events: []snapshot.Event{snapshot.Delete(time.Now(), tc.object.Kind, tc.object.ID)}}
				w.after(time.Hour)
				if diff := cmp.Diff(tc.want, w.sweeps()); diff != "" {
					t.Errorf("sweeps once it is gone (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestOneSpanPerBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		opened := time.Now()
		w.pods("web-0", "web-1", "web-2")
		w.after(100 * time.Millisecond)
		spans := w.spans.Ended()
		if len(spans) != 1 || spans[0].Name() != "watcher.Batch" {
			t.Fatalf("spans %v, want one watcher.Batch", spans)
		}
		if !spans[0].StartTime().Equal(opened) {
			t.Errorf("the span begins at %s, the batch opened at %s", spans[0].StartTime(), opened)
		}
		got := map[string]string{}
		for _, a := range spans[0].Attributes() {
			got[string(a.Key)] = a.Value.String()
		}
		want := map[string]string{"kerf.snapshot.revision": "2", "kerf.plan.id": "p-1", "kerf.pods": "3"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		id := spans[0].SpanContext().TraceID().String()
		if tp := w.planner.asked[0].GetTraceparent(); !strings.Contains(tp, id) {
			t.Errorf("the planner was given trace %q, want %s", tp, id)
		}
		if tp := w.actuator.plans[0].GetTraceparent(); !strings.Contains(tp, id) {
			t.Errorf("the plan carries trace %q, want %s", tp, id)
		}
	})
}

func TestPodsThatComeWhileAPlanIsMadeAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.took = 5 * time.Second
		w.pods("web-0")
		w.after(time.Second)
		w.pods("web-1")
		w.after(20 * time.Second)
		if n := w.actuator.count(); n < 2 || len(w.actuator.plans[1].GetNodeClaims()[0].GetPods()) != 2 {
			t.Errorf("%d plans, want a second one with both pods", n)
		}
	})
}

func TestASearchThatEndedEarlyGoesOnWhereItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.ends = []string{"node-b", "node-d", ""}
		w.claim(2, &clusterpb.Claim{Id: "c-1", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED})
		w.after(95 * time.Second)
		want := []string{"1s", "11s node-b", "21s node-d", "1m21s"}
		if diff := cmp.Diff(want, w.sweeps()); diff != "" {
			t.Errorf("sweeps (-want +got):\n%s", diff)
		}
	})
}

func TestAFailureDoesNotForgetWhereASearchEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.ends = []string{"node-b"}
		w.claim(2, &clusterpb.Claim{Id: "c-1", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED})
		w.after(2 * time.Second)
		w.planner.set(status.Error(codes.Unavailable, "no planner today"))
		w.after(15 * time.Second)
		w.planner.set(nil)
		w.pods("web-0") // a plan for pods alone goes on nowhere
		w.after(15 * time.Second)
		if got := w.sweeps(); len(got) < 2 || !strings.HasSuffix(got[1], " node-b") {
			t.Errorf("sweeps %q, want the second to go on after node-b", got)
		}
		for _, d := range w.planner.asked {
			if len(d.GetKinds()) > 0 && d.GetResumeAfter() != "" {
				t.Errorf("a plan for %v is to go on after %s", d.GetKinds(), d.GetResumeAfter())
			}
		}
	})
}

func TestAPlanIsReconsideredWhenItAsksForThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.reconsider = w.start.Add(30 * time.Second)
		w.claim(2, &clusterpb.Claim{Id: "c-1", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED})
		w.after(100 * time.Second)
		if diff := cmp.Diff([]string{"1s", "31s", "1m31s"}, w.sweeps()); diff != "" {
			t.Errorf("sweeps (-want +got):\n%s", diff)
		}
	})
}

func TestAQuietClusterIsLookedAtOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.claim(2, &clusterpb.Claim{Id: "c-1", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED})
		w.after(10*time.Minute + 30*time.Second)
		if n := len(w.sweeps()); n != 11 {
			t.Errorf("%d sweeps in ten minutes and a half, want the first and one a minute: %q", n, w.sweeps())
		}
	})
}

func TestProblemsOfUsersObjectsAreSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		never := []*clusterpb.Reason{{
			Code: clusterpb.ReasonCode_REASON_CODE_PDB, Subject: &clusterpb.ObjectRef{Kind: "poddisruptionbudget", Name: "shop/web"}, Message: "it never allows an eviction",
			Remedy: "let it allow one",
		}}
		const line = `subject=poddisruptionbudget/shop/web code=REASON_CODE_PDB reason="it never allows an eviction" ` +
			`remedy="let it allow one"`
		count := func() int { return strings.Count(w.log.String(), line) }
		say := func(list []*clusterpb.Reason) {
			w.planner.mu.Lock()
			w.planner.problems = list
			w.planner.mu.Unlock()
		}
		say(never)
		w.claim(2, &clusterpb.Claim{Id: "c-1", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED})
		w.after(3 * time.Minute)
		w.pods("web-0") // a plan for pods alone says nothing of them
		w.after(time.Minute)
		if n := count(); n != 1 {
			t.Errorf("it was said %d times in four minutes:\n%s", n, w.log)
		}
		say(nil)
		w.after(2 * time.Minute)
		say(never)
		w.after(2 * time.Minute)
		if n := count(); n != 2 {
			t.Errorf("it was said %d times, want again when it has come back", n)
		}
	})
}
