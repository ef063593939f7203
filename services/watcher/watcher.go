// Package watcher is the service that sees: it folds what the API server and the actuator say into one snapshot, asks a
// planner for plans when something worth planning happens, relays them to the actuator's leader, and serves the snapshot.
//
// It reads and proposes, and must never change anything in Kubernetes or AWS. What it holds dies with it: after a restart
// it reads everything again. Start reading at Run; then internal/loop, which drives, and snapshot, which is what all of
// it is about.
package watcher

import (
	"context"
	"fmt"
	"os"
	"time"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/kubeclient"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/watcher/internal/inventory"
	"github.com/kerf-dev/kerf/services/watcher/internal/kube"
	"github.com/kerf-dev/kerf/services/watcher/internal/loop"
	"github.com/kerf-dev/kerf/services/watcher/internal/measure"
	"github.com/kerf-dev/kerf/services/watcher/internal/server"
	"github.com/kerf-dev/kerf/services/watcher/internal/session"
	"github.com/kerf-dev/kerf/services/watcher/internal/stream"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// Run runs the watcher until ctx is done. Planner, actuator and API server may come and go meanwhile; only a config that
// can't work is an error.
func Run(ctx context.Context, cfg Config) error {
	if err := config.Check(cfg); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	svc, err := boot.Start(ctx, "watcher", cfg.ServiceConfig)
	if err != nil {
		return err
	}
	w := wiring{cfg: cfg, svc: svc, header: wire.Header{Cluster: cfg.Cluster}}
	tasks, err := w.measured()
	if err != nil {
		_ = svc.Close() // the error at hand is the one to tell
		return err
	}
	return svc.Run(ctx, tasks...)
}

// wiring puts the parts together.
type wiring struct {
	cfg    Config
	svc    *boot.Service
	header wire.Header

	recorder *metrics.Recorder // nil: nothing is measured
	measure  *measure.Measure
}

// measured sets the metrics up, and then the tasks.
func (w *wiring) measured() ([]boot.Task, error) {
	var err error
	if w.recorder, err = metrics.For(w.svc, metrics.Watcher, w.cfg.Metrics.LegacyNames); err != nil {
		return nil, err
	}
	if w.measure, err = measure.New(w.recorder, time.Now); err != nil {
		return nil, err
	}
	if w.cfg.Metrics.LegacyNames {
		w.svc.Metering.Also(w.measure.Legacy)
	}
	return w.tasks()
}

func (w *wiring) tasks() ([]boot.Task, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this watcher: %w", err)
	}
	actuators := inventory.New(inventory.Config{
		Addresses: w.cfg.Actuator.Addresses, Dial: w.dialActuator,
		Watcher: fmt.Sprintf("%s/%d", name, os.Getpid()), Log: w.svc.Log, Now: time.Now,
	})
	source, err := w.source(func(why string) {
		actuators.Pause(why)
		w.svc.Ready(why == "")
	})
	if err != nil {
		return nil, err
	}
	planner, err := w.svc.Dial(w.cfg.Planner)
	if err != nil {
		return nil, fmt.Errorf("planner: %w", err)
	}
	hub := stream.New[snapshot.Snapshot](w.cfg.Queues.Subscriber)
	policy := w.cfg.Policy.Proto()
	srv := server.New(hub, w.header, policy, w.cfg.Queues.Readers)
	watcherpb.RegisterWatcherServiceServer(w.svc, srv)

	ready, seen := w.svc.HoldReadiness(), make(chan struct{})
	in := loop.Config{
		Planner:  session.New(session.Config{Planner: plannerpb.NewPlannerServiceClient(planner), Header: w.header}),
		Actuator: actuators, Pace: w.cfg.pace(), Policy: policy,
		PlanTimeout:  w.cfg.Timeouts.Plan.Or(DefaultPlanTimeout),
		ApplyTimeout: w.cfg.Timeouts.Apply.Or(DefaultApplyTimeout),
		Seen:         func() { ready(); close(seen) },
		Publish:      hub.Publish, Relayed: srv.SetPlan, Trouble: srv.SetTrouble,
		PlannerAddress: w.cfg.Planner.Target, ActuatorAddresses: w.cfg.Actuator.Addresses,
		Log: w.svc.Log, Tracer: w.svc.Tracer, Now: time.Now, Measure: w.measure,
	}
	batches, updates := make(chan snapshot.Batch), make(chan inventory.Update)
	return []boot.Task{
		{Name: "kubernetes", Run: func(ctx context.Context) error { return source.Run(ctx, batches) }},
		{Name: "inventory", Run: func(ctx context.Context) error {
			// The first one that comes to the leader drives: who can't see the cluster would keep those that can from it.
			select {
			case <-seen:
				return actuators.Run(ctx, updates)
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
		{Name: "loop", Run: func(ctx context.Context) error {
			defer planner.Close() //nolint:errcheck // nothing is left to be sent
			return loop.New(in).Run(ctx, loop.Inputs{Cluster: batches, Inventory: updates})
		}},
	}, nil
}

// source reads the API server. Lost is told why that does not work, and "" when it works again.
func (w *wiring) source(lost func(why string)) (*kube.Source, error) {
	client, dyn, reach := w.cfg.Client, w.cfg.Dynamic, kubeclient.NewReach(w.svc.Log)
	if client == nil || dyn == nil {
		rest, err := kube.REST(w.cfg.Kubeconfig, "", "kerf-watcher/"+boot.ReadVersion().Version)
		if err != nil {
			return nil, err
		}
		// A service is near its API server: what is compressed is paid for on both ends, and each watch holds buffers
		// for it.
		rest.DisableCompression = true
		rest.Wrap(w.recorder.Transport)
		rest.Wrap(reach.Wrap)
		kubeclient.Log(w.svc.Log)
		if client, dyn, err = kube.Clients(rest); err != nil {
			return nil, err
		}
	}
	return kube.New(kube.Config{
		Client: client, Dynamic: dyn, Log: w.svc.Log, Now: time.Now, Queue: w.cfg.Queues.Changes,
		Repair: w.cfg.Policy.Proto().GetRepair(), Cautious: true, Lost: lost, Silent: reach.Silent,
	})
}

// dialActuator makes a connection that repeats no call: where one actuator does not answer, another one is asked at once.
func (w *wiring) dialActuator(address string) (inventory.Conn, error) {
	return w.svc.Dial(w.cfg.Actuator.client(address))
}
