package orphan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestJudge(t *testing.T) {
	born := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := born.Add(time.Hour)
	first := map[string]time.Time{"i-1": now}
	waits := Verdict{Since: first, Next: now.Add(time.Minute)}
	for name, c := range map[string]struct {
		instance   cloud.Instance
		claim      *model.Claim
		mirrored   bool
		registered bool
		since      map[string]time.Time
		want       Verdict
	}{
		"an instance of no claim waits":                    {instance: cloud.Instance{LaunchTime: now}, want: waits},
		"one whose claim has ended waits":                  {instance: cloud.Instance{LaunchTime: now}, claim: &model.Claim{State: model.ClaimGone}, want: waits},
		"the second instance of a claim waits":             {claim: &model.Claim{State: model.ClaimLaunched, InstanceID: "i-2"}, want: waits},
		"one that is stopped waits: it may come":           {instance: cloud.Instance{State: cloud.Stopped, LaunchTime: now}, want: waits},
		"one as old as the store, by another clock, waits": {instance: cloud.Instance{LaunchTime: born.Add(-margin)}, want: waits},
		"one that has waited is ended": {
			instance: cloud.Instance{LaunchTime: now}, since: map[string]time.Time{"i-1": now.Add(-time.Minute)},
			want: Verdict{
				Since: map[string]time.Time{"i-1": now.Add(-time.Minute)},
				End:   []cloud.Instance{{ID: "i-1", State: cloud.Running, Claim: "c", LaunchTime: now}},
			},
		},
		"one that has not waited long enough goes on waiting": {
			instance: cloud.Instance{LaunchTime: now}, since: map[string]time.Time{"i-1": now.Add(-time.Second)},
			want: Verdict{Since: map[string]time.Time{"i-1": now.Add(-time.Second)}, Next: now.Add(59 * time.Second)},
		},
		"one that is older than the store is left alone": {
			instance: cloud.Instance{LaunchTime: born.Add(-margin - 1)},
			want:     Verdict{Foreign: []cloud.Instance{{ID: "i-1", State: cloud.Running, Claim: "c", LaunchTime: born.Add(-margin - 1)}}},
		},
		"one whose claim is unknown and whose node is registered is left alone": {
			instance: cloud.Instance{LaunchTime: now}, registered: true, since: map[string]time.Time{"i-1": now.Add(-time.Hour)},
			want: Verdict{Foreign: []cloud.Instance{{ID: "i-1", State: cloud.Running, Claim: "c", LaunchTime: now}}},
		},
		"a node is no reason to keep an instance whose claim has ended": {
			instance: cloud.Instance{LaunchTime: now}, claim: &model.Claim{State: model.ClaimGone}, registered: true, want: waits,
		},
		"one whose claim has an object was lost by the store": {
			instance: cloud.Instance{LaunchTime: now}, mirrored: true,
			want: Verdict{Lost: []cloud.Instance{{ID: "i-1", State: cloud.Running, Claim: "c", LaunchTime: now}}},
		},
		"an object of a claim that has ended is no reason to keep its instance": {
			instance: cloud.Instance{LaunchTime: now}, claim: &model.Claim{State: model.ClaimGone}, mirrored: true, want: waits,
		},
		"one that is older than the store and was of a claim that it knows waits": {
			instance: cloud.Instance{LaunchTime: born.Add(-time.Hour)}, claim: &model.Claim{State: model.ClaimGone}, want: waits,
		},
		"the instance of a claim is none":              {claim: &model.Claim{State: model.ClaimLaunched, InstanceID: "i-1"}},
		"one of a claim that launches is none":         {claim: &model.Claim{State: model.ClaimLaunching}},
		"any of a claim that is being ended is none":   {claim: &model.Claim{State: model.ClaimTerminating, InstanceID: "i-2"}},
		"one that has ended is none":                   {instance: cloud.Instance{State: cloud.Terminated, LaunchTime: now}},
		"one that is ending is none":                   {instance: cloud.Instance{State: cloud.ShuttingDown, LaunchTime: now}},
		"one that is an orphan no longer is forgotten": {claim: &model.Claim{State: model.ClaimLaunched, InstanceID: "i-1"}, since: first},
		"one that is not shown any more is forgotten":  {instance: cloud.Instance{State: cloud.Terminated}, since: first},
	} {
		t.Run(name, func(t *testing.T) {
			i := c.instance
			i.ID, i.Claim = "i-1", "c"
			if i.State == "" {
				i.State = cloud.Running
			}
			w := World{Instances: []cloud.Instance{i}, Claims: map[model.ClaimID]*model.Claim{}, Born: born, Now: now, Patience: time.Minute}
			w.Mirrored = func(model.ClaimID) bool { return c.mirrored }
			w.Registered = func(string) bool { return c.registered }
			if c.claim != nil {
				w.Claims["c"] = c.claim
			}
			if diff := cmp.Diff(c.want, Judge(w, c.since)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOneWithoutATagIsLeftAlone(t *testing.T) {
	w := World{Instances: []cloud.Instance{{ID: "i-1", State: cloud.Running}}, Now: time.Unix(1, 0)}
	if diff := cmp.Diff(Verdict{}, Judge(w, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestNextIsTheEarliest(t *testing.T) {
	now := time.Unix(1000, 0)
	w := World{Now: now, Patience: time.Minute, Mirrored: func(model.ClaimID) bool { return false }, Registered: func(string) bool { return false }}
	for _, id := range []string{"i-1", "i-2", "i-3"} {
		w.Instances = append(w.Instances, cloud.Instance{ID: id, State: cloud.Running, Claim: "c", LaunchTime: now})
	}
	since := map[string]time.Time{"i-2": now.Add(-30 * time.Second)}
	if got := Judge(w, since).Next; !got.Equal(now.Add(30 * time.Second)) {
		t.Errorf("next is %v, want that of i-2", got)
	}
}
