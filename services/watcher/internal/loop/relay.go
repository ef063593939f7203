package loop

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
)

// mostReasons is of how many pods that stay pending the actuator is told why: it is an event each.
const mostReasons = 10_000

// relayable is what the actuator looks at of a plan: no less than what convert.ReadDecisions reads. The explanations that it leaves out grow with pods, nodes and pools, and
// would make a plan for a large cluster larger than one message may be. The plan itself stays as it is.
func relayable(plan *plannerpb.Plan) *plannerpb.Plan {
	out := without(plan, "node_claims", "pending", "nodes", "problems")
	for _, c := range plan.GetNodeClaims() {
		out.NodeClaims = append(out.NodeClaims, without(c, "runners_up"))
	}
	for i, p := range plan.GetPending() {
		if i < mostReasons {
			out.Pending = append(out.Pending, without(p, "pools"))
		} else {
			out.Pending = append(out.Pending, without(p, "pools", "reason"))
		}
	}
	for _, v := range plan.GetNodes() {
		switch {
		case convert.TellsOf(v):
			out.Nodes = append(out.Nodes, v)
		case convert.ActsOn(v):
			out.Nodes = append(out.Nodes, without(v, "reason"))
		}
	}
	return out
}

// without is a message that shares all fields with another but for those.
func without[M proto.Message](m M, fields ...protoreflect.Name) M {
	from := m.ProtoReflect()
	to := from.New()
	from.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !slices.Contains(fields, f.Name()) {
			to.Set(f, v)
		}
		return true
	})
	out, _ := to.Interface().(M) // New makes the same type
	return out
}
