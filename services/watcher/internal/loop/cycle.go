package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
	"github.com/kerf-dev/kerf/services/internal/spans"
	"github.com/kerf-dev/kerf/services/watcher/internal/inventory"
	"github.com/kerf-dev/kerf/services/watcher/internal/measure"
	"github.com/kerf-dev/kerf/services/watcher/internal/pace"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// Attribute keys of log lines.
const (
	keyRevision = "revision"
	keyPlan     = "plan"
	keyPods     = "pods"
	// keyEverything says whether a plan was to cover disruption too.
	keyEverything = "everything"
	keyError      = telemetry.KeyError
)

// maxRejections bounds how many refused decisions of one plan are logged one by one, and how many problems.
const maxRejections = 20

// What was being done when a plan failed.
const (
	stagePlan  = "no plan from the planner"
	stageApply = "no answer from the actuator's leader to a plan"
)

// relayed remembers what was last sent to the actuator beside decisions.
type relayed struct {
	// pending is a digest of what is said of pods that stay pending, "" for none of them; deferred is one of the nodes
	// that are to go later, kept one of what users are told that keeps nodes, and objects one of what became of
	// overlays and buffers.
	pending, deferred, kept, objects string
	// costs are deletion costs of nodes' pods.
	costs map[string]int32
	// places are where the other pods are expected: nodes or claims, by pod.
	places map[string]string
}

// next is what is remembered once a plan was sent. A plan for pods alone says nothing of nodes.
func (r relayed) next(plan *plannerpb.Plan) relayed {
	r.pending = digest(plan.GetPending(), func(p *plannerpb.PendingPod) string {
		return fmt.Sprintf("%q %d %q\n", p.GetPod(), p.GetReason().GetCode(), p.GetReason().GetMessage())
	})
	if nodes := plan.GetNodes(); slices.ContainsFunc(nodes, func(v *plannerpb.NodeVerdict) bool { return v.Deferred != nil }) {
		r.deferred = digest(nodes, func(v *plannerpb.NodeVerdict) string {
			if !v.GetDeferred() {
				return ""
			}
			return fmt.Sprintf("%q\n", v.GetClaim())
		})
		r.kept = digest(nodes, func(v *plannerpb.NodeVerdict) string {
			if !convert.TellsOf(v) {
				return ""
			}
			return fmt.Sprintf("%q %d\n", v.GetClaim(), v.GetReason().GetCode())
		})
		r.costs = make(map[string]int32, len(nodes))
		for _, v := range nodes {
			r.costs[v.GetNode()] = v.GetPodDeletionCost()
		}
	}
	r.objects = digest(plan.GetObjects(), func(o *plannerpb.ObjectState) string {
		b, c := o.GetObject(), o.GetCapacity()
		return fmt.Sprintf("%q %q %d %q %d %d %d %d %q\n", b.GetKind(), b.GetName(), o.GetGeneration(), o.GetNotReady().GetMessage(),
			c.GetReplicas(), c.GetComing(), c.GetMissing(), c.GetTemplateGeneration(), c.GetWhy().GetMessage())
	})
	r.places = make(map[string]string, len(plan.GetPlacements()))
	for _, p := range plan.GetPlacements() {
		r.places[p.GetPod()] = place(p)
	}
	return r
}

// knows says whether the actuator knows already what a plan says beside decisions. Pods that have no need of a place
// any more are no news.
func (r relayed) knows(plan *plannerpb.Plan) bool {
	next := r.next(plan)
	if r.pending != next.pending || r.deferred != next.deferred || r.kept != next.kept || r.objects != next.objects {
		return false
	}
	for node, cost := range next.costs {
		if rules.DeletionCostNews(r.costs[node], cost) {
			return false
		}
	}
	for pod, place := range next.places {
		if r.places[pod] != place {
			return false
		}
	}
	return true
}

func place(p *plannerpb.Placement) string {
	if p.GetNode() != "" {
		return "node/" + p.GetNode()
	}
	return "claim/" + p.GetClaim()
}

// cycle is one plan from question to answer.
type cycle struct {
	cfg      Config
	decision pace.Decision
	snapshot snapshot.Snapshot
	pods     int
	relayed  relayed
	resume   string
	links    []trace.Link // what it is made for
}

// result is what became of a cycle.
type result struct {
	outcome  pace.Outcome
	relayed  relayed
	resume   string
	revision uint64
	pods     int
	// everything: the plan was to cover disruption too.
	everything bool
	// span is the cycle's, and plan the id of its plan; "" for none.
	span trace.SpanContext
	plan string
	// applied is the plan that the actuator answered to; nil for none.
	applied *plannerpb.Plan
	refused map[string]bool // of its decisions
	// swept: there is a plan for everything, and problems are what it says of users' objects.
	swept    bool
	problems []*clusterpb.Reason
	// stage says what failed, and err why; "" and nil when nothing did.
	stage string
	err   error
}

// run asks for the plan and relays it. Its span begins when the first of the events came that it is for.
func (c *cycle) run(ctx context.Context) result {
	ctx, span := c.cfg.Tracer.Start(ctx, spans.Batch, trace.WithTimestamp(c.decision.Opened), trace.WithLinks(c.links...), trace.WithAttributes(
		spans.Revision.Int64(int64(c.snapshot.Revision)), spans.Pods.Int(c.pods),
	))
	defer span.End()
	begin := c.cfg.Now()
	r := c.plan(ctx, span)
	r.revision, r.pods, r.everything, r.span = c.snapshot.Revision, c.pods, c.decision.Everything, span.SpanContext()
	r.outcome.Took = c.cfg.Now().Sub(begin)
	if r.err != nil {
		r.outcome.Failed = true
		span.SetStatus(codes.Error, r.err.Error())
	}
	return r
}

func (c *cycle) plan(ctx context.Context, span trace.Span) result {
	begin := c.cfg.Now()
	d := &plannerpb.Decide{
		Now: timestamppb.New(begin), Policy: c.cfg.Policy, Traceparent: telemetry.TraceparentFromContext(ctx),
	}
	if c.decision.Everything {
		d.ResumeAfter = c.resume
	} else {
		d.Kinds = []plannerpb.DecisionKind{plannerpb.DecisionKind_DECISION_KIND_PROVISION}
	}
	planCtx, cancel := context.WithTimeout(ctx, c.cfg.PlanTimeout)
	defer cancel()
	plan, err := c.cfg.Planner.Plan(planCtx, c.snapshot, d)
	if err != nil {
		c.measure(begin, measure.Cycle{Failed: measure.FailedPlan})
		absent := status.Code(err) == grpccodes.Unavailable
		return result{stage: stagePlan, err: err, relayed: c.relayed, resume: c.resume, outcome: pace.Outcome{Absent: absent}}
	}
	span.SetAttributes(spans.PlanID.String(plan.GetId()))
	plan.Traceparent = d.GetTraceparent()
	c.cfg.Measure.Planned(plan, c.decision.Everything)

	r := result{relayed: c.relayed, resume: c.resume, plan: plan.GetId()}
	var accepted, rejected int
	if !c.relayed.knows(plan) || len(plan.GetNodeClaims())+len(plan.GetDisruptions()) > 0 {
		relayed := relayable(plan)
		left := portion(relayed, mostRelayed, convert.MostDecisions)
		answer, err := c.apply(ctx, relayed)
		if err != nil {
			c.measure(begin, measure.Cycle{Failed: measure.FailedApply})
			return result{stage: stageApply, err: err, relayed: c.relayed, resume: c.resume}
		}
		r.relayed, r.applied = c.relayed.next(plan), plan
		accepted, rejected = c.verdicts(ctx, plan, answer)
		if len(left) > 0 {
			c.cfg.Log.WarnContext(ctx, "the plan is too large for one message; the next one has the rest", keyPlan, plan.GetId(), "left_out", len(left))
		}
		r.outcome = pace.Outcome{Rejected: rejected+len(left) > 0, Inventory: answer.GetInventoryRevision()}
		c.cfg.Relayed(plan, answer.GetVerdicts())
		r.refused = refused(answer.GetVerdicts())
		maps.Copy(r.refused, left)
	}
	if t := plan.GetReconsiderTime(); t != nil {
		r.outcome.Reconsider = t.AsTime()
	}
	if c.decision.Everything {
		r.resume = plan.GetDisruptionSummary().GetResumeAfter()
		r.outcome.More = r.resume != ""
		r.swept, r.problems = true, plan.GetProblems()
	}
	c.measure(begin, measure.Cycle{Accepted: accepted, Rejected: rejected})
	c.cfg.Log.InfoContext(ctx, "planned",
		keyRevision, plan.GetRevision(), "inventory_revision", plan.GetInventoryRevision(), keyPlan, plan.GetId(),
		keyEverything, c.decision.Everything, keyPods, c.pods,
		"claims", len(plan.GetNodeClaims()), "disruptions", len(plan.GetDisruptions()), "left_pending", len(plan.GetPending()),
		"wait_for_room", convert.AwaitRoom(plan),
		"accepted", accepted, "rejected", rejected,
		"cost_before_micro_usd_per_hour", plan.GetCostBeforeMicroUsdPerHour(),
		"cost_after_micro_usd_per_hour", plan.GetCostAfterMicroUsdPerHour(),
		"waited", begin.Sub(c.decision.Opened), "duration", c.cfg.Now().Sub(begin))
	return r
}

// measure records the cycle, whose question was asked at begin.
func (c *cycle) measure(begin time.Time, m measure.Cycle) {
	m.Everything, m.Waited, m.Took = c.decision.Everything, begin.Sub(c.decision.Opened), c.cfg.Now().Sub(begin)
	c.cfg.Measure.Cycled(m)
}

func (c *cycle) apply(ctx context.Context, plan *plannerpb.Plan) (*actuatorpb.ApplyResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ApplyTimeout)
	defer cancel()
	return c.cfg.Actuator.Apply(ctx, &actuatorpb.ApplyRequest{Plan: plan})
}

func refused(verdicts []*actuatorpb.Verdict) map[string]bool {
	out := map[string]bool{}
	for _, v := range verdicts {
		if v.GetKind() == actuatorpb.VerdictKind_VERDICT_KIND_REJECTED {
			out[v.GetDecision()] = true
		}
	}
	return out
}

// verdicts counts what became of the decisions, and says which were refused.
func (c *cycle) verdicts(ctx context.Context, plan *plannerpb.Plan, answer *actuatorpb.ApplyResponse) (accepted, rejected int) {
	for _, v := range answer.GetVerdicts() {
		if v.GetKind() != actuatorpb.VerdictKind_VERDICT_KIND_REJECTED {
			accepted++
			continue
		}
		if rejected++; rejected <= maxRejections {
			c.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "decision rejected", slog.String(keyPlan, plan.GetId()),
				slog.String("decision", v.GetDecision()), slog.String("code", v.GetReason().GetCode().String()),
				slog.String("reason", v.GetReason().GetMessage()))
		}
	}
	return accepted, rejected
}

// digest tells lists apart by what is written of each entry; "" is for an empty one.
func digest[T any](list []T, write func(T) string) string {
	h, empty := sha256.New(), true
	for _, x := range list {
		if line := write(x); line != "" {
			_, _ = io.WriteString(h, line)
			empty = false
		}
	}
	if empty {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// codeOf tells apart failures that are worth a line in the log each.
func codeOf(err error) string {
	if errors.Is(err, inventory.ErrNoLeader) || errors.Is(err, context.DeadlineExceeded) {
		return err.Error()
	}
	return status.Code(err).String()
}
