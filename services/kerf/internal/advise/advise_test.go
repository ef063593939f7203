package advise_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/kerf/internal/advise"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

func changes(list []advise.Advice) []string {
	out := []string{}
	for _, a := range list {
		out = append(out, a.Change)
	}
	return out
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		input func(*model.Input)
		want  advise.Advice // first of those that change its Subject's Field
	}{
		"an architecture that the pool excludes is allowed": {
			func(in *model.Input) {
				pool(in, "default", within(arch, "amd64"), within(family, "m5", "m6g"))
				deployment(in, "web", 2, 1000, 4*gib)
			},
			advise.Advice{
				Change: "allow arm64 in pool default", Subject: "nodepool/default", Field: "spec.template.spec.requirements",
				Note: "the pods' images must be built for arm64", Saving: 19_000, CostAfter: 77_000,
			},
		},
		"a family that the pool excludes is allowed by its name, of the architecture that the pool has": {
			func(in *model.Input) {
				pool(in, "default", within(family, "m5"))
				deployment(in, "web", 2, 1000, 2*gib)
			},
			advise.Advice{
				Change: "allow family c5 in pool default", Subject: "nodepool/default", Field: "spec.template.spec.requirements",
				Saving: 11_000, CostAfter: 85_000,
			},
		},
		"a bound can't be widened by a value, so it is dropped": {
			func(in *model.Input) {
				pool(in, "default", within(family, "m5"), model.Requirement{Key: cpus, Operator: model.Gt, Values: []string{"5"}})
				deployment(in, "web", 2, 1000, 4*gib)
			},
			advise.Advice{
				Change: "drop the rule on the CPU count in pool default", Subject: "nodepool/default", Field: "spec.template.spec.requirements",
				Saving: 288_000, CostAfter: 96_000,
			},
		},
		"spot is allowed, with a caution": {
			func(in *model.Input) {
				pool(in, "default", within(typeKey, "m5.2x"))
				deployment(in, "web", 2, 1000, 4*gib)
			},
			advise.Advice{
				Change: "allow spot in pool default", Subject: "nodepool/default", Field: "spec.template.spec.requirements",
				Note: "the pods must tolerate that AWS takes nodes back, two minutes after it says so", Saving: 67_200, CostAfter: 28_800,
			},
		},
		"a limit is raised to what pending pods need": {
			func(in *model.Input) {
				pool(in, "default", within(typeKey, "m5.2x")).Limits = model.Amounts{{Resource: model.CPU, Value: 3000}}
				deployment(in, "web", 3, 2000, 4*gib)
			},
			advise.Advice{
				Change: "raise the limit of cpu from 3 to 6 in pool default", Subject: "nodepool/default", Field: "spec.limits",
				Saving: -192_000, CostAfter: 288_000, MorePods: 2,
			},
		},
		"pods that nothing but a taint keeps off tolerate it": {
			func(in *model.Input) {
				pool(in, "default", within(typeKey, "m5.2x")).Taints = []model.Taint{{Key: "dedicated", Value: "gpu", Effect: model.NoSchedule}}
				deployment(in, "web", 2, 1000, 4*gib)
			},
			advise.Advice{
				Change: "let shop/web tolerate dedicated=gpu:NoSchedule, the taint of pool default", Subject: "ReplicaSet/shop/web",
				Field: "spec.tolerations", Saving: -96_000, CostAfter: 96_000, MorePods: 2,
			},
		},
		"pods that keep apart share nodes without that rule": {
			func(in *model.Input) {
				pool(in, "default", within(family, "m5"))
				deployment(in, "web", 4, 500, gib).PodAntiAffinity = apart("web")
			},
			advise.Advice{
				Change: "drop the anti-affinity over kubernetes.io/hostname of shop/web", Subject: "ReplicaSet/shop/web",
				Field: "spec.affinity.podAntiAffinity", Saving: 288_000, CostAfter: 96_000,
			},
		},
		"a request is lowered to where the pods fit a cheaper node": {
			func(in *model.Input) {
				pool(in, "default", within(family, "m5"))
				deployment(in, "web", 2, 1100, gib)
			},
			advise.Advice{
				Change: "ask for 1 of cpu instead of 1100m, for each pod of shop/web", Subject: "ReplicaSet/shop/web",
				Field: "spec.containers[*].resources.requests.cpu", Saving: 96_000, CostAfter: 96_000,
			},
		},
		"a selector that no pool can meet is dropped": {
			func(in *model.Input) {
				pool(in, "default", within(typeKey, "m5.2x"))
				deployment(in, "web", 2, 1000, 4*gib).NodeSelector = labels("team", "a")
			},
			advise.Advice{
				Change: "drop the node selector team=a of shop/web", Subject: "ReplicaSet/shop/web", Field: "spec.nodeSelector",
				Saving: -96_000, CostAfter: 96_000, MorePods: 2,
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := world()
			tt.input(&in)
			got := advise.For(in, decided(t, in), advise.Options{Most: 20, Effort: 60})
			i := slices.IndexFunc(got, func(a advise.Advice) bool { return a.Change == tt.want.Change })
			if i < 0 {
				t.Fatalf("advised %q, not %q", changes(got), tt.want.Change)
			}
			if diff := cmp.Diff(tt.want, got[i]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatUsersSeparateStaysSeparate(t *testing.T) {
	t.Parallel()
	in := world()
	pool(&in, "a", within(family, "m5")).Labels = labels("team", "a")
	pool(&in, "b", within(family, "c5")).Labels = labels("team", "b")
	deployment(&in, "web", 2, 1000, gib).NodeSelector = labels("team", "a")
	for _, a := range advise.For(in, decided(t, in), advise.Options{Most: 20, Effort: 60}) {
		if strings.Contains(a.Change, "team") {
			t.Errorf("advised to %s", a.Change)
		}
	}
}

// busy is an input for which much can be advised.
func busy() model.Input {
	in := world()
	pool(&in, "default", within(family, "m5"), within(arch, "amd64"), within(zoneKey, "z-1a"))
	pool(&in, "other", within(typeKey, "m5.8x")).Limits = model.Amounts{{Resource: model.CPU, Value: 4000}}
	deployment(&in, "web", 7, 600, gib).PodAntiAffinity = apart("web")
	deployment(&in, "db", 3, 1500, 3*gib)
	deployment(&in, "lost", 2, 1000, gib).NodeSelector = labels("team", "a")
	return in
}

func TestAdviceIsTheSameEachTimeAndChangesNothing(t *testing.T) {
	t.Parallel()
	in, untouched := busy(), busy()
	base := decided(t, in)
	first := advise.For(in, base, advise.Options{Most: 5})
	second := advise.For(in, base, advise.Options{Most: 5})
	if diff := cmp.Diff(first, second); diff != "" || len(first) != 5 {
		t.Errorf("%d changes; -first +second:\n%s", len(first), diff)
	}
	if diff := cmp.Diff(untouched, in); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
}

func TestSavingsKeepAPlaceBesidePendingPods(t *testing.T) {
	t.Parallel()
	in := busy()
	got := advise.For(in, decided(t, in), advise.Options{Most: 3})
	if len(got) != 3 || got[0].MorePods != 2 || got[2].MorePods != 0 || got[2].Saving <= 0 {
		t.Errorf("advised %+v", got)
	}
}

func TestAnotherWayForTheSamePodsComesLast(t *testing.T) {
	t.Parallel()
	in := world()
	pool(&in, "small", within(typeKey, "m5.2x")).Limits = model.Amounts{{Resource: model.CPU, Value: 1000}}
	pool(&in, "large", within(typeKey, "m5.16x")).Taints = []model.Taint{{Key: "large", Effect: model.NoSchedule}}
	deployment(&in, "web", 2, 1000, gib)
	deployment(&in, "lost", 1, 1000, gib).NodeSelector = labels("team", "a", typeKey, "m5.16x")
	in.Snapshot.PodClasses[1].Tolerations = []model.Toleration{{Key: "large", Exists: true}}
	want := []string{
		"raise the limit of cpu from 1 to 2 in pool small",
		"drop the node selector team=a of shop/lost",
		"let shop/web tolerate large:NoSchedule, the taint of pool large",
	}
	got := changes(advise.For(in, decided(t, in), advise.Options{Most: 3}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEffortIsBounded(t *testing.T) {
	t.Parallel()
	in := busy()
	base := decided(t, in)
	tests := map[string]struct {
		options advise.Options
		want    int // plans at most
	}{
		"nothing is asked for":       {advise.Options{}, 0},
		"as much as is said":         {advise.Options{Most: 9, Effort: 5}, 5},
		"as much as is usual":        {advise.Options{Most: 9}, advise.DefaultEffort},
		"no one waits for an answer": {advise.Options{Most: 9, Stop: func() bool { return true }}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plans := 0
			tt.options.Decide = func(in model.Input) (model.Plan, error) {
				plans++
				return plan.Decide(in)
			}
			got := advise.For(in, base, tt.options)
			if plans > tt.want || (tt.want == 0 && len(got) > 0) {
				t.Errorf("made %d plans for %d changes, want at most %d plans", plans, len(got), tt.want)
			}
		})
	}
}

func TestNoAdviceThatLeavesOtherPodsPending(t *testing.T) {
	t.Parallel()
	in := busy()
	base := decided(t, in)
	tests := map[string]advise.Decider{
		"another pod stays pending": func(model.Input) (model.Plan, error) {
			return model.Plan{Pending: []model.PendingPod{{Pod: "shop/web-000"}}}, nil
		},
		"the planner refuses": func(model.Input) (model.Plan, error) { return model.Plan{}, errors.New("no") },
		"nothing is better":   func(model.Input) (model.Plan, error) { return base, nil },
	}
	for name, decide := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := advise.For(in, base, advise.Options{Most: 3, Decide: decide}); len(got) > 0 {
				t.Errorf("advised %q", changes(got))
			}
		})
	}
}
