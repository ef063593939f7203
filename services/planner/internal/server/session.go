package server

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
)

// maxMessageBytes is the largest message that a session sends.
const maxMessageBytes = 1 << 20

// maxReceivedBytes is the largest message that a session takes. Parts are of a mebibyte at most, but an object that is
// larger by itself travels alone: the catalogue of all instance types is.
const maxReceivedBytes = 8 << 20

// Session holds a snapshot for as long as the stream lives and answers questions about it, one at a time and in order.
// What the client sends while a plan is being made waits in the transport, whose flow control bounds it.
func (s *Server) Session(stream plannerpb.PlannerService_SessionServer) error {
	if err := s.bounds.session(); err != nil {
		return err
	}
	held := &session{bounds: s.bounds}
	defer func() { s.bounds.left(held.bytes) }()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n := proto.Size(m); n > maxReceivedBytes {
			return rpcerr.New(codes.InvalidArgument, ReasonTooLarge, "a message of %d bytes: a session takes at most %d", n, maxReceivedBytes)
		}
		switch m := m.GetMessage().(type) {
		case *plannerpb.SessionRequest_Snapshot:
			err = held.snapshot(m.Snapshot)
		case *plannerpb.SessionRequest_Delta:
			err = held.delta(m.Delta)
		case *plannerpb.SessionRequest_Decide:
			err = s.reply(stream, held, m.Decide)
		default:
			err = rpcerr.New(codes.InvalidArgument, rpcerr.ReasonInvalid, "message: want a snapshot, a delta or a decide")
		}
		if err != nil {
			return err
		}
	}
}

// reply answers one question.
func (s *Server) reply(stream plannerpb.PlannerService_SessionServer, held *session, d *plannerpb.Decide) error {
	st, err := held.held()
	if err != nil {
		return err
	}
	p, err := s.answer(stream.Context(), s.known(stream.Context(), st, d), d)
	if err != nil {
		return err
	}
	parts, err := split(p, partBytes)
	if err != nil {
		return err
	}
	for i, part := range parts {
		m := &plannerpb.PlanPart{Plan: part, Last: i == len(parts)-1}
		if err := stream.Send(&plannerpb.SessionResponse{Message: &plannerpb.SessionResponse_Plan{Plan: m}}); err != nil {
			return err
		}
	}
	return nil
}

// known asks about what a session holds.
func (s *Server) known(ctx context.Context, st *state, d *plannerpb.Decide) question {
	return question{
		revision: st.head.Revision, pods: st.plan.Pods(),
		read: func() (model.Input, error) { return convert.Decide(d) },
		decide: func(in *model.Input) (model.Plan, error) {
			if s.cfg.Decide != nil {
				in.Snapshot = st.plan.Snapshot()
				return s.cfg.Decide(*in)
			}
			panicked := true
			defer func() {
				if panicked {
					st.plan.Forget()
					in.Snapshot = st.plan.Snapshot()
				}
			}()
			p, err := st.plan.Decide(asked(ctx, in))
			panicked = false
			if err == nil {
				in.Snapshot = st.plan.Snapshot() // for verify
			}
			return p, err
		},
	}
}

// partBytes is how large a part of a plan may grow: half of what a message may have.
const partBytes = maxMessageBytes / 2

// split cuts a plan into parts: all that is no list in the first, the lists' entries in order.
func split(p *plannerpb.Plan, most int) ([]*plannerpb.Plan, error) {
	head, whole := &plannerpb.Plan{}, p.ProtoReflect()
	var lists []protoreflect.FieldDescriptor
	for fields, i := whole.Descriptor().Fields(), 0; i < fields.Len(); i++ {
		switch f := fields.Get(i); {
		case f.IsList():
			lists = append(lists, f)
		case whole.Has(f):
			head.ProtoReflect().Set(f, whole.Get(f))
		}
	}
	c := &cutter{most: most, part: head, size: proto.Size(head)}
	for _, f := range lists {
		if err := c.cut(f, whole.Get(f).List()); err != nil {
			return nil, err
		}
	}
	return append(c.done, c.part), nil
}

// cutter fills one part after another.
type cutter struct {
	most int
	done []*plannerpb.Plan
	part *plannerpb.Plan
	size int
}

// entryBytes is what an entry of a list takes beside itself, at most.
const entryBytes = 8

func (c *cutter) cut(f protoreflect.FieldDescriptor, entries protoreflect.List) error {
	for i := range entries.Len() {
		e := entries.Get(i)
		n := proto.Size(e.Message().Interface()) + entryBytes
		if n > maxMessageBytes-entryBytes {
			return rpcerr.New(codes.ResourceExhausted, ReasonTooLarge, "an entry of the plan has %d bytes, more than a message may", n)
		}
		if c.size+n > c.most && c.size > 0 {
			c.done = append(c.done, c.part)
			c.part, c.size = &plannerpb.Plan{}, 0
		}
		c.part.ProtoReflect().Mutable(f).List().Append(e)
		c.size += n
	}
	return nil
}
