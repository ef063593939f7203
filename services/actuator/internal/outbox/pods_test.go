package outbox

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// stuck are pods that no plan finds a place for, each with a reason of its own.
func stuck(n int) map[model.PodID]model.Reason {
	out := map[model.PodID]model.Reason{}
	for i := range n {
		out[model.PodID(fmt.Sprint("default/stuck-", i))] = model.Reason{Message: fmt.Sprint("too large: ", i)}
	}
	return out
}

// rounds publishes until there is nothing to publish, and returns what each round has told, by the object.
func (r *rig) rounds(t *testing.T) []map[string]string {
	t.Helper()
	var out []map[string]string
	for {
		p := r.publish(t, View{})
		if len(p.Events) == 0 {
			return out
		}
		told := map[string]string{}
		for _, e := range p.Events {
			told[e.Kind+"/"+e.Name] = e.Message
		}
		out = append(out, told)
	}
}

func TestAPodLearnsWhyThereIsNoPlaceForIt(t *testing.T) {
	r := newRig()
	r.Pods(maps.All(map[model.PodID]model.Reason{
		"default/web": {Message: "too large", Remedy: "allow a larger type"}, "web": {Message: "no namespace"}, "default/silent": {},
	}), nil)
	got := r.rounds(t)
	if len(got) != 1 || len(got[0]) != 1 || got[0]["Pod/web"] != "too large; allow a larger type" {
		t.Errorf("told are %v", got)
	}
}

// TestAPodLearnsThatItWaitsForTheRoomOfOthers: it was Pending without a word of Kerf, while nothing was bought for it.
func TestAPodLearnsThatItWaitsForTheRoomOfOthers(t *testing.T) {
	r := newRig()
	until := time.Date(2026, 11, 29, 10, 0, 30, 0, time.UTC)
	placed := []model.Placement{
		{Pod: "default/web", Node: "n1", WaitUntil: until}, {Pod: "default/there", Node: "n1"}, {Pod: "default/buffer/0", Node: "n1", WaitUntil: until},
	}
	r.Pods(maps.All(map[model.PodID]model.Reason{}), placed)
	got := r.rounds(t)
	if len(got) != 1 || len(got[0]) != 1 || got[0]["Pod/web"] != "it waits for the room of pods that are ending on node n1, until 2026-11-29T10:00:30Z at the latest" {
		t.Errorf("told are %v", got)
	}
	r.Pods(maps.All(map[model.PodID]model.Reason{}), placed)
	if got := r.rounds(t); len(got) != 0 {
		t.Errorf("told again are %v", got)
	}
	r.Pods(maps.All(map[model.PodID]model.Reason{"default/web": {Message: "too large"}}), nil)
	if got := r.rounds(t); len(got) != 1 || got[0]["Pod/web"] != "too large" {
		t.Errorf("told once it has no place are %v", got)
	}
}

// TestThousandsOfPodsWithoutAPlaceKeepNothingOut: 5,000 pods that can never be scheduled are a standing thing in a
// large cluster.
func TestThousandsOfPodsWithoutAPlaceKeepNothingOut(t *testing.T) {
	r := newRig()
	r.step = time.Second
	r.Notice(model.Notice{Kind: model.NoticeSpotInterruption, InstanceID: "i-1"}, model.Claim{ID: "c1"})
	list := stuck(1200)
	r.Pods(maps.All(list), nil)
	p := r.publish(t, View{})
	if len(p.Events) == 0 || p.Events[0].Name != "c1" {
		t.Fatalf("the first events are %+v, want that of the claim", p.Events[:min(3, len(p.Events))])
	}
	told := len(p.Events) - 1
	r.Evicted(cluster.Eviction{Namespace: "default", Name: "evicted", Node: "n1", Why: model.ReasonDrifted})
	got := r.rounds(t)
	if _, is := got[0]["Pod/evicted"]; !is {
		t.Error("a hint finds no room while thousands of pods are told")
	}
	for _, round := range got {
		told += len(round)
	}
	if told != 1200+1 {
		t.Errorf("%d were told, want 1,200 and the pod that was evicted", told)
	}

	list["default/new"] = model.Reason{Message: "too large"}
	list["default/stuck-7"] = model.Reason{Message: "larger still"}
	r.Pods(maps.All(list), nil)
	if got := r.rounds(t); len(got) != 1 || len(got[0]) != 2 || got[0]["Pod/stuck-7"] != "larger still" {
		t.Errorf("%d rounds tell, want one of the pod that is new, and the one of which something else is said", len(got))
	}
	r.Pods(maps.All(map[model.PodID]model.Reason{}), nil)
	r.Pods(maps.All(list), nil)
	again := 0
	for _, round := range r.rounds(t) {
		again += len(round)
	}
	if again != len(list) {
		t.Errorf("%d pods were told that have come back, want all %d", again, len(list))
	}
}

// TestPodsAreToldThoughMessagesChangeWithEachPlan: what is left of a limit changes with each node of the pool.
func TestPodsAreToldThoughMessagesChangeWithEachPlan(t *testing.T) {
	r := newRig()
	r.step = time.Second
	told := map[string]bool{}
	for round := range 100 {
		list := stuck(1200)
		for pod := range list {
			list[pod] = model.Reason{Message: fmt.Sprint("left are ", round)}
		}
		r.Pods(maps.All(list), nil)
		for _, e := range r.publish(t, View{}).Events {
			told[e.Name] = true
		}
	}
	if len(told) != 1200 {
		t.Errorf("%d of 1,200 pods were told after 100 plans with room for 25 each", len(told))
	}
}
