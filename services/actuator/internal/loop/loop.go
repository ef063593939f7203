// Package loop is the actuator's shell: it leads, observes, lets the pure packages decide, stores what they say and
// carries their effects out.
//
// One goroutine per leadership owns all state; workers do what takes time and hand results back to it. It must never
// decide what a claim's life is (lifecycle), whether a plan may be carried out (apply) or which instances are orphans
// (orphan).
//
// Start reading at Loop.Run, then term.run and term.pass. api.go is what callers use, claims.go lets claims answer to what
// is seen, effects.go carries out what they ask for, show.go shows.
// What is stored, observed, said by AWS, sold and shown is kept by packages of their own beside this one.
package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/inbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/measure"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Config is what the loop depends on, and its knobs.
type Config struct {
	// Cluster is the cluster's name; Region is its AWS region, for the nodes' label.
	Cluster, Region string
	// Name is what this candidate campaigns with: the address at which others reach it.
	Name string

	Store    store.Store
	Election store.Election
	Cloud    cloud.Cloud
	Classes  cloud.Classes
	Market   cloud.Market
	Queue    cloud.Queue  // nil: no notices
	Checks   cloud.Checks // nil: EC2's status checks are not asked for
	Shifts   cloud.Shifts // nil: zonal shifts are not asked for
	Kube     cluster.Cluster
	// Nominator tells the scheduler where pods are expected; nil never does. AlwaysNominate doesn't ask first whether
	// it works.
	Nominator      cluster.Nominator
	AlwaysNominate bool
	// Unbound is a Nominator's, for plans to be checked by, nominations or not; nil: who waits is not known.
	Unbound  func(model.PodID) (cluster.UnboundPod, bool)
	Replicas cluster.Replicas                            // nil: they are not told which of them are deleted first
	Fallback *catalog.Catalog                            // list prices where the market has none; nil: none
	Settings func(cloud.ClassSpec) instancetype.Settings // how a class shapes instance types
	Parse    inbox.Parser                                // reads a notice
	Log      *slog.Logger
	Tracer   trace.Tracer
	Measure  *measure.Measure // nil: nothing is measured

	Intervals Intervals
	// Repair says which nodes are unhealthy beyond waiting.
	Repair model.RepairPolicy
	// WaitForDaemonPods lets a drain begin only when the DaemonSet pods on its replacements are ready, too.
	WaitForDaemonPods bool
	// InitializationTimeout is how long a node that has joined may take to become Initialized; 0 means
	// lifecycle.InitializationTimeout.
	InitializationTimeout time.Duration
	// DrainRebalanced lets nodes be drained whose instances EC2 recommends to replace.
	DrainRebalanced bool
	// Ask asks the API server something that it answers at once; nil: its silence is noticed by other questions.
	Ask func(context.Context) error
	// Prepared asks for what must have been heard once before this candidate can take over; nil for nothing.
	Prepared func(context.Context) error
	// Ready, if set, is told whether this candidate can take over, as it sees the cluster, or leads.
	Ready func(bool)
	// passedOver, which tests set, is told what would have come of each claim that a pass did not look at.
	passedOver func(c *model.Claim, would lifecycle.Result, wake time.Time)
	// Launches and Evictions are how many of each go on at once; 0 means the default of 10 and 20.
	Launches, Evictions int
}

// Intervals are how often things are looked at again. Zero means the default.
type Intervals struct {
	Types     time.Duration // instance types and list prices: 12h
	Spot      time.Duration // spot prices: 5m
	Classes   time.Duration // what node classes select: 5m
	Poll      time.Duration // instances, while nothing is expected: 30s
	FastPoll  time.Duration // instances, while one comes or goes: 1s
	Templates time.Duration // launch templates that were not used for as long: 10m
	Orphans   time.Duration // how long an instance without a claim is left alone: 1m
	Shortage  time.Duration // how long EC2's "no capacity" is believed the first time: 3m
	History   time.Duration // how long ended claims are remembered: 1h
}

func (i Intervals) withDefaults() Intervals {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&i.Types, 12*time.Hour)
	set(&i.Spot, 5*time.Minute)
	set(&i.Classes, 5*time.Minute)
	set(&i.Poll, 30*time.Second)
	set(&i.FastPoll, time.Second)
	set(&i.Templates, 10*time.Minute)
	set(&i.Orphans, time.Minute)
	set(&i.Shortage, 3*time.Minute)
	set(&i.History, time.Hour)
	return i
}

const (
	defaultLaunches  = 10
	defaultEvictions = 20
	// restPause is between two terms of one candidate, so that a store that fails at once is not hammered.
	restPause     = time.Second
	resignTimeout = 5 * time.Second
)

// Loop leads when it is elected, and answers callers while it does. Safe for concurrent use.
type Loop struct {
	cfg Config
	hub hub

	mu      sync.Mutex
	leading *handle // nil while this candidate does not lead
}

// handle is how callers reach the leader's goroutine.
type handle struct {
	requests chan func(*term)
	done     chan struct{} // closed when requests are not read any more
}

// New checks the configuration.
func New(c Config) (*Loop, error) {
	missing := map[string]bool{
		"Cluster": c.Cluster == "", "Name": c.Name == "", "Store": c.Store == nil, "Election": c.Election == nil,
		"Cloud": c.Cloud == nil, "Classes": c.Classes == nil, "Market": c.Market == nil, "Kube": c.Kube == nil,
		"Settings": c.Settings == nil, "Log": c.Log == nil, "Tracer": c.Tracer == nil, "Parse": c.Queue != nil && c.Parse == nil,
	}
	for field, is := range missing {
		if is {
			return nil, fmt.Errorf("loop: Config.%s is not set", field)
		}
	}
	c.Intervals = c.Intervals.withDefaults()
	if c.InitializationTimeout == 0 {
		c.InitializationTimeout = lifecycle.InitializationTimeout
	}
	if c.Launches == 0 {
		c.Launches = defaultLaunches
	}
	if c.Evictions == 0 {
		c.Evictions = defaultEvictions
	}
	return &Loop{cfg: c}, nil
}

// Run campaigns and leads, term after term, until ctx ends. It starts all of the loop's goroutines, and has ended them
// when it returns.
func (l *Loop) Run(ctx context.Context) error {
	for {
		if err := l.serve(ctx); err != nil {
			return ctxError(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restPause):
		}
	}
}

// ctxError is nil when the context has ended: being asked to stop is no failure.
func ctxError(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// serve stands by until this candidate is elected, leads, and gives the term up, whatever ended it. Only a campaign
// that failed is an error.
func (l *Loop) serve(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	t := newTerm(l.cfg, &l.hub)
	end := func() {
		cancel(errTermOver)
		t.jobs.Wait()
	}
	won, err := t.standBy(ctx)
	if err != nil {
		end()
		return fmt.Errorf("campaign: %w", err)
	}
	l.cfg.Log.InfoContext(ctx, "leading", "fence", won.Fence.Revision)
	l.setLeading(t.calls)
	err = t.run(ctx, won)
	l.setLeading(nil)
	close(t.calls.done)
	l.hub.end() // those who follow look for another leader while the work of this one ends
	end()
	resigning, stop := context.WithTimeout(context.WithoutCancel(parent), resignTimeout)
	defer stop()
	if err := won.Resign(resigning); err != nil {
		l.cfg.Log.WarnContext(parent, "resign", "error", err)
	}
	if parent.Err() == nil {
		l.cfg.Log.WarnContext(parent, "leading no longer", "fence", won.Fence.Revision, "error", err)
	}
	return nil
}

var errTermOver = errors.New("the term is over")

func (l *Loop) setLeading(h *handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leading = h
}
