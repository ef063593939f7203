// Package convert translates between the contract's messages and core/model: those of kerf.cluster and kerf.planner,
// what the actuator stores, and its verdicts. It is the only package that reads the fields of both.
//
// What comes in is checked completely: an unknown enum, a negative amount, an id that is missing, there twice or leads
// nowhere is a Problem that names the object and the field, and nothing is ever filled in or passed over. Tolerant of
// words that this version does not know are the readers of what another version wrote alone: stored.go and
// decisions.go. What comes out of Input is in canonical order, whatever order it came in. The package decides nothing
// and judges no plan.
//
// Start reading at Input, then problem.go; each further file holds one group of messages, in both directions.
package convert

import (
	"cmp"
	"math"
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
	for _, id := range in.Exclude {
		d.Exclude = append(d.Exclude, string(id))
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
	for _, id := range d.GetExclude() {
		in.Exclude = append(in.Exclude, model.ClaimID(id))
	}
	slices.Sort(in.Exclude)
	for i, id := range in.Exclude {
		switch {
		case id == "":
			r.bad("exclude", "an id is empty")
		case i > 0 && id == in.Exclude[i-1]:
			r.bad("exclude", "%s is there twice", id)
		}
	}
	in.Policy = r.policy(d.GetPolicy())
}

func (r *reader) policy(p *clusterpb.Policy) model.Policy {
	r.at("decide.policy", "policy", "")
	out := model.Policy{
		PerNodeOverhead: model.DefaultPerNodeOverhead,
		MinSaving:       r.notNegative("min_saving_micro_usd_per_hour", p.GetMinSavingMicroUsdPerHour()),

		Preferences: model.PreferencePolicy(optionalEnum(r, "preferences", p.GetPreferences(), clusterpb.PreferencePolicy_name)),
		MinValues:   model.MinValuesPolicy(optionalEnum(r, "min_values", p.GetMinValues(), clusterpb.MinValuesPolicy_name)),
		Payback:     r.duration("payback", p.GetPayback()), PodRest: r.duration("pod_rest", p.GetPodRest()),
		RoomWait: r.duration("room_wait", p.GetRoomWait()),
		Repair:   r.repair(p.GetRepair()), SchedulerNames: r.strings("scheduler_names", p.GetSchedulerNames()),
	}
	if p == nil {
		return out
	}
	if n := r.perhaps("per_node_overhead_micro_usd_per_hour", p.PerNodeOverheadMicroUsdPerHour); n != nil {
		out.PerNodeOverhead = *n
	}
	out.PreferencePrice = r.perhaps("preference_price_micro_usd_per_hour", p.PreferencePriceMicroUsdPerHour)
	out.Work = r.perhaps("work", p.Work)
	out.EvictionPrice = r.perhaps("eviction_price_micro_usd", p.EvictionPriceMicroUsd)
	out.DisruptionTrials = r.perhaps("disruption_trials", p.DisruptionTrials)
	if n := p.MaxOfferingsPerClaim; n != nil {
		r.within("max_offerings_per_claim", *n, 1, model.MostOfferings)
		out.MaxOfferingsPerClaim = new(int(*n))
	}
	if n := p.MaxPodsOfWorkloadPerNode; n != nil {
		r.within("max_pods_of_workload_per_node", *n, 1, math.MaxInt32)
		out.MaxPodsOfWorkloadPerNode = int(*n)
	}
	if g := p.GapTarget; g != nil {
		if !(*g >= 0 && *g <= 1) {
			r.bad("gap_target", "%g is not between 0 and 1", *g)
		}
		out.GapTarget = new(*g)
	}
	for i, s := range p.GetDefaultSpread() {
		at := "default_spread[" + strconv.Itoa(i) + "]"
		if s.GetSelector() != nil {
			r.bad(at+".selector", "is set; default constraints take the selector of each pod's class")
		}
		out.DefaultSpread = append(out.DefaultSpread, r.spread(at, s))
	}
	return out
}

func (r *reader) repair(p *clusterpb.RepairPolicy) model.RepairPolicy {
	out := model.RepairPolicy{Off: p.GetOff(), MaxUnhealthyPercent: int(p.GetMaxUnhealthyPercent())}
	if p != nil && p.MaxUnhealthyPercent != nil {
		r.within("repair.max_unhealthy_percent", p.GetMaxUnhealthyPercent(), 1, 100)
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
	out := &clusterpb.RepairPolicy{
		Off: p.Off,
		Conditions: write(p.Conditions, func(c model.RepairCondition) *clusterpb.RepairCondition {
			return &clusterpb.RepairCondition{Type: c.Type, Status: c.Status, After: span(&c.After)}
		}),
	}
	if n := p.MaxUnhealthyPercent; n != 0 {
		out.MaxUnhealthyPercent = new(int32(n))
	}
	return out
}

func writePolicy(p model.Policy) *clusterpb.Policy {
	out := &clusterpb.Policy{
		PerNodeOverheadMicroUsdPerHour: &p.PerNodeOverhead,
		MinSavingMicroUsdPerHour:       p.MinSaving,

		Preferences: clusterpb.PreferencePolicy(p.Preferences), PreferencePriceMicroUsdPerHour: p.PreferencePrice,
		MinValues: clusterpb.MinValuesPolicy(p.MinValues), DefaultSpread: write(p.DefaultSpread, writeSpread),
		Work: p.Work, GapTarget: p.GapTarget,

		EvictionPriceMicroUsd: p.EvictionPrice, Payback: span(p.Payback), PodRest: span(p.PodRest), RoomWait: span(p.RoomWait),
		DisruptionTrials: p.DisruptionTrials, Repair: writeRepair(p.Repair), SchedulerNames: p.SchedulerNames,
	}
	if n := p.MaxOfferingsPerClaim; n != nil {
		out.MaxOfferingsPerClaim = new(clamp(*n))
	}
	if n := p.MaxPodsOfWorkloadPerNode; n != 0 {
		out.MaxPodsOfWorkloadPerNode = new(clamp(n))
	}
	return out
}

// sortBy puts a list into canonical order. Lists mostly come in order; then this is one look.
func sortBy[V any, K cmp.Ordered](list []V, key func(*V) K) {
	less := func(a, b V) int { return cmp.Compare(key(&a), key(&b)) }
	if !slices.IsSortedFunc(list, less) {
		slices.SortStableFunc(list, less)
	}
}
