package plan_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/planner/plan"
)

func TestStopGivesAPlanAsIfThereWereNoneOrNoPlanAtAll(t *testing.T) {
	w := wellUsed(40, 8)
	w.Kinds = nil
	next := arrivals(w, 20, 150)
	asks := func(s *plan.Session, most int) (n int, err error) {
		q := question(&w.Input)
		q.Stop = func() bool { n++; return n > most }
		_, err = s.Decide(q)
		return n, err
	}
	s, err := plan.NewSession(&w.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(next()); err != nil {
		t.Fatal(err)
	}
	whole, err := s.Decide(question(&w.Input))
	if err != nil || len(whole.NodeClaims) == 0 {
		t.Fatalf("%v, %d claims", err, len(whole.NodeClaims))
	}
	total, err := asks(s, 1<<30)
	if err != nil || total < 100 {
		t.Fatalf("%v: asked %d times, which is not often", err, total)
	}
	for most := 0; most < total; most += 1 + total/97 {
		n, err := asks(s, most)
		if !errors.Is(err, plan.ErrStopped) || n != most+1 {
			t.Fatalf("stopped at ask %d of %d: %v after %d asks", most+1, total, err, n)
		}
	}
	again, err := s.Decide(question(&w.Input))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, again); diff != "" {
		t.Errorf("a session that was stopped plans otherwise (-before +after):\n%s", diff)
	}
}

func TestASessionThatWasStoppedBeforeItsFirstPlanMakesTheSame(t *testing.T) {
	w := wellUsed(10, 8)
	want := w.decide(t)
	for most := range 12 {
		s, err := plan.NewSession(&w.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		q, n := question(&w.Input), 0
		q.Stop = func() bool { n++; return n > most }
		if _, err := s.Decide(q); !errors.Is(err, plan.ErrStopped) {
			t.Fatalf("stopped at ask %d: %v", most+1, err)
		}
		got, err := s.Decide(question(&w.Input))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("stopped at ask %d, plans otherwise (-want +got):\n%s", most+1, diff)
		}
	}
}
