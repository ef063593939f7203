package verify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

func decide(t *testing.T, in model.Input) model.Plan {
	t.Helper()
	p, err := plan.Decide(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlansThatKeepTheRulesPass(t *testing.T) {
	tests := map[string]struct {
		in   model.Input
		uses func(model.Plan) bool
	}{
		"claims for pending pods":       {buying(), func(p model.Plan) bool { return len(p.NodeClaims) > 0 && p.LowerBound != nil }},
		"an empty node and a spare one": {removing(), func(p model.Plan) bool { return len(p.Disruptions) == 2 }},
		"a cheaper replacement":         {replacing(), func(p model.Plan) bool { return len(p.Disruptions) == 1 && len(p.NodeClaims) == 1 }},
		"a node with free capacity, and none": {filling(), func(p model.Plan) bool {
			return len(p.Placements) == 1 && p.Placements[0].Node == "n-busy" && len(p.Pending) == 1
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := decide(t, tc.in)
			if !tc.uses(p) {
				t.Fatalf("the plan is not the one that this test is about: %+v", p)
			}
			for _, v := range verify.Plan(tc.in, p) {
				t.Error(v)
			}
		})
	}
}

func TestBestEffortTakesFewerValuesThanThePoolAsksFor(t *testing.T) {
	in := buying()
	p := decide(t, in)
	in.Snapshot.NodePools[0].Requirements[1].MinValues = 9
	if len(verify.Plan(in, p)) == 0 {
		t.Error("by default fewer values than the pool asks for are wrong")
	}
	in.Policy.MinValues = model.MinValuesBestEffort
	for _, v := range verify.Plan(in, p) {
		t.Error(v)
	}
}

// TestABrokenRuleIsFound takes a valid plan and breaks one thing: in the plan, or in the input that it is held against.
func TestABrokenRuleIsFound(t *testing.T) {
	type breakage struct {
		from  func() model.Input
		spoil func(*model.Input, *model.Plan)
		want  string
	}
	tests := map[string]breakage{
		"another revision":        {buying, func(_ *model.Input, p *model.Plan) { p.Revision++ }, "it is for revision"},
		"another time":            {buying, func(_ *model.Input, p *model.Plan) { p.Now = at(59) }, "asked was"},
		"an id of another hash":   {buying, func(_ *model.Input, p *model.Plan) { p.ID = "p-0000000000000000" }, "by its hash"},
		"no hash":                 {buying, func(_ *model.Input, p *model.Plan) { p.InputHash = "x" }, "64 hexadecimal"},
		"placements out of order": {buying, func(_ *model.Input, p *model.Plan) { slices.Reverse(p.Placements) }, "not sorted"},
		"claims out of order":     {buying, func(_ *model.Input, p *model.Plan) { slices.Reverse(p.NodeClaims) }, "not sorted"},
		"a claim twice": {buying, func(_ *model.Input, p *model.Plan) {
			p.NodeClaims = append(p.NodeClaims, p.NodeClaims[len(p.NodeClaims)-1])
		}, "is there twice"},
		"a pod placed twice":       {buying, func(_ *model.Input, p *model.Plan) { p.Placements = slices.Insert(p.Placements, 0, p.Placements[0]) }, "another answer already"},
		"a pod placed and pending": {filling, func(_ *model.Input, p *model.Plan) { p.Pending[0].Pod = p.Placements[0].Pod }, "another answer already"},
		"a pod forgotten":          {buying, func(_ *model.Input, p *model.Plan) { p.Placements = p.Placements[1:] }, "the plan says nothing of it"},
		"a pod that is not there":  {buying, func(_ *model.Input, p *model.Plan) { p.Placements[0].Pod = "shop/ghost" }, "no such pod"},
		"a pod that has a node": {filling, func(in *model.Input, p *model.Plan) {
			in.Snapshot.Pods[1].Node, in.Snapshot.Pods[1].Phase = "n-busy", model.PodRunning
		}, "it has a place already"},
		"a pod that is being deleted": {filling, func(in *model.Input, p *model.Plan) { in.Snapshot.Pods[1].Terminating = true }, "being deleted"},
		"a placement nowhere":         {buying, func(_ *model.Input, p *model.Plan) { p.Placements[0].Claim = "" }, "either a node or a claim"},
		"a placement in two places":   {buying, func(_ *model.Input, p *model.Plan) { p.Placements[0].Node = "n" }, "either a node or a claim"},
		"a node that is not there":    {filling, func(_ *model.Input, p *model.Plan) { p.Placements[0].Node = "n-ghost" }, "pods are sent to it, and it does not exist"},
		"a wait for pods that stay": {filling, func(_ *model.Input, p *model.Plan) {
			p.Placements[0].WaitUntil = at(10)
		}, "for pods to leave node n-busy"},
		"a claim that is not there": {buying, func(_ *model.Input, p *model.Plan) { p.Placements[0].Claim = "ghost" }, "pods are sent to it, and it does not exist"},
		"pending without a reason":  {filling, func(_ *model.Input, p *model.Plan) { p.Pending[0].Reason = model.Reason{} }, "without a reason"},
		"a miss of no pool":         {filling, func(_ *model.Input, p *model.Plan) { p.Pending[0].Pools[0].NodePool = "ghost" }, "does not exist"},
		"claims that were not asked for": {buying, func(in *model.Input, _ *model.Plan) {
			in.Kinds = []model.DecisionKind{model.KindDisrupt}
		}, "not asked for"},
		"disruptions that were not asked for": {removing, func(in *model.Input, _ *model.Plan) {
			in.Kinds = []model.DecisionKind{model.KindProvision}
		}, "not asked for"},

		"a claim that exists": {buying, func(in *model.Input, p *model.Plan) {
			in.Snapshot.Claims = append(in.Snapshot.Claims, model.Claim{ID: p.NodeClaims[0].ID, State: model.ClaimGone})
		}, "exists already"},
		"a pool that is not there": {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].Name = "other" }, "node pool default does not exist"},
		"a pool that is not ready": {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].NotReady = model.Reason{Code: 2} }, "is not ready"},
		"a port that a DaemonSet needs": {buying, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.PodClasses[0].HostPorts = []model.HostPort{{Protocol: "TCP", Port: 80}}
			in.Snapshot.PodClasses[2].HostPorts = []model.HostPort{{Protocol: "TCP", Port: 80, IP: "10.0.0.1"}}
		}, "DaemonSet shop/daemon and pod shop/web-"},
		"an excuse": {filling, func(_ *model.Input, p *model.Plan) {
			p.Pending[0].Reason.Code, p.Pending[0].Reason.Subject = model.CodeUnsupported, "pod/shop/xl"
		}, "nothing of it is unsupported"},
		"a static pool":             {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].Replicas = new(int64) }, "it is to have 0 nodes"},
		"a class that is not ready": {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodeClasses[0].NotReady = model.Reason{Code: 4} }, "is not ready"},
		"another class":             {buying, func(_ *model.Input, p *model.Plan) { p.NodeClaims[0].NodeClass = "other" }, "its pool's is default"},
		"no offerings":              {buying, func(_ *model.Input, p *model.Plan) { p.NodeClaims[0].Offerings = nil }, "it lists 0 offerings"},
		"too many offerings":        {buying, func(in *model.Input, _ *model.Plan) { in.Policy.MaxOfferingsPerClaim = ptr(1) }, "allowed are 1 to 1"},
		"an offering twice":         {buying, func(_ *model.Input, p *model.Plan) { o := p.NodeClaims[0].Offerings; o[1] = o[0] }, "twice"},
		"the dearest first":         {buying, func(_ *model.Input, p *model.Plan) { p.NodeClaims[0].Offerings[0].Price++ }, "not sorted by price"},
		"another price":             {buying, func(_ *model.Input, p *model.Plan) { p.NodeClaims[0].Price++ }, "its first offering costs"},
		"an offering of another price": {buying, func(in *model.Input, _ *model.Plan) {
			for i := range in.Snapshot.Offerings {
				in.Snapshot.Offerings[i].Price += 10
			}
		}, "not 200000"},
		"an offering that is not sold": {buying, func(_ *model.Input, p *model.Plan) { p.NodeClaims[0].Offerings[0].Zone = "r-1d" }, "does not exist"},
		"an offering that is sold out": {buying, func(in *model.Input, _ *model.Plan) {
			for i := range in.Snapshot.Offerings {
				in.Snapshot.Offerings[i].UnavailableUntil = at(45)
			}
		}, "is not available now"},
		"a zone without subnet":          {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodeClasses[0].Zones = []string{"r-1c"} }, "no subnet in zone"},
		"a type that no image boots":     {buying, func(_ *model.Input, p *model.Plan) { retype(p, "arm", 50_000) }, "no image of node class"},
		"a type outside the catalog":     {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.Catalogs[0].ID = "other" }, "not in the catalog"},
		"a capacity type that is barred": {buying, func(_ *model.Input, p *model.Plan) { spot(p) }, "pool's requirement on karpenter.sh/capacity-type"},
		"too few values": {buying, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.NodePools[0].Requirements[1].MinValues = 2
		}, "the pool asks for 2"},
		"a claim for no pods":    {buying, func(_ *model.Input, p *model.Plan) { p.Placements = nil }, "no pod is sent to it"},
		"pods of another claim":  {buying, func(_ *model.Input, p *model.Plan) { p.NodeClaims[0].Pods = p.NodeClaims[0].Pods[1:] }, "are sent to it"},
		"requests of other pods": {buying, func(_ *model.Input, p *model.Plan) { p.NodeClaims[0].Requests[0].Value++ }, "it says that its pods and DaemonSets ask for"},
		"pods too large":         {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.PodClasses[2].Requests[0].Value *= 2 }, "of cpu"},
		"a DaemonSet too large":  {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.PodClasses[0].Requests[0].Value = 3000 }, "of cpu"},
		"one offering too small": {buying, func(in *model.Input, p *model.Plan) {
			in.Snapshot.Catalogs[0].InstanceTypes[1].Allocatable[1].Value = gib
		}, "of memory"},
		"a taint not tolerated": {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.PodClasses[2].Tolerations = nil }, "does not tolerate"},
		"a selector not met":    {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].Labels[0].Value = "other" }, "its node selector"},
		"an affinity not met": {buying, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.PodClasses[2].NodeAffinity = []model.NodeAffinityTerm{{}, {Requirements: []model.Requirement{
				{Key: "topology.kubernetes.io/zone", Operator: model.NotIn, Values: []string{"r-1a"}},
			}}}
		}, "no term of its required node affinity"},
		"a zone id not met": {buying, func(in *model.Input, _ *model.Plan) {
			for i := range in.Snapshot.Offerings {
				in.Snapshot.Offerings[i].ZoneID = "id-of-" + in.Snapshot.Offerings[i].Zone
			}
			in.Snapshot.NodePools[0].Requirements = append(in.Snapshot.NodePools[0].Requirements, model.Requirement{
				Key: "topology.k8s.aws/zone-id", Operator: model.NotIn, Values: []string{"id-of-r-1a"},
			})
		}, "pool's requirement on topology.k8s.aws/zone-id"},
		"a new node without a name": {buying, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.PodClasses[2].NodeAffinity = []model.NodeAffinityTerm{{Requirements: []model.Requirement{
				{Key: "kubernetes.io/hostname", Operator: model.DoesNotExist},
			}}}
		}, "no term of its required node affinity"},
		"a volume elsewhere": {buying, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.PodClasses[2].Volumes = []model.VolumeTopology{{Name: "shop/data", Terms: []model.NodeAffinityTerm{{Requirements: []model.Requirement{
				{Key: "topology.ebs.csi.aws.com/zone", Operator: model.In, Values: []string{"r-1b"}},
			}}}}}
		}, "its volume shop/data"},
		"a port taken twice": {buying, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.PodClasses[2].HostPorts = []model.HostPort{{Protocol: "TCP", Port: 80}}
		}, "both take port 80/TCP"},
		"a class that is not planned for": {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.PodClasses[2].Unsupported = "claims" }, "but claims"},
		"a neighbour with an anti-affinity": {filling, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.PodClasses[1].PodAntiAffinity = []model.PodAffinityTerm{{
				TopologyKey: "kubernetes.io/hostname", Namespaces: []string{"shop"},
				Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{"web"}}}},
			}}
			in.Snapshot.Pods = append(in.Snapshot.Pods, running("shop/lone", "lone", "n-busy"))
		}, "pods of class lone must be away from it by kubernetes.io/hostname: n-busy may have 1"},
		"too many pods of one owner": {buying, func(in *model.Input, _ *model.Plan) {
			in.Policy.MaxPodsOfWorkloadPerNode = 2
		}, "more than 2 pods of ReplicaSet shop/web"},
		"fewer values than the claim says": {buying, func(in *model.Input, p *model.Plan) {
			in.Policy.MinValues = model.MinValuesBestEffort
			p.NodeClaims[0].Requirements = []model.Requirement{{Key: "topology.kubernetes.io/zone", Operator: model.Exists, MinValues: 9}}
		}, "the claim itself asks for 9"},
		"a limit exceeded": {buying, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].Limits[0].Value = 4000 }, "its limit is 4000"},
		"a limit on nodes": {buying, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.NodePools[0].Limits = model.Amounts{{Resource: model.Nodes, Value: 1}}
		}, "its limit is 1"},
		"a cordoned node":         {filling, func(in *model.Input, _ *model.Plan) { in.Snapshot.Nodes[0].Unschedulable = true }, "cordoned"},
		"a node that is leaving":  {filling, func(in *model.Input, _ *model.Plan) { in.Snapshot.Nodes[0].Terminating = true }, "is leaving"},
		"a claim that is leaving": {filling, func(in *model.Input, _ *model.Plan) { in.Snapshot.Claims[0].Disruption = "d-1" }, "is leaving"},
		"an attach limit": {filling, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.PodClasses[2].VolumeAttachments = model.Amounts{{Resource: "ebs", Value: 2}}
			in.Snapshot.Nodes[0].VolumeLimits = model.Amounts{{Resource: "ebs", Value: 1}}
		}, "it can attach 1"},
		"a volume that another pod has": {buying, func(in *model.Input, _ *model.Plan) {
			for i := range in.Snapshot.PodClasses {
				in.Snapshot.PodClasses[i].Volumes = []model.VolumeTopology{{Name: "shop/alone", Exclusive: true}}
			}
		}, "one pod at a time may use its volume shop/alone"},

		"a candidate that is not there":  {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.Claims[1].State = model.ClaimGone }, "does not exist, or has ended"},
		"a candidate not initialized":    {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.Claims[1].State = model.ClaimRegistered }, "is not initialized"},
		"a candidate that goes already":  {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.Claims[1].State = model.ClaimDraining }, "taken away already"},
		"a candidate of two disruptions": {removing, func(_ *model.Input, p *model.Plan) { p.Disruptions[1].Candidates = p.Disruptions[0].Candidates }, "is taken away by"},
		"a node in a shifted zone": {removing, func(in *model.Input, _ *model.Plan) {
			for i := range in.Snapshot.Offerings {
				in.Snapshot.Offerings[i].ZoneShifted = true
			}
		}, "shifted away"},
		"a protected node":               {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.Nodes[1].DoNotDisrupt = true }, "must not be disrupted"},
		"a protected pod":                {removing, func(in *model.Input, _ *model.Plan) { pod(in, "shop/lone").DoNotDisrupt = true }, "must not be disrupted"},
		"a protected DaemonSet pod":      {removing, func(in *model.Input, _ *model.Plan) { pod(in, "shop/daemon-n-empty").DoNotDisrupt = true }, "must not be disrupted"},
		"a pod that would be lost":       {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.PodClasses[1].OwnerKind = "" }, "would be lost"},
		"a node that is not empty":       {removing, func(in *model.Input, _ *model.Plan) { pod(in, "shop/lone").Node = "n-empty" }, "is not empty"},
		"an exhausted disruption budget": {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.PodDisruptionBudgets[0].DisruptionsAllowed = 0 }, "it allows 0"},
		"a budget that never allows":     {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.PodDisruptionBudgets[0].NeverAllows = true }, "the plan evicts 1"},
		"a budget that a drain of before needs": {removing, func(in *model.Input, _ *model.Plan) {
			addNode(in, "n-going", in.Snapshot.Catalogs[0].InstanceTypes[2], 100_000)
			claimNamed(in, "c-n-going").Disruption = "d-before"
			in.Snapshot.Pods = append(in.Snapshot.Pods, running("shop/lone-1", "lone", "n-going"))
		}, "the plan evicts 1 of its pods beside 1 on nodes that go already, it allows 1"},
		"a pod of another scheduler": {removing, func(in *model.Input, _ *model.Plan) {
			in.Policy.SchedulerNames = []string{"volcano"}
		}, "would have no place that is planned for"},
		"two budgets over a pod": {removing, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.PodDisruptionBudgets = append(in.Snapshot.PodDisruptionBudgets, model.PodDisruptionBudget{ID: "shop/all", Namespace: "shop", Selector: &model.Selector{}, DisruptionsAllowed: 9})
		}, "2 PodDisruptionBudgets cover it"},
		"a pool's budget": {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].Budgets[0].Count = 1 }, "allows 1 nodes at once"},
		"staged, in spite of a budget of none": {removing, func(in *model.Input, p *model.Plan) {
			in.Snapshot.NodePools[0].Budgets[0].Count = 0
			disruption(p, model.ReasonUnderutilized).Staged = true
		}, "allows 0 nodes at once"},
		"staged, not for money": {removing, func(_ *model.Input, p *model.Plan) {
			p.Disruptions[0].Staged, p.Disruptions[0].Reason = true, model.ReasonDrifted
		}, "only what saves money"},
		"a pool's percentage": {removing, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.NodePools[0].Budgets[0] = model.DisruptionBudget{Count: 33, IsPercent: true}
		}, "allows 1 nodes at once"},
		"a pool's budget used up": {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.Nodes[0].Ready = false }, "1 are going"},
		"a budget that is active now": {removing, func(in *model.Input, _ *model.Plan) {
			in.Snapshot.NodePools[0].Budgets[0] = model.DisruptionBudget{Schedule: "0 12 * * wed", Duration: time.Hour}
		}, "allows 0 nodes at once"},
		"a policy of empty nodes only":   {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].ConsolidationPolicy = model.WhenEmpty }, "empty nodes only"},
		"a static pool's node":           {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].Replicas = ptr(int64(3)) }, "of claim c-n-empty is static"},
		"a pool that never consolidates": {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].ConsolidateAfter = nil }, "never consolidates"},
		"a node that was not quiet":      {removing, func(in *model.Input, _ *model.Plan) { in.Snapshot.NodePools[0].ConsolidateAfter = ptr(time.Hour) }, "its pool asks for 1h"},
		"a destination forgotten":        {removing, func(_ *model.Input, p *model.Plan) { disruption(p, model.ReasonUnderutilized).Destinations = nil }, "have no destination"},
		"a destination that goes too": {removing, func(_ *model.Input, p *model.Plan) {
			disruption(p, model.ReasonUnderutilized).Destinations[0].Node = "n-empty"
		}, "of the same plan takes it away"},
		"a destination of another pod": {removing, func(_ *model.Input, p *model.Plan) {
			disruption(p, model.ReasonUnderutilized).Destinations[0].Pod = "shop/web-0"
		}, "is on none of its nodes"},
		"evictions miscounted":              {removing, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Evictions = 7 }, "it says that it evicts 7"},
		"a reason that is not true: drift":  {removing, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Reason = model.ReasonDrifted }, "has not drifted"},
		"a reason that is not true: expiry": {removing, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Reason = model.ReasonExpired }, "has not expired"},
		"a reason that is not true: notice": {removing, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Reason = model.ReasonInterrupted }, "is not interrupted"},
		"a reason of others":                {removing, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Reason = model.ReasonDeleted }, "no reason that the planner decides on"},
		"a replacement of no disruption":    {replacing, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Replacements = nil }, "does not list it as a replacement"},
		"a replacement that is not there":   {replacing, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Replacements[0] = "ghost" }, "not a claim of this plan"},
		"a replacement of another":          {replacing, func(_ *model.Input, p *model.Plan) { p.NodeClaims[0].Disruption = "" }, `belongs to ""`},
		"a replacement as expensive": {replacing, func(in *model.Input, p *model.Plan) {
			p.Disruptions[0].Saving = 0
			retype(p, "large", 200_000)
		}, "not worth it"},
		"a saving below the least":    {replacing, func(in *model.Input, _ *model.Plan) { in.Policy.MinSaving = 500_000 }, "not worth it"},
		"a saving miscounted":         {replacing, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Saving++ }, "it says that it saves"},
		"a cost before miscounted":    {removing, func(_ *model.Input, p *model.Plan) { p.CostBefore++ }, "the claims cost"},
		"a cost after miscounted":     {removing, func(_ *model.Input, p *model.Plan) { p.CostAfter-- }, "will cost"},
		"a bound above the price":     {buying, func(_ *model.Input, p *model.Plan) { p.LowerBound.Price = p.CostAfter + 1 }, "its lower bound"},
		"a gap miscounted":            {buying, func(_ *model.Input, p *model.Plan) { p.LowerBound.Gap += 0.5 }, "its gap"},
		"a verdict on no node":        {removing, func(_ *model.Input, p *model.Plan) { p.Nodes[0].Node = "a-ghost" }, "no such node"},
		"a verdict without reason":    {removing, func(_ *model.Input, p *model.Plan) { p.Nodes[0].Reason = model.Reason{} }, "it has no reason"},
		"a verdict that disagrees":    {removing, func(_ *model.Input, p *model.Plan) { p.Nodes[0].Disruption = "d-other" }, "it says that disruption"},
		"a candidate without verdict": {removing, func(_ *model.Input, p *model.Plan) { p.Nodes = nil }, "nothing is said"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := tc.from()
			p := decide(t, in)
			tc.spoil(&in, &p)
			found := verify.Plan(in, p)
			if !slices.ContainsFunc(found, func(v verify.Violation) bool { return strings.Contains(v.String(), tc.want) }) {
				t.Errorf("want a violation with %q, got %q", tc.want, found)
			}
		})
	}
}

func retype(p *model.Plan, name model.TypeName, price int64) {
	c := &p.NodeClaims[0]
	for i := range c.Offerings {
		c.Offerings[i].InstanceType, c.Offerings[i].Price = name, price
	}
	c.Offerings, c.Price = c.Offerings[:1], price
}

func spot(p *model.Plan) {
	c := &p.NodeClaims[0]
	c.Offerings = []model.RankedOffering{{InstanceType: "small", Zone: "r-1a", CapacityType: model.Spot, Price: 30_000}}
	c.Price = 30_000
}

func pod(in *model.Input, id model.PodID) *model.Pod {
	i := slices.IndexFunc(in.Snapshot.Pods, func(p model.Pod) bool { return p.ID == id })
	return &in.Snapshot.Pods[i]
}

func disruption(p *model.Plan, r model.DisruptionReason) *model.Disruption {
	i := slices.IndexFunc(p.Disruptions, func(d model.Disruption) bool { return d.Reason == r })
	return &p.Disruptions[i]
}

func TestSchedules(t *testing.T) {
	// Wednesday, 4 March 2026, 12:30 UTC.
	tests := map[string]struct {
		schedule string
		duration time.Duration
		active   bool
	}{
		"hit half an hour ago":          {"0 12 * * *", time.Hour, true},
		"over by now":                   {"0 12 * * *", 20 * time.Minute, false},
		"over at this moment":           {"0 12 * * *", 30 * time.Minute, false},
		"over in this minute":           {"0 12 * * *", 31 * time.Minute, true},
		"it never hits":                 {"0 0 31 2 *", 200 * 365 * 24 * time.Hour, false},
		"steps":                         {"*/15 * * * *", time.Minute, true},
		"another weekday":               {"0 12 * * mon,tue", time.Hour, false},
		"a range of weekdays":           {"0 9 * * mon-fri", 8 * time.Hour, true},
		"the day or the weekday":        {"0 12 1 * wed", time.Hour, true},
		"another month":                 {"0 12 * apr *", time.Hour, false},
		"since yesterday":               {"0 18 3 3 *", 24 * time.Hour, true},
		"a name":                        {"@hourly", time.Hour, true},
		"midnight":                      {"@daily", time.Hour, false},
		"what can't be read is active":  {"soon", time.Hour, true},
		"a number too large is refused": {"60 * * * *", time.Minute, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := removing()
			p := decide(t, in)
			in.Snapshot.NodePools[0].Budgets = []model.DisruptionBudget{{Schedule: tc.schedule, Duration: tc.duration}}
			if got := len(verify.Plan(in, p)) > 0; got != tc.active {
				t.Errorf("active: %v, want %v", got, tc.active)
			}
		})
	}
}
