package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/interrupt"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
	"github.com/kerf-dev/kerf/services/core/model"
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

// TestChecksAreLookedAtAgainOnceCredentialsAreRenewed: a token that had run out for a minute kept EC2 from being asked
// for an hour, in which no maintenance and no failing check was seen.
func TestChecksAreLookedAtAgainOnceCredentialsAreRenewed(t *testing.T) {
	for code, tt := range map[string]struct {
		asked, allow int
	}{
		"ExpiredToken":          {asked: 30, allow: 0},
		"UnauthorizedOperation": {asked: 1, allow: 1},
	} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 29*time.Minute+time.Second)
				defer cancel()
				var log bytes.Buffer
				c := &checks{err: fmt.Errorf("%w: %w", cloud.ErrUnauthorized, &smithy.GenericAPIError{Code: code})}
				New(Config{Checks: c, Log: slog.New(slog.NewTextHandler(&log, nil))}).watch(ctx, nil)
				if c.asked != tt.asked {
					t.Errorf("asked %d times in half an hour, want %d", c.asked, tt.asked)
				}
				if got := strings.Count(log.String(), "allow ec2:DescribeInstanceStatus"); got != tt.allow {
					t.Errorf("the right is asked for %d times, want %d:\n%s", got, tt.allow, log.String())
				}
				if got := strings.Count(log.String(), "level=WARN"); got < 1 || got > 6 {
					t.Errorf("%d warnings:\n%s", got, log.String())
				}
			})
		})
	}
}

type checks struct {
	err   error
	asked int
}

func (c *checks) Statuses(context.Context) ([]cloud.Status, error) {
	c.asked++
	return nil, c.err
}

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

// TestAZoneThatFailsIsSaidOnceAMinute: hundreds of instances whose checks fail are one cause.
func TestAZoneThatFailsIsSaidOnceAMinute(t *testing.T) {
	memory := storetest.New()
	term, err := memory.Campaign(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	r := registry.New(memory, &agenda.Agenda{})
	if err := r.Load(t.Context(), term.Fence); err != nil {
		t.Fatal(err)
	}
	var b store.Batch
	var list []cloud.Status
	long := time.Now().Add(-time.Hour)
	for i := range 600 {
		c := model.Claim{ID: model.ClaimID(fmt.Sprint("c", i)), InstanceID: fmt.Sprint("i-", i), NodePool: "a", State: model.ClaimInitialized, Reached: model.ClaimInitialized}
		if i%6 == 0 {
			c.NodePool = "b"
		}
		if i%2 == 0 {
			list = append(list, cloud.Status{InstanceID: c.InstanceID, Impaired: true, ImpairedSince: long})
		}
		b.PutClaims = append(b.PutClaims, c)
	}
	if _, err := r.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	x := New(Config{Registry: r, Log: slog.New(slog.NewTextHandler(&log, nil))})
	first := map[string]time.Time{}
	since(list, first, time.Now())
	notices := interrupt.Statuses(list, time.Now())
	if len(notices) != 300 {
		t.Fatalf("%d notices, want 300", len(notices))
	}
	if err := x.checked(t.Context(), notices, slices.Collect(maps.Keys(first))); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "pool=a instances=200") || !strings.Contains(lines[1], "pool=b instances=100") {
		t.Errorf("%d lines, the first %s; want one for each of two pools", len(lines), lines[0])
	}
	if len(r.Notices) > 0 {
		t.Errorf("%d are given up", len(r.Notices))
	}
}
