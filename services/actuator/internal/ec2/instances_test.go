package ec2

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestWhyAnInstanceHasEnded(t *testing.T) {
	reason := func(code, message string) *types.StateReason {
		return &types.StateReason{Code: aws.String(code), Message: aws.String(message)}
	}
	for name, tt := range map[string]struct {
		state    types.InstanceStateName
		reason   *types.StateReason
		why      string
		unfilled bool
	}{
		"EC2 had none after all": {
			types.InstanceStateNameTerminated, reason("Server.InsufficientInstanceCapacity", "Server.InsufficientInstanceCapacity: none"),
			"Server.InsufficientInstanceCapacity: none", true,
		},
		"its key can't be used": {
			types.InstanceStateNameShuttingDown, reason("Client.InternalError", "Client.InternalError: Client error on launch"),
			"Client.InternalError: Client error on launch", false,
		},
		"a code alone":      {types.InstanceStateNameTerminated, &types.StateReason{Code: aws.String("Server.SpotInstanceTermination")}, "Server.SpotInstanceTermination", false},
		"nothing said":      {types.InstanceStateNameTerminated, nil, "", false},
		"it is still there": {types.InstanceStateNamePending, reason("pending", "pending"), "", false},
	} {
		got := instance(&types.Instance{State: &types.InstanceState{Name: tt.state}, StateReason: tt.reason})
		if got.Why != tt.why || got.Unfilled != tt.unfilled {
			t.Errorf("%s: %q, unfilled %v; want %q, %v", name, got.Why, got.Unfilled, tt.why, tt.unfilled)
		}
	}
}
