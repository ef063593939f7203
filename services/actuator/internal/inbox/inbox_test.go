package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
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
