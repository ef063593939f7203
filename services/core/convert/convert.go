// Package convert translates between the messages of kerf.cluster.v1alpha1 and kerf.planner.v1alpha1 and the planner's model. It is
// the only package that knows both.
//
// What comes in is checked completely: an unknown enum, a negative amount, an id that is missing, there twice or leads
// nowhere is a Problem that names the object and the field, and nothing is ever filled in or passed over. What comes out
// of Input is in canonical order, whatever order it came in. The package decides nothing and judges no plan.
//
// Start reading at Input, then problem.go; each further file holds one group of messages, in both directions.
package convert

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Input reads a question and the snapshot that it is about. The error is an *Error with all that is wrong.
func Input(s *clusterpb.Snapshot, d *plannerpb.Decide) (model.Input, error) {
	r := &reader{}
	in := model.Input{Snapshot: r.snapshot(s)}
	r.decide(d, &in)
	if s == nil {
		r.at("", "request", "")
		r.bad("snapshot", "is missing")
	}
	return in, r.err()
}

// Request writes an input as the request that asks for its plan.
func Request(in model.Input) *plannerpb.PlanRequest {
	d := &plannerpb.Decide{
		Now:    stamp(in.Now),
		Seed:   in.Seed,
		Policy: writePolicy(in.Policy),

		ResumeAfter: string(in.ResumeAfter),
	}
	for _, id := range in.Spare {
		d.Spare = append(d.Spare, string(id))
	}
	for _, k := range in.Kinds {
		d.Kinds = append(d.Kinds, plannerpb.DecisionKind(k))
	}
	return &plannerpb.PlanRequest{Snapshot: writeSnapshot(in.Snapshot), Decide: d}
}

func (r *reader) decide(d *plannerpb.Decide, in *model.Input) {
	r.at("decide", "decide", "")
	if d == nil {
		r.bad("", "is missing")
		return
	}
	if d.GetNow() == nil {
		r.bad("now", "is required")
	}
	in.Now = r.time("now", d.GetNow())
	in.Seed = d.GetSeed()
	in.ResumeAfter = model.ClaimID(d.GetResumeAfter())
	for _, k := range d.GetKinds() {
		in.Kinds = append(in.Kinds, model.DecisionKind(enum(r, "kinds", k, plannerpb.DecisionKind_name)))
	}
	slices.Sort(in.Kinds)
	for i := 1; i < len(in.Kinds); i++ {
		if in.Kinds[i] == in.Kinds[i-1] {
			r.bad("kinds", "%s is there twice", plannerpb.DecisionKind(in.Kinds[i]))
		}
	}
	for _, id := range d.GetSpare() {
		in.Spare = append(in.Spare, model.ClaimID(id))
	}
	slices.Sort(in.Spare)
	for i, id := range in.Spare {
		switch {
		case id == "":
			r.bad("spare", "an id is empty")
		case i > 0 && id == in.Spare[i-1]:
			r.bad("spare", "%s is there twice", id)
		}
	}
	in.Policy = r.policy(d.GetPolicy())
}

// mostOfferings is the largest max_offerings_per_claim.
const mostOfferings = 200

func (r *reader) policy(p *clusterpb.Policy) model.Policy {
	r.at("decide.policy", "policy", "")
	out := model.Policy{
		PerNodeOverhead:      r.notNegative("per_node_overhead_micro_usd_per_hour", p.GetPerNodeOverheadMicroUsdPerHour()),
		MinSaving:            r.notNegative("min_saving_micro_usd_per_hour", p.GetMinSavingMicroUsdPerHour()),
		MaxOfferingsPerClaim: int(p.GetMaxOfferingsPerClaim()),

		Preferences:     model.PreferencePolicy(optionalEnum(r, "preferences", p.GetPreferences(), clusterpb.PreferencePolicy_name)),
		PreferencePrice: r.notNegative("preference_price_micro_usd_per_hour", p.GetPreferencePriceMicroUsdPerHour()),
		MinValues:       model.MinValuesPolicy(optionalEnum(r, "min_values", p.GetMinValues(), clusterpb.MinValuesPolicy_name)),
		Work:            p.GetWork(), GapTarget: p.GetGapTarget(),
		MaxPodsOfWorkloadPerNode: int(p.GetMaxPodsOfWorkloadPerNode()),

		EvictionPrice: p.GetEvictionPriceMicroUsd(), Payback: r.duration("payback", p.GetPayback()),
		PodRest: r.duration("pod_rest", p.GetPodRest()), DisruptionTrials: r.notNegative("disruption_trials", p.GetDisruptionTrials()),
		Repair: r.repair(p.GetRepair()),
	}
	for i, s := range p.GetDefaultSpread() {
		at := "default_spread[" + strconv.Itoa(i) + "]"
		if s.GetSelector() != nil {
			r.bad(at+".selector", "is set; default constraints take the selector of each pod's class")
		}
		out.DefaultSpread = append(out.DefaultSpread, r.spread(at, s))
	}
	if !(out.GapTarget >= 0 && out.GapTarget <= 1) {
		r.bad("gap_target", "%g is not between 0 and 1", out.GapTarget)
	}
	if out.MaxPodsOfWorkloadPerNode < 0 {
		r.bad("max_pods_of_workload_per_node", "%d is negative", out.MaxPodsOfWorkloadPerNode)
	}
	if n := out.MaxOfferingsPerClaim; n < 0 || n > mostOfferings {
		r.bad("max_offerings_per_claim", "%d is not between 0 and %d", n, mostOfferings)
	}
	return out
}

func (r *reader) repair(p *clusterpb.RepairPolicy) model.RepairPolicy {
	out := model.RepairPolicy{Off: p.GetOff(), MaxUnhealthyPercent: int(p.GetMaxUnhealthyPercent())}
	if n := out.MaxUnhealthyPercent; n < 0 || n > 100 {
		r.bad("repair.max_unhealthy_percent", "%d is not between 0 and 100", n)
	}
	for i, c := range p.GetConditions() {
		at := "repair.conditions[" + strconv.Itoa(i) + "]"
		if s := c.GetStatus(); s != "True" && s != "False" && s != "Unknown" {
			r.bad(at+".status", "%q is not True, False or Unknown", s)
		}
		after := r.duration(at+".after", c.GetAfter())
		if after == nil {
			r.bad(at+".after", "is missing")
			continue
		}
		out.Conditions = append(out.Conditions, model.RepairCondition{
			Type: r.required(at+".type", c.GetType()), Status: c.GetStatus(), After: *after,
		})
	}
	return out
}

func writeRepair(p model.RepairPolicy) *clusterpb.RepairPolicy {
	if !p.Off && len(p.Conditions) == 0 && p.MaxUnhealthyPercent == 0 {
		return nil
	}
	return &clusterpb.RepairPolicy{
		Off: p.Off, MaxUnhealthyPercent: int32(p.MaxUnhealthyPercent),
		Conditions: write(p.Conditions, func(c model.RepairCondition) *clusterpb.RepairCondition {
			return &clusterpb.RepairCondition{Type: c.Type, Status: c.Status, After: span(&c.After)}
		}),
	}
}

func writePolicy(p model.Policy) *clusterpb.Policy {
	if reflect.DeepEqual(p, model.Policy{}) {
		return nil
	}
	return &clusterpb.Policy{
		PerNodeOverheadMicroUsdPerHour: p.PerNodeOverhead,
		MinSavingMicroUsdPerHour:       p.MinSaving,
		MaxOfferingsPerClaim:           int32(p.MaxOfferingsPerClaim),

		Preferences: clusterpb.PreferencePolicy(p.Preferences), PreferencePriceMicroUsdPerHour: p.PreferencePrice,
		MinValues: clusterpb.MinValuesPolicy(p.MinValues), DefaultSpread: write(p.DefaultSpread, writeSpread),
		Work: p.Work, GapTarget: p.GapTarget, MaxPodsOfWorkloadPerNode: int32(p.MaxPodsOfWorkloadPerNode),

		EvictionPriceMicroUsd: p.EvictionPrice, Payback: span(p.Payback), PodRest: span(p.PodRest),
		DisruptionTrials: p.DisruptionTrials, Repair: writeRepair(p.Repair),
	}
}

// sortBy puts a list into canonical order. Lists mostly come in order; then this is one look.
func sortBy[V any, K cmp.Ordered](list []V, key func(*V) K) {
	less := func(a, b V) int { return cmp.Compare(key(&a), key(&b)) }
	if !slices.IsSortedFunc(list, less) {
		slices.SortStableFunc(list, less)
	}
}
