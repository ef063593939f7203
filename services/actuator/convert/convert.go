// Package convert translates between the actuator's values and the contract's messages, both ways and whole: what is
// stored in etcd and what crosses RPC is made here. It refuses what it does not understand with an error that names the
// object and the field; it never fills in a default.
//
// It must decide nothing. Start at Claim and FromClaim; plan.go reads plans, inventory.go writes inventories.
package convert

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// operators are the contract's operators in Kubernetes' words, by number.
func operators() []string {
	return []string{"", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"}
}

// effects are the contract's taint effects in Kubernetes' words, by number.
func effects() []string { return []string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"} }

// capacityTypes are the contract's capacity types in Kubernetes' words, by number.
func capacityTypes() []string { return []string{"", "on-demand", "spot", "reserved"} }

// number finds a word among those of an enum; 0 is never sent, and means here that it was not found.
func number(words []string, word string) int32 {
	for i, w := range words {
		if i > 0 && w == word {
			return int32(i)
		}
	}

	return 0
}

// word is the inverse of number.
func word(words []string, n int32, field string) (string, error) {
	if n <= 0 || int(n) >= len(words) {
		return "", fmt.Errorf("%s: %d is not a known value", field, n)
	}

	return words[n], nil
}

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}

	return timestamppb.New(t)
}

func fromTimestamp(t *timestamppb.Timestamp, field string) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	if err := t.CheckValid(); err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", field, err)
	}

	return t.AsTime(), nil
}

// CapacityType returns the contract's number; unspecified for "".
func CapacityType(c model.CapacityType) clusterpb.CapacityType {
	return clusterpb.CapacityType(number(capacityTypes(), string(c)))
}

// Reason returns nil for the zero Reason.
func Reason(r model.Reason) *clusterpb.Reason {
	if r == (model.Reason{}) {
		return nil
	}

	return &clusterpb.Reason{Code: clusterpb.ReasonCode(r.Code), Message: r.Message, Subject: r.Subject, Remedy: r.Remedy}
}

// FromReason is the inverse of Reason. A code that this version does not know is kept.
func FromReason(r *clusterpb.Reason) model.Reason {
	if r == nil {
		return model.Reason{}
	}

	return model.Reason{
		Code: model.ReasonCode(r.GetCode()), Message: r.GetMessage(), Subject: r.GetSubject(), Remedy: r.GetRemedy(),
	}
}

func amounts(in []model.Amount) []*clusterpb.Amount {
	var out []*clusterpb.Amount
	for _, a := range in {
		out = append(out, &clusterpb.Amount{Resource: a.Resource, Value: a.Value})
	}

	return out
}

func fromAmounts(in []*clusterpb.Amount) []model.Amount {
	var out []model.Amount
	for _, a := range in {
		out = append(out, model.Amount{Resource: a.GetResource(), Value: a.GetValue()})
	}

	return out
}

func labels(in []model.Label) []*clusterpb.Label {
	var out []*clusterpb.Label
	for _, l := range in {
		out = append(out, &clusterpb.Label{Key: l.Key, Value: l.Value})
	}

	return out
}

func fromLabels(in []*clusterpb.Label) []model.Label {
	var out []model.Label
	for _, l := range in {
		out = append(out, model.Label{Key: l.GetKey(), Value: l.GetValue()})
	}

	return out
}

func taints(in []model.Taint) []*clusterpb.Taint {
	var out []*clusterpb.Taint
	for _, t := range in {
		out = append(out, &clusterpb.Taint{
			Key: t.Key, Value: t.Value, Effect: clusterpb.TaintEffect(number(effects(), t.Effect)),
		})
	}

	return out
}

func fromTaints(in []*clusterpb.Taint, field string) ([]model.Taint, error) {
	var out []model.Taint
	for i, t := range in {
		effect, err := word(effects(), int32(t.GetEffect()), fmt.Sprintf("%s[%d].effect", field, i))
		if err != nil {
			return nil, err
		}
		out = append(out, model.Taint{Key: t.GetKey(), Value: t.GetValue(), Effect: effect})
	}

	return out, nil
}

func requirements(in []model.Requirement) []*clusterpb.Requirement {
	var out []*clusterpb.Requirement
	for _, r := range in {
		out = append(out, &clusterpb.Requirement{
			Key: r.Key, Operator: clusterpb.Operator(number(operators(), r.Operator)), Values: r.Values, MinValues: r.MinValues,
		})
	}

	return out
}

func fromRequirements(in []*clusterpb.Requirement, field string) ([]model.Requirement, error) {
	var out []model.Requirement
	for i, r := range in {
		if r.GetKey() == "" {
			return nil, fmt.Errorf("%s[%d].key: must be set", field, i)
		}
		op, err := word(operators(), int32(r.GetOperator()), fmt.Sprintf("%s[%d].operator", field, i))
		if err != nil {
			return nil, err
		}
		out = append(out, model.Requirement{Key: r.GetKey(), Operator: op, Values: r.GetValues(), MinValues: r.MinValues})
	}

	return out, nil
}

func offerings(in []model.Offering) []*clusterpb.RankedOffering {
	var out []*clusterpb.RankedOffering
	for _, o := range in {
		out = append(out, &clusterpb.RankedOffering{
			InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: CapacityType(o.CapacityType),
			PriceMicroUsdPerHour: o.Price, PriceEstimated: o.PriceEstimated, ReservationId: o.ReservationID,
		})
	}

	return out
}

func fromOfferings(in []*clusterpb.RankedOffering, field string) ([]model.Offering, error) {
	var out []model.Offering
	for i, o := range in {
		capacity, err := word(capacityTypes(), int32(o.GetCapacityType()), fmt.Sprintf("%s[%d].capacity_type", field, i))
		if err != nil {
			return nil, err
		}
		if o.GetPriceMicroUsdPerHour() < 0 {
			return nil, fmt.Errorf("%s[%d].price_micro_usd_per_hour: %d is negative", field, i, o.GetPriceMicroUsdPerHour())
		}
		out = append(out, model.Offering{
			InstanceType: o.GetInstanceType(), Zone: o.GetZone(), CapacityType: model.CapacityType(capacity),
			Price: o.GetPriceMicroUsdPerHour(), PriceEstimated: o.GetPriceEstimated(), ReservationID: o.GetReservationId(),
		})
	}

	return out, nil
}

func claimIDs(in []model.ClaimID) []string {
	var out []string
	for _, id := range in {
		out = append(out, string(id))
	}

	return out
}

func fromClaimIDs(in []string) []model.ClaimID {
	var out []model.ClaimID
	for _, id := range in {
		out = append(out, model.ClaimID(id))
	}

	return out
}

func fromDisruptionReason(r clusterpb.DisruptionReason, field string) (model.DisruptionReason, error) {
	if _, ok := clusterpb.DisruptionReason_name[int32(r)]; !ok || r == 0 {
		return 0, fmt.Errorf("%s: %d is not a known value", field, r)
	}

	return model.DisruptionReason(r), nil
}

// grace is absent for a negative duration, which means that there is none.
func grace(d time.Duration) *durationpb.Duration {
	if d < 0 {
		return nil
	}

	return durationpb.New(d)
}

func fromGrace(d *durationpb.Duration, field string) (time.Duration, error) {
	if d == nil {
		return -1, nil
	}
	if err := d.CheckValid(); err != nil {
		return 0, fmt.Errorf("%s: %w", field, err)
	}
	if d.AsDuration() < 0 {
		return 0, fmt.Errorf("%s: %s is negative", field, d.AsDuration())
	}

	return d.AsDuration(), nil
}
