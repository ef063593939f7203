package apply

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// Repair says which nodes are sick beyond waiting. The zero value is the default.
type Repair struct {
	// Off keeps all sick nodes.
	Off bool
	// Conditions are the ways to be sick; none means DefaultRepairConditions.
	Conditions []RepairCondition
	// MaxUnhealthyPercent is the share of a pool's nodes, rounded up, that may be sick at once: above it the fault is
	// likely not the nodes', and none is taken. 0 means 20.
	MaxUnhealthyPercent int
}

// RepairCondition is one way to be sick: a condition that has had the status for as long.
type RepairCondition struct {
	Type, Status string
	After        time.Duration
}

// maxUnhealthyPercent is Karpenter's share.
const maxUnhealthyPercent = 20

// DefaultRepairConditions are those of the EKS node monitoring agent, with the patience that Karpenter's AWS provider has
// with them.
func DefaultRepairConditions() []RepairCondition {
	const long, short = 30 * time.Minute, 10 * time.Minute

	return []RepairCondition{
		{"Ready", "False", long},
		{"Ready", "Unknown", long},
		{"AcceleratedHardwareReady", "False", short},
		{"StorageReady", "False", long},
		{"NetworkingReady", "False", long},
		{"KernelReady", "False", long},
		{"ContainerRuntimeReady", "False", long},
	}
}

// withDefaults fills in what is left open.
func (r Repair) withDefaults() Repair {
	if len(r.Conditions) == 0 {
		r.Conditions = DefaultRepairConditions()
	}
	if r.MaxUnhealthyPercent == 0 {
		r.MaxUnhealthyPercent = maxUnhealthyPercent
	}

	return r
}

// sick says what ails a node beyond waiting; "" when nothing does.
func (r Repair) sick(n cluster.Node, now time.Time) string {
	for _, want := range r.Conditions {
		for _, c := range n.Conditions {
			if c.Type != want.Type || c.Status != want.Status || c.Since.IsZero() {
				continue
			}
			if lasts := now.Sub(c.Since); lasts >= want.After {
				return fmt.Sprintf("its condition %s has been %s for %s", c.Type, c.Status, lasts.Round(time.Second))
			}
		}
	}

	return ""
}

// unhealthy checks that the candidate's node is sick, and that so few of its pool are that the fault is the node's.
func (v *verifier) unhealthy(c model.Claim, n cluster.Node) model.Reason {
	repair := v.state.Repair.withDefaults()
	fail := func(code model.ReasonCode, format string, args ...any) model.Reason {
		return model.Reason{Code: code, Message: fmt.Sprintf(format, args...), Subject: "node/" + n.Name}
	}
	if repair.Off {
		return fail(model.ReasonInvalid, "node %s: sick nodes are kept: repair.off is set in this actuator's configuration", n.Name)
	}
	if repair.sick(n, v.state.Now) == "" {
		return fail(model.ReasonInvalid, "node %s is not sick: none of %d repair conditions has lasted long enough", n.Name,
			len(repair.Conditions))
	}
	total, sick := v.health(c.NodePool, repair)
	if most := (repair.MaxUnhealthyPercent*total + 99) / 100; sick > most {
		return fail(model.ReasonRepairGuard, "%d of %d nodes of node pool %s are sick, and with more than %d the fault is likely not theirs",
			sick, total, c.NodePool, most)
	}

	return model.Reason{}
}

// health counts the nodes of a pool and those of them that are sick.
func (v *verifier) health(pool string, repair Repair) (total, sick int) {
	for id, c := range v.state.Claims {
		n, ok := v.state.Nodes[id]
		if !ok || c.NodePool != pool || c.State < model.StateRegistered || c.State > model.StateDraining {
			continue
		}
		total++
		if repair.sick(n, v.state.Now) != "" {
			sick++
		}
	}

	return total, sick
}
