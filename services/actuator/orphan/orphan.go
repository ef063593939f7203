// Package orphan decides which instances no claim looks after, and which of them are to be ended, as a pure function.
//
// It must never end anything: the caller does, and remembers Verdict.Since until the next time. Start reading at Judge.
package orphan

import (
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// margin is how much older than the store an instance must look to be older: clocks of machines differ.
const margin = time.Minute

// World is what is seen.
type World struct {
	Instances []cloud.Instance
	Claims    map[model.ClaimID]*model.Claim
	// Mirrored says that a claim has an object that Kerf made. It does not before it is stored, and is not forgotten as
	// long as it does: one that the store does not know was lost.
	Mirrored func(model.ClaimID) bool
	// Registered says that Kerf has let the node of an instance with that provider id open: pods may run on it.
	Registered func(providerID string) bool
	// Born is when the store was first used for this cluster.
	Born time.Time
	Now  time.Time
	// Patience is how long an instance may be an orphan before it is ended: its claim may not be seen yet.
	Patience time.Duration
}

// Verdict is what follows.
type Verdict struct {
	// Since is when each orphan was first seen to be one, by instance id; nil when there is none.
	Since map[string]time.Time
	// End are the orphans whose time is up.
	End []cloud.Instance
	// Lost are instances of claims that the store has lost, and whose objects say what they were.
	Lost []cloud.Instance
	// Foreign are instances of claims that the store does not know, and that are older than it or have a node: the
	// claim was lost, and nothing else tells of it. They are left alone: what runs on them would end without a drain.
	Foreign []cloud.Instance
	// Next is when the time of the next orphan is up; zero when none waits.
	Next time.Time
}

// Judge finds the orphans among the instances; since is what the last verdict said.
func Judge(w World, since map[string]time.Time) Verdict {
	var v Verdict
	for _, i := range w.Instances {
		if !i.State.Alive() || i.Claim == "" && i.Launch == "" || w.owned(i) {
			continue
		}
		if w.Claims[i.Claim] == nil && i.Claim != "" && w.Mirrored(i.Claim) {
			v.Lost = append(v.Lost, i)
			continue
		}
		if w.Claims[i.Claim] == nil && (i.LaunchTime.Before(w.Born.Add(-margin)) || w.Registered(i.ProviderID)) {
			v.Foreign = append(v.Foreign, i)
			continue
		}
		first, ok := since[i.ID]
		if !ok {
			first = w.Now
		}
		if v.Since == nil {
			v.Since = map[string]time.Time{}
		}
		v.Since[i.ID] = first
		switch due := first.Add(w.Patience); {
		case !w.Now.Before(due):
			v.End = append(v.End, i)
		case v.Next.IsZero() || due.Before(v.Next):
			v.Next = due
		}
	}
	return v
}

// owned says that a claim looks after the instance. A claim that is on its way to have one, or to have none, looks after
// every instance with its tag.
func (w World) owned(i cloud.Instance) bool {
	c := w.Claims[i.Claim]
	if c == nil || c.State.Ended() {
		return false
	}
	return c.InstanceID == "" || c.InstanceID == i.ID || c.State == model.ClaimTerminating
}
