package apply

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// unhealthy checks that the candidate's node is unhealthy, and that so few of its pool are that the fault is the node's.
func (v *verifier) unhealthy(c model.Claim, n cluster.Node) model.Reason {
	fail := func(format string, args ...any) model.Reason {
		return model.Reason{Code: model.CodeInvalid, Message: fmt.Sprintf(format, args...), Subject: "node/" + string(n.Name)}
	}
	if v.state.Repair.Off {
		return fail("node %s: unhealthy nodes are kept: repair.off is set in this actuator's configuration", n.Name)
	}
	if !v.isUnhealthy(n) {
		return fail("node %s is not unhealthy: no condition that is repaired has lasted long enough", n.Name)
	}
	if r := rules.NotToBeRepaired(n.Annotations[labels.DoNotRepair] == "true"); !r.OK() {
		r.Subject = "node/" + string(n.Name)
		return r
	}
	nodes, unhealthy := v.health(c.NodePool)
	return rules.RepairGuard(v.state.Repair, c.NodePool, unhealthy, nodes)
}

func (v *verifier) isUnhealthy(n cluster.Node) bool {
	why, _ := rules.Unhealthy(v.state.Repair, n.Conditions, v.state.Now)
	return !why.OK()
}

// health counts the nodes of a pool and those of them that are unhealthy.
func (v *verifier) health(pool model.PoolName) (nodes, unhealthy int) {
	for id, c := range v.state.Claims {
		n, ok := v.state.Nodes[id]
		if !ok || c.NodePool != pool || !rules.CountsForRepair(&c) {
			continue
		}
		nodes++
		if rules.Unwell(v.state.Repair, &c, n.Conditions, v.state.Now) {
			unhealthy++
		}
	}
	return nodes, unhealthy
}
