package convert

import (
	"math"
	"strconv"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Plan writes a plan. Timings are the server's to add.
func Plan(p model.Plan) *plannerpb.Plan {
	out := &plannerpb.Plan{
		Id: string(p.ID), Revision: p.Revision, InventoryRevision: p.InventoryRevision, InputHash: p.InputHash, Now: stamp(p.Now),
		NodeClaims:                write(p.NodeClaims, writeNodeClaim),
		Disruptions:               write(p.Disruptions, writeDisruption),
		Placements:                write(p.Placements, writePlacement),
		Pending:                   write(p.Pending, writePending),
		Nodes:                     write(p.Nodes, writeVerdict),
		CostBeforeMicroUsdPerHour: p.CostBefore, CostAfterMicroUsdPerHour: p.CostAfter, CostEstimated: p.CostEstimated, Traceparent: p.Traceparent,

		ReconsiderTime: stamp(p.ReconsiderTime),
		Problems:       write(p.Problems, writeReason),
		Objects:        write(p.Objects, writeObject),
	}
	if s := p.Summary; s != nil {
		out.DisruptionSummary = &plannerpb.DisruptionSummary{
			Candidates: clamp(s.Candidates), Judged: clamp(s.Judged), Tried: clamp(s.Tried),
			FloorMicroUsdPerHour: known64(s.Floor), ResumeAfter: string(s.ResumeAfter),
		}
	}
	if b := p.LowerBound; b != nil {
		out.LowerBound = &plannerpb.LowerBound{MicroUsdPerHour: b.Price, Gap: b.Gap, Kind: plannerpb.BoundKind(b.Kind)}
	}
	return out
}

func writeNodeClaim(c model.NodeClaim) *plannerpb.NodeClaim {
	return &plannerpb.NodeClaim{
		Id: string(c.ID), NodePool: string(c.NodePool), NodeClass: string(c.NodeClass),
		Requirements: Requirements(c.Requirements), Offerings: write(c.Offerings, writeRanked),
		Requests: Amounts(c.Requests), Pods: texts(c.Pods), PriceMicroUsdPerHour: c.Price, Disruption: string(c.Disruption),
		Reason: writeReason(c.Reason), Annotations: Labels(c.Annotations),
		RunnersUp: write(c.RunnersUp, func(u model.RunnerUp) *plannerpb.RunnerUp {
			return &plannerpb.RunnerUp{Offering: writeRanked(u.Offering), Pods: clamp(u.Pods), Reason: writeReason(u.Reason)}
		}),
	}
}

// known64 is a figure that is absent where the model has 0, which is what it has where nothing is known.
func known64(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// clamp narrows a count, which is never near the edge.
func clamp(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

func writeDisruption(d model.Disruption) *plannerpb.Disruption {
	out := &plannerpb.Disruption{
		Id: string(d.ID), DisruptionReason: clusterpb.DisruptionReason(d.Reason),
		Candidates: texts(d.Candidates), Replacements: texts(d.Replacements),
		Destinations: write(d.Destinations, writePlacement), Evictions: clamp(d.Evictions), SavingMicroUsdPerHour: d.Saving, SavingEstimated: d.SavingEstimated,
		Reason: writeReason(d.Explanation), ChurnMicroUsd: d.Churn, Workloads: write(d.Workloads, writeWorkload), Staged: d.Staged,
	}
	if d.PayBack != 0 {
		out.Payback = span(&d.PayBack)
	}
	return out
}

func writePlacement(p model.Placement) *plannerpb.Placement {
	out := &plannerpb.Placement{Pod: string(p.Pod), Order: p.Order, WaitUntil: stamp(p.WaitUntil)}
	switch {
	case p.Node != "":
		out.Target = &plannerpb.Placement_Node{Node: string(p.Node)}
	case p.Claim != "":
		out.Target = &plannerpb.Placement_Claim{Claim: string(p.Claim)}
	}
	return out
}

// AwaitRoom counts the pods of a plan that wait for others to leave nodes.
func AwaitRoom(p *plannerpb.Plan) (n int) {
	for _, x := range p.GetPlacements() {
		if x.GetWaitUntil() != nil {
			n++
		}
	}
	return n
}

func writePending(p model.PendingPod) *plannerpb.PendingPod {
	return &plannerpb.PendingPod{
		Pod: string(p.Pod), Reason: writeReason(p.Reason),
		Pools: write(p.Pools, func(m model.PoolMiss) *plannerpb.PoolMiss {
			return &plannerpb.PoolMiss{
				NodePool: string(m.NodePool), InstanceType: string(m.InstanceType), Reason: writeReason(m.Reason),
			}
		}),
	}
}

func writeVerdict(v model.NodeVerdict) *plannerpb.NodeVerdict {
	return &plannerpb.NodeVerdict{
		Node: string(v.Node), Claim: string(v.Claim), PriceMicroUsdPerHour: known64(v.Price), Reason: writeReason(v.Reason),
		Disruption: string(v.Disruption), WasteMicroUsdPerHour: known64(v.Waste), Deferred: v.Deferred, PodDeletionCost: v.PodDeletionCost,
		PriceEstimated: v.PriceEstimated,
	}
}

func writeObject(o model.ObjectState) *plannerpb.ObjectState {
	out := &plannerpb.ObjectState{Object: Subject(o.Subject), Generation: o.Generation, NotReady: writeReason(o.NotReady)}
	if c := o.Capacity; c != nil {
		out.Capacity = &plannerpb.BufferCapacity{
			Replicas: c.Replicas, Coming: c.Coming, Missing: c.Missing, Why: writeReason(c.Why), TemplateGeneration: c.TemplateGeneration,
		}
	}
	return out
}

func (r *reader) objects(in []*plannerpb.ObjectState) []model.ObjectState {
	var out []model.ObjectState
	for _, o := range in {
		s := model.ObjectState{Subject: SubjectText(o.GetObject()), Generation: o.GetGeneration()}
		r.at("plan.objects", "object", s.Subject)
		s.NotReady = r.reason("not_ready", o.GetNotReady())
		if c := o.GetCapacity(); c != nil {
			s.Capacity = &model.BufferCapacity{
				Replicas: c.GetReplicas(), Coming: c.GetComing(), Missing: c.GetMissing(), Why: r.reason("capacity.why", c.GetWhy()),
				TemplateGeneration: c.GetTemplateGeneration(),
			}
		}
		out = append(out, s)
	}
	return out
}

// ReadPlan reads a plan back, for tools that compare or verify one. The error is an *Error.
func ReadPlan(p *plannerpb.Plan) (model.Plan, error) {
	r := &reader{}
	r.at("plan", "plan", p.GetId())
	out := model.Plan{
		ID: model.PlanID(p.GetId()), Revision: p.GetRevision(), InventoryRevision: p.GetInventoryRevision(),
		InputHash: p.GetInputHash(), Now: r.time("now", p.GetNow()),
		ReconsiderTime: r.time("reconsider_time", p.GetReconsiderTime()),
		CostBefore:     p.GetCostBeforeMicroUsdPerHour(), CostAfter: p.GetCostAfterMicroUsdPerHour(), CostEstimated: p.GetCostEstimated(), Traceparent: p.GetTraceparent(),
	}
	if s := p.GetDisruptionSummary(); s != nil {
		out.Summary = &model.DisruptionSummary{
			Candidates: int(s.GetCandidates()), Judged: int(s.GetJudged()), Tried: int(s.GetTried()),
			Floor: s.GetFloorMicroUsdPerHour(), ResumeAfter: model.ClaimID(s.GetResumeAfter()),
		}
	}
	if b := p.GetLowerBound(); b != nil {
		kind := enum(r, "lower_bound.kind", b.GetKind(), plannerpb.BoundKind_name)
		out.LowerBound = &model.LowerBound{Price: b.GetMicroUsdPerHour(), Gap: b.GetGap(), Kind: model.BoundKind(kind)}
	}
	r.decisions(p, &out)
	for i, q := range p.GetProblems() {
		r.at("plan", "plan", p.GetId())
		out.Problems = append(out.Problems, r.given("problems["+strconv.Itoa(i)+"]", q))
	}
	out.Objects = r.objects(p.GetObjects())
	for _, v := range p.GetNodes() {
		r.at("plan.nodes", "node", v.GetNode())
		out.Nodes = append(out.Nodes, model.NodeVerdict{
			Node: model.NodeName(v.GetNode()), Claim: model.ClaimID(v.GetClaim()), Price: v.GetPriceMicroUsdPerHour(),
			Reason: r.given("reason", v.GetReason()), Disruption: model.DisruptionID(v.GetDisruption()),
			Waste: v.GetWasteMicroUsdPerHour(), Deferred: v.Deferred, PodDeletionCost: v.GetPodDeletionCost(),
			PriceEstimated: v.GetPriceEstimated(),
		})
	}
	return out, r.err()
}

func (r *reader) nodeClaim(c *plannerpb.NodeClaim) model.NodeClaim {
	out := model.NodeClaim{
		ID: model.ClaimID(c.GetId()), NodePool: model.PoolName(c.GetNodePool()), NodeClass: model.NodeClassName(c.GetNodeClass()),
		Requirements: r.requirements("requirements", c.GetRequirements()), Offerings: r.ranked("offerings", c.GetOfferings()),
		Requests: r.amounts("requests", c.GetRequests()), Pods: names[model.PodID](r, "pods", c.GetPods()),
		Price: c.GetPriceMicroUsdPerHour(), Disruption: model.DisruptionID(c.GetDisruption()), Reason: r.given("reason", c.GetReason()),
		Annotations: r.labels("annotations", c.GetAnnotations()),
	}
	for i, u := range c.GetRunnersUp() {
		at := "runners_up[" + strconv.Itoa(i) + "]"
		out.RunnersUp = append(out.RunnersUp, model.RunnerUp{
			Offering: r.rankedOne(at+".offering", u.GetOffering()), Pods: int(u.GetPods()), Reason: r.given(at+".reason", u.GetReason()),
		})
	}
	return out
}

func (r *reader) disruption(d *plannerpb.Disruption) model.Disruption {
	out := model.Disruption{
		ID: model.DisruptionID(d.GetId()), Reason: r.disruptionReason("disruption_reason", d.GetDisruptionReason()),
		Candidates: names[model.ClaimID](r, "candidates", d.GetCandidates()), Evictions: int(d.GetEvictions()),
		Replacements: names[model.ClaimID](r, "replacements", d.GetReplacements()), Saving: d.GetSavingMicroUsdPerHour(), SavingEstimated: d.GetSavingEstimated(),
		Explanation: r.given("reason", d.GetReason()), Churn: d.GetChurnMicroUsd(), Workloads: r.workloads(d.GetWorkloads()), Staged: d.GetStaged(),
	}
	if span := r.duration("payback", d.GetPayback()); span != nil {
		out.PayBack = *span
	}
	if out.Reason == 0 {
		r.bad("disruption_reason", "is missing")
	}
	out.Destinations = r.placements(r.list, d.GetDestinations())
	return out
}

func (r *reader) placements(list string, in []*plannerpb.Placement) []model.Placement {
	var out []model.Placement
	for _, p := range in {
		r.at(list, "placement", p.GetPod())
		if p.GetNode() == "" && p.GetClaim() == "" {
			r.untidy("target", "is missing")
		}
		out = append(out, model.Placement{
			Pod: model.PodID(p.GetPod()), Node: model.NodeName(p.GetNode()), Claim: model.ClaimID(p.GetClaim()), Order: p.GetOrder(),
			WaitUntil: r.time("wait_until", p.GetWaitUntil()),
		})
	}
	return out
}

func (r *reader) pending(q *plannerpb.PendingPod) model.PendingPod {
	out := model.PendingPod{Pod: model.PodID(q.GetPod()), Reason: r.given("reason", q.GetReason())}
	for _, m := range q.GetPools() {
		out.Pools = append(out.Pools, model.PoolMiss{
			NodePool: model.PoolName(m.GetNodePool()), InstanceType: model.TypeName(m.GetInstanceType()),
			Reason: r.given("pools["+strconv.Quote(m.GetNodePool())+"].reason", m.GetReason()),
		})
	}
	return out
}
