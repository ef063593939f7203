package history_test

import (
	"math"
	"testing"

	"github.com/kerf-dev/kerf/test/versus/history"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestMoneyFollowsTheLivesOfNodes(t *testing.T) {
	t.Parallel()
	h := &history.History{Nodes: []history.Node{
		{Price: 3.6, Created: 10},
		{Price: 1.8, Created: 20, Deleted: 40},
	}}
	near(t, "cost before all", h.Cost(5), 0)
	near(t, "cost of both", h.Cost(20), 5.4)
	near(t, "cost once one has gone", h.Cost(40), 3.6)
	near(t, "spent over all", h.Spent(0, 110), 0.1+0.01)
	near(t, "spent over a part", h.Spent(30, 35), 0.005+0.0025)
	if n := h.NodesAt(30); n != 2 {
		t.Errorf("%d nodes, want 2", n)
	}
}

func TestPodsWaitUntilTheyAreBound(t *testing.T) {
	t.Parallel()
	h := &history.History{Pods: []history.Pod{
		{Created: 1, Bound: 3},
		{Created: 2},
		{Created: 2, Bound: 2, Finished: 4},
		{Created: 9, Bound: 10},
	}}
	waits := h.Waits(0, 5)
	if len(waits) != 2 || waits[0] != 0 || waits[1] != 2 {
		t.Errorf("waits %v, want 0 and 2", waits)
	}
}

func TestTheFirstNodeIsCountedFromTheFirstRefusal(t *testing.T) {
	t.Parallel()
	h := &history.History{
		Pods:  []history.Pod{{Created: 1, Refused: 1.5}, {Created: 1, Refused: 1.2}, {Created: 8, Refused: 9}},
		Nodes: []history.Node{{Created: 0.5}, {Created: 3.4}, {Created: 4}},
	}
	got, ok := h.FirstNode(1, 8)
	if !ok {
		t.Fatal("no first node")
	}
	near(t, "first node", got, 2.2)
	if _, ok := h.FirstNode(8, 20); ok {
		t.Error("a first node where none came")
	}
}

func TestEvictionsLeaveOutPreemption(t *testing.T) {
	t.Parallel()
	h := &history.History{Pods: []history.Pod{
		{Created: 1, Evicted: 5, Cause: "EvictionByEvictionAPI"},
		{Created: 1, Evicted: 6, Cause: "PreemptionByScheduler"},
		{Created: 1, Evicted: 9, Cause: "EvictionByEvictionAPI"},
		{Created: 1},
	}}
	if n := h.Evictions(0, 9); n != 1 {
		t.Errorf("%d evictions, want 1", n)
	}
}

func TestAPodMovesAgainWhenItsReplacementIsEvicted(t *testing.T) {
	t.Parallel()
	const cause = "EvictionByEvictionAPI"
	moves := []history.Pod{
		{Owner: "a", Created: 1, Evicted: 10, Cause: cause},
		{Owner: "a", Created: 10, Evicted: 20, Cause: cause}, // replaced the first, and moves again
		{Owner: "a", Created: 20},
		{Owner: "a", Created: 2, Evicted: 11, Cause: cause}, // replaced by the third
		{Owner: "b", Created: 30, Evicted: 35, Cause: cause},
		{Owner: "b", Created: 200, Evicted: 210, Cause: cause}, // too late to stand in for anything
		{Created: 1, Evicted: 3, Cause: cause},                 // nothing makes it anew
	}
	h := &history.History{Pods: moves}
	if n := h.MovedAgain(0, 300); n != 1 {
		t.Errorf("%d moved again, want 1", n)
	}
	if n := h.MovedAgain(15, 300); n != 0 {
		t.Errorf("%d moved again since 15, want none: the first move was before", n)
	}
}

func TestUseIsFromTheFirstLookToTheLast(t *testing.T) {
	t.Parallel()
	h := &history.History{Usage: []history.Usage{
		{CPU: map[string]float64{"a": 1, "b": 2}, Memory: map[string]uint64{"a": 1 << 20, "b": 3 << 20}},
		{CPU: map[string]float64{"a": 2, "b": 2}, Memory: map[string]uint64{"a": 4 << 20, "b": 3 << 20}},
		{CPU: map[string]float64{"a": 4, "b": 3}, Memory: map[string]uint64{"a": 2 << 20, "b": 2 << 20}},
	}}
	near(t, "CPU", h.CPU(), 4)
	peak, _, last := h.Memory()
	near(t, "peak", peak, 7)
	near(t, "last", last, 4)
}

func TestQuantilesAndMedians(t *testing.T) {
	t.Parallel()
	near(t, "p50 of nothing", history.Quantile(nil, 0.5), 0)
	near(t, "p50", history.Quantile([]float64{1, 2, 3, 4}, 0.5), 2)
	near(t, "p99", history.Quantile([]float64{1, 2, 3, 4}, 0.99), 4)
	near(t, "odd median", history.Median([]float64{9, 1, 3}), 3)
	near(t, "even median", history.Median([]float64{9, 1, 3, 5}), 4)
}
