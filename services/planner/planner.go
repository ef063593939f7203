// Package planner is the planner as a whole: what its binary runs (Run), and the same decision in-process, without a
// network (Decide). It wires packages and decides nothing.
//
// Start reading at plan.Decide for what the planner thinks, and at internal/server for how it is asked.
package planner

import (
	"context"
	"errors"
	"math"
	"runtime/debug"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// DefaultListen is where the planner's binary listens unless its configuration says otherwise.
const DefaultListen = "127.0.0.1:7400"

// Config is the planner's configuration. The zero value is safe: a free loopback port, in plaintext.
type Config struct {
	boot.ServiceConfig
	Sessions Sessions `json:"sessions"`
	// FailedInputs is a folder, which must be there, in which up to ten inputs are kept that the planner failed on:
	// `kerf plan -f` reads them, and they belong to a report of the defect. They hold no secrets, but names and labels
	// of workloads; empty keeps none.
	FailedInputs string `json:"failed_inputs"`
}

// Sessions bounds what clients may ask of the planner, each and all together. What is beyond is refused with
// RESOURCE_EXHAUSTED, in words that name the field; the planner goes on.
type Sessions struct {
	// MaxSnapshotBytes is how large the snapshot of one session may grow, in bytes: its objects as sent, and 512 for
	// each; 0 is 512 MiB.
	MaxSnapshotBytes int `json:"max_snapshot_bytes"`
	// MaxTotalBytes is how large the snapshots of all sessions and requests may grow together, in the same bytes; 0 is a
	// quarter of GOMEMLIMIT where that is set, or else 1 GiB.
	MaxTotalBytes int `json:"max_total_bytes"`
	// MaxSessions is how many sessions there are at the same time; 0 is 64.
	MaxSessions int `json:"max_sessions"`
	// MaxDecides is how many plans are made at the same time; 0 is one per processor.
	MaxDecides int `json:"max_decides"`
	// MaxWaiting is how many questions wait for that; 0 is 128.
	MaxWaiting int `json:"max_waiting"`
}

// Validate implements config.Validator.
func (s Sessions) Validate() error {
	return errors.Join(notNegative("max_snapshot_bytes", s.MaxSnapshotBytes), notNegative("max_total_bytes", s.MaxTotalBytes),
		notNegative("max_sessions", s.MaxSessions), notNegative("max_decides", s.MaxDecides), notNegative("max_waiting", s.MaxWaiting))
}

func notNegative(field string, n int) error {
	if n < 0 {
		return config.Errorf(field, "%d is negative: want a number, or 0 for the default", n)
	}
	return nil
}

// memoryShare is the part of the memory limit that snapshots may have: in memory they take about what they count, plans
// that are being made as much again, and garbage half of that before it is collected.
const memoryShare = 4

func (s Sessions) limits() server.Limits {
	total := s.MaxTotalBytes
	if limit := debug.SetMemoryLimit(-1); total == 0 && limit < math.MaxInt64 {
		total = int(limit / memoryShare)
	}
	return server.Limits{
		SnapshotBytes: s.MaxSnapshotBytes, TotalBytes: total, Sessions: s.MaxSessions, Decides: s.MaxDecides, Waiting: s.MaxWaiting,
	}
}

// Run serves until ctx is done.
func Run(ctx context.Context, cfg Config) error { return RunWith(ctx, cfg, nil) }

// RunWith is Run with plans that decide makes, for tests of what becomes of bad ones; nil is the planner's own.
func RunWith(ctx context.Context, cfg Config, decide verify.Decider) error {
	if err := config.Check(cfg); err != nil {
		return err
	}
	svc, err := boot.Start(ctx, "planner", cfg.ServiceConfig)
	if err != nil {
		return err
	}
	srv := server.New(server.Config{
		Tracer: svc.Tracer, Log: svc.Log, Decide: decide, Limits: cfg.Sessions.limits(), FailedInputs: cfg.FailedInputs,
	})
	recorder, err := metrics.For(svc, metrics.Planner, cfg.Metrics.LegacyNames)
	if err == nil {
		err = srv.Measure(recorder)
	}
	if err != nil {
		return errors.Join(err, svc.Close())
	}
	plannerpb.RegisterPlannerServiceServer(svc, srv)
	return svc.Run(ctx)
}

// Decide answers a request in-process: it checks the request, decides, and verifies the plan, as the service does. Errors
// carry a gRPC status; INVALID_ARGUMENT names the object and the field that is wrong.
func Decide(ctx context.Context, req *plannerpb.PlanRequest) (*plannerpb.PlanResponse, error) {
	return server.New(server.Config{}).Plan(ctx, req)
}
