package pace_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/watcher/internal/pace"
)

func config() pace.Config {
	return pace.Config{
		Idle: 50 * time.Millisecond, Max: 500 * time.Millisecond,
		SweepIdle: time.Second, SweepEvery: 10 * time.Second, SweepQuiet: time.Minute,
		RetryMin: 250 * time.Millisecond, RetryMax: 10 * time.Second,
	}
}

// step is one thing that happens, at a time in milliseconds, and what Next is to say afterwards: at "plan" and "sweep" a
// plan starts at once, any other number is when to ask again, 0 not before the next event.
type step struct {
	at   int
	do   func(pace.State, time.Time) pace.State
	plan string
	wake int
	// opened is when the first event of a plan was.
	opened int
}

func epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func at(ms int) time.Time { return epoch().Add(time.Duration(ms) * time.Millisecond) }

func observe(o pace.Observation) func(pace.State, time.Time) pace.State {
	return func(s pace.State, now time.Time) pace.State { return s.Observe(o, now) }
}

func pods(n int) func(pace.State, time.Time) pace.State {
	return observe(pace.Observation{NewPods: n, Arrived: n, Work: true})
}

// wait is so many new pods, which wait for a place.
func wait(n int) func(pace.State, time.Time) pace.State {
	return observe(pace.Observation{NewPods: n, Arrived: n, Work: true, Waiting: true})
}

func finished(o pace.Outcome) func(pace.State, time.Time) pace.State {
	return func(s pace.State, now time.Time) pace.State { return s.Finished(config(), o, now) }
}

func nothing(s pace.State, _ time.Time) pace.State { return s }

func drive(on bool) func(pace.State, time.Time) pace.State {
	return func(s pace.State, now time.Time) pace.State { return s.Drive(on, now) }
}

func TestPace(t *testing.T) {
	change := observe(pace.Observation{Work: true})
	for name, steps := range map[string][]step{
		"a pod alone is planned after the idle gap": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 149, do: nothing, wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 200, do: finished(pace.Outcome{}), wake: 1100},
		},
		"pods that keep coming are planned together, but not for ever": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(5), wake: 150},
			{at: 140, do: pods(4), wake: 300},
			{at: 180, do: pods(1), wake: 430},
			{at: 330, do: pods(1), wake: 580},
			{at: 580, do: pods(1), wake: 600},
			{at: 600, do: nothing, plan: "plan", opened: 100},
		},
		"a change that is no new pod does not extend the batch": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 140, do: change, wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
		},
		"pods that come while a plan is made wait for the next one": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 160, do: pods(1)},
			{at: 300, do: finished(pace.Outcome{}), wake: 400},
			{at: 400, do: nothing, plan: "plan", opened: 160},
		},
		"pods that the scheduler has not looked at extend a batch, and open none": {
			{at: 0, do: drive(true)},
			{at: 100, do: observe(pace.Observation{Arrived: 3}), wake: 0},
			{at: 120, do: observe(pace.Observation{Arrived: 3}), wake: 0},
			{at: 130, do: observe(pace.Observation{NewPods: 1, Work: true}), wake: 210},
			{at: 140, do: observe(pace.Observation{Arrived: 3, Work: true}), wake: 220},
			{at: 220, do: nothing, plan: "plan", opened: 130},
		},
		"pods that come one by one, and not often, do not wait for each other": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 160, do: finished(pace.Outcome{}), wake: 1100},
			{at: 300, do: pods(1), wake: 350},
			{at: 350, do: nothing, plan: "plan", opened: 300},
		},
		"a change is swept once the cluster is quiet": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 1500, do: change, wake: 2500},
			{at: 2500, do: nothing, plan: "sweep", opened: 1000},
			{at: 2600, do: finished(pace.Outcome{}), wake: 62600},
		},
		"a cluster that is never quiet is swept all the same": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 1900, do: change, wake: 2900},
			{at: 10500, do: change, wake: 11000},
			{at: 11000, do: nothing, plan: "sweep", opened: 1000},
		},
		"while there is something to disrupt, sweeps go on": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 2100, do: finished(pace.Outcome{}), wake: 62100},
			{at: 62100, do: nothing, plan: "sweep", opened: 62100},
		},
		"a sweep that ended early is followed by another, but not at once": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 2100, do: finished(pace.Outcome{More: true}), wake: 12100},
			{at: 12100, do: nothing, plan: "sweep", opened: 12100},
			{at: 12200, do: finished(pace.Outcome{}), wake: 72200},
		},
		"a change brings the sweep forward after one that ended early": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 2100, do: finished(pace.Outcome{More: true}), wake: 12100},
			{at: 3000, do: change, wake: 4000},
			{at: 4000, do: nothing, plan: "sweep", opened: 3000},
		},
		"while pods wait for a place, sweeps go on sooner": {
			{at: 0, do: drive(true)},
			{at: 1000, do: observe(pace.Observation{Work: true, Waiting: true}), wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 2100, do: finished(pace.Outcome{}), wake: 12100},
		},
		"a plan is reconsidered when it asks for that": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 2100, do: finished(pace.Outcome{Reconsider: at(30000)}), wake: 31000},
			{at: 31000, do: nothing, plan: "sweep", opened: 31000},
			{at: 31100, do: finished(pace.Outcome{Reconsider: at(500000)}), wake: 91100},
		},
		"a plan that asked for it while it was made is reconsidered a moment after": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 8000, do: finished(pace.Outcome{Reconsider: at(2001)}), wake: 9000},
		},
		"a plan for pods alone forgets nothing of what the sweep found": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 2100, do: finished(pace.Outcome{Reconsider: at(3500)}), wake: 4500},
			{at: 2900, do: pods(1), wake: 2950},
			{at: 2950, do: nothing, plan: "plan", opened: 2900},
			{at: 2960, do: finished(pace.Outcome{}), wake: 3900},
			{at: 3900, do: nothing, plan: "sweep", opened: 2900},
		},
		"a sweep that failed forgets nothing": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 2100, do: finished(pace.Outcome{More: true}), wake: 12100},
			{at: 12100, do: nothing, plan: "sweep", opened: 12100},
			{at: 12200, do: finished(pace.Outcome{Failed: true}), wake: 13100},
			{at: 13100, do: nothing, plan: "sweep", opened: 12100},
			{at: 13150, do: finished(pace.Outcome{Rejected: true}), wake: 13400},
		},
		"with nothing to disrupt and nothing pending there is no plan": {
			{at: 0, do: drive(true)},
			{at: 1000, do: observe(pace.Observation{})},
			{at: 90000, do: observe(pace.Observation{})},
		},
		"a pod after a long idle time still waits for its batch": {
			{at: 0, do: drive(true)},
			{at: 1000, do: observe(pace.Observation{})},
			{at: 90000, do: pods(1), wake: 90050},
		},
		"a new pod puts the sweep off until the cluster is quiet": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 1990, do: pods(1), wake: 2040},
			{at: 2040, do: nothing, plan: "plan", opened: 1990},
			{at: 2050, do: finished(pace.Outcome{}), wake: 2990},
		},
		"a sweep is not starved by pods that keep coming": {
			{at: 0, do: drive(true)},
			{at: 0, do: change, wake: 1000},
			{at: 9990, do: pods(1), wake: 10040},
			{at: 10040, do: nothing, plan: "sweep", opened: 0},
		},
		"a watcher that does not drive never plans": {
			{at: 100, do: pods(1)},
			{at: 5000, do: nothing},
		},
		"a watcher that takes over plans what waits": {
			{at: 100, do: pods(1)},
			{at: 5000, do: drive(true), plan: "plan", opened: 100},
			{at: 5100, do: finished(pace.Outcome{}), wake: 6000},
			{at: 6000, do: nothing, plan: "sweep", opened: 5000},
		},
		"no plan before the snapshot holds what was applied": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 200, do: finished(pace.Outcome{Inventory: 7})},
			{at: 300, do: observe(pace.Observation{NewPods: 1, Work: true, Inventory: 6})},
			{at: 900, do: nothing},
			{at: 950, do: observe(pace.Observation{Work: true, Inventory: 7}), plan: "plan", opened: 300},
		},
		"an older whole inventory does not end the wait, a newer one does": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 200, do: finished(pace.Outcome{Inventory: 7})},
			{at: 300, do: observe(pace.Observation{Work: true, Inventory: 1, WholeSince: at(190)})},
			{at: 400, do: observe(pace.Observation{Work: true, Inventory: 1, WholeSince: at(390)}), wake: 1400},
		},
		"what failed is tried again, ever more slowly": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 200, do: finished(pace.Outcome{Failed: true}), wake: 450},
			{at: 450, do: nothing, plan: "plan", opened: 100},
			{at: 500, do: finished(pace.Outcome{Failed: true}), wake: 1000},
			{at: 1000, do: nothing, plan: "plan", opened: 100},
			{at: 1010, do: finished(pace.Outcome{}), wake: 1100},
		},
		"new pods do not shorten the pause after a failure": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 160, do: finished(pace.Outcome{Failed: true}), wake: 410},
			{at: 170, do: pods(1), wake: 450},
			{at: 450, do: nothing, plan: "plan", opened: 100},
		},
		"a sweep that failed is due again": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 2000, do: nothing, plan: "sweep", opened: 1000},
			{at: 2100, do: finished(pace.Outcome{Failed: true}), wake: 2350},
			{at: 2350, do: nothing, plan: "sweep", opened: 1000},
		},
		"what a sweep that failed was to place is planned alone, and the sweep waits three times as long as it took": {
			{at: 0, do: drive(true)},
			{at: 1000, do: change, wake: 2000},
			{at: 1990, do: wait(1), wake: 2040},
			{at: 11990, do: nothing, plan: "sweep", opened: 1000},
			{at: 12990, do: finished(pace.Outcome{Failed: true, Took: time.Second}), plan: "plan", opened: 1000},
			{at: 13000, do: finished(pace.Outcome{}), wake: 15990},
			{at: 15990, do: nothing, plan: "sweep", opened: 1000},
		},
		"pods that a plan has left are planned alone, too, when a sweep fails": {
			{at: 0, do: drive(true)},
			{at: 100, do: wait(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 160, do: finished(pace.Outcome{}), wake: 1100},
			{at: 1100, do: nothing, plan: "sweep", opened: 100},
			{at: 1200, do: finished(pace.Outcome{Failed: true}), plan: "plan", opened: 100},
			{at: 1300, do: finished(pace.Outcome{Failed: true}), wake: 1550},
			{at: 1550, do: nothing, plan: "plan", opened: 100},
			{at: 1560, do: finished(pace.Outcome{}), plan: "sweep", opened: 100},
		},
		"a rejection is planned again": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 200, do: finished(pace.Outcome{Rejected: true, Inventory: 3})},
			{at: 300, do: observe(pace.Observation{Work: true, Inventory: 3}), wake: 450},
			{at: 450, do: nothing, plan: "plan", opened: 100},
		},
		"what is refused again and again does not hold up new pods": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 200, do: finished(pace.Outcome{Rejected: true}), wake: 450},
			{at: 450, do: nothing, plan: "plan", opened: 100},
			{at: 500, do: finished(pace.Outcome{Rejected: true}), wake: 1000},
			{at: 600, do: pods(1), wake: 650},
			{at: 620, do: pods(1), wake: 670},
			{at: 670, do: nothing, plan: "plan", opened: 600},
			{at: 700, do: finished(pace.Outcome{Rejected: true}), wake: 1700},
		},
		"new pods of the time of a refused plan do not wait for its pause": {
			{at: 0, do: drive(true)},
			{at: 100, do: pods(1), wake: 150},
			{at: 150, do: nothing, plan: "plan", opened: 100},
			{at: 190, do: pods(1)},
			{at: 200, do: finished(pace.Outcome{Rejected: true}), wake: 550},
			{at: 550, do: nothing, plan: "plan", opened: 100},
			{at: 560, do: finished(pace.Outcome{Rejected: true}), wake: 1060},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s pace.State
			for i, step := range steps {
				now := at(step.at)
				s = step.do(s, now)
				got := s.Next(config(), now)
				want := pace.Decision{Plan: step.plan != "", Everything: step.plan == "sweep"}
				if want.Plan {
					want.Opened = at(step.opened)
				} else if step.wake != 0 {
					want.Wake = at(step.wake)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("step %d at %d ms (-want +got):\n%s", i, step.at, diff)
				}
				if got.Plan {
					s = s.Started(got)
				}
			}
		})
	}
}

func TestPauseIsBounded(t *testing.T) {
	c, s := config(), pace.State{}.Drive(true, epoch()).Observe(pace.Observation{NewPods: 1, Work: true}, epoch())
	now := epoch()
	for range 50 {
		d := s.Next(c, now)
		if !d.Plan {
			if wait := d.Wake.Sub(now); wait <= 0 || wait > c.RetryMax {
				t.Fatalf("a pause of %s, want at most %s", wait, c.RetryMax)
			}
			now = d.Wake
			continue
		}
		s = s.Started(d).Finished(c, pace.Outcome{Failed: true}, now)
	}
}

// A planner that comes back is asked within moments, unless it was away for long.
func TestAPlannerThatIsNotThereIsAskedOften(t *testing.T) {
	c, s := config(), pace.State{}.Drive(true, epoch()).Observe(pace.Observation{NewPods: 1, Work: true}, epoch())
	now := epoch()
	longest := map[bool]time.Duration{} // by whether it was away for long
	for now.Before(at(120_000)) {
		d := s.Next(c, now)
		if d.Plan {
			s = s.Started(d).Finished(c, pace.Outcome{Failed: true, Absent: true}, now)
			continue
		}
		away := now.After(at(4000))
		longest[away] = max(longest[away], d.Wake.Sub(now))
		now = d.Wake
	}
	if longest[false] > c.RetryMin || longest[true] != c.RetryMax {
		t.Errorf("at first it is asked each %s, later each %s; want %s and %s", longest[false], longest[true], c.RetryMin, c.RetryMax)
	}
}

// Pods that wait when a watcher takes over are not to wait for a plan for everything too.
func TestWhoTakesOverPlansForPodsFirst(t *testing.T) {
	c := config()
	s := pace.State{}.Drive(false, at(0)).Observe(pace.Observation{Work: true}, at(0))
	s = s.Observe(pace.Observation{NewPods: 1, Arrived: 1, Work: true}, at(299_990)).Drive(true, at(300_000))
	d := s.Next(c, at(300_100))
	if !d.Plan || d.Everything {
		t.Fatalf("%+v, want a plan for pods", d)
	}
	s = s.Started(d).Finished(c, pace.Outcome{}, at(300_200))
	if d = s.Next(c, at(300_200)); d.Plan || d.Wake.After(at(301_000)) {
		t.Errorf("%+v, want a sweep within a second", d)
	}
	if d = s.Next(c, at(301_000)); !d.Everything {
		t.Errorf("%+v, want a sweep", d)
	}
}

// What one leader did not answer is for the next one at once.
func TestANewLeaderEndsThePause(t *testing.T) {
	c, s := config(), pace.State{}.Drive(true, epoch()).Observe(pace.Observation{NewPods: 1, Work: true, Waiting: true}, epoch())
	now := epoch()
	for range 8 {
		for d := s.Next(c, now); !d.Plan; d = s.Next(c, now) {
			now = d.Wake
		}
		s = s.Started(s.Next(c, now)).Finished(c, pace.Outcome{Failed: true}, now)
	}
	now = now.Add(time.Millisecond)
	if d := s.Next(c, now); d.Plan || d.Wake.Sub(now) < time.Second {
		t.Fatalf("after eight failures in a row %+v, want a pause", d)
	}
	s = s.Observe(pace.Observation{Work: true, Waiting: true, WholeSince: now}, now)
	if d := s.Next(c, now); !d.Plan {
		t.Errorf("with a new leader's inventory %+v, want a plan", d)
	}
}

// Where plans for everything take longer than they may, pods that wait get nodes all the same, most of the time at once.
func TestPodsArePlannedAloneWhileSweepsFail(t *testing.T) {
	const timeout = time.Minute
	c, now := config(), epoch()
	pod := pace.Observation{NewPods: 1, Arrived: 1, Pods: 1, Work: true, Waiting: true}
	s := pace.State{}.Drive(true, now)
	var sweeping time.Duration
	var last string
	plans := map[string]int{}
	for end := now.Add(time.Hour); now.Before(end); {
		if d := s.Next(c, now); !d.Plan { // a pod each five seconds
			if now = now.Add(5 * time.Second); !d.Wake.IsZero() && d.Wake.Before(now) {
				now = d.Wake
				continue
			}
			s = s.Observe(pod, now)
			continue
		} else if s = s.Started(d); d.Everything {
			if last == "sweep" {
				t.Fatalf("at %s a second sweep, and no plan for pods since the first one failed", now.Sub(epoch()))
			}
			last, sweeping, now = "sweep", sweeping+timeout, now.Add(timeout)
			s = s.Observe(pod, now).Finished(c, pace.Outcome{Failed: true, Took: timeout}, now)
		} else {
			last = "pods"
			s = s.Observe(pace.Observation{Work: true}, now).Finished(c, pace.Outcome{}, now)
		}
		plans[last]++
	}
	if sweeping > time.Hour*3/10 || plans["sweep"] < 10 || plans["pods"] < 100 {
		t.Errorf("in an hour %d sweeps, which took %s, and %d plans for pods", plans["sweep"], sweeping, plans["pods"])
	}
}

func TestASweepWaitsWhilePodsAreBeingDeleted(t *testing.T) {
	const begun = 1000 // when the first pod is deleted
	for name, c := range map[string]struct {
		pods, deleted int // of so many, so many each half second, for twenty seconds
		want          int
	}{
		"a scale-down":                   {pods: 1000, deleted: 10, want: begun + 20_000 + 1000},
		"pods that end all the time":     {pods: 10_000, deleted: 10, want: begun + 10_000},
		"pods that come as quickly":      {pods: 1000, deleted: 0, want: begun + 10_000},
		"a scale-down that goes on long": {pods: 4000, deleted: 40, want: begun + 20_000 + 1000},
	} {
		var s pace.State
		s = s.Drive(true, at(0)).Observe(pace.Observation{Work: true, Pods: c.pods}, at(0))
		s = s.Started(pace.Decision{Plan: true, Everything: true}).Finished(config(), pace.Outcome{}, at(500))
		got := 0
		for ms := begun; ms < 60_000 && got == 0; ms += 500 {
			if i := (ms - begun) / 500; i <= 40 {
				s = s.Observe(pace.Observation{Work: true, Pods: c.pods - i*c.deleted}, at(ms))
			}
			if s.Next(config(), at(ms)).Everything {
				got = ms
			}
		}
		if got != c.want {
			t.Errorf("%s: the sweep is at %d ms; want %d", name, got, c.want)
		}
	}
}
