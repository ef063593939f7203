package nominate

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestArrivalsComeInPlaceOfThePodsThatAreMoved(t *testing.T) {
	pod := func(name, owner string, daemon bool) cluster.Pod {
		return cluster.Pod{Namespace: "d", Name: name, Owner: owner, Daemon: daemon}
	}
	claim := &model.Claim{Pods: []model.PodID{"d/a1", "d/a2", "d/b1", "d/daemon", "d/not-there", "d/single"}}
	claim.Arrivals = ArrivalsOf(claim.Pods, []cluster.Node{
		{Pods: []cluster.Pod{pod("a1", "a", false), pod("b1", "b", false), pod("daemon", "ds", true), pod("single", "", false)}},
		{Pods: []cluster.Pod{pod("a2", "a", false), pod("a3", "a", false)}}, // a3 goes elsewhere
	})
	arrivals := To(claim)
	if arrivals.Missing(nil) != 3 || arrivals["a"] != 2 || arrivals["b"] != 1 {
		t.Fatalf("%v, want two of a and one of b", arrivals)
	}
	waiting := func(owner string) []cluster.UnboundPod {
		return map[string][]cluster.UnboundPod{
			"a": {{ID: "d/a4", Owner: "a"}, {ID: "d/a5", Owner: "a", Nominated: "n", ByKerf: true}, {ID: "d/a6", Owner: "a"}},
			"b": {{ID: "d/b2", Owner: "b", Nominated: "n"}},
			"c": {{ID: "d/c1", Owner: "c"}},
		}[owner]
	}
	for _, x := range []struct {
		name    string
		came    map[model.PodID]string
		refused map[model.PodID]bool
		want    []model.PodID
		missing int
	}{
		{"as many as were moved, but for what preemption has a place for", nil, nil, []model.PodID{"d/a4", "d/a5"}, 3},
		{"those that are on their way are not let in twice", map[model.PodID]string{"d/a4": "a"}, nil, []model.PodID{"d/a5"}, 2},
		{"one that can't be let in keeps no other out", nil, map[model.PodID]bool{"d/a4": true}, []model.PodID{"d/a5", "d/a6"}, 3},
		{"no more once all have come", map[model.PodID]string{"d/a7": "a", "d/a8": "a", "d/a9": "a"}, nil, nil, 1},
	} {
		if got := arrivals.Missing(x.came); got != x.missing {
			t.Errorf("%s: %d are missing, want %d", x.name, got, x.missing)
		}
		var got []model.PodID
		for _, p := range arrivals.Next(waiting, x.came, x.refused) {
			got = append(got, p.ID)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
	if got := Arrivals(nil).Next(waiting, map[model.PodID]string{"d/a4": "a"}, nil); got != nil {
		t.Errorf("a node that nothing is moved to lets in %v", got)
	}
}
