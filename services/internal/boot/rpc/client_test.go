package rpc_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

// declared is the descriptor of the test service, whose one method has the level.
func declared(t *testing.T, level descriptorpb.MethodOptions_IdempotencyLevel) protoreflect.ServiceDescriptor {
	t.Helper()
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("test.proto"), Package: new("test.v1"), Syntax: new("proto3"),
		Dependency: []string{"google/protobuf/empty.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("Test"), Method: []*descriptorpb.MethodDescriptorProto{{
			Name: new("Do"), InputType: new(".google.protobuf.Empty"), OutputType: new(".google.protobuf.Empty"),
			Options: &descriptorpb.MethodOptions{IdempotencyLevel: &level},
		}}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return file.Services().Get(0)
}

func TestOnlyWhatIsDeclaredIdempotentIsRepeated(t *testing.T) {
	tests := map[string]struct {
		level descriptorpb.MethodOptions_IdempotencyLevel
		code  codes.Code
		calls int
	}{
		"an idempotent method, unavailable":   {descriptorpb.MethodOptions_IDEMPOTENT, codes.Unavailable, 2},
		"a read, unavailable":                 {descriptorpb.MethodOptions_NO_SIDE_EFFECTS, codes.Unavailable, 2},
		"an idempotent method, another error": {descriptorpb.MethodOptions_IDEMPOTENT, codes.Aborted, 1},
		"an undeclared method":                {descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN, codes.Unavailable, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			calls := 0
			f := fixture{service: &testService{do: func(context.Context) error {
				calls++
				if calls == 1 {
					return status.Error(tt.code, "the first time")
				}
				return nil
			}}}
			f.start(t)
			f.services = []protoreflect.ServiceDescriptor{declared(t, tt.level)}
			err := do(t.Context(), f.dial(t, rpc.ClientConfig{}))
			if calls != tt.calls || (err == nil) != (tt.calls == 2) {
				t.Errorf("%d calls, then %v; want %d", calls, err, tt.calls)
			}
		})
	}
}
