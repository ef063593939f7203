package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// ailing gives a claim's node a condition that began so many minutes ago.
func ailing(id model.ClaimID, kind, status string, minutes int) func(*State) {
	return func(s *State) {
		n := s.Nodes[id]
		n.Conditions = append(n.Conditions, cluster.Condition{Type: kind, Status: status, Since: at(-minutes)})
		s.Nodes[id] = n
	}
}

func TestSickNodesGo(t *testing.T) {
	kernel := Repair{Conditions: []RepairCondition{{"KernelReady", "False", time.Minute}}}
	for name, c := range map[string]struct {
		edit []func(*State)
		want model.ReasonCode
	}{
		"a node that is well":                    {want: model.ReasonInvalid},
		"a node without a word for half an hour": {edit: []func(*State){ailing("old", "Ready", "Unknown", 30)}},
		"a node that says that it is down":       {edit: []func(*State){ailing("old", "Ready", "False", 30)}},
		"not yet":                                {edit: []func(*State){ailing("old", "Ready", "False", 29)}, want: model.ReasonInvalid},
		"since nobody knows when": {
			edit: []func(*State){func(s *State) {
				editNode(s, func(n *cluster.Node) { n.Conditions = []cluster.Condition{{Type: "Ready", Status: "False"}} })
			}}, want: model.ReasonInvalid,
		},
		"a condition that is well":                    {edit: []func(*State){ailing("old", "Ready", "True", 300)}, want: model.ReasonInvalid},
		"a condition that says nothing of repair":     {edit: []func(*State){ailing("old", "DiskPressure", "True", 300)}, want: model.ReasonInvalid},
		"broken hardware is not waited for long":      {edit: []func(*State){ailing("old", "AcceleratedHardwareReady", "False", 10)}},
		"a condition of the operator's own":           {edit: []func(*State){repair(kernel), ailing("old", "KernelReady", "False", 1)}},
		"the default, where the operator has another": {edit: []func(*State){repair(kernel), ailing("old", "Ready", "False", 300)}, want: model.ReasonInvalid},
		"repair is off":                               {edit: []func(*State){repair(Repair{Off: true}), ailing("old", "Ready", "False", 30)}, want: model.ReasonInvalid},
		"in spite of all protection": {
			edit: []func(*State){
				ailing("old", "Ready", "False", 30), protect(time.Time{}), protectNode, func(s *State) { budgets(s, cluster.Budget{}) },
				func(s *State) { editClaim(s, func(c *model.Claim) { c.TerminationGracePeriod = -1 }) },
			},
		},
		"a node that has only joined":      {edit: []func(*State){ailing("old", "Ready", "False", 30), inState(model.StateRegistered)}},
		"an instance that has not joined":  {edit: []func(*State){ailing("old", "Ready", "False", 30), inState(model.StateLaunched)}, want: model.ReasonNotInitialized},
		"a replacement":                    {edit: []func(*State){ailing("old", "Ready", "False", 30), func(s *State) { replaces(s, time.Time{}) }}},
		"one that is being drained":        {edit: []func(*State){ailing("old", "Ready", "False", 30), inState(model.StateDraining)}, want: model.ReasonAlreadyDisrupted},
		"a node that nobody sees any more": {edit: []func(*State){func(s *State) { delete(s.Nodes, "old") }}, want: model.ReasonNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := state()
			for _, edit := range c.edit {
				edit(&s)
			}
			o := Verify(deleting(model.DisruptionUnhealthy), s)
			if got := code(t, o, "d-1"); got != c.want {
				t.Errorf("%+v, want reason %d", o.Verdicts, c.want)
			}
		})
	}
}

func repair(r Repair) func(*State) { return func(s *State) { s.Repair = r } }

func TestManySickNodesAreNotTheirOwnFault(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, sick, percent int
		want                 model.ReasonCode
	}{
		"the only node":                        {1, 1, 0, 0},
		"one of two":                           {2, 1, 0, 0},
		"both of two":                          {2, 2, 0, model.ReasonRepairGuard},
		"a fifth":                              {10, 2, 0, 0},
		"more than a fifth":                    {10, 3, 0, model.ReasonRepairGuard},
		"a fifth, rounded up":                  {11, 3, 0, 0},
		"the operator's share":                 {10, 5, 50, 0},
		"more than the operator's share":       {10, 6, 50, model.ReasonRepairGuard},
		"all of them, where the operator says": {10, 10, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := state()
			s.Repair.MaxUnhealthyPercent = c.percent
			base := s.Claims["old"]
			for i := range c.nodes - 1 {
				other := base
				other.ID = model.ClaimID(fmt.Sprintf("c%d", i))
				s.Claims[other.ID], s.Nodes[other.ID] = other, cluster.Node{Name: string(other.ID), Ready: true}
				if i < c.sick-1 {
					ailing(other.ID, "Ready", "Unknown", 40)(&s)
				}
			}
			elsewhere := base
			elsewhere.ID, elsewhere.NodePool = "elsewhere", "other"
			s.Claims["elsewhere"], s.Nodes["elsewhere"] = elsewhere, cluster.Node{}
			ailing("elsewhere", "Ready", "False", 40)(&s)
			ailing("old", "Ready", "False", 40)(&s)
			o := Verify(deleting(model.DisruptionUnhealthy), s)
			if got := code(t, o, "d-1"); got != c.want {
				t.Errorf("%+v, want reason %d", o.Verdicts, c.want)
			}
		})
	}
}
