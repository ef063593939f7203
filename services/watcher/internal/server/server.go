// Package server serves the live snapshot and the last plan to tools.
//
// It streams what it is given and must never touch how the snapshot is made. Start reading at Server.WatchSnapshot.
package server

import (
	"cmp"
	"context"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/watcher/internal/stream"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// Reasons of errors.
const (
	// ReasonNotSynced: the cluster has not been read as a whole yet; ask again.
	ReasonNotSynced = "NOT_SYNCED"
	// ReasonTooSlow: the subscriber fell behind and must begin again.
	ReasonTooSlow = "TOO_SLOW"
	// ReasonTooLarge: the plan is larger than one message may be.
	ReasonTooLarge = "TOO_LARGE"
	// ReasonBusy: as many others read the snapshot as may.
	ReasonBusy = "BUSY"
	// ReasonNoPlan: no plan was relayed yet.
	ReasonNoPlan = "NO_PLAN"
)

// maxPlanBytes is the largest plan that GetPlan answers with: what clients take in one message, less what is around it.
const maxPlanBytes = rpc.DefaultMaxMessageBytes - 1<<10

// Server implements WatcherService. Make it with New. Safe for concurrent use.
type Server struct {
	watcherpb.UnimplementedWatcherServiceServer

	hub       *stream.Hub[snapshot.Snapshot]
	header    wire.Header
	policy    *clusterpb.Policy
	partBytes int
	// readers holds one entry for each call that reads the snapshot.
	readers chan struct{}
	plan    atomic.Pointer[watcherpb.GetPlanResponse]
	trouble atomic.Pointer[string]
}

// DefaultReaders is how many calls may read the snapshot at once where New is told nothing else.
const DefaultReaders = 32

// New makes a server for the snapshots that are published on hub, and for the policy that plans are asked for with, which
// must not be changed afterwards. Each call that reads the snapshot holds a copy of it in parts while it is sent: so many
// may do so at once, and 0 is DefaultReaders.
func New(hub *stream.Hub[snapshot.Snapshot], h wire.Header, p *clusterpb.Policy, readers int) *Server {
	return &Server{hub: hub, header: h, policy: p, partBytes: wire.MaxPartBytes, readers: make(chan struct{}, cmp.Or(readers, DefaultReaders))}
}

// read takes a place among the readers; done gives it up.
func (s *Server) read() (done func(), err error) {
	select {
	case s.readers <- struct{}{}:
		return func() { <-s.readers }, nil
	default:
		return nil, rpcerr.New(codes.ResourceExhausted, ReasonBusy,
			"%d calls read the snapshot, as many as queues.readers allows: end one, try again later, or raise it", cap(s.readers))
	}
}

// SetPlan makes p the last plan, and verdicts the actuator's answer to it. Neither may be changed afterwards.
func (s *Server) SetPlan(p *plannerpb.Plan, verdicts []*actuatorpb.Verdict) {
	s.plan.Store(&watcherpb.GetPlanResponse{Plan: p, Verdicts: verdicts})
}

// SetTrouble makes words what keeps plans from being made or carried out; "" is nothing.
func (s *Server) SetTrouble(words string) { s.trouble.Store(&words) }

// GetSnapshot implements WatcherService.
func (s *Server) GetSnapshot(_ *watcherpb.GetSnapshotRequest, out watcherpb.WatcherService_GetSnapshotServer) error {
	now, ok := s.hub.Latest()
	if !ok {
		return notSynced()
	}
	done, err := s.read()
	if err != nil {
		return err
	}
	defer done()
	first := &watcherpb.GetSnapshotResponse{Policy: s.policy}
	if words := s.trouble.Load(); words != nil {
		first.Trouble = *words
	}
	return s.parts(now, func(p *clusterpb.SnapshotPart) error {
		m := first
		first = &watcherpb.GetSnapshotResponse{} // what is beside the snapshot goes with its first part only
		m.Snapshot = p
		return out.Send(m)
	})
}

// WatchSnapshot implements WatcherService.
func (s *Server) WatchSnapshot(_ *watcherpb.WatchSnapshotRequest, out watcherpb.WatcherService_WatchSnapshotServer) error {
	if _, ok := s.hub.Latest(); !ok {
		return notSynced()
	}
	done, err := s.read()
	if err != nil {
		return err
	}
	defer done()
	sub := s.hub.Subscribe()
	defer sub.End()
	var held snapshot.Snapshot
	for {
		select {
		case <-out.Context().Done():
			return out.Context().Err()
		case next, ok := <-sub.Values():
			if !ok {
				return rpcerr.New(codes.ResourceExhausted, ReasonTooSlow, "the subscriber fell behind at revision %d; begin again", held.Revision)
			}
			if err := s.send(out, held, next); err != nil {
				return err
			}
			held = next
		}
	}
}

// send brings a subscriber from what it holds to the next snapshot.
func (s *Server) send(out watcherpb.WatcherService_WatchSnapshotServer, held, next snapshot.Snapshot) error {
	if held.Revision == 0 {
		return s.parts(next, func(p *clusterpb.SnapshotPart) error {
			return out.Send(&watcherpb.WatchSnapshotResponse{Message: &watcherpb.WatchSnapshotResponse_Snapshot{Snapshot: p}})
		})
	}
	if held.Revision == next.Revision {
		return nil
	}
	parts := wire.DeltaParts(snapshot.Diff(held, next), s.header, s.partBytes)
	for i, p := range parts {
		part := &clusterpb.DeltaPart{Delta: p, Last: i == len(parts)-1}
		if err := out.Send(&watcherpb.WatchSnapshotResponse{Message: &watcherpb.WatchSnapshotResponse_Delta{Delta: part}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) parts(now snapshot.Snapshot, send func(*clusterpb.SnapshotPart) error) error {
	for p, last := range wire.Parts(now, s.header, s.partBytes) {
		if err := send(&clusterpb.SnapshotPart{Snapshot: p, Last: last}); err != nil {
			return err
		}
	}
	return nil
}

// GetPlan implements WatcherService.
func (s *Server) GetPlan(context.Context, *watcherpb.GetPlanRequest) (*watcherpb.GetPlanResponse, error) {
	p := s.plan.Load()
	if p == nil {
		return nil, rpcerr.New(codes.NotFound, ReasonNoPlan, "no plan was relayed yet")
	}
	if n := proto.Size(p); n > maxPlanBytes {
		return nil, rpcerr.New(codes.ResourceExhausted, ReasonTooLarge,
			"the plan has %d bytes, one message %d at most: ask the planner for it, with the snapshot of GetSnapshot in a Session", n, maxPlanBytes)
	}
	return p, nil
}

func notSynced() error {
	return rpcerr.New(codes.Unavailable, ReasonNotSynced, "the cluster has not been read as a whole yet")
}
