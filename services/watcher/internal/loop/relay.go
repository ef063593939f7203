package loop

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

// mostReasons is of how many pods that stay pending the actuator is told why: it is an event each.
const mostReasons = 10_000

// mostRelayed is how large a plan is sent to the actuator: what a message may have, less what is around it.
const mostRelayed = rpc.DefaultMaxMessageBytes - 4<<10

// portion leaves new claims out of a plan that is larger than most bytes, or decides more than most allows, and says
// which, disruptions among them: thousands, as of pods that each want a node of their own, or of a static pool that grows.
// Those for no pods go first, and of each the last. Replacements stay, for the sake of the disruptions that wait for them,
// unless there are too many of these alone. What is left out is planned for again, beside what is on its way by then.
func portion(plan *plannerpb.Plan, bytes, decisions int) (left map[string]bool) {
	over, many := proto.Size(plan)-bytes, len(plan.GetNodeClaims())+len(plan.GetDisruptions())-decisions
	if over <= 0 && many <= 0 {
		return nil
	}
	replaces := make(map[string]bool)
	for _, d := range plan.GetDisruptions() {
		for _, id := range d.GetReplacements() {
			replaces[id] = true
		}
	}
	placed := make(map[string]int) // bytes, by claim
	for _, p := range plan.GetPlacements() {
		placed[p.GetClaim()] += proto.Size(p) + entryBytes
	}
	left = make(map[string]bool)
	for _, forPods := range []bool{false, true} {
		for _, c := range slices.Backward(plan.GetNodeClaims()) {
			if over <= 0 && many <= 0 {
				break
			}
			if id := c.GetId(); !replaces[id] && placed[id] > 0 == forPods {
				left[id] = true
				over -= proto.Size(c) + entryBytes + placed[id]
				many--
			}
		}
	}
	for _, d := range slices.Backward(plan.GetDisruptions()) {
		if many <= 0 {
			break
		}
		for _, id := range slices.Concat(d.GetReplacements(), []string{d.GetId()}) {
			left[id] = true
			many--
		}
	}
	plan.Disruptions = slices.DeleteFunc(slices.Clone(plan.GetDisruptions()), func(d *plannerpb.Disruption) bool { return left[d.GetId()] })
	plan.NodeClaims = slices.DeleteFunc(plan.GetNodeClaims(), func(c *plannerpb.NodeClaim) bool { return left[c.GetId()] })
	plan.Placements = slices.DeleteFunc(slices.Clone(plan.GetPlacements()), func(p *plannerpb.Placement) bool { return left[p.GetClaim()] })
	return left
}

// entryBytes is what an entry of a list has around it at least.
const entryBytes = 2

// relayable is what the actuator looks at of a plan: no less than what convert.ReadDecisions reads. The explanations
// that it leaves out grow with pods, nodes and pools, and would make a plan for a large cluster larger than one message
// may be. The plan itself stays as it is.
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
