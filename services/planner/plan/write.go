package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

// write puts down what was decided, every list in the order of its ids.
func (c *cycle) write() model.Plan {
	p := model.Plan{
		ID: model.PlanID("p-" + c.hash[:16]), InputHash: c.hash, Now: c.in.Now,
		Revision: c.in.Snapshot.Revision, InventoryRevision: c.in.Snapshot.InventoryRevision,
	}
	if c.asks(model.KindProvision) {
		c.writeProvision(&p)
	}
	if c.asks(model.KindDisrupt) {
		c.writeDisruptions(&p)
	}
	c.writeCosts(&p)
	p.Problems = c.allProblems()
	p.ReconsiderTime = c.reconsider()
	slices.SortFunc(p.NodeClaims, func(a, b model.NodeClaim) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(p.Disruptions, func(a, b model.Disruption) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(p.Pending, func(a, b model.PendingPod) int { return cmp.Compare(a.Pod, b.Pod) })
	if c.asks(model.KindProvision) {
		p.Objects = c.objects(p.Pending)
	}
	return p
}

// reconsider is when time alone first changes what can be bought, what buffers ask for, whose room is waited for, which
// nodes are expected to have drivers, or, where disruptions were asked for, which nodes may or must go.
func (c *cycle) reconsider() time.Time {
	first := rules.Earliest(c.until, c.view.Lacks.Settles(c.Snapshot, c.Now))
	for i := range c.Snapshot.CapacityBuffers {
		_, until := rules.BufferActive(&c.Snapshot.CapacityBuffers[i], c.Now)
		first = rules.Earliest(first, until)
	}
	return rules.Earliest(first, c.disruptions.ReconsiderTime)
}

func byPod(a, b model.Placement) int { return cmp.Compare(a.Pod, b.Pod) }

func (c *cycle) writeProvision(p *model.Plan) {
	ids := make(map[*purchase.NewClaim]model.ClaimID, len(c.bought))
	for _, b := range c.bought {
		if c.stop() {
			return
		}
		claim := c.claim(b)
		ids[b] = claim.ID
		p.NodeClaims = append(p.NodeClaims, claim)
	}
	c.fillStaticClaims()
	p.NodeClaims = append(p.NodeClaims, c.staticClaims...)
	p.Placements = c.placements(ids)
	if c.stop() {
		return
	}
	p.LowerBound = c.bound
	for _, r := range c.demand.refused {
		pending := model.PendingPod{Pod: c.Pods[r.pod].ID, Reason: r.reason}
		if r.reason.Code == model.CodeUnsupported {
			pending.Reason.Subject = "pod/" + string(pending.Pod)
		}
		p.Pending = append(p.Pending, pending)
	}
	for _, it := range slices.Concat(c.unplaced, c.bufferPending) {
		reason, pools := c.explain(it)
		for _, pod := range it.Pods {
			p.Pending = append(p.Pending, model.PendingPod{Pod: c.Pods[pod].ID, Reason: reason, Pools: pools})
		}
	}
}

// placements says where pods go, by pod; ids are those of claims.
func (c *cycle) placements(ids map[*purchase.NewClaim]model.ClaimID) []model.Placement {
	assigned := c.assigned
	if moved := c.movedBufferPods(); len(moved) > 0 {
		assigned = slices.DeleteFunc(slices.Clone(assigned), func(s pack.Assignment) bool { return moved[s.Pod] })
	}
	if len(assigned) == 0 {
		return nil
	}
	byPod := make([]uint64, len(assigned)) // indexes into World.Pods, which is sorted, and below that places in assigned
	for i, s := range assigned {
		byPod[i] = uint64(s.Pod)<<32 | uint64(i)
	}
	slices.Sort(byPod)
	out := make([]model.Placement, len(assigned))
	for i, x := range byPod {
		s := assigned[uint32(x)]
		out[i] = model.Placement{Pod: c.Pods[s.Pod].ID, Claim: ids[s.Claim]}
		if s.Claim == nil {
			out[i] = c.view.Hosts[s.Host].Placement(c.Pods[s.Pod].ID)
		}
		out[i].Order, out[i].WaitUntil = int32(uint32(x)), c.awaited[s]
	}
	return out
}

// claim writes a claim down.
func (c *cycle) claim(b *purchase.NewClaim) model.NodeClaim {
	out := c.pattern(b)
	n := 0
	for _, it := range b.Items {
		n += len(it.Pods)
	}
	pods := make([]int, 0, n)
	for _, it := range b.Items {
		pods = append(pods, it.Pods...)
	}
	slices.Sort(pods) // as World.Pods is
	out.Pods = make([]model.PodID, n)
	for i, p := range pods {
		out.Pods[i] = c.Pods[p].ID
	}
	out.ID = c.names.Claim(out.NodePool, out.Pods)
	return out
}

// pattern is what a claim has in common with those of the same content, which share its list of options.
func (c *cycle) pattern(b *purchase.NewClaim) model.NodeClaim {
	if out, ok := c.patterns[&b.Options[0]]; ok {
		return out
	}
	best := b.Best()
	sum := slices.Clone(best.Overhead)
	pods := 0
	for _, it := range b.Items {
		sum.Add(it.Class.Requested, int64(len(it.Pods)))
		pods += len(it.Pods)
	}
	listing := c.scheduler.Listing(b)
	out := model.NodeClaim{
		NodePool: best.Pool.Name, NodeClass: best.Pool.NodePool.NodeClass, Offerings: listing.Offerings,
		Requirements: listing.Requirements, Requests: c.Requests(sum), Price: best.Offering.Price, Reason: b.Why(pods),
		Annotations: offer.Annotations(b.Relaxed(), best.PriceOverlay, best.CapacityOverlays),
	}
	for _, r := range b.RunnersUp {
		out.RunnersUp = append(out.RunnersUp, model.RunnerUp{Offering: r.Option.Ranked(), Pods: r.Pods, Reason: r.Reason})
	}
	c.patterns[&b.Options[0]] = out
	return out
}

func (c *cycle) writeDisruptions(p *model.Plan) {
	p.Summary = &c.disruptions.Summary
	by := make(map[int]model.DisruptionID)
	for i := range c.disruptions.Decisions {
		d := c.disruption(&c.disruptions.Decisions[i], p)
		for _, h := range c.disruptions.Decisions[i].Hosts {
			by[h] = d.ID
		}
		p.Disruptions = append(p.Disruptions, d)
	}
	deferred := c.deferred()
	for i, h := range c.view.Hosts {
		if h.Node == nil || h.Claim == nil {
			continue
		}
		p.Nodes = append(p.Nodes, model.NodeVerdict{
			Node: h.Node.Name, Claim: h.Claim.ID, Price: c.Price(h.Claim), PriceEstimated: c.Estimated(h.Claim), Reason: c.disruptions.Verdicts[i], Disruption: by[i],
			Waste: c.disruptions.Waste[i], Deferred: deferred[i], PodDeletionCost: c.disruptions.DeletionCosts[i],
		})
	}
}

// deferred says of each host whether a later plan is to remove it; nil where that is not known.
func (c *cycle) deferred() []*bool {
	out := make([]*bool, len(c.view.Hosts))
	if !c.disruptions.DeferredKnown {
		return out
	}
	yes, no := true, false
	for i := range out {
		out[i] = &no
	}
	for _, h := range c.disruptions.Deferred {
		out[h] = &yes
	}
	return out
}

func (c *cycle) disruption(d *draft.Decision, p *model.Plan) model.Disruption {
	out := model.Disruption{
		Reason: d.Reason, Evictions: len(d.Evicted), Saving: d.Saving, SavingEstimated: d.Saving != 0 && d.Estimated(c.view), Explanation: d.Explanation,
		Churn: d.Churn, PayBack: d.PayBack, Workloads: d.Workloads, Staged: d.Staged,
	}
	for _, h := range d.Hosts {
		out.Candidates = append(out.Candidates, c.view.Hosts[h].Claim.ID)
	}
	out.ID = c.names.Disruption(slices.Sorted(slices.Values(out.Candidates)))
	if !d.Staged {
		slices.Sort(out.Candidates)
	}
	for _, s := range d.Destinations {
		out.Destinations = append(out.Destinations, c.view.Hosts[s.Host].Placement(c.Pods[s.Pod].ID))
	}
	for _, b := range d.Replacements {
		claim := c.claim(b)
		if len(claim.Pods) == 0 { // one of a static pool, which has no pods to be named by
			claim.ID = c.names.Claim(claim.NodePool, []model.PodID{"instead", model.PodID(out.ID)})
		}
		claim.Disruption = out.ID
		for _, pod := range claim.Pods {
			out.Destinations = append(out.Destinations, model.Placement{Pod: pod, Claim: claim.ID})
		}
		out.Replacements = append(out.Replacements, claim.ID)
		p.NodeClaims = append(p.NodeClaims, claim)
	}
	slices.Sort(out.Replacements)
	slices.SortFunc(out.Destinations, byPod)
	return out
}

// writeCosts sums up what the claims cost before and after. Claims that are going away do not count.
func (c *cycle) writeCosts(p *model.Plan) {
	leaving := make(map[model.ClaimID]bool)
	for _, h := range c.view.Hosts {
		if h.Claim != nil && h.Leaving {
			leaving[h.Claim.ID] = true
		}
	}
	for i := range c.in.Snapshot.Claims {
		claim := &c.in.Snapshot.Claims[i]
		if claim.Live() && !leaving[claim.ID] && !c.IsLeaving(claim) {
			p.CostBefore += c.Price(claim)
			p.CostEstimated = p.CostEstimated || c.Estimated(claim)
		}
	}
	p.CostAfter = p.CostBefore
	for _, claim := range p.NodeClaims {
		p.CostAfter += claim.Price
		p.CostEstimated = p.CostEstimated || len(claim.Offerings) > 0 && claim.Offerings[0].PriceEstimated
	}
	for _, d := range c.disruptions.Decisions {
		for _, h := range d.Hosts {
			p.CostAfter -= c.Price(c.view.Hosts[h].Claim)
		}
	}
}
