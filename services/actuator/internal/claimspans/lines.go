package claimspans

import (
	"context"
	"log/slog"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// came are the lines for the states that claims come to, in the words that Karpenter's users search for.
var came = map[model.ClaimState]string{ //nolint:gochecknoglobals // a constant table
	model.ClaimPlanned:     "created nodeclaim",
	model.ClaimLaunching:   "launching nodeclaim",
	model.ClaimLaunched:    "launched nodeclaim",
	model.ClaimRegistered:  "registered nodeclaim",
	model.ClaimInitialized: "initialized nodeclaim",
	model.ClaimDraining:    "draining nodeclaim",
	model.ClaimTerminating: "terminating nodeclaim",
	model.ClaimGone:        "deleted nodeclaim",
	model.ClaimFailed:      "failed nodeclaim",
}

// Came writes the line for the state that a claim has come to, with the ids of its trace: a search for the plan, the
// claim or the trace finds its whole life, whichever leaders it had.
func Came(ctx context.Context, log *slog.Logger, c *model.Claim) {
	attrs := []slog.Attr{slog.String("claim", string(c.ID)), slog.String("plan", string(c.PlanID)), slog.String("pool", string(c.NodePool))}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	if c.State == model.ClaimPlanned {
		attrs = append(attrs, slog.Int("pods", len(c.Pods)))
		add("replaces", string(c.Replaces))
	}
	add("instance", c.InstanceID)
	add("type", string(c.InstanceType))
	add("zone", c.Zone)
	add("node", string(c.Node))
	if c.State >= model.ClaimDraining && c.DisruptionReason != 0 {
		add("reason", c.DisruptionReason.String())
		add("disruption", string(c.Disruption))
	}
	add("why", c.Failure.Message)
	log.LogAttrs(telemetry.ContextFromTraceparent(ctx, c.Traceparent), slog.LevelInfo, came[c.State], attrs...) //nolint:sloglint // constants of a table
}

// Refused writes the line for a launch that EC2 has refused.
func Refused(ctx context.Context, log *slog.Logger, c model.Claim, err error) {
	log.WarnContext(telemetry.ContextFromTraceparent(ctx, c.Traceparent), "launch refused", "claim", c.ID, "plan", c.PlanID,
		"attempt", c.Attempt, telemetry.KeyError, err)
}

// Why is what a plan says of each of its disruptions.
func Why(p model.Plan) map[model.DisruptionID]string {
	out := map[model.DisruptionID]string{}
	for i := range p.Disruptions {
		out[p.Disruptions[i].ID] = p.Disruptions[i].Explanation.Message
	}
	return out
}

// Disrupting writes a line for each disruption of a plan that was accepted: which nodes go, what comes in their place,
// and why.
func Disrupting(ctx context.Context, log *slog.Logger, p model.Plan, groups []apply.Group) {
	why := Why(p)
	for _, g := range groups {
		if d := g.Disruption; d != nil {
			log.InfoContext(ctx, "disrupting nodes", "disruption", d.ID, "plan", p.ID, "reason", d.Reason.String(), "claims", d.Candidates,
				"replacements", d.Replacements, "pods", len(d.Pods), "saving_micro_usd_per_hour", d.Saving, "why", why[d.ID])
		}
	}
}

// Noticed writes the line for a notice about the instance of a claim, which is nil while its launch is under way.
func Noticed(ctx context.Context, log *slog.Logger, n model.Notice, c *model.Claim) {
	if c != nil {
		ctx = telemetry.ContextFromTraceparent(ctx, c.Traceparent)
	}
	log.InfoContext(ctx, "notice", "id", n.ID, "kind", n.Kind, "state", n.InstanceState, "instance", n.InstanceID, "claim", n.Claim,
		"start", n.StartTime)
}
