package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	plannerv1 "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1"
	"github.com/kerf-dev/kerf/services/kerf/internal/preview"
	"github.com/kerf-dev/kerf/services/planner"
)

const (
	// planTimeout bounds a plan of a planner elsewhere, sending it the snapshot included.
	planTimeout = 5 * time.Minute
	// partBytes is how large a message of a session may be: a mebibyte, less room for what is around it.
	partBytes = 1<<20 - 1<<10
	// maxPlanBytes bounds what a plan may grow to over all its parts.
	maxPlanBytes = 256 << 20
)

// decider makes plans in this process, or asks the planner at an address.
func (c *client) decider(addr string) preview.Decider {
	if addr == "" {
		return planner.Decide
	}
	return func(ctx context.Context, req *plannerv1.PlanRequest) (*plannerv1.PlanResponse, error) {
		p, err := c.session(ctx, addr, req)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", addr, err)
		}
		return &plannerv1.PlanResponse{Plan: p}, nil
	}
}

// session asks by a stream, which has no bound on the snapshot as a whole.
func (c *client) session(ctx context.Context, addr string, req *plannerv1.PlanRequest) (*plannerv1.Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	conn, err := c.dial(addr, plannerv1.File_kerf_planner_v1_planner_proto.Services().ByName("PlannerService"))
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it any more
	stream, err := plannerv1.NewPlannerServiceClient(conn).Session(ctx)
	if err != nil {
		return nil, err
	}
	parts := cut(req.GetSnapshot(), partBytes)
	messages := make([]*plannerv1.SessionRequest, 0, len(parts)+1)
	for i, p := range parts {
		part := &plannerv1.SnapshotPart{Snapshot: p, Last: i == len(parts)-1}
		messages = append(messages, &plannerv1.SessionRequest{Message: &plannerv1.SessionRequest_Snapshot{Snapshot: part}})
	}
	messages = append(messages, &plannerv1.SessionRequest{Message: &plannerv1.SessionRequest_Decide{Decide: req.GetDecide()}})
	for _, m := range messages {
		err := stream.Send(m)
		if errors.Is(err, io.EOF) {
			break // the planner's own words come by Recv
		}
		if err != nil {
			return nil, err
		}
	}
	return receivePlan(stream)
}

// receivePlan puts the parts of a plan together.
func receivePlan(stream plannerv1.PlannerService_SessionClient) (*plannerv1.Plan, error) {
	out := &plannerv1.Plan{}
	for bytes := 0; ; {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the planner ended the session without an answer")
		}
		if err != nil {
			return nil, err
		}
		if bytes += proto.Size(m); bytes > maxPlanBytes {
			return nil, fmt.Errorf("the plan is larger than %d MiB", maxPlanBytes>>20)
		}
		proto.Merge(out, m.GetPlan().GetPlan())
		if m.GetPlan().GetLast() {
			return out, nil
		}
	}
}

// cut makes parts of at most so many bytes out of a snapshot: what is no list in the first, and each entry of a list in
// one of them. An entry that is larger travels alone.
func cut(s *clusterv1.Snapshot, most int) []*clusterv1.Snapshot {
	part := &clusterv1.Snapshot{}
	var out []*clusterv1.Snapshot
	size := 0
	from := s.ProtoReflect()
	fields := from.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !f.IsList() {
			if from.Has(f) {
				part.ProtoReflect().Set(f, from.Get(f))
			}
			continue
		}
		list := from.Get(f).List()
		for j := range list.Len() {
			const around = 8 // tag and length
			n := proto.Size(list.Get(j).Message().Interface()) + around
			if size > 0 && size+n > most {
				out = append(out, part)
				part, size = &clusterv1.Snapshot{}, 0
			}
			add(part.ProtoReflect(), f, list.Get(j))
			size += n
		}
	}
	return append(out, part)
}

func add(to protoreflect.Message, f protoreflect.FieldDescriptor, v protoreflect.Value) {
	to.Mutable(f).List().Append(v)
}
