package offer_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

func at(minute int) time.Time { return time.Date(2026, 11, 27, 18, minute, 0, 0, time.UTC) }

func ids(s model.Snapshot) []model.PodID {
	var out []model.PodID
	for _, p := range s.Pods {
		out = append(out, p.ID)
	}
	return out
}

func TestBuffersArePodsThatDoNotExistYet(t *testing.T) {
	s := model.Snapshot{
		PodClasses: []model.PodClass{{ID: "c", Namespace: "shop"}},
		Pods:       []model.Pod{{ID: "a/p", Class: "c"}, {ID: "shop/web-0", Class: "c"}},
		CapacityBuffers: []model.CapacityBuffer{
			{ID: "shop/room", Class: "c", Replicas: 2, CreateTime: at(0)},
			{ID: "shop/none", Class: "c"},
			{ID: "shop/lost", NotReady: model.Reason{Code: model.CodeBufferReference, Subject: "capacitybuffer/shop/lost"}},
		},
	}
	got, problems := offer.Expand(s, at(1))
	want := []model.PodID{"a/p", "buffer/shop/room/0", "buffer/shop/room/1", "shop/web-0"}
	if diff := cmp.Diff(want, ids(got)); diff != "" {
		t.Errorf("pods (-want +got, case 88):\n%s", diff)
	}
	if len(s.Pods) != 2 {
		t.Error("the snapshot that was given has changed")
	}
	pod := model.Pod{
		ID: "buffer/shop/room/0", UID: "buffer/shop/room/0", Class: "c", Phase: model.PodUnschedulable, CreateTime: at(0), UnschedulableTime: at(0),
	}
	if diff := cmp.Diff(pod, got.Pods[1]); diff != "" {
		t.Errorf("a virtual pod (-want +got):\n%s", diff)
	}
	if len(problems) != 1 || problems[0].Subject != "capacitybuffer/shop/lost" {
		t.Errorf("problems %v", problems)
	}
	if same, none := offer.Expand(model.Snapshot{Pods: s.Pods}, at(1)); len(same.Pods) != 2 || none != nil {
		t.Error("a snapshot without buffers has changed")
	}
}

func TestABufferHasItsTime(t *testing.T) {
	buffer := model.CapacityBuffer{ID: "shop/event", Class: "c", Replicas: 1, StartTime: at(10), ExpireTime: at(20)}
	for minute, want := range map[int]int{0: 0, 9: 0, 10: 1, 19: 1, 20: 0, 30: 0} {
		s := model.Snapshot{PodClasses: []model.PodClass{{ID: "c"}}, CapacityBuffers: []model.CapacityBuffer{buffer}}
		if got, _ := offer.Expand(s, at(minute)); len(got.Pods) != want {
			t.Errorf("at minute %d it asks for %d pods, want %d", minute, len(got.Pods), want)
		}
	}
}

func TestAOneShotBufferIsUsedUp(t *testing.T) {
	app := func(extra ...model.Label) model.Labels {
		return append(model.Labels{{Key: "app", Value: "web"}}, extra...)
	}
	classes := []model.PodClass{
		{ID: "buffer", Namespace: "shop", Labels: app()},
		{ID: "web", Namespace: "shop", Labels: app(model.Label{Key: "pod-template-hash", Value: "x"})},
		{ID: "other", Namespace: "shop", Labels: model.Labels{{Key: "app", Value: "db"}}},
		{ID: "elsewhere", Namespace: "test", Labels: app()},
		{ID: "daemon", Namespace: "shop", Labels: app(), Daemon: true},
	}
	pod := func(id, class string, created int) model.Pod {
		return model.Pod{ID: model.PodID(id), Class: model.ClassID(class), CreateTime: at(created)}
	}
	ending := pod("shop/web-9", "web", 5)
	ending.Terminating = true
	tests := map[string]struct {
		pods []model.Pod
		want int
	}{
		"no pod came":               {nil, 3},
		"one came":                  {[]model.Pod{pod("shop/web-0", "web", 5)}, 2},
		"pending ones count, too":   {[]model.Pod{pod("shop/web-0", "web", 5), {ID: "shop/web-1", Class: "web", CreateTime: at(6), Phase: model.PodUnschedulable}}, 1},
		"more came than there was":  {[]model.Pod{pod("shop/web-0", "web", 5), pod("shop/web-1", "web", 5), pod("shop/web-2", "web", 5), pod("shop/web-3", "web", 5)}, 0},
		"those who were there":      {[]model.Pod{pod("shop/web-0", "web", 0), pod("shop/web-1", "web", 1)}, 3},
		"other pods":                {[]model.Pod{pod("shop/db-0", "other", 5), pod("test/web-0", "elsewhere", 5), pod("shop/agent", "daemon", 5)}, 3},
		"one that is ending":        {[]model.Pod{ending}, 3},
		"one of an unknown to come": {[]model.Pod{pod("shop/x", "nowhere", 5)}, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := model.Snapshot{PodClasses: classes, Pods: tt.pods, CapacityBuffers: []model.CapacityBuffer{
				{ID: "shop/event", Class: "buffer", Replicas: 3, OneShot: true, CreateTime: at(1)},
			}}
			got, _ := offer.Expand(s, at(9))
			if n := len(got.Pods) - len(tt.pods); n != tt.want {
				t.Errorf("capacity for %d, want %d", n, tt.want)
			}
		})
	}
}

func TestABufferThatAsksForTooMuchIsCutAndTold(t *testing.T) {
	s := model.Snapshot{
		PodClasses:      []model.PodClass{{ID: "c", Namespace: "shop"}},
		CapacityBuffers: []model.CapacityBuffer{{ID: "shop/slip", Class: "c", Replicas: 1 << 62}},
	}
	got, problems := offer.Expand(s, at(1))
	if len(got.Pods) != 5000 || len(problems) != 1 || problems[0].Subject != "capacitybuffer/shop/slip" {
		t.Errorf("%d pods, problems %v", len(got.Pods), problems)
	}
}
