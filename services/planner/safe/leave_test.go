package safe_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/safe"
)

// TestThePodsThatThePlannerFailsOnAreLeftOut has twenty classes. The planner panics about one of them, and makes a
// wrong plan with another.
func TestThePodsThatThePlannerFailsOnAreLeftOut(t *testing.T) {
	in := input()
	for i := range 20 {
		in.Snapshot.PodClasses = append(in.Snapshot.PodClasses, model.PodClass{ID: model.ClassID(fmt.Sprintf("class-%02d", i))})
	}
	asks := func(in *model.Input, class model.ClassID) bool {
		return slices.ContainsFunc(in.Snapshot.PodClasses, func(c model.PodClass) bool { return c.ID == class && c.Unsupported == "" })
	}
	plans := 0
	decide := func(in *model.Input) (model.Plan, error) {
		plans++
		if asks(in, "class-07") {
			panic("index out of range")
		}
		p := emptyPlan(in)
		if asks(in, "class-13") {
			p.CostAfter = 1
		}
		return p, nil
	}
	a, err := safe.Decide(in, decide, func(in model.Input) (model.Plan, error) { return decide(&in) })
	if err != nil || len(a.Broken) > 0 {
		t.Fatalf("%v: %v is broken", err, a.Broken)
	}
	if want := []model.ClassID{"class-07", "class-13"}; !slices.Equal(a.LeftOut, want) {
		t.Errorf("%v are left out, want %v", a.LeftOut, want)
	}
	for _, c := range a.Input.Snapshot.PodClasses {
		if left := slices.Contains(a.LeftOut, c.ID); left != strings.Contains(c.Unsupported, "index out of range") {
			t.Errorf("%s: unsupported is %q", c.ID, c.Unsupported)
		}
	}
	if a.Failed == nil || asks(&a.Input, "class-07") || !asks(a.Failed, "class-07") {
		t.Errorf("the input that it failed on: %v", a.Failed)
	}
	if plans > 25 {
		t.Errorf("%d plans were made", plans)
	}
}

// TestWhereItTakesAPoolAndAClassTheClassIsLeftOut has three pools, and a panic about a class on one of them: the pool
// is for others to use. A pool that fails by itself is left out.
func TestWhereItTakesAPoolAndAClassTheClassIsLeftOut(t *testing.T) {
	in := input()
	in.Snapshot.NodePools = []model.NodePool{{Name: "c"}, {Name: "b"}, {Name: "a"}}
	in.Snapshot.PodClasses = []model.PodClass{{ID: "one"}, {ID: "two"}, {ID: "three"}}
	for alone, want := range map[bool][2]string{false: {"[]", "[two]"}, true: {"[b]", "[]"}} {
		decide := func(in model.Input) (model.Plan, error) {
			if in.Snapshot.NodePools[1].NotReady.OK() && (alone || in.Snapshot.PodClasses[1].Unsupported == "") {
				panic("no")
			}
			return emptyPlan(&in), nil
		}
		a, err := safe.Decide(in, func(in *model.Input) (model.Plan, error) { return decide(*in) }, decide)
		if got := [2]string{fmt.Sprint(a.LeftPools), fmt.Sprint(a.LeftOut)}; err != nil || len(a.Broken) > 0 || got != want {
			t.Errorf("%v: %v is broken, %v is left out, want %v", err, a.Broken, got, want)
		}
	}
}

func TestAPlannerThatAlwaysFailsEnds(t *testing.T) {
	in := input()
	in.Snapshot.PodClasses = []model.PodClass{{ID: "one"}, {ID: "two"}}
	a, err := safe.Decide(in, func(*model.Input) (model.Plan, error) { panic("no") }, func(model.Input) (model.Plan, error) { panic("no") })
	if err != nil || len(a.Broken) != 1 || !strings.Contains(a.Broken[0].String(), "panicked: no") {
		t.Errorf("%v: %v", err, a.Broken)
	}
}
