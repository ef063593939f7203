package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// withCondition gives a claim's node a condition that began so many minutes ago.
func withCondition(id model.ClaimID, kind, status string, minutes int) func(*State) {
	return func(s *State) {
		n := s.Nodes[id]
		n.Conditions = append(n.Conditions, model.NodeCondition{Type: kind, Status: status, TransitionTime: at(-minutes)})
		s.Nodes[id] = n
	}
}

func TestUnhealthyNodesGo(t *testing.T) {
	kernel := model.RepairPolicy{Conditions: []model.RepairCondition{{Type: "KernelReady", Status: "False", After: time.Minute}}}
	for name, c := range map[string]struct {
		edit []func(*State)
		want model.Code
	}{
		"a node that is well":                    {want: model.CodeInvalid},
		"a node without a word for half an hour": {edit: []func(*State){withCondition("old", "Ready", "Unknown", 30)}},
		"a node that says that it is down":       {edit: []func(*State){withCondition("old", "Ready", "False", 30)}},
		"not yet":                                {edit: []func(*State){withCondition("old", "Ready", "False", 29)}, want: model.CodeInvalid},
		"since no one knows when": {
			edit: []func(*State){func(s *State) {
				editNode(s, func(n *cluster.Node) { n.Conditions = []model.NodeCondition{{Type: "Ready", Status: "False"}} })
			}}, want: model.CodeInvalid,
		},
		"a condition that is well":                    {edit: []func(*State){withCondition("old", "Ready", "True", 300)}, want: model.CodeInvalid},
		"a condition that says nothing of repair":     {edit: []func(*State){withCondition("old", "DiskPressure", "True", 300)}, want: model.CodeInvalid},
		"broken hardware is not waited for long":      {edit: []func(*State){withCondition("old", "AcceleratedHardwareReady", "False", 10)}},
		"a condition of the operator's own":           {edit: []func(*State){repair(kernel), withCondition("old", "KernelReady", "False", 1)}},
		"the default, where the operator has another": {edit: []func(*State){repair(kernel), withCondition("old", "Ready", "False", 300)}, want: model.CodeInvalid},
		"repair is off":                               {edit: []func(*State){repair(model.RepairPolicy{Off: true}), withCondition("old", "Ready", "False", 30)}, want: model.CodeInvalid},
		"in spite of all protection": {
			edit: []func(*State){
				withCondition("old", "Ready", "False", 30), protect(time.Time{}), protectNode, func(s *State) { budgets(s, model.DisruptionBudget{}) },
				func(s *State) { editClaim(s, func(c *model.Claim) { c.TerminationGracePeriod = nil }) },
			},
		},
		"but for a node that must not be repaired": {
			edit: []func(*State){withCondition("old", "Ready", "False", 30), func(s *State) {
				editNode(s, func(n *cluster.Node) { n.Annotations = map[string]string{labels.DoNotRepair: "true"} })
			}}, want: model.CodeNodeDoNotDisrupt,
		},
		"and a budget that names unhealthy nodes": {
			edit: []func(*State){withCondition("old", "Ready", "False", 30), func(s *State) {
				budgets(s, model.DisruptionBudget{Reasons: []model.DisruptionReason{model.ReasonUnhealthy}})
			}}, want: model.CodeBudget,
		},
		"of which no node uses anything up by not being ready": {
			edit: []func(*State){withCondition("old", "Ready", "False", 30), func(s *State) {
				editNode(s, func(n *cluster.Node) { n.Ready = false })
				budgets(s, model.DisruptionBudget{Count: 1, Reasons: []model.DisruptionReason{model.ReasonUnhealthy}})
			}},
		},
		"a node that has only joined":      {edit: []func(*State){withCondition("old", "Ready", "False", 30), inState(model.ClaimRegistered)}},
		"an instance that has not joined":  {edit: []func(*State){withCondition("old", "Ready", "False", 30), inState(model.ClaimLaunched)}, want: model.CodeNotInitialized},
		"a replacement":                    {edit: []func(*State){withCondition("old", "Ready", "False", 30), func(s *State) { replaces(s, time.Time{}) }}},
		"one that is being drained":        {edit: []func(*State){withCondition("old", "Ready", "False", 30), inState(model.ClaimDraining)}, want: model.CodeAlreadyDisrupted},
		"a node that is not seen any more": {edit: []func(*State){func(s *State) { delete(s.Nodes, "old") }}, want: model.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := state()
			for _, edit := range c.edit {
				edit(&s)
			}
			o := Verify(deleting(model.ReasonUnhealthy), s)
			if got := code(t, o, "d-1"); got != c.want {
				t.Errorf("%+v, want reason %d", o.Verdicts, c.want)
			}
		})
	}
}

func repair(r model.RepairPolicy) func(*State) { return func(s *State) { s.Repair = r } }

func TestManyUnhealthyNodesAreNotTheirOwnFault(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, unhealthy, percent int
		want                      model.Code
	}{
		"the only node":                        {1, 1, 0, 0},
		"one of two":                           {2, 1, 0, 0},
		"both of two":                          {2, 2, 0, model.CodeRepairGuard},
		"a fifth":                              {10, 2, 0, 0},
		"more than a fifth":                    {10, 3, 0, model.CodeRepairGuard},
		"a fifth, rounded up":                  {11, 3, 0, 0},
		"the operator's share":                 {10, 5, 50, 0},
		"more than the operator's share":       {10, 6, 50, model.CodeRepairGuard},
		"all of them, where the operator says": {10, 10, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := state()
			s.Repair.MaxUnhealthyPercent = c.percent
			base := s.Claims["old"]
			for i := range c.nodes - 1 {
				other := base
				other.ID = model.ClaimID(fmt.Sprintf("c%d", i))
				s.Claims[other.ID], s.Nodes[other.ID] = other, cluster.Node{Name: model.NodeName(string(other.ID)), Ready: true}
				if i < c.unhealthy-1 {
					withCondition(other.ID, "Ready", "Unknown", 40)(&s)
				}
			}
			elsewhere := base
			elsewhere.ID, elsewhere.NodePool = "elsewhere", "other"
			s.Claims["elsewhere"], s.Nodes["elsewhere"] = elsewhere, cluster.Node{}
			withCondition("elsewhere", "Ready", "False", 40)(&s)
			withCondition("old", "Ready", "False", 40)(&s)
			o := Verify(deleting(model.ReasonUnhealthy), s)
			if got := code(t, o, "d-1"); got != c.want {
				t.Errorf("%+v, want reason %d", o.Verdicts, c.want)
			}
		})
	}
}

func TestNodesThatHaveJustBecomeUnhealthyCountAmongTheMany(t *testing.T) {
	s := state()
	for i := range 4 {
		other := s.Claims["old"]
		other.ID = model.ClaimID(fmt.Sprintf("c%d", i))
		s.Claims[other.ID], s.Nodes[other.ID] = other, cluster.Node{Name: model.NodeName(string(other.ID)), Ready: true}
	}
	withCondition("old", "Ready", "Unknown", 40)(&s)
	withCondition("c0", "Ready", "Unknown", 29)(&s)
	if got := code(t, Verify(deleting(model.ReasonUnhealthy), s), "d-1"); got != model.CodeRepairGuard {
		t.Errorf("two of five are unhealthy, one of them for less than half an hour: got reason %d, want %d", got, model.CodeRepairGuard)
	}
}
