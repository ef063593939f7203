package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
	"github.com/kerf-dev/kerf/services/planner/verify/place"
)

// claims checks that each new claim belongs to a pool that may buy, can be launched as anything that it lists, and says
// the truth about its pods, requests and price.
type claims struct {
	f      *facts.Facts
	r      *facts.Report
	places *place.Places
	// judged are the problems of an offering, as far as it was looked at.
	judged map[*place.Variant][]string
}

func (c *claims) all() {
	for i := range c.f.Plan.NodeClaims {
		claim := &c.f.Plan.NodeClaims[i]
		c.r.Blame(claim.Disruption, func() { c.one(claim) })
	}
}

func (c *claims) one(claim *model.NodeClaim) {
	subject := "claim " + string(claim.ID)
	if c.f.Cluster.Claims[claim.ID] != nil {
		c.r.Fail(subject, "a claim with this id exists already")
	}
	pool, nc := c.makers(subject, claim)
	if pool == nil || nc == nil {
		return
	}
	c.offerings(subject, claim)
	for _, v := range c.places.New(claim).Variants() {
		problems, known := c.judged[v]
		if !known {
			problems = c.problems(v, claim, pool, nc)
			c.judged[v] = problems
		}
		for _, problem := range problems {
			c.r.Fail(subject, "offering %s: %s", v.Name, problem)
		}
	}
	c.minValues(subject, claim, pool)
	c.requests(subject, claim)
	c.workloads(subject, claim)
}

// makers finds the pool and the node class of a claim, and checks that both can be used.
func (c *claims) makers(subject string, claim *model.NodeClaim) (*model.NodePool, *model.NodeClass) {
	pool := c.f.Cluster.Pools[claim.NodePool]
	if pool == nil {
		c.r.Fail(subject, "node pool %s does not exist", claim.NodePool)
		return nil, nil
	}
	nc := c.f.Cluster.NodeClasses[claim.NodeClass]
	switch {
	case claim.NodeClass != pool.NodeClass:
		c.r.Fail(subject, "its node class is %s, its pool's is %s", claim.NodeClass, pool.NodeClass)
	case nc == nil:
		c.r.Fail(subject, "node class %s does not exist", claim.NodeClass)
	case !pool.NotReady.OK():
		c.r.Fail(subject, "node pool %s is not ready: %s", pool.Name, pool.NotReady.Message)
	case !nc.NotReady.OK():
		c.r.Fail(subject, "node class %s is not ready: %s", nc.Name, nc.NotReady.Message)
	case pool.Replicas != nil && !bare(claim) && !c.standsIn(claim):
		c.r.Fail(subject, "node pool %s is static", pool.Name)
	}
	return pool, nc
}

// bare says whether a claim takes no other one's place, as those that a static pool lacks: how many these are is
// checked by limits.
func bare(claim *model.NodeClaim) bool { return claim.Disruption == "" }

// standsIn says whether a claim of a static pool takes the place of one that goes before its time.
func (c *claims) standsIn(claim *model.NodeClaim) bool {
	d := c.f.Decisions.Disruptions[claim.Disruption]
	if d == nil || (d.Reason != model.ReasonDrifted && d.Reason != model.ReasonExpired) {
		return false
	}
	return slices.ContainsFunc(d.Candidates, func(id model.ClaimID) bool {
		gone := c.f.Cluster.Live[id]
		return gone != nil && gone.NodePool == claim.NodePool
	})
}

// offerings checks the list as a whole.
func (c *claims) offerings(subject string, claim *model.NodeClaim) {
	most := model.Or(c.f.Input.Policy.MaxOfferingsPerClaim, model.DefaultMaxOfferings)
	if n := len(claim.Offerings); n == 0 || n > most {
		c.r.Fail(subject, "it lists %d offerings, allowed are 1 to %d", n, most)
	}
	seen := make(map[facts.OfferingKey]bool)
	for i, o := range claim.Offerings {
		key := facts.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType}
		if seen[key] {
			c.r.Fail(subject, "it lists %s in %s as %s twice", o.InstanceType, o.Zone, o.CapacityType)
		}
		seen[key] = true
		if i > 0 && claim.Offerings[i-1].Weighed() > o.Weighed() {
			c.r.Fail(subject, "its offerings are not sorted by price: %s in %s is cheaper than what comes before", o.InstanceType, o.Zone)
		}
	}
	if len(claim.Offerings) > 0 && claim.Price != claim.Offerings[0].Price {
		c.r.Fail(subject, "its price is %d, its first offering costs %d", claim.Price, claim.Offerings[0].Price)
	}
}

// problems says what is wrong with one offering of a claim.
func (c *claims) problems(v *place.Variant, claim *model.NodeClaim, pool *model.NodePool, nc *model.NodeClass) (problems []string) {
	fail := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	o := v.Offering
	known, ok := c.f.Market.Offering(facts.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType})
	price, by := c.f.Market.Overlaid(pool.Name, &known)
	switch {
	case !ok:
		fail("it does not exist")
		return problems
	case known.Price <= 0 && by == "":
		fail("its price is not known")
	case !c.f.Market.Available(&known):
		fail("it is not available now")
	case known.Price != o.Price || known.PriceEstimated != o.PriceEstimated:
		fail("it costs %d, not %d", known.Price, o.Price)
	}
	known.ReservationID = o.ReservationID
	if o.Overlaid != (by != "") || (o.Overlaid && o.OverlaidPrice != price) {
		fail("it is weighed at %d, by overlays (%s) it should be at %d", o.Weighed(), by, price)
	}
	if c.f.Market.Type(nc.Name, o.InstanceType) == nil {
		fail("the type is not in the catalog of node class %s", nc.Name)
		return problems
	}
	if !slices.Contains(nc.Zones, o.Zone) {
		fail("node class %s has no subnet in zone %s", nc.Name, o.Zone)
	}
	boots := func(im model.MachineImage) bool { return unmet(v, im.Requirements) == "" }
	if !slices.ContainsFunc(nc.Images, boots) {
		fail("no image of node class %s boots it", nc.Name)
	}
	if key := unmet(v, pool.Requirements); key != "" {
		fail("it does not meet the pool's requirement on %s", key)
	}
	if key := unmet(v, claim.Requirements); key != "" {
		fail("it does not meet the claim's own requirement on %s", key)
	}
	return problems
}

// unmet is the label on which some requirement may not hold; "" when all hold whatever the labels become.
func unmet(v *place.Variant, rs []model.Requirement) string {
	for _, r := range rs {
		if !v.Meets(require.New(r)) {
			return r.Key
		}
	}
	return ""
}

// minValues checks that enough distinct values are left among the offerings: as many as the pool asks for, unless the
// policy takes what it can get and the claim is not to save money, and in any case as many as the claim itself says.
func (c *claims) minValues(subject string, claim *model.NodeClaim, pool *model.NodePool) {
	check := func(rs []model.Requirement, whose string) {
		for _, r := range rs {
			if n := c.distinct(claim, r.Key); r.MinValues > 0 && n < r.MinValues {
				c.r.Fail(subject, "its offerings have %d values of %s, %s asks for %d", n, r.Key, whose, r.MinValues)
			}
		}
	}
	x := c.f.Decisions.Disruptions[claim.Disruption]
	if c.f.Input.Policy.MinValues != model.MinValuesBestEffort || x != nil && x.Reason == model.ReasonUnderutilized {
		check(pool.Requirements, "the pool")
	}
	check(claim.Requirements, "the claim itself")
}

// distinct counts the values that a label may have on a claim.
func (c *claims) distinct(claim *model.NodeClaim, key string) int {
	seen := make(map[string]bool)
	for _, v := range c.places.New(claim).Variants() {
		values, _, _ := v.Values(labels.Normal(key))
		for _, value := range values {
			seen[value] = true
		}
	}
	return len(seen)
}

// requests checks what the claim says of its pods and of what they ask for.
func (c *claims) requests(subject string, claim *model.NodeClaim) {
	sent := make([]model.PodID, 0, len(claim.Pods))
	want := make(map[model.Resource]int64)
	for _, pod := range c.f.Decisions.Sent[facts.Target{Claim: claim.ID}] {
		sent = append(sent, pod.ID)
		place.Add(want, c.f.Cluster.Class(pod))
	}
	slices.Sort(sent)
	switch {
	case len(sent) == 0 && !c.f.Cluster.Static(claim.NodePool):
		c.r.Fail(subject, "no pod is sent to it")
	case !slices.Equal(sent, claim.Pods):
		c.r.Fail(subject, "it is for %d pods, %d are sent to it, or others", len(claim.Pods), len(sent))
	}
	p := c.places.New(claim)
	if len(p.Variants()) == 0 {
		return
	}
	for _, class := range c.places.Daemons(p, p.Variants()[0]) {
		place.Add(want, class)
	}
	got := make(map[model.Resource]int64)
	for _, a := range claim.Requests {
		got[a.Resource] = a.Value
	}
	maps.DeleteFunc(want, func(_ model.Resource, n int64) bool { return n == 0 })
	if !maps.Equal(got, want) {
		c.r.Fail(subject, "it says that its pods and DaemonSets ask for %v, they ask for %v", claim.Requests, facts.Amounts(want))
	}
}

// workloads checks that a new node does not get too many pods of one owner. A static pool's is not bought for its pods:
// they are sent there as to nodes that are there.
func (c *claims) workloads(subject string, claim *model.NodeClaim) {
	most := c.f.Input.Policy.MaxPodsOfWorkloadPerNode
	if most <= 0 || c.f.Cluster.Static(claim.NodePool) {
		return
	}
	pods := make(map[rules.Owner]int)
	for _, pod := range c.f.Decisions.Sent[facts.Target{Claim: claim.ID}] {
		o := rules.OwnerOf(c.f.Cluster.Class(pod))
		pods[o]++
		if o.Kind != "" && pods[o] == most+1 {
			c.r.Fail(subject, "more than %d pods of %s %s/%s are sent to it", most, o.Kind, o.Namespace, o.Name)
		}
	}
}
