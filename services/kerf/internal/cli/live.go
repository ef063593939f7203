package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/preview"
	"github.com/kerf-dev/kerf/services/planner"
)

const (
	// planTimeout bounds a plan of a planner elsewhere, sending it the snapshot included.
	planTimeout = 5 * time.Minute
	// partBytes is how large a message of a session may be: a mebibyte, less what is around it.
	partBytes = 1<<20 - 1<<10
	// maxPlanBytes bounds what a plan may grow to over all its parts.
	maxPlanBytes = 256 << 20
)

// decider makes plans in this process, or asks the planner at an address.
func (c *client) decider(addr string) preview.Decider {
	if addr == "" {
		return planner.Decide
	}
	return func(ctx context.Context, req *plannerpb.PlanRequest) (*plannerpb.PlanResponse, error) {
		p, err := c.session(ctx, addr, req)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", addr, err)
		}
		return &plannerpb.PlanResponse{Plan: p}, nil
	}
}

// session asks by a stream, which has no bound on the snapshot as a whole.
func (c *client) session(ctx context.Context, addr string, req *plannerpb.PlanRequest) (*plannerpb.Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	conn, err := c.dial(addr, plannerpb.File_kerf_planner_v1alpha1_planner_proto.Services().ByName("PlannerService"))
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it any more
	stream, err := plannerpb.NewPlannerServiceClient(conn).Session(ctx)
	if err != nil {
		return nil, err
	}
	parts := cut(req.GetSnapshot(), partBytes)
	messages := make([]*plannerpb.SessionRequest, 0, len(parts)+1)
	for i, p := range parts {
		part := &clusterpb.SnapshotPart{Snapshot: p, Last: i == len(parts)-1}
		messages = append(messages, &plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Snapshot{Snapshot: part}})
	}
	messages = append(messages, &plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Decide{Decide: req.GetDecide()}})
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
func receivePlan(stream plannerpb.PlannerService_SessionClient) (*plannerpb.Plan, error) {
	out := &plannerpb.Plan{}
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
func cut(s *clusterpb.Snapshot, most int) []*clusterpb.Snapshot {
	part := &clusterpb.Snapshot{}
	var out []*clusterpb.Snapshot
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
				part, size = &clusterpb.Snapshot{}, 0
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
