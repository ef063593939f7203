package bench

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

func TestAPlanThatBreaksARuleIsAnError(t *testing.T) {
	c, w, _, err := Job{Catalog: "testdata/catalog.json", Workload: "testdata/tiny.json"}.Load()
	if err != nil {
		t.Fatal(err)
	}
	x, err := newWorld(c, w)
	if err != nil {
		t.Fatal(err)
	}
	x.input.Kinds = []model.DecisionKind{model.KindProvision}
	p, err := plan.Decide(x.input)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(x.input, p); err != nil {
		t.Fatalf("the planner's own plan: %v", err)
	}
	p.Placements = p.Placements[1:]
	if err := check(x.input, p); err == nil || !strings.Contains(err.Error(), "the plan breaks a rule") {
		t.Errorf("a pod without an answer: %v", err)
	}
}
