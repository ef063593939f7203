package stream_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/watcher/internal/stream"
)

// drain reads what is queued, and says whether the subscription was cut off.
func drain(s *stream.Subscription[int]) (got []int, cut bool) {
	for {
		select {
		case v, ok := <-s.Values():
			if !ok {
				return got, true
			}
			got = append(got, v)
		default:
			return got, false
		}
	}
}

func TestSubscriberBeginsWithTheLatestValue(t *testing.T) {
	h := stream.New[int](4)
	early := h.Subscribe()
	h.Publish(1)
	h.Publish(2)
	late := h.Subscribe()
	h.Publish(3)
	for name, tc := range map[string]struct {
		sub  *stream.Subscription[int]
		want []int
	}{
		"early": {early, []int{1, 2, 3}},
		"late":  {late, []int{2, 3}},
	} {
		got, cut := drain(tc.sub)
		if diff := cmp.Diff(tc.want, got); diff != "" || cut {
			t.Errorf("%s subscriber, cut off %t (-want +got):\n%s", name, cut, diff)
		}
	}
}

func TestSlowSubscriberIsCutOffAndOthersAreNot(t *testing.T) {
	h := stream.New[int](2)
	slow, fast := h.Subscribe(), h.Subscribe()
	for i := range 3 {
		h.Publish(i)
		if got, cut := drain(fast); cut || len(got) != 1 {
			t.Fatalf("the fast subscriber got %v, cut off %t", got, cut)
		}
	}
	got, cut := drain(slow)
	if diff := cmp.Diff([]int{0, 1}, got); diff != "" || !cut {
		t.Errorf("the slow subscriber, cut off %t (-want +got):\n%s", cut, diff)
	}
	slow.End() // harmless after the cut
	h.Publish(9)
}

func TestEndedSubscriptionGetsNothing(t *testing.T) {
	h := stream.New[int](0)
	s := h.Subscribe()
	s.End()
	s.End()
	h.Publish(1)
	if got, cut := drain(s); len(got) != 0 || !cut {
		t.Errorf("got %v, ended %t", got, cut)
	}
	if v, ok := h.Latest(); !ok || v != 1 {
		t.Errorf("latest %d %t", v, ok)
	}
}
