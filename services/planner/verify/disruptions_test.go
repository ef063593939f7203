package verify_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// disruptionCase is a plan that disrupts nodes, written by hand, one change of it or of its input, and what is said
// then; "" where it is still allowed.
type disruptionCase struct {
	good   func() *scene
	change func(*model.Input, *model.Plan)
	want   string
}

func (g disruptionCase) run(t *testing.T) {
	t.Helper()
	in, p := g.good().settled()
	for _, v := range verify.Plan(in, p) {
		t.Fatalf("before the change: %s", v)
	}
	g.change(&in, &p)
	found := verify.Plan(in, p)
	switch {
	case g.want == "" && len(found) > 0:
		t.Errorf("want it allowed, got %q", found)
	case g.want != "" && !slices.ContainsFunc(found, func(v verify.Violation) bool { return strings.Contains(v.String(), g.want) }):
		t.Errorf("want a violation with %q, got %q", g.want, found)
	}
}

// poolOf has the unowned node "wide", where all pods fit, and large nodes of the pool.
func poolOf(nodes ...string) *scene {
	s := newScene()
	s.node("wide", "r-1b")
	s.class("api", nil)
	for _, n := range nodes {
		addNode(&s.in, n, s.in.Snapshot.Catalogs[0].InstanceTypes[1], 200_000)
	}
	return s
}

// disrupt adds a disruption of some nodes.
func (s *scene) disrupt(why model.DisruptionReason, nodes ...string) {
	d := model.Disruption{ID: model.DisruptionID("d-" + nodes[0]), Reason: why}
	for _, n := range nodes {
		d.Candidates = append(d.Candidates, model.ClaimID("c-"+n))
	}
	s.p.Disruptions = append(s.p.Disruptions, d)
}

// evicted lets a pod run on a node, and go from there with the newest disruption.
func (s *scene) evicted(name, class, from, to string) {
	s.running(name, class, from)
	d := &s.p.Disruptions[len(s.p.Disruptions)-1]
	pl := model.Placement{Pod: model.PodID("shop/" + name), Node: model.NodeName(to)}
	if slices.ContainsFunc(s.p.NodeClaims, func(c model.NodeClaim) bool { return string(c.ID) == to }) {
		pl.Node, pl.Claim = "", model.ClaimID(to)
	}
	d.Destinations = append(d.Destinations, pl)
}

// replaced gives the newest disruption a replacement: a small node in r-1a.
func (s *scene) replaced(id string) {
	s.claim(id, "r-1a")
	d := &s.p.Disruptions[len(s.p.Disruptions)-1]
	s.p.NodeClaims[len(s.p.NodeClaims)-1].Disruption = d.ID
	d.Replacements = append(d.Replacements, model.ClaimID(id))
}

// settled is the plan with all that follows from the rest of it, for pods that are not special: each eviction
// weighs a thousand.
func (s *scene) settled() (model.Input, model.Plan) {
	s.fill()
	p := &s.p
	for _, claim := range s.in.Snapshot.Claims {
		p.CostBefore += claim.Price
		p.CostAfter += claim.Price
		i := slices.IndexFunc(p.Disruptions, func(d model.Disruption) bool { return slices.Contains(d.Candidates, claim.ID) })
		if i < 0 {
			continue
		}
		p.CostAfter -= claim.Price
		d := &p.Disruptions[i]
		if d.Reason == model.ReasonEmpty || d.Reason == model.ReasonUnderutilized {
			d.Saving += claim.Price
		}
		p.Nodes = append(p.Nodes, model.NodeVerdict{Node: claim.Node, Claim: claim.ID, Reason: model.Reason{Code: model.CodeDrifted}, Disruption: d.ID})
	}
	slices.SortFunc(p.Nodes, func(a, b model.NodeVerdict) int { return cmp.Compare(a.Node, b.Node) })
	slices.SortFunc(p.Disruptions, func(a, b model.Disruption) int { return cmp.Compare(a.ID, b.ID) })
	for i := range p.Disruptions {
		s.settle(&p.Disruptions[i])
	}
	return s.in, s.p
}

func (s *scene) settle(d *model.Disruption) {
	for _, c := range s.p.NodeClaims {
		if slices.Contains(d.Replacements, c.ID) && d.Saving > 0 {
			d.Saving -= c.Price
		}
	}
	d.Evictions = len(d.Destinations)
	d.Churn = 1000 * int64(d.Evictions)
	if d.Saving > 0 {
		d.PayBack = time.Duration(d.Churn*3600/d.Saving) * time.Second
	}
	for _, pl := range d.Destinations {
		evicts(d, string(pod(&s.in, pl.Pod).Class))
	}
}

// evicts says of a disruption that it evicts one more pod of a class.
func evicts(d *model.Disruption, class string) {
	i, ok := slices.BinarySearchFunc(d.Workloads, class, func(w model.WorkloadEvictions, name string) int { return cmp.Compare(w.Name, name) })
	if !ok {
		d.Workloads = slices.Insert(d.Workloads, i, model.WorkloadEvictions{Namespace: "shop", Kind: "ReplicaSet", Name: class})
	}
	d.Workloads[i].Pods++
}

// one disrupts one node, with a pod, for a reason that holds.
func one(why model.DisruptionReason) func() *scene {
	return func() *scene {
		s := poolOf("n-0", "n-1")
		claim := claimNamed(&s.in, "c-n-0")
		switch why {
		case model.ReasonDrifted:
			claim.Drifted = model.Reason{Code: model.CodeDrifted, Message: "AWS says so"}
		case model.ReasonExpired:
			claim.CreateTime, claim.ExpireTime = at(-570), at(30)
		case model.ReasonUnhealthy:
			nodeNamed(&s.in, "n-0").Conditions = []model.NodeCondition{{Type: "KernelReady", Status: "False", TransitionTime: at(0)}}
		default:
		}
		s.disrupt(why, "n-0")
		if why != model.ReasonEmpty {
			s.evicted("api-0", "api", "n-0", "wide")
		}
		return s
	}
}

func claimNamed(in *model.Input, id model.ClaimID) *model.Claim {
	i := slices.IndexFunc(in.Snapshot.Claims, func(c model.Claim) bool { return c.ID == id })
	return &in.Snapshot.Claims[i]
}

func nodeNamed(in *model.Input, name model.NodeName) *model.Node {
	i := slices.IndexFunc(in.Snapshot.Nodes, func(n model.Node) bool { return n.Name == name })
	return &in.Snapshot.Nodes[i]
}

func classNamed(in *model.Input, id model.ClassID) *model.PodClass {
	i := slices.IndexFunc(in.Snapshot.PodClasses, func(c model.PodClass) bool { return c.ID == id })
	return &in.Snapshot.PodClasses[i]
}

// TestExpiry: a node that is about to expire goes as one that has drifted does; one that has expired goes.
func TestExpiry(t *testing.T) {
	soon := func(in *model.Input) { claimNamed(in, "c-n-0").ExpireTime = at(60) }
	bounded := func(in *model.Input) { claimNamed(in, "c-n-0").TerminationGracePeriod = ptr(time.Minute) }
	closed := func(in *model.Input) { in.Snapshot.NodePools[0].Budgets = []model.DisruptionBudget{{Count: 0}} }
	protected := func(in *model.Input) { pod(in, "shop/api-0").DoNotDisrupt = true }
	guarded := func(in *model.Input) {
		in.Snapshot.PodDisruptionBudgets = []model.PodDisruptionBudget{{ID: "shop/api", Namespace: "shop", Selector: app("api")}}
	}
	moved := func(in *model.Input) {
		in.Snapshot.Disruptions = []model.DisruptionRecord{{
			ID: "d-old", Reason: model.ReasonDrifted, AcceptTime: at(0), Workloads: []model.WorkloadEvictions{{Namespace: "shop", Kind: "ReplicaSet", Name: "api", Pods: 1}},
		}}
		pod(in, "shop/api-0").BindTime = at(0)
		in.Now = at(29)
	}
	both := func(changes ...func(*model.Input)) func(*model.Input, *model.Plan) {
		return func(in *model.Input, p *model.Plan) {
			for _, change := range changes {
				change(in)
			}
			p.Now = in.Now
		}
	}
	past := func(in *model.Input) { claimNamed(in, "c-n-0").ExpireTime = at(20) }
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"expired now":                    {both(), ""},
		"an hour before":                 {both(func(in *model.Input) { claimNamed(in, "c-n-0").ExpireTime = at(90) }), ""},
		"longer before":                  {both(func(in *model.Input) { claimNamed(in, "c-n-0").ExpireTime = at(91) }), "has not expired, and is not about to"},
		"the last tenth of a short life": {both(soon, func(in *model.Input) { claimNamed(in, "c-n-0").CreateTime = at(-240) }), ""},
		"before the last tenth":          {both(soon, func(in *model.Input) { claimNamed(in, "c-n-0").CreateTime = at(-239) }), "has not expired, and is not about to"},
		"never":                          {both(func(in *model.Input) { claimNamed(in, "c-n-0").ExpireTime = time.Time{} }), "has not expired"},
		"soon, against a budget":         {both(soon, closed), "allows 0 nodes at once"},
		"now, against a budget":          {both(closed), ""},
		"soon, with a protected pod":     {both(soon, bounded, protected), "must not be disrupted"},
		"now, with a protected pod":      {both(protected), "must not be disrupted"},
		"now, bounded, with such a pod":  {both(bounded, protected), ""},
		"soon, against a pod's budget":   {both(soon, bounded, guarded), "it allows 0"},
		"now, against a pod's budget":    {both(guarded), "it allows 0"},
		"now, bounded, against one":      {both(bounded, guarded), ""},
		"soon, pods that rest":           {both(soon, moved), "was moved a short time ago"},
		"now, pods that rest":            {both(past, moved), ""},
		"without a destination": {func(_ *model.Input, p *model.Plan) {
			p.Disruptions[0].Destinations = nil
		}, "have no destination"},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{one(model.ReasonExpired), tc.change, tc.want}.run)
	}
}

// TestExpiredNodesLeaveBudgetsToOthers: they are not counted against them, but those on their way out are.
func TestExpiredNodesLeaveBudgetsToOthers(t *testing.T) {
	build := func() *scene {
		s := one(model.ReasonExpired)()
		s.in.Snapshot.NodePools[0].Budgets = []model.DisruptionBudget{{Count: 1}}
		s.disrupt(model.ReasonEmpty, "n-1")
		return s
	}
	disruptionCase{build, func(in *model.Input, _ *model.Plan) {
		claimNamed(in, "c-n-0").ExpireTime = at(31)
	}, "allows 1 nodes at once; 0 are going, the plan takes 2 more"}.run(t)
	disruptionCase{build, func(in *model.Input, p *model.Plan) {
		addNode(in, "n-2", in.Snapshot.Catalogs[0].InstanceTypes[1], 200_000)
		claimNamed(in, "c-n-2").State = model.ClaimDraining
		claimNamed(in, "c-n-2").Reached = model.ClaimInitialized
	}, "allows 1 nodes at once; 1 are going, the plan takes 1 more"}.run(t)
}

// TestRepairedNodesUseBudgetsUp that cap those that go with them by choice, if they were not down before.
func TestRepairedNodesUseBudgetsUp(t *testing.T) {
	build := func() *scene {
		s := one(model.ReasonUnhealthy)()
		claimNamed(&s.in, "c-n-1").Drifted = model.Reason{Code: model.CodeDrifted, Message: "AWS says so"}
		s.disrupt(model.ReasonDrifted, "n-1")
		s.in.Snapshot.NodePools[0].Budgets = nil
		return s
	}
	budget := func(of ...model.DisruptionReason) func(*model.Input, *model.Plan) {
		return func(in *model.Input, _ *model.Plan) {
			in.Snapshot.NodePools[0].Budgets = []model.DisruptionBudget{{Count: 1, Reasons: of}}
		}
	}
	const want = "allows 1 nodes at once; 0 are going, the plan takes 2 more"
	for name, tc := range map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"of both reasons":     {budget(model.ReasonDrifted, model.ReasonUnhealthy), want},
		"of the other one":    {budget(model.ReasonDrifted), want},
		"of any but a repair": {budget(), want},
		"of repairs alone":    {budget(model.ReasonUnhealthy), ""},
		"of a reason of none": {budget(model.ReasonEmpty), ""},
		"one that is not ready": {func(in *model.Input, p *model.Plan) {
			budget(model.ReasonDrifted, model.ReasonUnhealthy)(in, p)
			nodeNamed(in, "n-0").Ready = false
		}, "allows 1 nodes at once; 1 are going, the plan takes 1 more"},
	} {
		t.Run(name, disruptionCase{build, tc.change, tc.want}.run)
	}
}

// TestDestinationsCanBeReliedOn: pods go to what is there, or to what the drain waits for.
func TestDestinationsCanBeReliedOn(t *testing.T) {
	replacedAnd := func(why model.DisruptionReason) func() *scene {
		return func() *scene {
			s := one(why)()
			s.replaced("c-new")
			s.evicted("api-1", "api", "n-0", "c-new")
			return s
		}
	}
	occupied := func() *scene {
		s := one(model.ReasonUnderutilized)()
		s.evicted("api-1", "api", "n-0", "n-1")
		return s
	}
	tests := map[string]disruptionCase{
		"a node that is not ready": {one(model.ReasonUnderutilized), func(in *model.Input, _ *model.Plan) {
			nodeNamed(in, "wide").Ready = false
		}, "node wide, which is not ready"},
		"for drift as well": {one(model.ReasonDrifted), func(in *model.Input, _ *model.Plan) {
			nodeNamed(in, "wide").Ready = false
		}, "node wide, which is not ready"},
		"unhealthy nodes' pods take what they get": {one(model.ReasonUnhealthy), func(in *model.Input, _ *model.Plan) {
			nodeNamed(in, "wide").Ready = false
		}, ""},
		"a node that is not initialized": {occupied, func(in *model.Input, _ *model.Plan) {
			claimNamed(in, "c-n-1").State = model.ClaimRegistered
		}, "node n-1, which is not initialized"},
		"a cordoned node": {occupied, func(in *model.Input, _ *model.Plan) { nodeNamed(in, "n-1").Unschedulable = true }, "cordoned"},
		"another's replacement": {replacedAnd(model.ReasonDrifted), func(_ *model.Input, p *model.Plan) {
			p.NodeClaims[0].Disruption = ""
		}, "claim c-new, which is not ready and no replacement"},
		"its replacement": {replacedAnd(model.ReasonDrifted), func(*model.Input, *model.Plan) {}, ""},
		"a node that was not quiet": {occupied, func(in *model.Input, _ *model.Plan) {
			nodeNamed(in, "n-1").LastPodEventTime = at(30)
		}, "destination of pod shop/api-1: claim c-n-1: it has been quiet for 0s, and its pool asks for 1m"},
		"a node that never consolidates": {occupied, func(in *model.Input, _ *model.Plan) {
			own := in.Snapshot.NodePools[0]
			own.Name, own.ConsolidateAfter = "never", nil
			in.Snapshot.NodePools = append(in.Snapshot.NodePools, own)
			claimNamed(in, "c-n-1").NodePool = "never"
			nodeNamed(in, "n-1").LastPodEventTime = at(30)
		}, ""},
	}
	for name, tc := range tests {
		t.Run(name, tc.run)
	}
}

// TestSpotForSpotKeepsDiversity takes a spot node for which six cheaper offerings of three families, in two zones,
// stand in.
func TestSpotForSpotKeepsDiversity(t *testing.T) {
	build := func() *scene {
		s := one(model.ReasonUnderutilized)()
		in := &s.in.Snapshot
		in.NodePools[0].Requirements[0].Values = []string{"on-demand", "spot"}
		claimNamed(&s.in, "c-n-0").CapacityType = model.Spot
		s.replaced("c-new")
		s.evicted("api-1", "api", "n-0", "c-new")
		offerings := &s.p.NodeClaims[0].Offerings
		*offerings = nil
		for i, name := range []string{"a.x", "b.x", "c.x"} {
			in.Catalogs[0].InstanceTypes = append(in.Catalogs[0].InstanceTypes, instanceType(name, "amd64", 2000, 8*gib))
			for j, z := range []string{"r-1a", "r-1b"} {
				price := int64(20_000 + 2*i + j)
				in.Offerings = append(in.Offerings, offering(name, z, model.Spot, price))
				*offerings = append(*offerings, model.RankedOffering{InstanceType: model.TypeName(name), Zone: z, CapacityType: model.Spot, Price: price})
			}
		}
		return s
	}
	keep := func(which ...int) func(*model.Input, *model.Plan) {
		return func(_ *model.Input, p *model.Plan) {
			var kept []model.RankedOffering
			for _, i := range which {
				kept = append(kept, p.NodeClaims[0].Offerings[i])
			}
			p.NodeClaims[0].Offerings = kept
		}
	}
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"five of six": {keep(0, 1, 2, 3, 4), ""},
		"four":        {keep(0, 1, 2, 3), "one of 4, in 2 zones, of 2 families: that is too few"},
		"five, one family": {func(in *model.Input, p *model.Plan) {
			keep(0, 1, 2, 3, 4)(in, p)
			for i := range p.NodeClaims[0].Offerings {
				p.NodeClaims[0].Offerings[i].InstanceType = model.TypeName("a." + string(rune('0'+i)))
				p.NodeClaims[0].Offerings[i].Zone = "r-1a"
			}
		}, "one of 5, in 1 zones, of 1 families: that is too few"},
		"what it is itself": {func(in *model.Input, _ *model.Plan) {
			claimNamed(in, "c-n-0").InstanceType = "a.x"
		}, "may be what it is: a.x in r-1a"},
		"one that is no cheaper": {func(_ *model.Input, p *model.Plan) {
			p.NodeClaims[0].Offerings[5].Price = 200_000
		}, "c.x in r-1b, which is no cheaper"},
		"few for an on-demand node": {func(in *model.Input, p *model.Plan) {
			keep(0, 1)(in, p)
			claimNamed(in, "c-n-0").CapacityType = model.OnDemand
		}, ""},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{build, tc.change, tc.want}.run)
	}
}

// TestUnhealthyNodesAreWaitedForAndGuarded takes a node that has been unhealthy for half an hour, one of two of its pool.
func TestUnhealthyNodesAreWaitedForAndGuarded(t *testing.T) {
	conditions := func(change func(*model.NodeCondition)) func(*model.Input, *model.Plan) {
		return func(in *model.Input, _ *model.Plan) { change(&nodeNamed(in, "n-0").Conditions[0]) }
	}
	policy := func(p model.RepairPolicy) func(*model.Input, *model.Plan) {
		return func(in *model.Input, _ *model.Plan) { in.Policy.Repair = p }
	}
	const not = "has no node that was unhealthy for long enough"
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"not for long":          {conditions(func(c *model.NodeCondition) { c.TransitionTime = at(1) }), not},
		"another condition":     {conditions(func(c *model.NodeCondition) { c.Type = "DiskPressure" }), not},
		"another status":        {conditions(func(c *model.NodeCondition) { c.Status = "Unknown" }), not},
		"off":                   {policy(model.RepairPolicy{Off: true}), not},
		"a policy of one's own": {policy(model.RepairPolicy{Conditions: []model.RepairCondition{{Type: "KernelReady", Status: "False", After: time.Hour}}}), not},
		"whatever the pods ask for": {func(in *model.Input, _ *model.Plan) {
			in.Snapshot.NodePools[0].Budgets = []model.DisruptionBudget{{Count: 0}}
			nodeNamed(in, "n-0").DoNotDisrupt = true
			pod(in, "shop/api-0").DoNotDisrupt = true
		}, ""},
		"too many at once": {func(in *model.Input, _ *model.Plan) {
			nodeNamed(in, "n-1").Conditions = nodeNamed(in, "n-0").Conditions
		}, "2 of the pool's 2 nodes are unhealthy"},
		"so many, by the policy": {func(in *model.Input, _ *model.Plan) {
			nodeNamed(in, "n-1").Conditions = nodeNamed(in, "n-0").Conditions
			in.Policy.Repair.MaxUnhealthyPercent = 51
		}, ""},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{one(model.ReasonUnhealthy), tc.change, tc.want}.run)
	}
}

// TestClaimsAreExcluded where that was asked for, unless their nodes go by no choice; and the violation names the
// decision.
func TestClaimsAreExcluded(t *testing.T) {
	tests := map[model.DisruptionReason]string{
		model.ReasonEmpty: "was to be left alone", model.ReasonUnderutilized: "was to be left alone",
		model.ReasonDrifted: "was to be left alone", model.ReasonExpired: "was to be left alone", model.ReasonUnhealthy: "",
	}
	for why, want := range tests {
		t.Run(why.String(), disruptionCase{one(why), func(in *model.Input, _ *model.Plan) { in.Exclude = []model.ClaimID{"c-n-0"} }, want}.run)
	}
	in, p := one(model.ReasonDrifted)().settled()
	in.Exclude = []model.ClaimID{"c-n-0", "c-n-1"}
	if found := verify.Plan(in, p); len(found) != 1 || found[0].Disruption != p.Disruptions[0].ID {
		t.Errorf("got %+v, want one violation by disruption %s", found, p.Disruptions[0].ID)
	}
}

// TestSummaries hold together.
func TestSummaries(t *testing.T) {
	tests := map[string]struct {
		said model.DisruptionSummary
		want string
	}{
		"all judged":            {model.DisruptionSummary{Candidates: 3, Judged: 3, Tried: 9, ResumeAfter: "c-n-1"}, ""},
		"more than there are":   {model.DisruptionSummary{Candidates: 3, Judged: 4}, "of 3 candidates 4 were judged"},
		"a floor below nothing": {model.DisruptionSummary{Floor: -1}, "the floor is -1"},
		"it ends nowhere":       {model.DisruptionSummary{ResumeAfter: "ghost"}, "it ends at claim ghost"},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{one(model.ReasonUnderutilized), func(_ *model.Input, p *model.Plan) { p.Summary = &tc.said }, tc.want}.run)
	}
	t.Run("of nothing", disruptionCase{func() *scene { return newScene() }, func(in *model.Input, p *model.Plan) {
		in.Kinds = []model.DecisionKind{model.KindProvision}
		p.Summary = &model.DisruptionSummary{}
	}, "not asked for"}.run)
	t.Run("waste", disruptionCase{one(model.ReasonUnderutilized), func(_ *model.Input, p *model.Plan) { p.Nodes[0].Waste = -1 }, "wastes -1"}.run)
}
