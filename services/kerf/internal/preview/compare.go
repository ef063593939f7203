package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
)

// Decider makes a plan.
type Decider func(ctx context.Context, req *plannerpb.PlanRequest) (*plannerpb.PlanResponse, error)

// How much later the next plan is made than the one before: long enough for pods that were moved to have come to rest, as
// far as rollouts and consolidateAfter go, and short enough for nodes not to grow old meanwhile.
const (
	leastBetween = 10 * time.Minute
	mostBetween  = time.Hour
)

func between(s *clusterpb.Snapshot) time.Duration {
	out := leastBetween
	for _, p := range s.GetNodePools() {
		out = max(out, min(p.GetConsolidateAfter().AsDuration(), mostBetween))
	}
	return out
}

// Run is what becomes of a cluster when plans are carried out one after the other, each at once, until there is
// nothing left to do or the rounds are used up.
type Run struct {
	// First is the plan that would be made now.
	First *plannerpb.Plan
	// Rounds is how many plans did something; Settled says that the last one left nothing to do.
	Rounds  int
	Settled bool
	// DriftRounds is the last round in which a drifted node went; 0 when none did.
	DriftRounds int
	// Gone, Bought and Evictions count nodes and pods over all rounds; Drifted those nodes of Gone that had drifted.
	Gone, Drifted, Bought, Evictions int
	// CostBefore and CostAfter are what the claims cost before the first plan and after the last one.
	CostBefore, CostAfter int64
	// Estimated says that some of the prices in these costs are estimates.
	Estimated bool
	// Pending are the pods that nothing was found for in the end.
	Pending []*plannerpb.PendingPod
	// End is the cluster after the last round.
	End *clusterpb.Snapshot
	// Outcomes are what became of the nodes that there were at the start, by name.
	Outcomes map[string]Outcome
}

// Outcome is what becomes of a node.
type Outcome struct {
	// Reason is why it goes; unspecified for one that stays.
	Reason clusterpb.DisruptionReason
	// Round is when it goes, from 1; 0 for one that stays.
	Round int
	// Replaced says that nodes are bought in its place.
	Replaced bool
	// Why is the decision's or, for one that stays, the last verdict's reason.
	Why *clusterpb.Reason
}

// Play carries plans out until nothing is left to do, at most so many rounds.
func Play(ctx context.Context, decide Decider, req *plannerpb.PlanRequest, rounds int) (Run, error) {
	now := req.GetDecide().GetNow().AsTime()
	g := newStage(req.GetSnapshot(), now)
	out := Run{Outcomes: map[string]Outcome{}, End: g.s}
	ask := proto.CloneOf(req.GetDecide())
	for round := 1; ; round++ {
		resp, err := decide(ctx, &plannerpb.PlanRequest{Snapshot: g.s, Decide: ask})
		if err != nil {
			return Run{}, fmt.Errorf("round %d: %w", round, err)
		}
		p := resp.GetPlan()
		if round == 1 {
			out.First, out.CostBefore = p, p.GetCostBeforeMicroUsdPerHour()
		}
		out.Estimated = out.Estimated || p.GetCostEstimated()
		out.CostAfter, out.Pending = p.GetCostBeforeMicroUsdPerHour(), p.GetPending()
		out.verdicts(p)
		if len(p.GetDisruptions())+len(p.GetNodeClaims()) == 0 {
			out.Settled = true
			return out, nil
		}
		if round > rounds {
			return out, nil
		}
		out.count(p, round, g.s)
		out.CostAfter = p.GetCostAfterMicroUsdPerHour()
		g.carryOut(p, between(g.s))
		ask.Now, ask.ResumeAfter = g.s.GetObserveTime(), p.GetDisruptionSummary().GetResumeAfter()
	}
}

// verdicts notes what the latest plan says of nodes that have stayed so far.
func (c *Run) verdicts(p *plannerpb.Plan) {
	for _, v := range p.GetNodes() {
		if f, ok := c.Outcomes[v.GetNode()]; ok && f.Round == 0 || !ok && p == c.First {
			c.Outcomes[v.GetNode()] = Outcome{Why: v.GetReason()}
		}
	}
}

func (c *Run) count(p *plannerpb.Plan, round int, s *clusterpb.Snapshot) {
	nodes := map[string]string{}
	for _, n := range s.GetNodes() {
		nodes[n.GetClaim()] = n.GetName()
	}
	c.Rounds = round
	c.Bought += len(p.GetNodeClaims())
	for _, d := range p.GetDisruptions() {
		c.Gone += len(d.GetCandidates())
		c.Evictions += int(d.GetEvictions())
		if d.GetDisruptionReason() == clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED {
			c.Drifted += len(d.GetCandidates())
			c.DriftRounds = round
		}
		for _, claim := range d.GetCandidates() {
			if _, ok := c.Outcomes[nodes[claim]]; ok {
				c.Outcomes[nodes[claim]] = Outcome{
					Reason: d.GetDisruptionReason(), Round: round, Replaced: len(d.GetReplacements()) > 0, Why: d.GetReason(),
				}
			}
		}
	}
}

// Drift is a node that would no longer be what its pool or class asks for.
type Drift struct {
	Node, Claim, Pool string
	// Why is the first way in which it is not.
	Why *clusterpb.Reason
}

// Comparison is a cluster with and without changes.
type Comparison struct {
	Changes []Change
	// Policy says that another policy is part of the change.
	Policy  bool
	Assumed []string
	// Drifts are the nodes that drift by the changes and did not before, by pool and name; NoLongerDrifted those that
	// did before and do not any more.
	Drifts, NoLongerDrifted []Drift
	// Without and With are what becomes of the cluster.
	Without, With Run
}

// Compare plays plans through on a snapshot and on the same with changes in it.
func Compare(ctx context.Context, decide Decider, without, with *plannerpb.PlanRequest, rounds int) (Comparison, error) {
	var out Comparison
	before, err := drifts(without)
	if err != nil {
		return Comparison{}, err
	}
	after, err := drifts(with)
	if err != nil {
		return Comparison{}, fmt.Errorf("with the changes: %w", err)
	}
	out.Drifts, out.NoLongerDrifted = less(after, before), less(before, after)
	if out.Without, err = Play(ctx, decide, without, rounds); err != nil {
		return Comparison{}, err
	}
	if out.With, err = Play(ctx, decide, with, rounds); err != nil {
		return Comparison{}, fmt.Errorf("with the changes: %w", err)
	}
	return out, nil
}

// less is what is in a and, by node, not in b.
func less(a, b []Drift) []Drift {
	return slices.DeleteFunc(slices.Clone(a), func(d Drift) bool {
		return slices.ContainsFunc(b, func(e Drift) bool { return e.Node == d.Node })
	})
}

func compareDrifts(a, b Drift) int {
	if c := strings.Compare(a.Pool, b.Pool); c != 0 {
		return c
	}
	return strings.Compare(a.Node, b.Node)
}
