package churn

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// noon is when the tests plan.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// at is a time before noon.
func at(before time.Duration) time.Time { return noon().Add(-before) }

// viewOf is a view of nothing but what a test adds to it.
func viewOf(t *testing.T, policy model.Policy) *view.View {
	t.Helper()
	w, err := view.NewWorld(&model.Snapshot{}, policy, noon())
	if err != nil {
		t.Fatal(err)
	}
	return view.NewView(w)
}

// podOf is a pod of a ReplicaSet.
func podOf(owner, revision string, bound time.Duration) view.Pod {
	c := &view.Class{PodClass: &model.PodClass{OwnerKind: "ReplicaSet", OwnerName: owner, OwnerRevision: revision}}
	return view.Pod{Pod: &model.Pod{BindTime: at(bound), CreateTime: at(bound)}, Class: c}
}

func TestEvictionsWeighWhatPodsSay(t *testing.T) {
	tests := map[string]struct {
		bound    time.Duration
		cost     int32
		priority int32
		want     int64
	}{
		"an ordinary pod":                {2 * time.Hour, 0, 0, 1000},
		"one that has just started":      {0, 0, 0, 20000},
		"one that has run for a moment":  {10 * time.Second, 0, 0, 20000},
		"one that has run for a while":   {20 * time.Second, 0, 0, 9000},
		"one that has run for half that": {30 * time.Second, 0, 0, 4000},
		"one that has settled":           {time.Minute, 0, 0, 1000},
		"one that is bound in future":    {-time.Hour, 0, 0, 20000},
		"one that is easy to delete":     {2 * time.Hour, -1 << 31, 0, 0},
		"one of the highest priority":    {2 * time.Hour, 0, 2000000000, 10000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, model.Policy{})
			p := podOf("web", "", tt.bound)
			p.DeletionCost, p.Class.Priority = tt.cost, tt.priority
			v.Pods = []view.Pod{p}
			prices := NewPrices(v, 30*time.Minute)
			if got := prices.Now([]int{0}); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
			sought, settled := prices.Sum([]int{0}), prices.Settled([]int{0})
			if settled.After(v.Now) {
				v.Now = settled
			}
			if got := prices.Now([]int{0}); got != sought {
				t.Errorf("%d where it is looked for what is to go, want what it is at %s: %d", sought, settled, got)
			}
		})
	}
}

func TestSavingsMustPayBack(t *testing.T) {
	in := func(d time.Duration) *time.Duration { return &d }
	tests := map[string]struct {
		policy model.Policy
		price  int64
		factor float64
		want   int64
	}{
		"within the hour":             {model.Policy{}, 1000, 1, 1000},
		"twice with replacements":     {model.Policy{}, 1000, 2, 2000},
		"within two hours":            {model.Policy{Payback: in(2 * time.Hour)}, 1001, 1, 501},
		"what moves for nothing":      {model.Policy{}, 0, 3, 1},
		"the policy's own least":      {model.Policy{MinSaving: 5000}, 1000, 1, 5000},
		"at once is never":            {model.Policy{Payback: in(0)}, 1000, 1, 1<<61 - 1},
		"almost at once is never too": {model.Policy{Payback: in(1)}, 10000000, 1, 1 << 61},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := NewPrices(viewOf(t, tt.policy), time.Hour).Least(tt.price, tt.factor); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestARolloutIsOverTenMinutesAfterItsLastPod(t *testing.T) {
	tests := map[string]struct {
		pods []view.Pod
		want bool
	}{
		"two revisions, and a new pod":   {[]view.Pod{podOf("web", "1", time.Hour), podOf("web", "2", 9*time.Minute)}, true},
		"two revisions that are settled": {[]view.Pod{podOf("web", "1", time.Hour), podOf("web", "2", 10*time.Minute)}, false},
		"one revision":                   {[]view.Pod{podOf("web", "2", time.Hour), podOf("web", "2", time.Minute)}, false},
		"the other has another owner":    {[]view.Pod{podOf("web", "1", time.Hour), podOf("api", "2", time.Minute)}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, model.Policy{})
			v.Pods = tt.pods
			for _, p := range tt.pods {
				v.Classes = append(v.Classes, p.Class)
			}
			until := NewHistory(v).Rollouts.Until(rules.OwnerOf(tt.pods[0].Class.PodClass), noon())
			if got := !until.IsZero(); got != tt.want {
				t.Errorf("rolling is %v, want %v", got, tt.want)
			}
		})
	}
}
