package fenced

import (
	"context"
	"errors"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
)

// world counts what is done to it.
type world struct {
	cluster.Nominator
	cluster.Replicas
	done int
}

func (w *world) Bind(context.Context, []cluster.Nomination) (left, wait []cluster.Nomination, err error) {
	w.done++
	return nil, nil, nil
}

func (w *world) Cost(context.Context, []cluster.Replica) error {
	w.done++
	return nil
}

func TestPodsAreBoundAndRankedByALeaderAlone(t *testing.T) {
	lost, list := errors.New("another one leads"), []cluster.Nomination{{Node: "n1"}}
	for name, c := range map[string]struct {
		leads error
		done  int
		left  int
	}{
		"a leader": {nil, 2, 0},
		"one that leads no longer, and leaves all as it is": {lost, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, leads := &world{}, func(context.Context) error { return c.leads }
			left, wait, err := Nominator(w, leads).Bind(t.Context(), list)
			if len(left) != c.left || len(wait) != 0 || !errors.Is(err, c.leads) {
				t.Errorf("bind leaves %v, has %v wait, and says %v", left, wait, err)
			}
			if err := Replicas(w, leads).Cost(t.Context(), nil); !errors.Is(err, c.leads) {
				t.Errorf("cost says %v, want %v", err, c.leads)
			}
			if w.done != c.done {
				t.Errorf("%d things were done, want %d", w.done, c.done)
			}
		})
	}
	if Nominator(nil, nil) != nil || Replicas(nil, nil) != nil {
		t.Error("what is not there is fenced")
	}
}
