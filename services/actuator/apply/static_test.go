package apply

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// fixed is the state with a static pool of n nodes.
func fixed(n int64, edits ...func(*State)) State {
	s := state()
	editPool(&s, func(p *cluster.Pool) { p.Replicas = &n })
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func bare(id string) model.NodeClaim {
	w := nodeClaim(id, offering("m5.large", "a", 96_000))
	w.Pods = nil
	return w
}

func TestAStaticPoolNeverHasMoreThanItsReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		state State
		plan  model.Plan
		want  map[string]model.Code
	}{
		"one too few":       {fixed(2), plan(bare("a")), map[string]model.Code{"a": 0}},
		"two for one place": {fixed(2), plan(bare("a"), bare("b")), map[string]model.Code{"a": 0, "b": model.CodeStaticPool}},
		"one that is there": {fixed(1), plan(bare("a")), map[string]model.Code{"a": model.CodeStaticPool}},
		"one that another plan bought in the meantime (case 86)": {
			fixed(2, func(s *State) {
				s.Claims["other"] = model.Claim{ID: "other", NodePool: "default", State: model.ClaimPlanned}
				s.Created["other"] = 60
			}),
			plan(bare("a")),
			map[string]model.Code{"a": model.CodeStaticPool},
		},
		"in place of one that goes":       {fixed(1, func(s *State) { editClaim(s, func(c *model.Claim) { c.Disruption = "d-0" }) }), plan(bare("a")), map[string]model.Code{"a": 0}},
		"in place of one that is drained": {fixed(1, inState(model.ClaimDraining)), plan(bare("a")), map[string]model.Code{"a": 0}},
		"above the limit of nodes": {
			fixed(2, func(s *State) {
				editPool(s, func(p *cluster.Pool) { p.Limits = model.Amounts{{Resource: "nodes", Value: 1}} })
			}), plan(bare("a")), map[string]model.Code{"a": model.CodeLimit},
		},
		"one too few, and pods that are to run there": {fixed(2), plan(one()), map[string]model.Code{"new": 0}},
		"for pods alone (case 87)":                    {fixed(1), plan(one()), map[string]model.Code{"new": model.CodeStaticPool}},
		"in place of one that is unhealthy": {
			fixed(1, withCondition("old", "Ready", "False", 30)),
			func() model.Plan {
				p := deleting(model.ReasonUnhealthy)
				p.NodeClaims = append(p.NodeClaims, bare("a"))
				return p
			}(),
			map[string]model.Code{"d-1": 0, "a": 0},
		},
		"in place of one that has drifted": {
			fixed(1, func(s *State) { editClaim(s, func(c *model.Claim) { c.Drifted.Code = model.CodeDrifted }) }),
			func() model.Plan {
				p := replacing(offering("m5.large", "b", 96_000))
				p.Disruptions[0].Reason = model.ReasonDrifted
				return p
			}(),
			map[string]model.Code{"d-1": 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := Verify(c.plan, c.state)
			for decision, want := range c.want {
				if got := code(t, out, decision); got != want {
					t.Errorf("%s: %d, want %d: %+v", decision, got, want, out.Verdicts)
				}
			}
		})
	}
}

func TestAStaticPoolGivesBackWhatIsTooMuch(t *testing.T) {
	second := func(state model.ClaimState) func(*State) {
		return func(s *State) { s.Claims["other"] = model.Claim{ID: "other", NodePool: "default", State: state} }
	}
	surplus := func(candidates ...model.ClaimID) model.Plan {
		p := deleting(model.ReasonSurplus)
		p.Disruptions[0].Candidates = candidates
		return p
	}
	guard := func(s *State) {
		editNode(s, func(n *cluster.Node) { n.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} })
		editPool(s, func(p *cluster.Pool) { p.Budgets = []model.DisruptionBudget{{Count: 0}} })
	}
	for name, c := range map[string]struct {
		state State
		plan  model.Plan
		want  model.Code
	}{
		"the one too many, with pods (case 85)":      {fixed(1, second(model.ClaimInitialized)), surplus("old"), 0},
		"one that is not launched yet":               {fixed(1, second(model.ClaimPlanned)), surplus("other"), 0},
		"one that its annotation and a budget guard": {fixed(1, second(model.ClaimInitialized), guard), surplus("old"), 0},
		"all of them":                         {fixed(0, second(model.ClaimLaunched)), surplus("old", "other"), 0},
		"a replacement that is still awaited": {fixed(1, second(model.ClaimInitialized), func(s *State) { replaces(s, time.Time{}) }), surplus("old"), 0},
		"none too many":                       {fixed(2, second(model.ClaimInitialized)), surplus("old"), model.CodeStaticPool},
		"two where one is too many":           {fixed(1, second(model.ClaimInitialized)), surplus("old", "other"), model.CodeStaticPool},
		"where the other goes already":        {fixed(1, second(model.ClaimDraining)), surplus("old"), model.CodeStaticPool},
		"of a pool that follows its pods":     {state(), surplus("old"), model.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			out := Verify(c.plan, c.state)
			if got := code(t, out, "d-1"); got != c.want {
				t.Fatalf("%d, want %d: %+v", got, c.want, out.Verdicts)
			}
			if c.want != 0 {
				return
			}
			for _, claim := range out.Groups[0].Claims {
				if claim.Disruption != "d-1" || claim.DisruptionReason != model.ReasonSurplus {
					t.Errorf("claim %s is not marked: %+v", claim.ID, claim)
				}
			}
		})
	}
}

func TestAPlansAnnotationsAreOnTheClaim(t *testing.T) {
	w := one()
	w.Annotations = model.Labels{
		{Key: "karpenter.sh/do-not-disrupt", Value: "true"},
		{Key: "karpenter.sh/nodeclaim-min-values-relaxed", Value: "true"},
		{Key: "karpenter.sh/price-overlay-applied", Value: "discount"},
	}
	s := state()
	editPool(&s, func(p *cluster.Pool) { p.Annotations = model.Labels{{Key: "note", Value: "x"}} })
	out := Verify(plan(w), s)
	want := model.Labels{
		{Key: "karpenter.sh/nodeclaim-min-values-relaxed", Value: "true"}, {Key: "karpenter.sh/price-overlay-applied", Value: "discount"}, {Key: "note", Value: "x"},
	}
	if diff := cmp.Diff(want, out.Groups[0].Claims[0].Annotations); diff != "" {
		t.Errorf("annotations (-want +got): a plan may say how a claim came about, and nothing else\n%s", diff)
	}
}
