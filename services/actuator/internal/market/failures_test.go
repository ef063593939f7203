package market

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// refusing refuses all that is asked of it.
type refusing struct {
	cloud.Classes
	cloud.Market
}

func (refusing) Release(context.Context, cloud.ClassSpec) error { return errors.New("DeleteConflict") }

func (refusing) Sweep(context.Context, time.Duration) ([]string, error) {
	return nil, errors.New("UnauthorizedOperation")
}

func (refusing) SpotPrices(context.Context) (map[cloud.TypeZone]int64, error) {
	return nil, errors.New("no route to host")
}

// TestWhatFailsForADayIsNoDayOfLines: a class that could not be released, and launch templates that could not be swept,
// had a line each minute, as long as it lasted. All that fails says so in one way.
func TestWhatFailsForADayIsNoDayOfLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := config()
		c.Classes, c.Market, c.TypesEvery, c.SpotEvery = refusing{}, refusing{}, 48*time.Hour, time.Minute
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		m := New(c)
		m.typesAt = time.Now()
		s := NewClasses(m)
		s.Lead()
		no := func(model.NodeClassName) bool { return false }
		for until := time.Now().Add(24 * time.Hour); time.Now().Before(until); {
			c.Agenda.Begin(time.Now())
			m.refreshSpot(t.Context())
			s.Refresh(t.Context(), []cluster.Class{{Spec: cloud.ClassSpec{Name: "default", UID: "1"}, Terminating: true}}, nil, no)
			s.Sweep(t.Context(), no)
			select {
			case done := <-c.Jobs.Results():
				done()
			case <-time.After(10 * time.Second):
			}
		}
		c.Jobs.Wait()
		for _, work := range []string{"release node class", "sweep launch templates", "ask for spot prices"} {
			if n := strings.Count(log.String(), `msg="work failed" work="`+work+`"`); n < 5 || n > 15 {
				t.Errorf("%d lines about %q, want one for the 1st, 2nd, 4th, 8th failure and so on:\n%.2000s", n, work, log.String())
			}
		}
	})
}
