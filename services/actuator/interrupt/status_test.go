package interrupt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestStatuses(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := now.Add(48 * time.Hour)
	impaired := func(d time.Duration) cloud.Status {
		return cloud.Status{InstanceID: "i-1", Impaired: true, ImpairedSince: now.Add(-d)}
	}
	scheduled := func(code, description string) cloud.Status {
		return cloud.Status{InstanceID: "i-1", Events: []cloud.ScheduledEvent{{ID: "event-1", Code: code, Description: description, NotBefore: later}}}
	}
	for name, tt := range map[string]struct {
		status cloud.Status
		want   []model.Notice
	}{
		"checks that have failed for 119 seconds": {impaired(119 * time.Second), nil},
		"checks that have failed for two minutes": {impaired(120 * time.Second), []model.Notice{{
			ID: "ec2-status/i-1/impaired", Kind: model.NoticeStateChange, InstanceID: "i-1", InstanceState: "impaired",
			EventTime: now.Add(-2 * time.Minute), Deadline: now,
		}}},
		"a retirement ends the instance": {scheduled("instance-retirement", "soon"), []model.Notice{{
			ID: "ec2-status/i-1/event-1", Kind: model.NoticeScheduledChange, InstanceID: "i-1", EventTime: now, StartTime: later, Deadline: later,
		}}},
		"a reboot does not": {scheduled("system-reboot", ""), []model.Notice{{
			ID: "ec2-status/i-1/event-1", Kind: model.NoticeScheduledChange, InstanceID: "i-1", EventTime: now, StartTime: later,
		}}},
		"an event that is over":       {scheduled("system-reboot", "[Completed] done"), nil},
		"an event that is called off": {scheduled("instance-stop", "[Canceled] not now"), nil},
		"nothing":                     {cloud.Status{InstanceID: "i-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Statuses([]cloud.Status{tt.status}, now)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for _, n := range got {
				if !OfStatus(n.ID) {
					t.Errorf("id %s is not known again", n.ID)
				}
			}
		})
	}
}
