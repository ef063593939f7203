package bench

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/test/bench/workload"
)

func TestAPlanThatBreaksARuleIsAnError(t *testing.T) {
	c, w, _, err := Job{Catalog: "testdata/catalog.json", Workload: "testdata/tiny.json"}.Load()
	if err != nil {
		t.Fatal(err)
	}
	x, err := workload.New(c, w)
	if err != nil {
		t.Fatal(err)
	}
	x.Input.Kinds = []model.DecisionKind{model.KindProvision}
	p, err := plan.Decide(x.Input)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(x.Input, p); err != nil {
		t.Fatalf("the planner's own plan: %v", err)
	}
	p.Placements = p.Placements[1:]
	if err := check(x.Input, p); err == nil || !strings.Contains(err.Error(), "the plan breaks a rule") {
		t.Errorf("a pod without an answer: %v", err)
	}
}
