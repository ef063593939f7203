package verify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// TestDriftFollowsFromTheSnapshot takes a node that the actuator says has drifted, takes that back, and lets the snapshot
// say it.
func TestDriftFollowsFromTheSnapshot(t *testing.T) {
	const not = "claim c-n-0 has not drifted"
	silent := func(change func(in *model.Input, claim *model.Claim)) func(*model.Input, *model.Plan) {
		return func(in *model.Input, _ *model.Plan) {
			claim := claimNamed(in, "c-n-0")
			claim.Drifted = model.Reason{}
			change(in, claim)
		}
	}
	needs := func(key string, op model.Operator, values ...string) func(*model.Input, *model.Plan) {
		return silent(func(in *model.Input, _ *model.Claim) {
			pool := &in.Snapshot.NodePools[0]
			pool.Requirements = append(pool.Requirements, model.Requirement{Key: key, Operator: op, Values: values})
		})
	}
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"nothing": {silent(func(*model.Input, *model.Claim) {}), not},
		"the actuator says so of a pool that is gone": {func(in *model.Input, _ *model.Plan) { claimNamed(in, "c-n-0").NodePool = "gone" }, not},
		"another pool hash":                           {silent(func(in *model.Input, c *model.Claim) { in.Snapshot.NodePools[0].Hash, c.PoolHash = "b", "a" }), ""},
		"a pool hash of another version":              {silent(func(in *model.Input, c *model.Claim) { in.Snapshot.NodePools[0].Hash, c.PoolHash = "v2-b", "a" }), not},
		"another pool hash of the same version":       {silent(func(in *model.Input, c *model.Claim) { in.Snapshot.NodePools[0].Hash, c.PoolHash = "v2-b", "v2-a" }), ""},
		"a class hash of another version":             {silent(func(in *model.Input, c *model.Claim) { in.Snapshot.NodeClasses[0].Hash, c.ClassHash = "v2-b", "v1-a" }), not},
		"a pool hash that only one knows":             {silent(func(in *model.Input, _ *model.Claim) { in.Snapshot.NodePools[0].Hash = "b" }), not},
		"another class hash":                          {silent(func(in *model.Input, c *model.Claim) { in.Snapshot.NodeClasses[0].Hash, c.ClassHash = "b", "a" }), ""},
		"a class hash that only one knows":            {silent(func(_ *model.Input, c *model.Claim) { c.ClassHash = "a" }), not},
		"a requirement that its labels meet":          {needs("type", model.In, "karpenter", "other"), not},
		"under an older name of the label":            {needs("failure-domain.beta.kubernetes.io/zone", model.In, "r-1a"), not},
		"one that they don't":                         {needs("topology.kubernetes.io/zone", model.In, "r-1b"), ""},
		"one on a label that is missing":              {needs("team", model.Exists), ""},
		"one that a label be missing":                 {needs("team", model.NotIn, "shop"), not},
		"the claim's own labels come first": {silent(func(in *model.Input, c *model.Claim) {
			c.Labels = model.Labels{{Key: "type", Value: "other"}}
			in.Snapshot.NodePools[0].Requirements = append(in.Snapshot.NodePools[0].Requirements,
				model.Requirement{Key: "type", Operator: model.In, Values: []string{"karpenter"}})
		}), ""},
		"a type that is in no catalog":      {silent(func(_ *model.Input, c *model.Claim) { c.InstanceType = "old" }), ""},
		"a type that is not sold like that": {silent(func(_ *model.Input, c *model.Claim) { c.CapacityType = model.Spot }), ""},
		"a type that is not sold there":     {silent(func(_ *model.Input, c *model.Claim) { c.Zone = "r-1z" }), ""},
		"a reserved type that is sold":      {silent(func(_ *model.Input, c *model.Claim) { c.CapacityType = model.Reserved }), not},
		"a type that is not available now": {silent(func(in *model.Input, _ *model.Claim) {
			for i := range in.Snapshot.Offerings {
				in.Snapshot.Offerings[i].UnavailableUntil = at(59)
			}
		}), not},
		"such a type on a young claim":      {silent(func(_ *model.Input, c *model.Claim) { c.InstanceType, c.CreateTime = "old", at(-29) }), not},
		"such a type and no catalog":        {silent(func(in *model.Input, c *model.Claim) { c.InstanceType, in.Snapshot.NodeClasses[0].Catalog = "old", "?" }), not},
		"an image that is launched no more": {silent(func(_ *model.Input, c *model.Claim) { c.ImageID = "ami-0" }), ""},
		"an image that is launched":         {silent(func(_ *model.Input, c *model.Claim) { c.ImageID = "ami-1" }), not},
		"such an image and a class that is not ready": {silent(func(in *model.Input, c *model.Claim) {
			c.ImageID, in.Snapshot.NodeClasses[0].NotReady = "ami-0", model.Reason{Code: 1}
		}), not},
		"an image, and none is known": {silent(func(in *model.Input, c *model.Claim) { c.ImageID, in.Snapshot.NodeClasses[0].Images = "ami-0", nil }), not},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{one(model.ReasonDrifted), tc.change, tc.want}.run)
	}
}

// TestDriftGoesByCanary takes a plan that takes one drifted node of two; the other proves what comes after.
func TestDriftGoesByCanary(t *testing.T) {
	build := func() *scene {
		s := poolOf("n-0", "n-1", "n-2")
		for i := range 2 {
			name := fmt.Sprintf("n-%d", i)
			claimNamed(&s.in, model.ClaimID("c-"+name)).Drifted = model.Reason{Code: model.CodeDrifted, Message: "AWS says so"}
			s.disrupt(model.ReasonDrifted, name)
		}
		return s
	}
	const unproven = "the plan takes 2 drifted nodes: one drifted node of the pool goes first"
	prover := func(change func(in *model.Input, claim *model.Claim)) func(*model.Input, *model.Plan) {
		return func(in *model.Input, _ *model.Plan) { change(in, claimNamed(in, "c-n-2")) }
	}
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"proven": {prover(func(*model.Input, *model.Claim) {}), ""},
		"drifted as well": {prover(func(_ *model.Input, c *model.Claim) {
			c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "too"}
		}), unproven},
		"not initialized":  {prover(func(_ *model.Input, c *model.Claim) { c.State = model.ClaimRegistered }), unproven},
		"not ready":        {prover(func(in *model.Input, _ *model.Claim) { nodeNamed(in, "n-2").Ready = false }), unproven},
		"leaving":          {prover(func(in *model.Input, _ *model.Claim) { nodeNamed(in, "n-2").Terminating = true }), unproven},
		"of another pool":  {prover(func(_ *model.Input, c *model.Claim) { c.NodePool = "other" }), unproven},
		"of another hash":  {prover(func(in *model.Input, _ *model.Claim) { in.Snapshot.NodePools[0].Hash = "b" }), unproven},
		"of another class": {prover(func(in *model.Input, _ *model.Claim) { in.Snapshot.NodeClasses[0].Hash = "b" }), unproven},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{build, tc.change, tc.want}.run)
	}
	t.Run("one, unproven", disruptionCase{one(model.ReasonDrifted), func(in *model.Input, _ *model.Plan) {
		in.Snapshot.NodePools[0].Hash = "b"
	}, ""}.run)
	t.Run("one, unproven, and one in flight", disruptionCase{one(model.ReasonDrifted), func(in *model.Input, p *model.Plan) {
		in.Snapshot.NodePools[0].Hash = "b"
		c := claimNamed(in, "c-n-1")
		c.Disruption, c.DisruptionReason = "d-old", model.ReasonDrifted
		p.CostBefore, p.CostAfter = p.CostBefore-c.Price, p.CostAfter-c.Price
	}, "the plan takes 1 drifted nodes: one drifted node of the pool goes first"}.run)
}

// TestFailedDriftPausesThePool takes a drifted node and a history of the pool's drift.
func TestFailedDriftPausesThePool(t *testing.T) {
	type end struct {
		minute int
		failed bool
	}
	const held = "the plan takes 1 drifted nodes: the last replacement for a drifted node of the pool failed"
	history := func(ends ...end) func(*model.Input, *model.Plan) {
		return func(in *model.Input, _ *model.Plan) {
			in.Snapshot.Claims = append(in.Snapshot.Claims, model.Claim{ID: "c-old", NodePool: "default", State: model.ClaimGone})
			for i, e := range ends {
				in.Snapshot.Disruptions = append(in.Snapshot.Disruptions, model.DisruptionRecord{
					ID: model.DisruptionID(fmt.Sprintf("d-%d", i)), Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"c-old"},
					Replacements: []model.ClaimID{"c-fresh"}, AcceptTime: at(e.minute - 5), EndTime: at(e.minute), RolledBack: e.failed,
				})
			}
		}
	}
	// replacement says what became of the replacement of one failure that would hold the pool.
	replacement := func(state, reached model.ClaimState, why model.DisruptionReason) func(*model.Input, *model.Plan) {
		return func(in *model.Input, p *model.Plan) {
			history(end{16, true})(in, p)
			in.Snapshot.Claims = append(in.Snapshot.Claims, model.Claim{
				ID: "c-fresh", NodePool: "default", State: state, Reached: reached, DisruptionReason: why,
			})
		}
	}
	six := []end{{-120, true}, {-110, true}, {-100, true}, {-90, true}, {-80, true}, {-70, true}}
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"a failure 14 minutes ago":          {history(end{16, true}), held},
		"a failure 15 minutes ago":          {history(end{15, true}), ""},
		"the second, 29 minutes ago":        {history(end{-40, true}, end{1, true}), held},
		"the second, 30 minutes ago":        {history(end{-40, true}, end{0, true}), ""},
		"a success in between":              {history(end{-40, true}, end{-20, false}, end{1, true}), ""},
		"a success since":                   {history(end{20, true}, end{25, false}), ""},
		"the sixth, 100 minutes ago":        {history(six...), held},
		"the sixth, four hours ago":         {func(in *model.Input, p *model.Plan) { history(six...)(in, p); in.Now, p.Now = at(170), at(170) }, ""},
		"the replacement was never ready":   {replacement(model.ClaimFailed, 0, 0), held},
		"it was ready, and is gone":         {replacement(model.ClaimGone, model.ClaimInitialized, 0), ""},
		"it was deleted before it was":      {replacement(model.ClaimGone, model.ClaimLaunched, model.ReasonDeleted), ""},
		"it was one too many before it was": {replacement(model.ClaimGone, model.ClaimRegistered, model.ReasonSurplus), ""},
		"AWS took it before it was":         {replacement(model.ClaimGone, model.ClaimLaunched, model.ReasonInterrupted), ""},
		"it was unhealthy before it was":    {replacement(model.ClaimGone, model.ClaimLaunched, model.ReasonUnhealthy), held},
		"of another pool": {func(in *model.Input, p *model.Plan) {
			history(end{16, true})(in, p)
			claimNamed(in, "c-old").NodePool = "other"
		}, ""},
		"of another reason": {func(in *model.Input, p *model.Plan) {
			history(end{16, true})(in, p)
			in.Snapshot.Disruptions[0].Reason = model.ReasonExpired
		}, ""},
		"one that has not come to an end": {func(in *model.Input, p *model.Plan) {
			history(end{16, true})(in, p)
			in.Snapshot.Disruptions[0].EndTime = time.Time{}
		}, ""},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{one(model.ReasonDrifted), tc.change, tc.want}.run)
	}
}

// TestStaticPoolsDriftOneByOne takes a static pool's drifted node, for which a bare claim stands in.
func TestStaticPoolsDriftOneByOne(t *testing.T) {
	build := func() *scene {
		s := one(model.ReasonDrifted)()
		s.in.Snapshot.NodePools[0].Replicas = ptr(int64(2))
		s.replaced("c-new")
		return s
	}
	again := func() *scene {
		s := build()
		s.p.Disruptions[0].Destinations = nil
		s.p.Disruptions[0].Destinations = append(s.p.Disruptions[0].Destinations, model.Placement{Pod: "shop/api-0", Claim: "c-new"})
		return s
	}
	tests := map[string]disruptionCase{
		"one for one":          {build, func(*model.Input, *model.Plan) {}, ""},
		"its pods go along":    {again, func(*model.Input, *model.Plan) {}, ""},
		"nothing in its place": {build, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Replacements = nil }, "go one by one, each for another"},
		"two at once": {build, func(_ *model.Input, p *model.Plan) {
			p.Disruptions[0].Candidates = append(p.Disruptions[0].Candidates, "c-n-1")
		}, "go one by one, each for another"},
		"for money":    {build, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Reason = model.ReasonUnderutilized }, "node pool default is static"},
		"for no claim": {build, func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Candidates[0] = "c-ghost" }, "claim c-new: node pool default is static"},
	}
	for name, tc := range tests {
		t.Run(name, tc.run)
	}
}
