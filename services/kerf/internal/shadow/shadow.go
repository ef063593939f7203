// Package shadow watches a cluster that Karpenter runs, and tells what Kerf would do with it: the same objects, no
// actuation.
//
// It reads the API server as the watcher does, makes of Karpenter's own NodeClaims what an actuator would say, asks for
// plans, and adds up. It must never change anything: there is no actuator here, and no client that writes. Start reading
// at Run, then Complete.
package shadow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/preview"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// Source is a cluster that is read.
type Source interface {
	// Run sends what the API server says until ctx is done; the first batch is whole.
	Run(ctx context.Context, out chan<- snapshot.Batch) error
	// Objects are those that Karpenter works with, as they are now.
	Objects() Objects
}

// Config is what Run works with.
type Config struct {
	Source Source
	Decide preview.Decider
	Policy *clusterpb.Policy
	World  convert.World
	// Interval is how long after a plan the next one is made.
	Interval time.Duration
	// Plans is how many plans are made; 0 means no end.
	Plans int
	// For is how long plans are made; 0 means no end.
	For time.Duration
	// Rounds is how many plans are played through, one after the other, to see where they lead.
	Rounds int
	Now    func() time.Time
	// Report gets each plan. An error ends the shadow.
	Report func(Report) error
}

// Report is what Kerf would do now, and what it would have done so far.
type Report struct {
	Time time.Time
	// Snapshot is the cluster as Kerf would see it if it ran it.
	Snapshot *clusterpb.Snapshot
	// Run is what would become of the cluster; its First is the plan that Kerf would carry out now.
	Run preview.Run
	// Fresh are those decisions of the plan that were not in the last one: launches and disruptions, by id.
	Fresh Decisions
	// Notes say what is left out or assumed; only those that are new.
	Notes []string
	// Total is the sum over all plans so far.
	Total Total
}

// Decisions are some of a plan's.
type Decisions struct {
	Launches    []*plannerpb.NodeClaim
	Disruptions []*plannerpb.Disruption
	// Gone says how many decisions of the last plan are none any more.
	Gone int
}

// Total is what has come together.
type Total struct {
	Plans int
	// Watched is how long the cluster was watched.
	Watched time.Duration
	// Cost is what the cluster's nodes have cost in that time, WithKerf what they would have cost if it had been all the
	// time as it settles by Kerf's plans. Micro-dollars.
	Cost, WithKerf int64
	// Removed and Replaced count the nodes that Kerf would have removed, each once; Replaced those of them with a
	// replacement. Evictions are the pods of these.
	Removed, Replaced, Evictions int
}

// Run watches until ctx is done or as many plans are made as the config says. It starts a goroutine and waits for it.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, ended := make(chan snapshot.Batch), make(chan error, 1)
	go func() {
		ended <- cfg.Source.Run(ctx, batches)
		cancel()
	}()
	err := newFollower(cfg).follow(ctx, batches)
	cancel()
	if sourceErr := <-ended; err == nil && !errors.Is(sourceErr, context.Canceled) {
		err = sourceErr
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// follower is what is remembered from plan to plan.
type follower struct {
	cfg   Config
	state snapshot.Snapshot
	begin time.Time
	last  *Report
	total Total
	// reported are the notes that were reported, seen the claims that Kerf would have removed.
	reported, seen map[string]bool
	// decisions are those of the last plan, by what they do.
	decisions map[string]bool
}

func newFollower(cfg Config) *follower {
	return &follower{cfg: cfg, reported: map[string]bool{}, seen: map[string]bool{}, decisions: map[string]bool{}}
}

// follow folds what comes, and plans at once for the first batch, then every interval, until there is to be an end.
func (f *follower) follow(ctx context.Context, batches <-chan snapshot.Batch) error {
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		var ticks <-chan time.Time
		if f.state.Revision > 0 {
			ticks = due.C
		}
		select {
		case <-ctx.Done():
			return nil
		case b := <-batches:
			f.state = b.Fold(f.state)
		case <-ticks:
			if err := f.plan(ctx); err != nil {
				return err
			}
			if f.cfg.Plans > 0 && f.total.Plans >= f.cfg.Plans || f.cfg.For > 0 && f.total.Watched >= f.cfg.For {
				return nil
			}
			due.Reset(f.next())
		}
	}
}

// next is how long to wait: an interval, or less where the end comes before.
func (f *follower) next() time.Duration {
	if f.cfg.For > 0 {
		return min(f.cfg.Interval, max(f.cfg.For-f.cfg.Now().Sub(f.begin), 0))
	}
	return f.cfg.Interval
}

// plan makes a plan for the cluster as it is, and reports.
func (f *follower) plan(ctx context.Context) error {
	now := f.cfg.Now()
	s, notes := Complete(wire.Whole(f.state, wire.Header{}), f.cfg.Source.Objects(), f.cfg.World)
	req := &plannerpb.PlanRequest{Snapshot: s, Decide: &plannerpb.Decide{Now: timestamppb.New(now), Policy: f.cfg.Policy}}
	played, err := preview.Play(ctx, f.cfg.Decide, req, f.cfg.Rounds)
	if err != nil {
		return fmt.Errorf("plan for revision %d: %w", f.state.Revision, err)
	}
	r := Report{Time: now, Snapshot: s, Run: played, Fresh: f.fresh(played.First), Notes: f.news(notes)}
	f.add(&r)
	r.Total = f.total
	f.last = &r
	return f.cfg.Report(r)
}

func (f *follower) news(notes []string) []string {
	var out []string
	for _, n := range notes {
		if !f.reported[n] {
			out = append(out, n)
		}
		f.reported[n] = true
	}
	return out
}

// fresh finds the decisions that the last plan did not have. Ids change with every input; what a decision does tells it.
func (f *follower) fresh(p *plannerpb.Plan) Decisions {
	var out Decisions
	now := map[string]bool{}
	for _, c := range p.GetNodeClaims() {
		best := &clusterpb.RankedOffering{}
		if len(c.GetOfferings()) > 0 {
			best = c.GetOfferings()[0]
		}
		key := fmt.Sprintf("launch %s %s %v", c.GetNodePool(), best.GetInstanceType(), c.GetPods())
		if !f.decisions[key] {
			out.Launches = append(out.Launches, c)
		}
		now[key] = true
	}
	for _, d := range p.GetDisruptions() {
		key := fmt.Sprintf("disrupt %v %v", d.GetDisruptionReason(), d.GetCandidates())
		if !f.decisions[key] {
			out.Disruptions = append(out.Disruptions, d)
		}
		now[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(f.decisions)) {
		if !now[key] {
			out.Gone++
		}
	}
	f.decisions = now
	return out
}

// add counts time and money since the last plan, and nodes that Kerf would have removed for the first time.
func (f *follower) add(r *Report) {
	f.total.Plans++
	if f.last == nil {
		f.begin = r.Time // what came before was reading
	} else {
		passed := r.Time.Sub(f.last.Time)
		f.total.Cost += micro(f.last.Run.CostBefore, passed)
		f.total.WithKerf += micro(f.last.Run.CostAfter, passed)
	}
	f.total.Watched = r.Time.Sub(f.begin)
	f.forget(r.Snapshot)
	for _, d := range r.Run.First.GetDisruptions() {
		fresh := slices.ContainsFunc(d.GetCandidates(), func(c string) bool { return !f.seen[c] })
		for _, c := range d.GetCandidates() {
			if f.seen[c] {
				continue
			}
			f.seen[c] = true
			f.total.Removed++
			if len(d.GetReplacements()) > 0 {
				f.total.Replaced++
			}
		}
		if fresh {
			f.total.Evictions += int(d.GetEvictions())
		}
	}
}

// forget forgets claims that are no more: no other one will have their names.
func (f *follower) forget(s *clusterpb.Snapshot) {
	there := make(map[string]bool, len(s.GetClaims()))
	for _, c := range s.GetClaims() {
		there[c.GetId()] = true
	}
	maps.DeleteFunc(f.seen, func(id string, _ bool) bool { return !there[id] })
}

// micro is what a price per hour comes to in a time.
func micro(perHour int64, passed time.Duration) int64 {
	return int64(float64(perHour) * passed.Hours())
}
