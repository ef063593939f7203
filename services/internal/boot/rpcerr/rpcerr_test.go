package rpcerr_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
)

// overTheWire is what a client holds after a server returned err.
func overTheWire(t *testing.T, err error) error {
	t.Helper()
	st, _ := status.FromError(err)
	data, merr := proto.Marshal(st.Proto())
	if merr != nil {
		t.Fatal(merr)
	}
	p := st.Proto()
	proto.Reset(p)
	if merr := proto.Unmarshal(data, p); merr != nil {
		t.Fatal(merr)
	}
	return status.FromProto(p).Err()
}

func TestErrorsComeOutAsTheyWentIn(t *testing.T) {
	tests := map[string]struct {
		give error
		want *rpcerr.Error
	}{
		"fields of a request": {
			rpcerr.Invalid(rpcerr.Violation{Field: "a.b", Problem: "want 1"}, rpcerr.Violation{Field: "c", Problem: "want 2"}),
			&rpcerr.Error{
				Code: codes.InvalidArgument, Reason: rpcerr.ReasonInvalid, Message: "invalid request: a.b: want 1; c: want 2",
				Violations: []rpcerr.Violation{{Field: "a.b", Problem: "want 1"}, {Field: "c", Problem: "want 2"}},
			},
		},
		"the leader's address": {
			rpcerr.NotLeader("10.0.0.7:7402"),
			&rpcerr.Error{
				Code: codes.FailedPrecondition, Reason: rpcerr.ReasonNotLeader, Message: "not the leader; ask 10.0.0.7:7402",
				Metadata: map[string]string{"leader": "10.0.0.7:7402"},
			},
		},
		"when to try again": {
			&rpcerr.Error{Code: codes.Unavailable, Reason: "SYNCING", Message: "not yet", RetryAfter: 3 * time.Second},
			&rpcerr.Error{Code: codes.Unavailable, Reason: "SYNCING", Message: "not yet", RetryAfter: 3 * time.Second},
		},
		"wrapped, with the context as text": {
			fmt.Errorf("session 7: %w", rpcerr.New(codes.OutOfRange, "GAP", "revision %d is missing", 4)),
			&rpcerr.Error{Code: codes.OutOfRange, Reason: "GAP", Message: "session 7: revision 4 is missing"},
		},
		"without a code, as unknown": {
			&rpcerr.Error{Message: "x"},
			&rpcerr.Error{Code: codes.Unknown, Message: "x"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := rpcerr.From(overTheWire(t, tt.give))
			if !ok {
				t.Fatal("no error came out")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got := rpcerr.Reason(tt.give); got != tt.want.Reason {
				t.Errorf("Reason before the wire = %q, want %q", got, tt.want.Reason)
			}
		})
	}
}

func TestLeader(t *testing.T) {
	tests := map[string]struct {
		give *rpcerr.Error
		want string
		ok   bool
	}{
		"is told where it is known":           {rpcerr.NotLeader("a:1"), "a:1", true},
		"is absent where there is none":       {rpcerr.NotLeader(""), "", false},
		"is not taken from other error kinds": {&rpcerr.Error{Reason: "X", Metadata: map[string]string{"leader": "a:1"}}, "a:1", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := tt.give.Leader()
			if ok != tt.ok || (ok && got != tt.want) {
				t.Errorf("Leader() = %q, %t, want %q, %t", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestFromIgnoresWhatIsNotOurs(t *testing.T) {
	if _, ok := rpcerr.From(nil); ok {
		t.Error("From(nil) found an error")
	}
	if _, ok := rpcerr.From(errors.New("plain")); ok {
		t.Error("From found a status in a plain error")
	}
	st, err := status.New(codes.Aborted, "m").WithDetails(&errdetails.ErrorInfo{Reason: "THEIRS", Domain: "example.org"})
	if err != nil {
		t.Fatal(err)
	}
	if got := rpcerr.Reason(st.Err()); got != "" {
		t.Errorf("a foreign reason counts as ours: %q", got)
	}
}

func TestInvalidBoundsWhatTravels(t *testing.T) {
	many := make([]rpcerr.Violation, 10_000)
	for i := range many {
		many[i] = rpcerr.Violation{Field: fmt.Sprintf("f[%d]", i), Problem: "want less"}
	}
	err := overTheWire(t, rpcerr.Invalid(many...))
	got, _ := rpcerr.From(err)
	if len(got.Violations) != 50 || len(got.Message) > 4096 {
		t.Errorf("%d violations and a message of %d bytes travelled, want 50 and no more than 4096", len(got.Violations), len(got.Message))
	}
}
