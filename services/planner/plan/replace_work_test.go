package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// mostlyStuck is a cluster of nodes that all have drifted, but one that proves what its pool launches. All but the
// youngest tenth have a pod, of one of some classes, that fits nowhere else.
func mostlyStuck(nodes, classes int) *world {
	w := newWorld()
	for i := range classes {
		w.class(fmt.Sprintf("local-%03d", i), 3000+int64(i), gib, func(c *model.PodClass) {
			c.NodeSelector = model.Labels{{Key: "disk", Value: "local"}}
		})
	}
	w.class("web", 3500, gib, nil)
	for i := range nodes {
		class := "web"
		if i < nodes-nodes/10 {
			class = fmt.Sprintf("local-%03d", i%classes)
		}
		n := w.node(fmt.Sprintf("n%05d", i), "m5.xlarge", class, 1)
		if class != "web" {
			n.Labels = append(model.Labels{{Key: "disk", Value: "local"}}, n.Labels...)
		}
		c := w.claim("c-" + string(n.Name))
		c.CreateTime = c.CreateTime.Add(time.Duration(i-nodes) * time.Second)
		c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "the image is old"}
	}
	w.node("proof", "m5.xlarge", "web", 1)
	return w
}

// TestNodesThatCannotMoveCostLittle counts how often a plan asks whether to stop, which it does wherever it looks for a
// place: the budget lets three nodes go, and the others before them do not stand in for them.
func TestNodesThatCannotMoveCostLittle(t *testing.T) {
	asks := func(nodes int) (n int) {
		w := mostlyStuck(nodes, 50)
		w.budget(model.DisruptionBudget{Count: 3})
		s, err := plan.NewSession(&w.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		q := question(&w.Input)
		q.Stop = func() bool { n++; return false }
		p, err := s.Decide(q)
		if err != nil {
			t.Fatal(err)
		}
		if vs := verify.Plan(w.Input, p); len(vs) > 0 {
			t.Errorf("the plan breaks rules: %s", verify.Join(vs))
		}
		goes := 0
		for i := range p.Disruptions {
			goes += len(p.Disruptions[i].Candidates)
		}
		if goes != 3 {
			t.Errorf("of %d nodes %d go, want 3", nodes, goes)
		}
		return n
	}
	few, many := asks(500), asks(2000)
	t.Logf("500 nodes: %d, 2000 nodes: %d", few, many)
	if many > 5*few {
		t.Errorf("a plan for 2000 nodes asks %d times, one for 500 nodes %d times", many, few)
	}
}
