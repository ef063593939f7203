package nominate

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestRoom(t *testing.T) {
	cpu := func(n int64) model.Amounts { return model.Amounts{{Resource: model.CPU, Value: n}} }
	node := model.Amounts{{Resource: model.CPU, Value: 1500}, {Resource: model.Pods, Value: 4}}
	for name, x := range map[string]struct {
		requests model.Amounts // the claim's
		asks     map[model.PodID]int64
		arriving []model.PodID
		list     []model.PodID
		bind     []model.PodID
	}{
		"those that it was bought for":              {cpu(1000), map[model.PodID]int64{"a": 500, "b": 500}, nil, []model.PodID{"a", "b"}, []model.PodID{"a", "b"}},
		"another beside them":                       {cpu(1000), map[model.PodID]int64{"a": 500, "x": 500}, nil, []model.PodID{"a", "x"}, []model.PodID{"a", "x"}},
		"none in their room":                        {cpu(1000), map[model.PodID]int64{"x": 501}, nil, []model.PodID{"x"}, nil},
		"one that comes in the place of one":        {cpu(1000), map[model.PodID]int64{"x": 800}, []model.PodID{"x"}, []model.PodID{"x"}, []model.PodID{"x"}},
		"one that asks for more than the one did":   {cpu(1000), map[model.PodID]int64{"x": 800, "y": 800}, []model.PodID{"x", "y"}, []model.PodID{"x", "y"}, []model.PodID{"x"}},
		"one that is asked about twice":             {cpu(1000), map[model.PodID]int64{"a": 1000}, nil, []model.PodID{"a", "a"}, []model.PodID{"a", "a"}},
		"one of which nothing is known":             {cpu(1000), nil, nil, []model.PodID{"a"}, nil},
		"none where the node has less than thought": {cpu(1600), map[model.PodID]int64{"a": 100}, nil, []model.PodID{"a"}, nil},
	} {
		room := NewRoom(&model.Claim{Pods: []model.PodID{"a", "b"}, Requests: x.requests}, node)
		for _, id := range x.arriving {
			room.Arrives(id)
		}
		var list []cluster.Nomination
		for _, id := range x.list {
			list = append(list, cluster.Nomination{Pod: cluster.UnboundPod{ID: id}})
		}
		bind, rest := room.Bind(list, func(id model.PodID) (model.Amounts, bool) {
			n, is := x.asks[id]
			return cpu(n), is
		})
		var got []model.PodID
		for _, n := range bind {
			got = append(got, n.Pod.ID)
		}
		if !slices.Equal(got, x.bind) || len(bind)+len(rest) != len(list) {
			t.Errorf("%s: %v are bound, want %v; %d are left", name, got, x.bind, len(rest))
		}
	}
}

func TestAPodThatGoesElsewhereGivesItsRoomBack(t *testing.T) {
	asks := map[model.PodID]int64{"a": 1000, "x": 1000, "y": 400, "z": 400}
	room := NewRoom(
		&model.Claim{Pods: []model.PodID{"a"}, Requests: model.Amounts{{Resource: model.CPU, Value: 1000}}},
		model.Amounts{{Resource: model.CPU, Value: 1500}, {Resource: model.Pods, Value: 1}},
	)
	bind := func(ids ...model.PodID) (bound []model.PodID) {
		var list []cluster.Nomination
		for _, id := range ids {
			list = append(list, cluster.Nomination{Pod: cluster.UnboundPod{ID: id}})
		}
		got, _ := room.Bind(list, func(id model.PodID) (model.Amounts, bool) {
			return model.Amounts{{Resource: model.CPU, Value: asks[id]}}, true
		})
		for _, n := range got {
			bound = append(bound, n.Pod.ID)
		}
		return bound
	}
	room.Arrives("x")
	if got := bind("a", "y"); !slices.Equal(got, []model.PodID{"a", "y"}) {
		t.Fatalf("%v are bound, want a and y", got)
	}
	if got := bind("x", "z"); len(got) != 0 {
		t.Fatalf("%v are bound though a and y have the room", got)
	}
	room.GiveBack(func(id model.PodID) bool { return id == "a" })
	if got := bind("x", "z"); !slices.Equal(got, []model.PodID{"z"}) {
		t.Fatalf("%v are bound, want z, in the room that y gave back", got)
	}
	room.GiveBack(func(id model.PodID) bool { return id == "z" })
	if got := bind("x", "y"); !slices.Equal(got, []model.PodID{"x"}) {
		t.Errorf("%v are bound, want x, in the room that a gave back", got)
	}
}
