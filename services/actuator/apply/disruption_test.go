package apply

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

func replacing(offerings ...model.RankedOffering) model.Plan {
	w := nodeClaim("new", offerings...)
	w.Disruption = "d-1"
	p := plan(w)
	p.Disruptions = []model.Disruption{{
		ID: "d-1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"old"}, Replacements: []model.ClaimID{"new"},
		Destinations: []model.Placement{{Pod: "d/web", Claim: "new"}},
	}}
	return p
}

func deleting(reason model.DisruptionReason) model.Plan {
	p := plan()
	p.Disruptions = []model.Disruption{{ID: "d-1", Reason: reason, Candidates: []model.ClaimID{"old"}}}
	return p
}

func TestDisruptions(t *testing.T) {
	cheap := offering("c5.large", "a", 85_000)
	noPods := func(s *State) { editNode(s, func(n *cluster.Node) { n.Pods = nil }) }
	for name, c := range map[string]struct {
		plan  model.Plan
		state func(*State)
		// want is for the disruption, wantClaim for its replacement.
		want, wantClaim model.Code
	}{
		"a cheaper replacement is accepted": {plan: replacing(cheap)},
		"a replacement of the same price saves nothing": {
			plan: replacing(offering("m5.large", "b", 96_000)), want: model.CodeNoCheaper, wantClaim: model.CodeGroup,
		},
		"a candidate that has become cheap is not worth replacing": {
			plan: replacing(cheap), state: func(s *State) { reprice(s, "m5.large", "a", Offering{Price: 80_000}) },
			want: model.CodeNoCheaper, wantClaim: model.CodeGroup,
		},
		"a replacement that is not available takes the disruption with it": {
			plan: replacing(offering("c5.large", "c", 85_000)), want: model.CodeGroup, wantClaim: model.CodeNoOffering,
		},
		"pods that fit elsewhere need no replacement": {plan: deleting(model.ReasonUnderutilized)},
		"an empty node goes":                          {plan: deleting(model.ReasonEmpty), state: noPods},
		"a node that is not empty any more stays":     {plan: deleting(model.ReasonEmpty), want: model.CodeStale},
		"a node whose last pod is leaving is empty": {
			plan: deleting(model.ReasonEmpty), state: func(s *State) {
				editNode(s, func(n *cluster.Node) { n.Pods = []cluster.Pod{{Name: "web", DeletionTime: at(1)}} })
			},
		},
		"a node of DaemonSet pods is empty": {
			plan: deleting(model.ReasonEmpty), state: func(s *State) {
				editNode(s, func(n *cluster.Node) { n.Pods = []cluster.Pod{{Name: "ds", Daemon: true}} })
			},
		},
		"a claim that is not there":           {plan: deleting(model.ReasonEmpty), state: func(s *State) { delete(s.Claims, "old") }, want: model.CodeNotFound},
		"a claim that has ended":              {plan: deleting(model.ReasonEmpty), state: inState(model.ClaimGone), want: model.CodeNotFound},
		"a claim that is not initialized":     {plan: deleting(model.ReasonEmpty), state: inState(model.ClaimRegistered), want: model.CodeNotInitialized},
		"a claim that is being drained":       {plan: deleting(model.ReasonEmpty), state: inState(model.ClaimDraining), want: model.CodeAlreadyDisrupted},
		"a claim that another disruption has": {plan: deleting(model.ReasonEmpty), state: func(s *State) { editClaim(s, func(c *model.Claim) { c.Disruption = "d-0" }) }, want: model.CodeAlreadyDisrupted},
		"a node that its user deletes": {
			plan: deleting(model.ReasonEmpty), state: func(s *State) { editNode(s, func(n *cluster.Node) { n.Terminating = true }) }, want: model.CodeAlreadyDisrupted,
		},
		"a node that is not there": {plan: deleting(model.ReasonEmpty), state: func(s *State) { delete(s.Nodes, "old") }, want: model.CodeNotFound},
		"a protected node": {
			plan: deleting(model.ReasonUnderutilized), want: model.CodeNodeDoNotDisrupt,
			state: func(s *State) {
				editNode(s, func(n *cluster.Node) { n.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} })
			},
		},
		"a protected pod":             {plan: deleting(model.ReasonUnderutilized), state: protect(time.Time{}), want: model.CodePodDoNotDisrupt},
		"a pod that is protected yet": {plan: deleting(model.ReasonUnderutilized), state: protect(at(1)), want: model.CodePodDoNotDisrupt},
		"a pod that is so no longer":  {plan: deleting(model.ReasonUnderutilized), state: protect(at(0))},
		"expired in spite of a pod":   {plan: deleting(model.ReasonExpired), state: func(s *State) { protect(time.Time{})(s); expire(s, at(0)) }},
		"expired in spite of a pod, where nothing bounds the drain": {
			plan: deleting(model.ReasonExpired), want: model.CodePodDoNotDisrupt,
			state: func(s *State) {
				protect(time.Time{})(s)
				expire(s, at(0))
				editClaim(s, func(c *model.Claim) { c.TerminationGracePeriod = nil })
			},
		},
		"in its last hour":                    {plan: deleting(model.ReasonExpired), state: func(s *State) { expire(s, at(60)) }},
		"in its last hour, with a pod":        {plan: deleting(model.ReasonExpired), state: func(s *State) { protect(time.Time{})(s); expire(s, at(60)) }, want: model.CodePodDoNotDisrupt},
		"in its last hour, with a budget":     {plan: deleting(model.ReasonExpired), state: func(s *State) { expire(s, at(60)); budgets(s, model.DisruptionBudget{}) }, want: model.CodeBudget},
		"in its last hour, a protected node":  {plan: deleting(model.ReasonExpired), state: func(s *State) { expire(s, at(60)); protectNode(s) }, want: model.CodeNodeDoNotDisrupt},
		"expired, a protected node":           {plan: deleting(model.ReasonExpired), state: func(s *State) { expire(s, at(0)); protectNode(s) }, want: model.CodeNodeDoNotDisrupt},
		"before its last hour":                {plan: deleting(model.ReasonExpired), state: func(s *State) { expire(s, at(61)) }, want: model.CodeInvalid},
		"in its last tenth":                   {plan: deleting(model.ReasonExpired), state: func(s *State) { expire(s, at(2)); bornAt(s, at(-18)) }},
		"before its last tenth":               {plan: deleting(model.ReasonExpired), state: func(s *State) { expire(s, at(3)); bornAt(s, at(-18)) }, want: model.CodeInvalid},
		"a replacement that is still awaited": {plan: deleting(model.ReasonEmpty), state: func(s *State) { noPods(s); replaces(s, time.Time{}) }, want: model.CodeAlreadyDisrupted},
		"a replacement that has its pods":     {plan: deleting(model.ReasonEmpty), state: func(s *State) { noPods(s); replaces(s, at(-1)) }},
		"a pool whose budgets are not known": {
			plan: deleting(model.ReasonUnderutilized), state: func(s *State) { editPool(s, func(p *cluster.Pool) { p.NotReady.Code = 2 }) }, want: 2,
		},
		"never expires": {plan: deleting(model.ReasonExpired), want: model.CodeInvalid},
		"drifted as far as this plan can know": {
			plan: deleting(model.ReasonDrifted), state: func(s *State) { editClaim(s, func(c *model.Claim) { c.PoolHash = "old" }) },
		},
		"drifted":     {plan: deleting(model.ReasonDrifted), state: func(s *State) { editClaim(s, func(c *model.Claim) { c.Drifted.Code = 54 }) }},
		"not drifted": {plan: deleting(model.ReasonDrifted), want: model.CodeInvalid},
		"only what saves money is staged": {
			plan: edited(deleting(model.ReasonExpired), func(d *model.Disruption) { d.Staged = true }), state: func(s *State) { expire(s, at(0)) },
			want: model.CodeInvalid,
		},
		"interrupted is not a plan's reason": {plan: deleting(model.ReasonInterrupted), want: model.CodeInvalid},
		"a budget of none": {
			plan: deleting(model.ReasonEmpty), state: func(s *State) { noPods(s); budgets(s, model.DisruptionBudget{Count: 0}) }, want: model.CodeBudget,
		},
		"a budget of none for another reason": {
			plan: deleting(model.ReasonEmpty), state: func(s *State) {
				noPods(s)
				budgets(s, model.DisruptionBudget{Count: 0, Reasons: []model.DisruptionReason{model.ReasonDrifted}})
			},
		},
		"expiry knows no budget": {
			plan: deleting(model.ReasonExpired), state: func(s *State) { expire(s, at(0)); budgets(s, model.DisruptionBudget{Count: 0}) },
		},
		"the same disruption again": {
			plan: replacing(cheap), state: func(s *State) { s.Disruptions["d-1"] = model.DisruptionRecord{ID: "d-1"} },
			want: model.CodeAlreadyAccepted, wantClaim: model.CodeAlreadyAccepted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := state()
			if c.state != nil {
				c.state(&s)
			}
			o := Verify(c.plan, s)
			if got := code(t, o, "d-1"); got != c.want {
				t.Errorf("%+v, want reason %d", o.Verdicts, c.want)
			}
			if len(c.plan.NodeClaims) > 0 {
				if got := code(t, o, "new"); got != c.wantClaim {
					t.Errorf("%+v, want reason %d for the replacement", o.Verdicts, c.wantClaim)
				}
			}
			if (len(o.Groups) == 1) != (c.want == 0) {
				t.Errorf("%d groups to store", len(o.Groups))
			}
		})
	}
}

func inState(x model.ClaimState) func(*State) {
	return func(s *State) { editClaim(s, func(c *model.Claim) { c.State = x }) }
}

func protect(until time.Time) func(*State) {
	return func(s *State) {
		editNode(s, func(n *cluster.Node) {
			n.Pods = []cluster.Pod{{Namespace: "d", Name: "web", DoNotDisrupt: true, DoNotDisruptUntil: until}}
		})
	}
}

func protectNode(s *State) {
	editNode(s, func(n *cluster.Node) { n.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} })
}

func bornAt(s *State, t time.Time) { editClaim(s, func(c *model.Claim) { c.CreateTime = t }) }

func replaces(s *State, ended time.Time) {
	s.Disruptions["d-0"] = model.DisruptionRecord{ID: "d-0", EndTime: ended}
	editClaim(s, func(c *model.Claim) { c.Replaces = "d-0" })
}

func expire(s *State, t time.Time) { editClaim(s, func(c *model.Claim) { c.ExpireTime = t }) }

func edited(p model.Plan, edit func(*model.Disruption)) model.Plan {
	edit(&p.Disruptions[0])
	return p
}

func budgets(s *State, b ...model.DisruptionBudget) {
	editPool(s, func(p *cluster.Pool) { p.Budgets = b })
}

func TestGroupIsStoredWhole(t *testing.T) {
	p := replacing(offering("m5.large", "b", 96_000), offering("c5.large", "a", 85_000))
	p.Disruptions[0].Workloads = []model.WorkloadEvictions{{Namespace: "d", Kind: "ReplicaSet", Name: "web-1", Pods: 1}}
	o := Verify(p, state())
	if len(o.Groups) != 1 {
		t.Fatalf("%+v", o.Verdicts)
	}
	g := o.Groups[0]
	want := &model.DisruptionRecord{
		ID: "d-1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"old"}, Replacements: []model.ClaimID{"new"},
		Pods: []model.PodID{"d/web"}, AcceptTime: at(0), Saving: 11_000, Workloads: p.Disruptions[0].Workloads,
	}
	if d := cmp.Diff(want, g.Disruption); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(g.Claims) != 2 || g.Claims[0].Disruption != "d-1" || g.Claims[0].State != model.ClaimInitialized || g.Claims[1].Replaces != "d-1" {
		t.Errorf("claims %+v, want the marked candidate and its replacement", g.Claims)
	}
	if d := cmp.Diff([]model.RankedOffering{offering("c5.large", "a", 85_000)}, g.Claims[1].Offerings); d != "" {
		t.Errorf("only what is cheaper may be launched (-want +got):\n%s", d)
	}
}

// TestOnlyDisruptionsForMoneySaveAny: the price of what may be launched in a node's place, at the worst, is no loss
// where the node had to go.
func TestOnlyDisruptionsForMoneySaveAny(t *testing.T) {
	for reason, want := range map[model.DisruptionReason]int64{
		model.ReasonUnderutilized: 11_000, model.ReasonDrifted: 0, model.ReasonExpired: 0,
	} {
		t.Run(reason.String(), func(t *testing.T) {
			s := state()
			expire(&s, at(0))
			editClaim(&s, func(c *model.Claim) { c.Drifted.Code = model.CodeDrifted })
			p := edited(replacing(offering("c5.large", "a", 85_000)), func(d *model.Disruption) { d.Reason = reason })
			o := Verify(p, s)
			if len(o.Groups) != 1 {
				t.Fatalf("%+v", o.Verdicts)
			}
			if got := o.Groups[0].Disruption.Saving; got != want {
				t.Errorf("saves %d, want %d", got, want)
			}
		})
	}
}

func evicting(w ...model.WorkloadEvictions) func(*model.Plan) {
	return func(p *model.Plan) { p.Disruptions[0].Workloads = w }
}

func TestMalformedDisruptions(t *testing.T) {
	for name, edit := range map[string]func(*model.Plan){
		"no candidates":                       func(p *model.Plan) { p.Disruptions[0].Candidates = nil },
		"a bad id":                            func(p *model.Plan) { p.Disruptions[0].ID = "d_1" },
		"a replacement that is not there":     func(p *model.Plan) { p.Disruptions[0].Replacements = []model.ClaimID{"new", "other"} },
		"a replacement that it does not name": func(p *model.Plan) { p.Disruptions[0].Replacements = nil },
		"a replacement of another name":       func(p *model.Plan) { p.Disruptions[0].Replacements = []model.ClaimID{"other"} },
		"a candidate twice":                   func(p *model.Plan) { p.Disruptions[0].Candidates = []model.ClaimID{"old", "old"} },
		"a replacement for an empty node":     func(p *model.Plan) { p.Disruptions[0].Reason = model.ReasonEmpty },
		"more owners than pods":               evicting(model.WorkloadEvictions{Namespace: "d", Kind: "ReplicaSet", Name: "a", Pods: 1}, model.WorkloadEvictions{Namespace: "d"}),
		"an owner without a name":             evicting(model.WorkloadEvictions{Namespace: "d", Kind: "ReplicaSet"}),
		"an owner without a place":            evicting(model.WorkloadEvictions{Kind: "ReplicaSet", Name: "a"}),
		"an owner of a long name":             evicting(model.WorkloadEvictions{Namespace: "d", Kind: "ReplicaSet", Name: strings.Repeat("x", 254)}),
		"an owner of a long uid":              evicting(model.WorkloadEvictions{Namespace: "d", Kind: "ReplicaSet", Name: "a", UID: strings.Repeat("x", 254)}),
		"an owner of a long revision":         evicting(model.WorkloadEvictions{Namespace: "d", Kind: "ReplicaSet", Name: "a", Revision: strings.Repeat("x", 254)}),
		"less than none of an owner's":        evicting(model.WorkloadEvictions{Namespace: "d", Kind: "ReplicaSet", Name: "a", Pods: -1}),
		"an owner twice": func(p *model.Plan) {
			one := model.WorkloadEvictions{Namespace: "d", Kind: "ReplicaSet", Name: "a", Pods: 1}
			two := one
			two.Pods = 2
			p.Disruptions[0].Evictions = 2
			evicting(one, two)(p)
		},
		"too many": func(p *model.Plan) {
			for i := range MaxGroup {
				p.Disruptions[0].Candidates = append(p.Disruptions[0].Candidates, model.ClaimID(fmt.Sprint(i)))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := replacing(offering("c5.large", "a", 85_000))
			edit(&p)
			o := Verify(p, state())
			for _, v := range o.Verdicts {
				if v.Accepted {
					t.Errorf("%+v", v)
				}
			}
			if len(o.Groups) != 0 || len(o.Verdicts) < 2 {
				t.Errorf("%d groups, %d verdicts", len(o.Groups), len(o.Verdicts))
			}
		})
	}
}

// ten is a state with ten running claims, of which the first few are named in plans.
func ten() State {
	s := state()
	for i := range 10 {
		id := model.ClaimID(fmt.Sprintf("c%d", i))
		c := s.Claims["old"]
		c.ID, c.Pods = id, nil
		s.Claims[id], s.Nodes[id] = c, cluster.Node{Name: model.NodeName("n-" + string(id)), Ready: true}
	}
	delete(s.Claims, "old")
	return s
}

func TestBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		budgets []model.DisruptionBudget
		state   func(*State)
		want    int // of four deletions of one node each
	}{
		"no budget is no limit":                   {want: 4},
		"a count":                                 {budgets: []model.DisruptionBudget{{Count: 3}}, want: 3},
		"a share rounds up":                       {budgets: []model.DisruptionBudget{{Count: 11, IsPercent: true}}, want: 2},
		"no share at all":                         {budgets: []model.DisruptionBudget{{Count: 0, IsPercent: true}}, want: 0},
		"the tightest counts":                     {budgets: []model.DisruptionBudget{{Count: 3}, {Count: 1}}, want: 1},
		"what goes on already counts":             {budgets: []model.DisruptionBudget{{Count: 3}}, state: func(s *State) { ended(s, func(c *model.Claim) { c.Disruption = "d" }) }, want: 2},
		"what is being drained counts":            {budgets: []model.DisruptionBudget{{Count: 3}}, state: func(s *State) { ended(s, func(c *model.Claim) { c.State = model.ClaimDraining }) }, want: 2},
		"a node that is down counts":              {budgets: []model.DisruptionBudget{{Count: 3}}, state: func(s *State) { s.Nodes["c9"] = cluster.Node{Name: "n"} }, want: 2},
		"one that is down and goes counts once":   {budgets: []model.DisruptionBudget{{Count: 3}}, state: func(s *State) { s.Nodes["c3"] = cluster.Node{Name: "n"} }, want: 3},
		"a node that is not there does not count": {budgets: []model.DisruptionBudget{{Count: 3}}, state: func(s *State) { delete(s.Nodes, "c9") }, want: 3},
		"a share is of nodes that are there":      {budgets: []model.DisruptionBudget{{Count: 11, IsPercent: true}}, state: func(s *State) { delete(s.Nodes, "c9") }, want: 1},
		"what was never up does not count": {budgets: []model.DisruptionBudget{{Count: 3}}, state: func(s *State) {
			ended(s, func(c *model.Claim) { c.State, c.Reached = model.ClaimLaunched, model.ClaimLaunched })
		}, want: 3},
		"a schedule that is not on":            {budgets: []model.DisruptionBudget{{Schedule: "0 9 * * *", Duration: time.Hour}}, want: 4},
		"a schedule that is on":                {budgets: []model.DisruptionBudget{{Schedule: "30 11 * * *", Duration: time.Hour}}, want: 0},
		"a schedule that can't be read blocks": {budgets: []model.DisruptionBudget{{Count: 3, Schedule: "whenever"}}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := ten()
			budgets(&s, c.budgets...)
			if c.state != nil {
				c.state(&s)
			}
			p := plan()
			for i := range 4 {
				p.Disruptions = append(p.Disruptions, model.Disruption{
					ID: model.DisruptionID(fmt.Sprintf("d-%d", i)), Reason: model.ReasonEmpty, Candidates: []model.ClaimID{model.ClaimID(fmt.Sprintf("c%d", i))},
				})
			}
			o := Verify(p, s)
			if len(o.Groups) != c.want {
				t.Errorf("%d accepted, want %d: %+v", len(o.Groups), c.want, o.Verdicts)
			}
			for _, v := range o.Verdicts {
				if !v.Accepted && v.Reason.Code != model.CodeBudget {
					t.Errorf("%+v, want BUDGET", v)
				}
			}
		})
	}
}

// TestStagedDisruptionsNeedBudgetForOne: their other nodes wait for their turn.
func TestStagedDisruptionsNeedBudgetForOne(t *testing.T) {
	p := plan()
	p.Disruptions = []model.Disruption{
		{ID: "d-0", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c0", "c1", "c2"}, Staged: true},
		{ID: "d-1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c3"}},
	}
	for budget, want := range []int{0, 1, 2} {
		s := ten()
		budgets(&s, model.DisruptionBudget{Count: int32(budget)})
		o := Verify(p, s)
		if len(o.Groups) != want {
			t.Errorf("a budget of %d: %d accepted, want %d: %+v", budget, len(o.Groups), want, o.Verdicts)
		}
		if want > 0 && !o.Groups[0].Disruption.Staged {
			t.Error("the record does not say that it is staged")
		}
	}
}

func TestDisruptionsAreCheckedInTheOrderInWhichPlannersDecide(t *testing.T) {
	s := ten()
	drift := func(id model.ClaimID) {
		c := s.Claims[id]
		c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "AMIDrift: another image"}
		s.Claims[id] = c
	}
	drift("c1")
	budgets(&s, model.DisruptionBudget{Count: 1, Reasons: []model.DisruptionReason{model.ReasonEmpty}}, model.DisruptionBudget{Count: 2})
	p := plan()
	p.Disruptions = []model.Disruption{
		{ID: "a-drifted", Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"c1"}},
		{ID: "z-empty", Reason: model.ReasonEmpty, Candidates: []model.ClaimID{"c0"}},
	}
	o := Verify(p, s)
	for _, id := range []string{"a-drifted", "z-empty"} {
		if got := code(t, o, id); got != 0 {
			t.Errorf("%s: reason %d, want it accepted: %+v", id, got, o.Verdicts)
		}
	}
	if len(o.Groups) != 2 || o.Groups[0].Disruption.ID != "z-empty" {
		t.Errorf("groups %+v, want the empty node's first", o.Groups)
	}
}

func ended(s *State, f func(*model.Claim)) {
	c := s.Claims["c9"]
	f(&c)
	s.Claims["c9"] = c
}

func TestOneDecisionTakesANode(t *testing.T) {
	p := plan()
	for _, id := range []model.DisruptionID{"d-1", "d-2"} {
		p.Disruptions = append(p.Disruptions, model.Disruption{ID: id, Reason: model.ReasonEmpty, Candidates: []model.ClaimID{"c1"}})
	}
	o := Verify(p, ten())
	if code(t, o, "d-1") != 0 || code(t, o, "d-2") != model.CodeAlreadyDisrupted {
		t.Errorf("%+v", o.Verdicts)
	}
}
