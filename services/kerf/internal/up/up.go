// Package up runs planner, actuator and watcher in one process, for one machine. They talk to each other by gRPC over
// loopback, as they do when they are apart, so that nothing works here that would not work there.
//
// It wires and decides nothing; what the services do, their own packages know. Start reading at Run, then Load.
package up

import (
	"context"
	"net"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/planner"
	"github.com/kerf-dev/kerf/services/watcher"
)

// Run runs the three services until ctx is done or one of them fails, and returns when all have ended. OnListen of each
// config is kept.
func Run(ctx context.Context, cfg Config) error {
	var bound struct{ planner, actuator chan net.Addr }
	bound.planner, cfg.Planner.OnListen = announce(cfg.Planner.OnListen)
	bound.actuator, cfg.Actuator.OnListen = announce(cfg.Actuator.OnListen)
	return boot.Run(ctx,
		boot.Task{Name: "planner", Run: func(ctx context.Context) error { return planner.Run(ctx, cfg.Planner) }},
		boot.Task{Name: "actuator", Run: func(ctx context.Context) error { return actuator.Run(ctx, cfg.Actuator) }},
		boot.Task{Name: "watcher", Run: func(ctx context.Context) error {
			return runWatcher(ctx, cfg, bound.planner, bound.actuator)
		}},
	)
}

// runWatcher starts the watcher once the others are bound: the address that they were given may be any free port.
func runWatcher(ctx context.Context, cfg Config, plannerAt, actuatorAt <-chan net.Addr) error {
	w := cfg.Watcher
	w.Actuator.Addresses = slices.Clone(w.Actuator.Addresses)
	for range 2 {
		select {
		case <-ctx.Done():
			return nil
		case addr := <-plannerAt:
			if w.Planner.Target == cfg.Planner.Listen {
				w.Planner.Target = addr.String()
			}
		case addr := <-actuatorAt:
			for i, a := range w.Actuator.Addresses {
				if a == cfg.Actuator.Listen {
					w.Actuator.Addresses[i] = addr.String()
				}
			}
		}
	}
	return watcher.Run(ctx, w)
}

// announce returns a channel that gets the address, once, and an OnListen that sends it there and to the one before.
func announce(before func(net.Addr)) (chan net.Addr, func(net.Addr)) {
	at := make(chan net.Addr, 1)
	return at, func(a net.Addr) {
		if before != nil {
			before(a)
		}
		at <- a
	}
}
