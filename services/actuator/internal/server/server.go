// Package server is the actuator's gRPC face: it reads requests, asks the loop, and writes answers.
//
// It decides nothing and keeps nothing. Start at Server.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/internal/loop"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
)

const (
	// maxName bounds a watcher's name.
	maxName = 253
	// defaultPage and maxPage are how many claims a page of ListClaims has.
	defaultPage, maxPage = 500, 1000
	// retryAfter is the advice to callers who came a moment too early.
	retryAfter = 500 * time.Millisecond
)

// Server serves ActuatorService. Safe for concurrent use.
type Server struct {
	actuatorpb.UnimplementedActuatorServiceServer
	loop *loop.Loop
}

// New makes a server that asks the loop.
func New(l *loop.Loop) *Server { return &Server{loop: l} }

// Apply implements ActuatorService.
func (s *Server) Apply(ctx context.Context, r *actuatorpb.ApplyRequest) (*actuatorpb.ApplyResponse, error) {
	if r.GetPlan() == nil {
		return nil, rpcerr.Invalid(rpcerr.Violation{Field: "plan", Problem: "must be set"})
	}
	if n := len(r.GetPlan().GetNodeClaims()) + len(r.GetPlan().GetDisruptions()); n > convert.MostDecisions {
		return nil, rpcerr.Invalid(rpcerr.Violation{
			Field: "plan", Problem: fmt.Sprintf("%d claims and disruptions: at most %d", n, convert.MostDecisions),
		})
	}
	plan, err := convert.ReadDecisions(r.GetPlan())
	if err != nil {
		return nil, failure(err)
	}
	var pending []loop.Pending
	for _, p := range plan.Pending {
		pending = append(pending, loop.Pending{Pod: string(p.Pod), Reason: p.Reason})
	}
	answer, err := s.loop.Apply(ctx, plan, pending, r.GetDryRun())
	if err != nil {
		return nil, failure(err)
	}
	return &actuatorpb.ApplyResponse{Verdicts: convert.Verdicts(answer.Verdicts), InventoryRevision: answer.Revision}, nil
}

// WatchInventory implements ActuatorService.
func (s *Server) WatchInventory(
	r *actuatorpb.WatchInventoryRequest, stream grpc.ServerStreamingServer[actuatorpb.WatchInventoryResponse],
) error {
	return s.follow(stream.Context(), r.GetWatcher(), false, func(part *actuatorpb.InventoryPart, _ bool) error {
		return stream.Send(&actuatorpb.WatchInventoryResponse{Inventory: part})
	})
}

// Drive implements ActuatorService.
func (s *Server) Drive(r *actuatorpb.DriveRequest, stream grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error {
	return s.follow(stream.Context(), r.GetWatcher(), true, func(part *actuatorpb.InventoryPart, driver bool) error {
		return stream.Send(&actuatorpb.DriveResponse{Inventory: part, Driver: driver})
	})
}

// follow sends the whole inventory first, then what has changed since the last message.
func (s *Server) follow(ctx context.Context, name string, drive bool, send func(*actuatorpb.InventoryPart, bool) error) error {
	if name == "" || len(name) > maxName {
		return rpcerr.Invalid(rpcerr.Violation{Field: "watcher", Problem: fmt.Sprintf("want a name of 1 to %d characters", maxName)})
	}
	sub, err := s.loop.Subscribe(ctx, name, drive)
	if err != nil {
		return failure(err)
	}
	defer sub.Close()
	var sent inventory.Inventory
	for first := true; ; first = false {
		inv, driver, err := sub.Next(ctx)
		if err != nil {
			return failure(err)
		}
		delta := inventory.Diff(sent, *inv)
		parts := convert.Whole(delta.Upserted)
		if !first {
			parts = convert.Change(delta)
		}
		for _, part := range parts {
			if err := send(part, driver); err != nil {
				return err
			}
		}
		sent = *inv
	}
}

// ListClaims implements ActuatorService.
func (s *Server) ListClaims(ctx context.Context, r *actuatorpb.ListClaimsRequest) (*actuatorpb.ListClaimsResponse, error) {
	if r.GetPageSize() < 0 {
		return nil, rpcerr.Invalid(rpcerr.Violation{Field: "page_size", Problem: "must not be negative"})
	}
	inv, err := s.loop.Inventory(ctx)
	if err != nil {
		return nil, failure(err)
	}
	size := min(cmp.Or(int(r.GetPageSize()), defaultPage), maxPage)
	out := &actuatorpb.ListClaimsResponse{InventoryRevision: inv.Revision}
	for _, c := range inv.Claims { // sorted by id; a token is the last id of the page before
		if (r.GetNodePool() != "" && string(c.NodePool) != r.GetNodePool()) || (c.State.Ended() && !r.GetIncludeEnded()) ||
			string(c.ID) <= r.GetPageToken() && r.GetPageToken() != "" {
			continue
		}
		if len(out.GetClaims()) == size {
			out.NextPageToken = out.GetClaims()[size-1].GetId()
			break
		}
		out.Claims = append(out.Claims, convert.Claim(*c))
	}
	return out, nil
}

// GetClaim implements ActuatorService.
func (s *Server) GetClaim(ctx context.Context, r *actuatorpb.GetClaimRequest) (*actuatorpb.GetClaimResponse, error) {
	c, err := s.claim(ctx, r.GetId(), s.loop.Claim)
	if err != nil {
		return nil, err
	}
	return &actuatorpb.GetClaimResponse{Claim: c}, nil
}

// DeleteClaim implements ActuatorService.
func (s *Server) DeleteClaim(ctx context.Context, r *actuatorpb.DeleteClaimRequest) (*actuatorpb.DeleteClaimResponse, error) {
	c, err := s.claim(ctx, r.GetId(), s.loop.Delete)
	if err != nil {
		return nil, err
	}
	return &actuatorpb.DeleteClaimResponse{Claim: c}, nil
}

func (s *Server) claim(
	ctx context.Context, id string, ask func(context.Context, model.ClaimID) (model.Claim, error),
) (*clusterpb.Claim, error) {
	if id == "" {
		return nil, rpcerr.Invalid(rpcerr.Violation{Field: "id", Problem: "must be set"})
	}
	c, err := ask(ctx, model.ClaimID(id))
	if err != nil {
		return nil, failure(err)
	}
	return convert.Claim(c), nil
}

// failure gives an error its code.
func failure(err error) error {
	var follower *loop.NotLeaderError
	var unreadable *convert.Error
	switch {
	case errors.As(err, &follower):
		return rpcerr.NotLeader(follower.Leader)
	case errors.As(err, &unreadable):
		var found []rpcerr.Violation
		for _, p := range unreadable.Problems {
			found = append(found, rpcerr.Violation{Field: p.Path, Problem: p.Text})
		}
		return rpcerr.Invalid(found...)
	case errors.Is(err, loop.ErrNotFound):
		return rpcerr.New(codes.NotFound, "CLAIM_NOT_FOUND", "%v", err)
	case errors.Is(err, loop.ErrNotReady), errors.Is(err, loop.ErrUnknown):
		e := rpcerr.New(codes.Unavailable, "NOT_READY", "%v", err)
		e.RetryAfter = retryAfter
		return e
	case errors.Is(err, context.Canceled):
		return rpcerr.New(codes.Canceled, "", "%v", err)
	case errors.Is(err, context.DeadlineExceeded):
		return rpcerr.New(codes.DeadlineExceeded, "", "%v", err)
	default:
		return rpcerr.New(codes.Internal, "INTERNAL", "%v", err)
	}
}
