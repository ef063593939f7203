package convert_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/mutatetest"
)

// FuzzMutatedInput changes a complete request here and there. It is refused with problems that name object and field, or
// read as something that is written and read again as the same, in whatever order its lists come.
func FuzzMutatedInput(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a kerf is the width that a saw wastes"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := mutatetest.Choices(data)
		request := convert.Request(full())
		mutatetest.Message(&c, request, 20)
		before := proto.Clone(request)
		in, err := read(request)
		if !proto.Equal(before, request) {
			t.Fatal("reading changed the message")
		}
		if err != nil {
			named(t, err)
			return
		}
		again, err := read(convert.Request(in))
		if err != nil {
			t.Fatalf("what was read can't be read again: %v", err)
		}
		same(t, "written and read again", in, again)
		shuffled, err := read(shuffle(c, request))
		if err != nil {
			t.Fatalf("it can't be read in another order: %v", err)
		}
		same(t, "in another order", in, shuffled)
	})
}

// named checks that each problem says what it is about.
func named(t *testing.T, err error) {
	t.Helper()
	var bad *convert.Error
	if !errors.As(err, &bad) || len(bad.Problems) == 0 || len(bad.Problems) > 100 {
		t.Fatalf("refused without problems, or with too many: %v", err)
	}
	for _, p := range bad.Problems {
		if p.Object == "" || p.Path == "" || p.Text == "" {
			t.Fatalf("an incomplete problem: %+v", p)
		}
	}
}

func same(t *testing.T, what string, want, got model.Input) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s it is another (-want +got):\n%s", what, diff)
	}
}

// shuffle is the request with the snapshot's lists in another order.
func shuffle(c mutatetest.Choices, request *plannerpb.PlanRequest) *plannerpb.PlanRequest {
	out := proto.CloneOf(request)
	s := out.GetSnapshot().ProtoReflect()
	fields := s.Descriptor().Fields()
	for i := range fields.Len() {
		if !fields.Get(i).IsList() || !s.Has(fields.Get(i)) {
			continue
		}
		list := s.Mutable(fields.Get(i)).List()
		for last := list.Len() - 1; last > 0; last-- {
			at := c.Pick(last + 1)
			a, b := list.Get(at), list.Get(last)
			list.Set(at, b)
			list.Set(last, a)
		}
	}
	return out
}
