// Package pace decides when the next plan is due, and what it is to cover.
//
// It is a calculator: events change a State, and Next tells from the state and the time what to do now and when to ask
// again. It must never know what a pod, a planner or a timer is. Start reading at State, then Next.
//
// Two clocks run. The *batch* opens with the first new unschedulable pod. A pod alone is planned after Idle. Where pods
// keep coming, the batch waits for some times the usual gap between them, longer once they are many, and is due Max
// after it opened at the latest: pods that are planned together share nodes, those of small batches get many small
// ones. The *sweep* covers everything, disruption included. It is due when the cluster was quiet for SweepIdle after a
// change, and SweepEvery after the first change at the latest; three times that while pods are being deleted: to move
// one that is deleted a moment later is for nothing, and so is a node that was bought for it. Without a change it is
// due SweepEvery after the last sweep where that one ended early, or pods wait for a place; SweepIdle after the time at
// which the newest plan asks to be reconsidered; and SweepQuiet after the last sweep in any case, while there is
// anything to sweep.
//
// A sweep that fails must not take provisioning with it: what is wrong may be with disruption alone, or the cluster too
// large for the time that a plan has. So pods that wait are planned alone next, and sweeps have a pause of their own.
package pace

import "time"

// Config are the knobs. All must be positive; Max must not be below Idle, nor SweepEvery below SweepIdle, nor SweepQuiet
// below SweepEvery, nor RetryMax below RetryMin.
type Config struct {
	// Idle is how long no new unschedulable pod must come at least before a batch is planned; Max is when it is planned
	// anyway.
	Idle, Max time.Duration
	// SweepIdle is how long nothing must change before a sweep; SweepEvery is when it comes anyway, and SweepQuiet when it
	// comes although nothing has changed at all.
	SweepIdle, SweepEvery, SweepQuiet time.Duration
	// RetryMin is the pause after a first failure. It doubles with each further one in a row, up to RetryMax; while
	// there is no planner at all, which costs nothing to find out, only after the first twenty.
	RetryMin, RetryMax time.Duration
}

const (
	// rampGap is the longest gap between pods that is remembered.
	rampGap = time.Second
	// gaps is how many times the usual gap between pods a batch waits for the next one.
	gaps = 4
	// ramp is from how many pods in a row on a batch waits for rampQuiet: controllers make many pods in fits and starts.
	ramp      = 10
	rampQuiet = 250 * time.Millisecond
	// countEvery is how often pods are counted, and shrinks by what share of them, in percent, their number falls
	// meanwhile while workloads are scaled down. Controllers delete some 20 pods a second; what ends all the time in a
	// large cluster is less.
	countEvery = time.Second
	shrinks    = 1
	// shrinkWaits is how many times SweepEvery a sweep waits for that to end.
	shrinkWaits = 3
	// sweepRest is how many times as long as a sweep took that failed the next one waits at least: nothing else is
	// planned meanwhile, and that is to be no more than a quarter of the time.
	sweepRest = 3
	// absences is after how many failures in a row for want of a planner the pauses grow.
	absences = 20
)

// State is what the calculator knows. The zero State is that of a watcher that does not drive.
type State struct {
	driver bool
	// work: there are pods to place, or nodes that could be disrupted; waiting: there are pods to place.
	work, waiting bool
	// inventory is the revision that the snapshot contains, awaited the one that it must reach before the next plan,
	// awaitedSince when that was learnt.
	inventory, awaited int64
	awaitedSince       time.Time

	// counted is when there were last so many pods in all; shrinking says that there were clearly more the time before.
	counted   time.Time
	all       int
	shrinking bool

	batch, sweep span
	// pods is how many have come one after the other, arrived is when the last of them came, and gap how long it takes
	// until others come, about; zero while none follow within rampGap.
	pods    int
	arrived time.Time
	gap     time.Duration
	// swept is when the last sweep ended, or when there first was something to sweep.
	swept time.Time
	// reconsider is when time alone changes what the newest plans were made from; zero when it does not. more: the last
	// sweep ended early.
	reconsider time.Time
	more       bool

	busy    bool
	running Decision

	// failures are those in a row, refusals among them, sweeps that failed aside. notBefore is the pause after a plan
	// for pods that could not be made or relayed: nothing can be planned. refused is the pause after one of which some
	// was refused: that holds up only what was refused, and not pods that are new since, for which fresh is set.
	failures           int
	notBefore, refused time.Time
	fresh              bool
	// sweepFailures are the sweeps in a row that could not be made or relayed, and sweepAfter ends the pause after the
	// last of them. alone: pods that wait were part of it, and are to be planned without one. The batch is open then,
	// or planned.
	sweepFailures int
	sweepAfter    time.Time
	alone         bool
}

// span is an open batch or sweep: its first and last event. The zero span is not open.
type span struct{ first, last time.Time }

func (s span) open() bool { return !s.first.IsZero() }

func (s span) extend(at time.Time) span {
	if !s.open() {
		s.first = at
	}
	if at.After(s.last) {
		s.last = at
	}
	return s
}

// due is when the span ends by itself.
func (s span) due(idle, most time.Duration) time.Time {
	return earlier(s.last.Add(idle), s.first.Add(most))
}

// Observation is what a new snapshot brought.
type Observation struct {
	// NewPods is how many pods have become unschedulable, Arrived how many have come, whether the scheduler has looked
	// at them or not.
	NewPods, Arrived int
	// Pods is how many there are in all.
	Pods int
	// Work says that there are pods to place, or nodes that could be disrupted.
	Work bool
	// Waiting says that there are pods to place.
	Waiting bool
	// Inventory is the inventory revision that the snapshot contains now.
	Inventory int64
	// WholeSince is set when the snapshot contains a whole inventory that was asked for at that time: whatever was
	// applied before is in it, even if a new leader counts its revisions anew.
	WholeSince time.Time
}

// Observe takes note of a snapshot that differs from the one before.
func (s State) Observe(o Observation, now time.Time) State {
	if o.Work && !s.work {
		s.swept, s.sweep = now, span{} // what changed while there was nothing to sweep does not bring it forward
	}
	s.work, s.waiting, s.inventory = o.Work, o.Waiting, o.Inventory
	if o.WholeSince.After(s.awaitedSince) {
		s.awaited = 0
	}
	if !o.WholeSince.IsZero() { // what the leader before did not answer, or refused, is not to wait for that any longer
		s.failures, s.notBefore, s.refused = 0, time.Time{}, time.Time{}
		s.sweepFailures, s.sweepAfter = 0, time.Time{}
	}
	if o.Arrived > 0 {
		if s.gap = s.nextGap(now); s.gap == 0 {
			s.pods = 0
		}
		s.pods, s.arrived = s.pods+o.Arrived, now
	}
	switch {
	case o.NewPods > 0:
		if !s.fresh && s.notBefore.IsZero() && now.Before(s.refused) {
			s.batch = span{} // what was refused goes with the new ones, and does not bring them forward
		}
		s.batch, s.fresh = s.batch.extend(now), true
	case o.Arrived > 0 && s.batch.open(): // they are planned with those that the scheduler has refused
		s.batch = s.batch.extend(now)
	}
	s.sweep = s.sweep.extend(now)
	if now.Sub(s.counted) >= countEvery {
		s.shrinking = o.Pods < s.all && 100*(s.all-o.Pods) >= shrinks*s.all
		s.counted, s.all = now, o.Pods
	}
	return s
}

// nextGap follows how fast pods come: half of it is the newest gap.
func (s State) nextGap(now time.Time) time.Duration {
	newest := now.Sub(s.arrived)
	switch {
	case s.arrived.IsZero() || newest > rampGap:
		return 0
	case s.gap == 0:
		return newest
	}
	return (s.gap + newest) / 2
}

// quiet is how long no new pod must come before the batch is planned. Of pods that come at random, one in fifty takes
// longer than so many gaps. Where those are as long as a batch may be, there is nothing to wait for.
func (s State) quiet(c Config) time.Duration {
	if s.pods >= ramp {
		return min(max(c.Idle, rampQuiet), c.Max)
	}
	if wait := gaps * s.gap; wait <= c.Max {
		return max(c.Idle, wait)
	}
	return c.Idle
}

// Drive takes note of whether this watcher is the driver. What has changed while it was not counts as changed when it
// is: pods that wait are not to wait for a sweep that has long been due.
func (s State) Drive(driver bool, now time.Time) State {
	if driver && !s.driver && s.work {
		s.swept, s.sweep = now, span{now, now}
	}
	s.driver = driver
	return s
}

// Decision is what to do now.
type Decision struct {
	// Plan: ask for a plan now.
	Plan bool
	// Everything: the plan is to cover disruption too, not just pods that wait.
	Everything bool
	// Opened is when the first of the events came that the plan is for.
	Opened time.Time
	// Wake is when to ask again; zero means after the next event.
	Wake time.Time
}

// Next tells what to do. A sweep that is due waits for an open batch, which is not for long, and goes with it, unless
// the last sweep failed with those pods.
func (s State) Next(c Config, now time.Time) Decision {
	if !s.driver || s.busy || s.inventory < s.awaited {
		return Decision{}
	}
	sweep := s.sweepDue(c)
	wake := sweep
	if s.batch.open() {
		wake = later(s.batch.due(s.quiet(c), c.Max), s.notBefore)
		if !s.fresh {
			wake = later(wake, s.refused)
		}
	}
	if wake.IsZero() || wake.After(now) {
		return Decision{Wake: wake}
	}
	d := Decision{Plan: true, Everything: !s.alone && !sweep.IsZero() && !sweep.After(now), Opened: now}
	if s.batch.open() {
		d.Opened = s.batch.first
	}
	if d.Everything && s.sweep.open() {
		d.Opened = earlier(d.Opened, s.sweep.first)
	}
	return d
}

// sweepDue is zero when there is nothing to sweep.
func (s State) sweepDue(c Config) time.Time {
	if !s.work {
		return time.Time{}
	}
	due := s.swept.Add(c.SweepQuiet)
	if s.more || s.waiting {
		due = s.swept.Add(c.SweepEvery)
	}
	if !s.reconsider.IsZero() { // as if something had changed then
		due = earlier(due, later(s.reconsider, s.swept).Add(c.SweepIdle))
	}
	if s.sweep.open() {
		most := c.SweepEvery
		if s.shrinking {
			most *= shrinkWaits
		}
		due = earlier(due, s.sweep.due(c.SweepIdle, most))
	}
	return later(due, later(s.sweepAfter, later(s.notBefore, s.refused)))
}

// Started takes note that a plan was asked for. Events from now on count for the one after it.
func (s State) Started(d Decision) State {
	s.busy, s.running, s.batch, s.fresh = true, d, span{}, false
	if d.Everything {
		s.sweep = span{}
	}
	return s
}

// Outcome is what became of a plan.
type Outcome struct {
	// Failed: it could not be made or relayed; all of it is still to be done.
	Failed bool
	// Absent: it failed because there was no planner to ask.
	Absent bool
	// Took is how long it took.
	Took time.Duration
	// Rejected: it was relayed, and some of it refused.
	Rejected bool
	// Inventory is the revision that contains its effects; 0 when it had none.
	Inventory int64
	// Reconsider is when time alone changes what the plan was made from; zero when it does not, and where the plan failed.
	Reconsider time.Time
	// More says that the search of a plan for everything ended early; it means nothing where the plan failed.
	More bool
}

// Finished takes note of what became of the plan that was started last. What failed or was rejected is due again, after
// a pause that grows with each time in a row; pods of a sweep that failed are due without it, and at once.
func (s State) Finished(c Config, o Outcome, now time.Time) State {
	s.busy = false
	if s.running.Everything {
		s.swept = now
		if !o.Failed {
			s.reconsider, s.more = o.Reconsider, o.More
		}
	} else if s.reconsider.IsZero() || !o.Reconsider.IsZero() && o.Reconsider.Before(s.reconsider) {
		s.reconsider = o.Reconsider // a plan for pods alone does not say when nodes may go
	}
	if o.Inventory > s.awaited {
		s.awaited, s.awaitedSince = o.Inventory, now
	}
	if o.Failed && s.running.Everything {
		return s.sweepFailed(c, o, now)
	}
	if !o.Failed {
		s.alone = false
		if s.running.Everything {
			s.sweepFailures, s.sweepAfter = 0, time.Time{}
		}
	}
	if !o.Failed && !o.Rejected {
		s.failures, s.notBefore, s.refused = 0, time.Time{}, time.Time{}
		return s
	}
	s.notBefore, s.refused = time.Time{}, now.Add(pause(c, o, s.failures))
	if o.Failed {
		s.notBefore = s.refused
	}
	s.failures++
	if s.running.Everything {
		s.sweep = reopen(s.sweep, s.running.Opened)
	} else {
		s.batch = reopen(s.batch, s.running.Opened)
	}
	return s
}

// sweepFailed opens the batch for pods that wait, whether they have come since the plan before or were left by it:
// without sweeps, nothing else would look for a place for these again.
func (s State) sweepFailed(c Config, o Outcome, now time.Time) State {
	s.sweepAfter = now.Add(max(pause(c, o, s.sweepFailures), sweepRest*o.Took))
	s.sweepFailures++
	s.sweep = reopen(s.sweep, s.running.Opened)
	if s.waiting {
		s.batch, s.fresh, s.alone = reopen(s.batch, s.running.Opened), true, true
	}
	return s
}

// reopen puts the event that a plan was for back in front of those that came since.
func reopen(s span, first time.Time) span {
	if !s.open() {
		s.last = first
	}
	s.first = first
	return s
}

// pause is how long to wait after a failure, or a refusal, that comes after so many others in a row.
func pause(c Config, o Outcome, failures int) time.Duration {
	if o.Absent {
		failures = max(0, failures-absences)
	}
	d := c.RetryMin
	for range failures {
		d *= 2
		if d >= c.RetryMax {
			return c.RetryMax
		}
	}
	return d
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
