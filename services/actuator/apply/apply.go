// Package apply checks a plan against what is true now, decision by decision, before anything of it is done; it does
// nothing itself, whatever its name says. It is where the actuator trusts no one: everything that a plan takes for
// granted is looked up again.
//
// It is pure: it stores nothing and launches nothing, and must know neither protobuf nor etcd nor AWS. What it accepts
// it returns as groups, each to be stored whole or not at all.
//
// Start reading at Verify. claim.go checks what to buy, disruption.go which nodes to remove, budget.go counts; drift.go
// and repair.go gather the facts for the rules on nodes that have drifted or are unhealthy, settled.go which pods need no
// node any more.
package apply

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// MaxPlanAge is how old a plan may be. Ended claims are remembered for longer than this, so a plan that is young enough
// can never buy again what it bought before.
const MaxPlanAge = 10 * time.Minute

// MaxGroup is how many claims one disruption may name, so that its group fits one transaction of any store.
const MaxGroup = 100

// fewestOfferings is to how many offerings each replacement of a group is cut that would not fit one transaction.
const fewestOfferings = 30

// maxClaimBytes bounds a claim, and maxGroupBytes a group, so that one transaction of any store takes it. A claim of 500
// pods and 200 offerings has about a tenth of the former.
const (
	maxClaimBytes = 256 << 10
	maxGroupBytes = store.MaxBytes
)

// State is what is true now. Verify only reads it.
type State struct {
	Now      time.Time
	Revision int64 // the inventory's
	Region   string
	Claims   map[model.ClaimID]model.Claim
	// Created is the inventory revision that first had each claim.
	Created     map[model.ClaimID]int64
	Disruptions map[model.DisruptionID]model.DisruptionRecord
	Pools       map[model.PoolName]cluster.Pool
	Classes     map[model.NodeClassName]Class
	Market      Market
	// MarketKnown says that Market has all that EC2 sells, so that what is not in it is not sold.
	MarketKnown bool
	// ShiftedZones are the zones that the cluster is shifted away from.
	ShiftedZones map[string]bool
	// Nodes are the claims' nodes.
	Nodes map[model.ClaimID]cluster.Node
	// AllNodes are the cluster's nodes, those of others too, with their pods. Unbound returns a pod that has no node; nil
	// where that is not known. PodsUnseen says that all this may be of some time ago.
	AllNodes   []*cluster.Node
	Unbound    func(model.PodID) (cluster.UnboundPod, bool)
	PodsUnseen bool
	// Interrupted are the instances that AWS is about to take.
	Interrupted rules.Interrupted
	// Instances are the claims' instances, as far as EC2 shows them.
	Instances map[model.ClaimID]rules.Placement
	Repair    model.RepairPolicy
}

// Class is a node class, resolved. Its images are those that it boots, the first that fits a type; they, Subnets and
// SecurityGroups are empty while they are not known.
type Class struct {
	model.NodeClass
	// ZoneIDs are the ids of the zones in which the class can launch, by name; an id may be "".
	ZoneIDs map[string]string
	// Shapes are by instance type.
	Shapes map[model.TypeName]Shape
	// Short are the offerings that its placement group had none of lately, and until when that is believed.
	Short map[OfferingKey]time.Time
	// Subnets and SecurityGroups are the ids of those that it launches into, sorted.
	Subnets, SecurityGroups []string
}

// Shape is what a node of a type has under the class.
type Shape struct {
	Labels                model.Labels
	Capacity, Allocatable model.Amounts
}

// OfferingKey names an offering.
type OfferingKey struct {
	InstanceType model.TypeName
	Zone         string
	CapacityType model.CapacityType
	// ReservationID is "" unless the capacity type is Reserved.
	ReservationID string
}

// KeyOf names the offering that a claim may be launched as.
func KeyOf(o model.RankedOffering) OfferingKey {
	return OfferingKey{o.InstanceType, o.Zone, o.CapacityType, o.ReservationID}
}

// Market tells what offerings cost now, and which there are.
type Market interface {
	Offering(key OfferingKey) (Offering, bool)
}

// sold looks an offering up; without a market there is none.
func sold(m Market, key OfferingKey) (Offering, bool) {
	if m == nil {
		return Offering{}, false
	}
	return m.Offering(key)
}

// Offering is what an offering costs now, and until when there is none.
type Offering struct {
	Price            int64 // micro-dollars per hour
	Estimated        bool
	UnavailableUntil time.Time
	// Reservation is the one that it is of, and Full says that this has no room.
	Reservation model.Reservation
	Full        bool
	// Tries is how many claims that can be launched as nothing else may try it at once, because there was none lately;
	// 0 is any.
	Tries int
}

// Group is what has to be stored together: claims that are new or changed, and the disruption that ties them.
type Group struct {
	Claims     []model.Claim
	Disruption *model.DisruptionRecord
}

// Bytes is about how much the group takes when it is stored.
func (g Group) Bytes() int {
	n := 0
	for _, c := range g.Claims {
		n += store.ClaimBytes(c)
	}
	if g.Disruption != nil {
		n += store.DisruptionBytes(*g.Disruption)
	}
	return n
}

// Outcome is the answer to a plan.
type Outcome struct {
	// Verdicts has one for each decision, sorted by decision.
	Verdicts []model.Verdict
	// Groups are in the order of checking: disruptions of unhealthy nodes by id, claims that stand alone by id, then other
	// disruptions by reason and id.
	Groups []Group
	// Stale says why the plan can't be checked: then every decision is rejected, and nothing else that it says counts.
	Stale model.Reason
}

// Verify checks each decision against the state, and against those that were accepted before it.
func Verify(p model.Plan, s State) Outcome {
	v := &verifier{
		plan: p, state: s, tally: newTally(s), verdicts: map[string]model.Verdict{}, unseen: unseen(p, s), proof: map[model.PoolName]bool{},
		pauses: map[model.PoolName]model.Reason{},
	}
	if reason := stale(p, s); !reason.OK() {
		v.rejectAll(reason)
		out := v.outcome()
		out.Stale = reason
		return out
	}
	claims, disruptions := v.sorted()
	unhealthy := 0
	for unhealthy < len(disruptions) && disruptions[unhealthy].Reason == model.ReasonUnhealthy {
		v.disruption(disruptions[unhealthy], claims) // before claims, one of which may take the node's place in its static pool
		unhealthy++
	}
	for _, w := range claims {
		if w.Disruption == "" {
			v.standalone(w)
		}
	}
	for _, d := range disruptions[unhealthy:] {
		v.disruption(d, claims)
	}
	v.rejectStrays(claims)
	return v.outcome()
}

// unseen lists the claims that serve pods and are newer than what the plan was made from.
func unseen(p model.Plan, s State) []model.ClaimID {
	var out []model.ClaimID
	for id, c := range s.Claims {
		if s.Created[id] > p.InventoryRevision && serves(c) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// stale refuses plans that can't be checked any more, or not yet.
func stale(p model.Plan, s State) model.Reason {
	subject := "plan/" + string(p.ID)
	switch {
	case p.InventoryRevision <= 0:
		return model.Reason{
			Code: model.CodeStale, Subject: subject,
			Message: "the plan was made before any inventory was seen", Remedy: "plan from a snapshot that has an inventory",
		}
	case p.InventoryRevision > s.Revision:
		return model.Reason{
			Code: model.CodeStale, Subject: subject,
			Message: fmt.Sprintf("the plan was made at inventory revision %d, but the newest here is %d", p.InventoryRevision, s.Revision),
			Remedy:  "read the inventory from this actuator and plan again",
		}
	case s.Now.Sub(p.Now) > MaxPlanAge:
		return model.Reason{
			Code: model.CodeStale, Subject: subject,
			Message: fmt.Sprintf("the plan was made at %s by the watcher's clock, and it is %s by the actuator's: more than %s later",
				p.Now.UTC().Format(time.RFC3339), s.Now.UTC().Format(time.RFC3339), MaxPlanAge),
			Remedy: "plan again; where each plan is that old, set the clock of the watcher's machine, or of the actuator's (NTP)",
		}
	}
	return model.Reason{}
}

type verifier struct {
	plan     model.Plan
	state    State
	tally    tally
	verdicts map[string]model.Verdict
	groups   []Group
	unseen   []model.ClaimID                 // claims that serve pods and that the plan could not know of, sorted
	proof    map[model.PoolName]bool         // by pool, once asked for
	pauses   map[model.PoolName]model.Reason // why drift is paused, by pool, once asked for
	drifts   []model.DisruptionRecord        // the state's, once asked for
	settled  map[model.PodID]string          // pods that need no node, and why, once asked for
}

// sorted returns the plan's claims by id, and its disruptions by reason and id; those whose id occurs twice are
// rejected and left out.
func (v *verifier) sorted() ([]model.NodeClaim, []model.Disruption) {
	count := map[string]int{}
	for _, w := range v.plan.NodeClaims {
		count[string(w.ID)]++
	}
	for _, d := range v.plan.Disruptions {
		count[string(d.ID)]++
	}
	twice := func(id string) bool {
		if count[id] > 1 {
			v.reject(id, model.CodeInvalid, "id", "the id occurs %d times in the plan", count[id])
		}
		return count[id] > 1
	}
	claims := slices.DeleteFunc(slices.Clone(v.plan.NodeClaims), func(w model.NodeClaim) bool { return twice(string(w.ID)) })
	disruptions := slices.DeleteFunc(slices.Clone(v.plan.Disruptions), func(d model.Disruption) bool { return twice(string(d.ID)) })
	slices.SortFunc(claims, func(a, b model.NodeClaim) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(disruptions, func(a, b model.Disruption) int {
		return cmp.Or(cmp.Compare(turnOf(a.Reason), turnOf(b.Reason)), cmp.Compare(a.ID, b.ID))
	})
	return claims, disruptions
}

// turnOf is the place of a reason in the order in which planners decide. Budgets for one reason count nodes that go for
// another: in any other order, what a planner may decide could be refused.
func turnOf(r model.DisruptionReason) int {
	return slices.Index([]model.DisruptionReason{
		model.ReasonUnhealthy, model.ReasonSurplus, model.ReasonEmpty, model.ReasonExpired, model.ReasonDrifted,
		model.ReasonUnderutilized,
	}, r)
}

// standalone checks a claim that stands alone.
func (v *verifier) standalone(w model.NodeClaim) {
	if _, known := v.state.Claims[w.ID]; known {
		v.acceptAgain(string(w.ID))
		return
	}
	claim, reason := v.claim(w, v.tally) // counts nothing that it rejects
	if reason != (model.Reason{}) {
		v.verdicts[string(w.ID)] = model.Verdict{Decision: string(w.ID), Reason: reason}
		return
	}
	v.groups = append(v.groups, Group{Claims: []model.Claim{claim}})
	v.verdicts[string(w.ID)] = model.Verdict{Decision: string(w.ID), Accepted: true}
}

// rejectStrays rejects claims that name a disruption that is not in the plan.
func (v *verifier) rejectStrays(claims []model.NodeClaim) {
	for _, w := range claims {
		if _, ok := v.verdicts[string(w.ID)]; !ok {
			v.reject(string(w.ID), model.CodeInvalid, "disruption",
				"the plan has no disruption %q that names this claim as a replacement", w.Disruption)
		}
	}
}

// acceptAgain answers a decision that was accepted before, and changes nothing.
func (v *verifier) acceptAgain(id string) {
	v.verdicts[id] = model.Verdict{Decision: id, Accepted: true, Reason: model.Reason{
		Code: model.CodeAlreadyAccepted, Message: "accepted before; nothing was changed", Subject: id,
	}}
}

func (v *verifier) reject(id string, code model.Code, field, format string, args ...any) {
	v.verdicts[id] = model.Verdict{Decision: id, Reason: model.Reason{
		Code: code, Message: field + ": " + fmt.Sprintf(format, args...), Subject: id,
	}}
}

func (v *verifier) rejectAll(reason model.Reason) {
	for _, w := range v.plan.NodeClaims {
		v.verdicts[string(w.ID)] = model.Verdict{Decision: string(w.ID), Reason: reason}
	}
	for _, d := range v.plan.Disruptions {
		v.verdicts[string(d.ID)] = model.Verdict{Decision: string(d.ID), Reason: reason}
	}
}

func (v *verifier) outcome() Outcome {
	out := Outcome{Groups: v.groups}
	for _, verdict := range v.verdicts {
		out.Verdicts = append(out.Verdicts, verdict)
	}
	slices.SortFunc(out.Verdicts, func(a, b model.Verdict) int { return cmp.Compare(a.Decision, b.Decision) })
	return out
}
