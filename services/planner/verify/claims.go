package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

// claims checks that each new claim belongs to a pool that may buy, can be launched as anything that it lists, and says
// the truth about its pods, requests and price.
func (c *checker) claims() {
	for i := range c.plan.NodeClaims {
		before := len(c.found)
		c.claim(&c.plan.NodeClaims[i])
		c.ascribe(before, c.plan.NodeClaims[i].Disruption)
	}
}

func (c *checker) claim(claim *model.NodeClaim) {
	subject := "claim " + string(claim.ID)
	if c.live[claim.ID] != nil || c.ended[claim.ID] {
		c.fail(subject, "a claim with this id exists already")
	}
	pool, nc := c.makers(subject, claim)
	if pool == nil || nc == nil {
		return
	}
	c.options(subject, claim)
	for _, key := range c.shapeKeys(claim) {
		problems, known := c.judged[key]
		if !known {
			problems = c.option(c.freshShape(key, claim), claim, pool, nc)
			c.judged[key] = problems
		}
		for _, problem := range problems {
			c.fail(subject, "offering %s: %s", c.shapes[key].name, problem)
		}
	}
	c.minValues(subject, claim, pool)
	c.sums(subject, claim)
}

// makers finds the pool and the node class of a claim, and checks that both can be used.
func (c *checker) makers(subject string, claim *model.NodeClaim) (*model.NodePool, *model.NodeClass) {
	pool := c.pools[claim.NodePool]
	if pool == nil {
		c.fail(subject, "node pool %s does not exist", claim.NodePool)
		return nil, nil
	}
	nc := c.nodeClasses[claim.NodeClass]
	switch {
	case claim.NodeClass != pool.NodeClass:
		c.fail(subject, "its node class is %s, its pool's is %s", claim.NodeClass, pool.NodeClass)
	case nc == nil:
		c.fail(subject, "node class %s does not exist", claim.NodeClass)
	case pool.NotReady != nil:
		c.fail(subject, "node pool %s is not ready: %s", pool.Name, pool.NotReady.Message)
	case nc.NotReady != nil:
		c.fail(subject, "node class %s is not ready: %s", nc.Name, nc.NotReady.Message)
	case pool.Replicas != nil && !bare(claim) && !c.standsIn(claim):
		c.fail(subject, "node pool %s is static", pool.Name)
	}
	return pool, nc
}

// options checks the list as a whole.
func (c *checker) options(subject string, claim *model.NodeClaim) {
	most := c.in.Policy.MaxOfferingsPerClaim
	if most == 0 {
		most = 60
	}
	if n := len(claim.Offerings); n == 0 || n > most {
		c.fail(subject, "it lists %d offerings, allowed are 1 to %d", n, most)
	}
	seen := make(map[offeringKey]bool)
	for i, o := range claim.Offerings {
		key := offeringKey{o.InstanceType, o.Zone, o.CapacityType}
		if seen[key] {
			c.fail(subject, "it lists %s in %s as %s twice", o.InstanceType, o.Zone, o.CapacityType)
		}
		seen[key] = true
		if i > 0 && claim.Offerings[i-1].Weighed() > o.Weighed() {
			c.fail(subject, "its offerings are not sorted by price: %s in %s is cheaper than what comes before", o.InstanceType, o.Zone)
		}
	}
	if len(claim.Offerings) > 0 && claim.Price != claim.Offerings[0].Price {
		c.fail(subject, "its price is %d, its first offering costs %d", claim.Price, claim.Offerings[0].Price)
	}
}

// option says what is wrong with one offering of a claim.
func (c *checker) option(s *shape, claim *model.NodeClaim, pool *model.NodePool, nc *model.NodeClass) (problems []string) {
	fail := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	o := s.offering
	known, ok := c.offerings[offeringKey{o.InstanceType, o.Zone, o.CapacityType}]
	switch {
	case !ok:
		fail("it does not exist")
		return problems
	case !c.available(known):
		fail("it can't be had now")
	case known.Price != o.Price || known.PriceEstimated != o.PriceEstimated:
		fail("it costs %d, not %d", known.Price, o.Price)
	}
	known.ReservationID = o.ReservationID
	price, by := c.overlays.For(pool.Name, o.InstanceType).Price(&known)
	if o.Overlaid != (by != "") || (o.Overlaid && o.OverlaidPrice != price) {
		fail("it is weighed at %d, by overlays (%s) it should be at %d", o.Weighed(), by, price)
	}
	if c.types[typeKey{nc.Catalog, o.InstanceType}] == nil {
		fail("the type is not in the catalog of node class %s", nc.Name)
		return problems
	}
	if !slices.Contains(nc.Zones, o.Zone) {
		fail("node class %s has no subnet in zone %s", nc.Name, o.Zone)
	}
	if !slices.ContainsFunc(nc.Images, func(im model.MachineImage) bool { return met(im.Requirements, s) }) {
		fail("no image of node class %s boots it", nc.Name)
	}
	for _, r := range pool.Requirements {
		if !c.keeps(s, r, claim.Requirements) {
			fail("it does not meet the pool's requirement on %s", r.Key)
		}
	}
	for _, r := range claim.Requirements {
		if len(s.open[normalKey(r.Key)]) == 0 && !s.surely(r) {
			fail("it does not meet the claim's own requirement on %s", r.Key)
		}
	}
	return problems
}

// keeps says whether a pool's requirement holds on a shape. Where neither the type nor the place decides the label, the
// claim must ask for it at least as strictly as the pool does.
func (c *checker) keeps(s *shape, r model.Requirement, narrowed []model.Requirement) bool {
	if s.surely(r) {
		return true
	}
	if _, decided := s.labels[normalKey(r.Key)]; decided {
		return false
	}
	return slices.ContainsFunc(narrowed, func(n model.Requirement) bool {
		return normalKey(n.Key) == normalKey(r.Key) && n.Operator == r.Operator && slices.Equal(n.Values, r.Values)
	})
}

func met(rs []model.Requirement, s *shape) bool {
	return !slices.ContainsFunc(rs, func(r model.Requirement) bool { return !s.surely(r) })
}

func (c *checker) available(o model.Offering) bool {
	left := o.CapacityType != model.Reserved || (o.ReservationRemaining != nil && *o.ReservationRemaining > 0)
	return o.Price > 0 && left && !o.UnavailableUntil.After(c.in.Now)
}

// minValues checks that enough distinct values are left among the offerings: as many as the pool wishes for, unless the
// policy takes what it can get, and in any case as many as the claim itself says.
func (c *checker) minValues(subject string, claim *model.NodeClaim, pool *model.NodePool) {
	check := func(rs []model.Requirement, whose string) {
		for _, r := range rs {
			if n := c.distinct(claim, r.Key); r.MinValues > 0 && n < r.MinValues {
				c.fail(subject, "its offerings have %d values of %s, %s asks for %d", n, r.Key, whose, r.MinValues)
			}
		}
	}
	if c.in.Policy.MinValues != model.MinValuesBestEffort {
		check(pool.Requirements, "the pool")
	}
	check(claim.Requirements, "the claim itself")
}

// distinct counts the values that a label may have on a claim.
func (c *checker) distinct(claim *model.NodeClaim, key string) int {
	values := make(map[string]bool)
	for _, s := range c.freshPlace(claim).shapes {
		all, _ := s.states(normalKey(key))
		for _, st := range all {
			if st.present {
				values[st.value] = true
			}
		}
	}
	return len(values)
}

// sums checks what the claim says of its pods and of what they ask for.
func (c *checker) sums(subject string, claim *model.NodeClaim) {
	sent := make([]model.PodID, 0, len(claim.Pods))
	want := make(map[model.Resource]int64)
	for _, pod := range c.toClaim[claim.ID] {
		sent = append(sent, pod.ID)
		add(want, c.class(pod))
	}
	slices.Sort(sent)
	c.workloads(subject, claim)
	switch {
	case len(sent) == 0 && !c.static(claim.NodePool):
		c.fail(subject, "no pod is sent to it")
	case !slices.Equal(sent, claim.Pods):
		c.fail(subject, "it is for %d pods, %d are sent to it, or others", len(claim.Pods), len(sent))
	}
	p := c.freshPlace(claim)
	if len(p.shapes) == 0 {
		return
	}
	for _, class := range c.daemons(p, p.shapes[0]) {
		add(want, class)
	}
	if got := amountMap(claim.Requests); !maps.Equal(got, amountMap(amounts(want))) {
		c.fail(subject, "it says that its pods and DaemonSets ask for %v, they ask for %v", claim.Requests, amounts(want))
	}
}

// workloads checks that a new node does not get too many pods of one owner.
func (c *checker) workloads(subject string, claim *model.NodeClaim) {
	most := c.in.Policy.MaxPodsOfWorkloadPerNode
	if most <= 0 {
		return
	}
	pods := make(map[[3]string]int)
	for _, pod := range c.toClaim[claim.ID] {
		class := c.class(pod)
		owner := [3]string{class.Namespace, class.OwnerKind, class.OwnerName}
		pods[owner]++
		if class.OwnerKind != "" && pods[owner] == most+1 {
			c.fail(subject, "more than %d pods of %s %s/%s are sent to it", most, class.OwnerKind, class.Namespace, class.OwnerName)
		}
	}
}

// limits checks, for each pool that the plan buys for, that everything together stays within the pool's limits even if
// each claim becomes the largest that it lists. Nodes that are going away count for as long as they are there.
func (c *checker) limits() {
	bought := make(map[model.PoolName][]*model.NodeClaim)
	for i := range c.plan.NodeClaims {
		claim := &c.plan.NodeClaims[i]
		bought[claim.NodePool] = append(bought[claim.NodePool], claim)
	}
	for _, name := range slices.Sorted(maps.Keys(bought)) {
		pool := c.pools[name]
		if pool == nil || len(pool.Limits) == 0 {
			continue
		}
		used := make(map[model.Resource]int64)
		for _, claim := range c.live {
			if claim.NodePool == name {
				c.count(used, claim.Capacity, owner{pool: name, class: claim.NodeClass}, c.becomes(claim))
			}
		}
		adds := make(map[model.Resource]int64)
		for _, claim := range bought[name] {
			c.count(adds, nil, owner{pool: name, class: claim.NodeClass}, claim.Offerings)
		}
		for _, limit := range pool.Limits {
			if n := used[limit.Resource] + adds[limit.Resource]; adds[limit.Resource] > 0 && n > limit.Value {
				c.fail("node pool "+string(name), "with this plan it may have %d of %s, its limit is %d", n, limit.Resource, limit.Value)
			}
		}
	}
}

func (c *checker) becomes(claim *model.Claim) []model.RankedOffering {
	if claim.InstanceType != "" {
		return []model.RankedOffering{{
			InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType, ReservationID: claim.ReservationID,
		}}
	}
	return claim.Offerings
}

// bare says whether a claim is for no pods, as those of static pools are.
func bare(claim *model.NodeClaim) bool { return len(claim.Pods) == 0 && claim.Disruption == "" }

// standsIn says whether a claim of a static pool takes the place of one that goes before its time.
func (c *checker) standsIn(claim *model.NodeClaim) bool {
	d := c.decision[claim.Disruption]
	if d == nil || (d.Reason != model.ReasonDrifted && d.Reason != model.ReasonExpired) {
		return false
	}
	return slices.ContainsFunc(d.Candidates, func(id model.ClaimID) bool {
		gone := c.live[id]
		return gone != nil && gone.NodePool == claim.NodePool
	})
}

func (c *checker) static(name model.PoolName) bool {
	pool := c.pools[name]
	return pool != nil && pool.Replicas != nil
}

// replicas checks that a static pool neither gets more nodes than its replicas, nor is left with fewer by what is taken
// away because they are too many.
func (c *checker) replicas() {
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		if !c.static(name) {
			continue
		}
		stay, more, less := c.sizes(name)
		want := *c.pools[name].Replicas
		if more > 0 && stay+more > want {
			c.fail("node pool "+string(name), "it is to have %d nodes; it has %d, and gets %d", want, stay, more)
		}
		if less > 0 && stay-less < want {
			c.fail("node pool "+string(name), "it is to have %d nodes; of %d the plan takes %d", want, stay, less)
		}
	}
}

// sizes counts the nodes that a static pool has and keeps unless they are too many, those that the plan gives it, and those
// that it takes as too many.
func (c *checker) sizes(name model.PoolName) (stay, more, less int64) {
	for id, claim := range c.live {
		if claim.NodePool != name || c.leaving(claim) {
			continue
		}
		why := c.reasonOf(c.candidate[id])
		if why == model.ReasonUnhealthy {
			continue // it goes whatever happens
		}
		stay++
		if why == model.ReasonSurplus {
			less++
		}
	}
	for i := range c.plan.NodeClaims {
		if claim := &c.plan.NodeClaims[i]; claim.NodePool == name && bare(claim) {
			more++
		}
	}
	return stay, more, less
}

func (c *checker) reasonOf(id model.DisruptionID) model.DisruptionReason {
	if d := c.decision[id]; d != nil {
		return d.Reason
	}
	return 0
}

// units checks that no more claims are planned into a capacity reservation than it has instances left, and that none is
// for several.
func (c *checker) units() {
	units := offer.NewUnits(c.snap)
	for _, claim := range c.plan.NodeClaims {
		for i, id := range offer.Reservations(claim.Offerings) {
			if i > 0 || slices.ContainsFunc(claim.Offerings, func(o model.RankedOffering) bool { return o.ReservationID != id }) {
				c.fail("claim "+string(claim.ID), "it lists reservation %s and something else", id)
			}
			if units.Left(id) == 0 {
				c.fail("claim "+string(claim.ID), "nothing is left of reservation %s", id)
			}
			units.Take(1, id)
		}
	}
}

// count adds one node: what it has, or of each resource the most that it may have.
func (c *checker) count(sum map[model.Resource]int64, has model.Amounts, by owner, options []model.RankedOffering) {
	sum[model.Nodes]++
	most := make(map[model.Resource]int64)
	nc := c.nodeClasses[by.class]
	for _, o := range options {
		capacity := has
		if len(has) == 0 && nc != nil {
			if t := c.types[typeKey{nc.Catalog, o.InstanceType}]; t != nil {
				capacity = t.Capacity
			}
		}
		said, _ := c.overlays.For(by.pool, o.InstanceType).Capacity(o.Zone, o.CapacityType, o.ReservationID)
		for _, a := range offer.With(capacity, said) {
			most[a.Resource] = max(most[a.Resource], a.Value)
		}
	}
	for r, v := range most {
		sum[r] += v
	}
}
