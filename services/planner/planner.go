// Package planner is the planner as a whole: what its binary runs (Run), and the same decision in-process, without a
// network (Decide). It wires packages and decides nothing.
//
// Start reading at plan.Decide for what the planner thinks, and at internal/server for how it is asked.
package planner

import (
	"context"
	"errors"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
)

// DefaultListen is where the planner's binary listens unless its configuration says otherwise.
const DefaultListen = "127.0.0.1:7400"

// Config is the planner's configuration. The zero value is safe: a free loopback port, in plaintext.
type Config struct {
	boot.ServiceConfig
	Sessions Sessions `json:"sessions"`
}

// Sessions bounds what clients may ask of the planner.
type Sessions struct {
	// MaxSnapshotBytes is how large the snapshot of one session may grow; 0 is 512 MiB.
	MaxSnapshotBytes int `json:"max_snapshot_bytes"`
	// MaxDecides is how many plans are made at the same time; 0 is one per processor.
	MaxDecides int `json:"max_decides"`
}

// Validate implements config.Validator.
func (s Sessions) Validate() error {
	if s.MaxSnapshotBytes < 0 {
		return config.Errorf("max_snapshot_bytes", "%d is negative; want a size in bytes, or 0 for the default", s.MaxSnapshotBytes)
	}
	if s.MaxDecides < 0 {
		return config.Errorf("max_decides", "%d is negative; want a number, or 0 for the default", s.MaxDecides)
	}
	return nil
}

// Run serves until ctx is done.
func Run(ctx context.Context, cfg Config) error {
	if err := config.Check(cfg); err != nil {
		return err
	}
	svc, err := boot.Start(ctx, "planner", cfg.ServiceConfig)
	if err != nil {
		return err
	}
	srv := server.New(server.Config{
		Tracer: svc.Tracer, Log: svc.Log, SnapshotBytes: cfg.Sessions.MaxSnapshotBytes, Decides: cfg.Sessions.MaxDecides,
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
