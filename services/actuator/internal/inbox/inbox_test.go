package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/interrupt"
)

// queue has one message, and then fails; it notes when it was asked.
type queue struct {
	begun time.Time
	asked []time.Duration
	stop  func() // called with the eighth question
}

func (q *queue) Receive(context.Context) ([]cloud.Message, error) {
	q.asked = append(q.asked, time.Since(q.begun))
	switch len(q.asked) {
	case 1:
		return []cloud.Message{{ID: "m", Receipt: "r", Body: "{}"}}, nil
	case 8:
		q.stop()
	}
	return nil, errors.New("AccessDenied")
}

func (q *queue) Delete(context.Context, []string) error { return nil }

func TestPausesDoubleWhereAQueueFailsRightAfterAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := &queue{begun: time.Now(), stop: cancel}
		b := New(Config{
			Queue: q, Jobs: jobs.New(&agenda.Agenda{}, 1, 1), Log: slog.New(slog.DiscardHandler),
			Parse: func(string) (interrupt.Message, error) { return interrupt.Message{}, nil },
		})
		b.receive(ctx)
		if got := fmt.Sprint(q.asked); got != "[0s 0s 1s 3s 7s 15s 31s 1m1s]" {
			t.Errorf("asked at %s", got)
		}
	})
}

// TestAQueueThatFailsIsToldOfAndThatItWorksAgain: it is asked each half minute, and each failure was a line, for days.
func TestAQueueThatFailsIsToldOfAndThatItWorksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		b := New(Config{
			Queue: &outage{until: time.Now().Add(time.Hour), stop: cancel}, Jobs: jobs.New(&agenda.Agenda{}, 1, 1),
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		b.receive(ctx)
		if got := strings.Count(log.String(), "level=WARN"); got < 3 || got > 8 {
			t.Errorf("%d warnings in an hour:\n%s", got, log.String())
		}
		if got := strings.Count(log.String(), "notices are received again"); got != 1 {
			t.Errorf("%d lines say that it works again:\n%s", got, log.String())
		}
	})
}

// outage is a queue that fails until then.
type outage struct {
	until time.Time
	stop  func()
}

func (q *outage) Receive(context.Context) ([]cloud.Message, error) {
	if time.Now().Before(q.until) {
		return nil, errors.New("AccessDenied")
	}
	if time.Since(q.until) > time.Minute {
		q.stop()
	}
	return nil, nil
}

func (q *outage) Delete(context.Context, []string) error { return nil }

func TestAnImpairmentWithoutADateIsOldOnceItWasSeenForLong(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, impaired := map[string]time.Time{}, []cloud.Status{{InstanceID: "i-1", Impaired: true}}
	for _, tt := range []struct {
		after  time.Duration
		list   []cloud.Status
		notice bool
	}{
		{0, impaired, false},
		{time.Minute, impaired, false},
		{2 * time.Minute, impaired, true},
		{3 * time.Minute, nil, false},
		{4 * time.Minute, impaired, false}, // it was well in between
	} {
		list, at := slices.Clone(tt.list), now.Add(tt.after)
		since(list, first, at)
		if got := len(interrupt.Statuses(list, at)) > 0; got != tt.notice {
			t.Errorf("after %s: given up is %v, want %v", tt.after, got, tt.notice)
		}
	}
}

// TestANewLeaderGoesOnWithWhatIsKnownOfImpairments: EC2 does not say here since when the instance is impaired.
func TestANewLeaderGoesOnWithWhatIsKnownOfImpairments(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	list := func() []cloud.Status { return []cloud.Status{{InstanceID: "i-1", Impaired: true}} }
	before := list()
	since(before, map[string]time.Time{"i-1": now.Add(-3 * time.Minute)}, now)
	r := registry.New(nil, &agenda.Agenda{})
	for _, n := range interrupt.Statuses(before, now) {
		r.Notices[n.ID] = &n
	}
	next := list()
	since(next, New(Config{Registry: r}).impaired(), now)
	if got := interrupt.Statuses(next, now); len(got) != 1 || *r.Notices[got[0].ID] != got[0] {
		t.Errorf("the next leader finds %+v, want what is stored: %+v", got, r.Notices)
	}
}
