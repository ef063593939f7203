package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// priceSlack is by how much, in hundredths, an offering may have become more expensive than the plan thought. Spot
// prices move by less than that in the seconds between plan and apply; what moved by more deserves another plan.
const priceSlack = 5

// claim checks one claim and counts it in t. Offerings that are not available are dropped; the claim is rejected, with the
// reason of its first offering, when none is left.
func (v *verifier) claim(w model.NodeClaim, t tally) (model.Claim, model.Reason) {
	fail := func(code model.Code, format string, args ...any) (model.Claim, model.Reason) {
		return model.Claim{}, model.Reason{Code: code, Message: fmt.Sprintf(format, args...), Subject: "nodeclaim/" + string(w.ID)}
	}
	if problem := malformed(w); problem != "" {
		return fail(model.CodeInvalid, "%s", problem)
	}
	pool, ok := v.state.Pools[w.NodePool]
	if !ok {
		return fail(model.CodeNotFound, "node pool %q does not exist", w.NodePool)
	}
	if pool.Terminating {
		return fail(model.CodeNotFound, "node pool %q is being deleted", w.NodePool)
	}
	if pool.NotReady != (model.Reason{}) {
		return model.Claim{}, pool.NotReady
	}
	if w.NodeClass != pool.NodeClass {
		return fail(model.CodeInvalid, "node_class: node pool %q uses class %q, not %q", pool.Name, pool.NodeClass, w.NodeClass)
	}
	class, ok := v.state.Classes[w.NodeClass]
	if !ok {
		return fail(model.CodeNodeClassNotFound, "node class %q does not exist", w.NodeClass)
	}
	if class.NotReady != (model.Reason{}) {
		return model.Claim{}, class.NotReady
	}
	if reason := v.duplicate(w, t); reason != (model.Reason{}) {
		return model.Claim{}, reason
	}
	if reason := fixedSize(pool, t); reason != (model.Reason{}) {
		return model.Claim{}, reason
	}
	if reason := v.needless(w, pool); reason != (model.Reason{}) {
		return model.Claim{}, reason
	}
	kept, reason := v.offerings(w, pool, class, t)
	if len(kept) == 0 {
		return model.Claim{}, reason
	}
	t.try(v.state, kept)
	c := v.newClaim(w, pool, class, kept)
	if n := store.ClaimBytes(c); n > maxClaimBytes {
		return fail(model.CodeInvalid, "the claim takes %d bytes: at most %d; name fewer pods or offerings", n, maxClaimBytes)
	}
	t.use(pool.Name, claimCapacity(c, class))
	t.staying[pool.Name]++
	for _, p := range w.Pods {
		t.served[p] = w.ID
	}
	return c, model.Reason{}
}

// fixedSize refuses a claim that a static pool has no place for: what it replaces is on its way out and does not count.
// So no number of plans, made from however old a picture, gives the pool more nodes than its replicas. A claim that has
// a place may name pods: those that are to run on the node, which is launched with or without them.
func fixedSize(pool cluster.Pool, t tally) model.Reason {
	if pool.Replicas == nil {
		return model.Reason{}
	}
	if have := t.staying[pool.Name]; have >= *pool.Replicas {
		return model.Reason{
			Code: model.CodeStaticPool, Message: fmt.Sprintf("node pool %q is static and has %d of %d nodes", pool.Name, have, *pool.Replicas),
			Subject: "nodepool/" + string(pool.Name),
		}
	}
	return model.Reason{}
}

// malformed names the field that is wrong; "" when none is.
func malformed(w model.NodeClaim) string {
	switch {
	case !validName(string(w.ID)):
		return fmt.Sprintf("id: %q is not a name: want 1 to 63 of a-z, 0-9 and '-', with a letter or digit at both ends", w.ID)
	case len(w.Offerings) == 0:
		return "offerings: a claim needs at least one"
	case w.NodePool == "":
		return "node_pool: must be set"
	}
	for i, p := range w.Pods {
		namespace, name, ok := strings.Cut(string(p), "/")
		if !ok || namespace == "" || name == "" {
			return fmt.Sprintf("pods[%d]: %q is not of the form namespace/name", i, p)
		}
	}
	for i, o := range w.Offerings {
		if o.InstanceType == "" || o.Zone == "" || o.CapacityType == 0 {
			return fmt.Sprintf("offerings[%d]: instance type, zone and capacity type must be set", i)
		}
		if (o.CapacityType == model.Reserved) != (o.ReservationID != "") {
			return fmt.Sprintf("offerings[%d].reservation_id: must be set for reserved offerings, and for no others", i)
		}
	}
	return ""
}

// validName says whether the id can be an object's name and a label's value.
func validName(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// duplicate refuses to buy twice for a pod: when this plan was granted a claim for it already, or when a claim serves
// it that the plan could not have seen. A plan that has seen the claim and still wants another knows why.
func (v *verifier) duplicate(w model.NodeClaim, t tally) model.Reason {
	pods := make(map[model.PodID]bool, len(w.Pods))
	for _, p := range w.Pods {
		if other, ok := t.served[p]; ok {
			return model.Reason{
				Code: model.CodeDuplicate, Subject: "pod/" + string(p),
				Message: fmt.Sprintf("claim %s of the same plan serves pod %s", other, p),
			}
		}
		pods[p] = true
	}
	for _, id := range v.unseen {
		served := v.state.Claims[id].Pods
		if i := slices.IndexFunc(served, func(p model.PodID) bool { return pods[p] }); i >= 0 {
			return model.Reason{
				Code: model.CodeDuplicate, Subject: "pod/" + string(served[i]),
				Message: fmt.Sprintf("claim %s, which the plan could not know of, serves pod %s", id, served[i]),
				Remedy:  "plan again from an inventory that has it",
			}
		}
	}
	return model.Reason{}
}

// serves says that the claim is, or will be, capacity for its pods.
func serves(c model.Claim) bool {
	return c.State >= model.ClaimPlanned && c.State <= model.ClaimInitialized
}

// offerings returns those that can be launched now at the price that the plan saw, in the plan's order, and why the
// first one can't.
func (v *verifier) offerings(w model.NodeClaim, pool cluster.Pool, class Class, t tally) ([]model.RankedOffering, model.Reason) {
	var kept []model.RankedOffering
	var first model.Reason
	asked := demands{claim: require.NewSet(w.Requirements...), pool: require.NewSet(pool.Requirements...)}
	for _, o := range w.Offerings {
		priced, reason := v.offering(w, o, place{pool, class}, asked)
		if reason == (model.Reason{}) {
			reason = limit(t, pool, class.Shapes[o.InstanceType])
		}
		if reason == (model.Reason{}) {
			kept = append(kept, priced)
		} else if first == (model.Reason{}) {
			first = reason
		}
	}
	if !probes(v.state, kept) {
		return kept, first
	}
	left := slices.DeleteFunc(kept, func(o model.RankedOffering) bool {
		key := KeyOf(o)
		now, _ := sold(v.state.Market, key)
		return t.tried[key] >= now.Tries
	})
	if len(left) == 0 && first == (model.Reason{}) {
		first = model.Reason{
			Code: model.CodeNoOffering, Subject: "nodeclaim/" + string(w.ID),
			Message: "EC2 had none of its offerings lately, and other claims try whether it has again",
		}
	}
	return left, first
}

// demands are what a claim and its pool require of labels.
type demands struct{ claim, pool require.Set }

// place is what a claim is launched by.
type place struct {
	pool  cluster.Pool
	class Class
}

func (v *verifier) offering(w model.NodeClaim, o model.RankedOffering, by place, asked demands) (model.RankedOffering, model.Reason) {
	pool, class := by.pool, by.class
	name := fmt.Sprintf("%s in %s, %s", o.InstanceType, o.Zone, o.CapacityType)
	fail := func(code model.Code, format string, args ...any) (model.RankedOffering, model.Reason) {
		return o, model.Reason{Code: code, Message: name + ": " + fmt.Sprintf(format, args...), Subject: "nodeclaim/" + string(w.ID)}
	}
	shape, ok := class.Shapes[o.InstanceType]
	if !ok {
		return fail(model.CodeNoOffering, "class %q can't launch this type", w.NodeClass)
	}
	zoneID, ok := class.ZoneIDs[o.Zone]
	if !ok {
		return fail(model.CodeNoOffering, "class %q has no subnet there", w.NodeClass)
	}
	key := KeyOf(o)
	now, ok := sold(v.state.Market, key)
	if !ok {
		return fail(model.CodeNoOffering, "EC2 does not sell it")
	}
	if o.ReservationID != "" && !slices.Contains(class.Reservations, o.ReservationID) {
		return fail(model.CodeNoOffering, "class %q does not select the reservation %s", w.NodeClass, o.ReservationID)
	}
	if now.Full {
		return fail(model.CodeNoOffering, "the reservation %s has no room", o.ReservationID)
	}
	if v.state.ShiftedZones[o.Zone] {
		return fail(model.CodeNoOffering, "the cluster is shifted away from the zone")
	}
	if v.state.Now.Before(now.UnavailableUntil) {
		return fail(model.CodeNoOffering, "EC2 had none lately; worth a try at %s", now.UnavailableUntil.UTC().Format(time.RFC3339))
	}
	if until := class.Short[key]; v.state.Now.Before(until) {
		return fail(model.CodeNoOffering, "the placement group had none lately; worth a try at %s", until.UTC().Format(time.RFC3339))
	}
	has := offeringLabels(v.state.Region, o, zoneID, pool, shape)
	for _, l := range rules.ReservationLabels(now.Reservation) {
		has[l.Key] = l.Value
	}
	if problem := violated(has, asked); problem != "" {
		return fail(model.CodeRequirements, "%s", problem)
	}
	// The division by 100 keeps large prices from overflowing; both sides are far above 100 in practice.
	if now.Price > o.Price+o.Price/100*priceSlack {
		return fail(model.CodePriceChanged, "it costs %s an hour now, the plan took %s", dollars(now.Price), dollars(o.Price))
	}
	o.Price, o.PriceEstimated = now.Price, now.Estimated
	return o, model.Reason{}
}

func limit(t tally, pool cluster.Pool, shape Shape) model.Reason {
	capacity := amounts{}
	most(capacity, shape.Capacity)
	l, sum, over := t.over(pool.Name, pool.Limits, capacity)
	if !over {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeLimit, Subject: "nodepool/" + string(pool.Name),
		Message: fmt.Sprintf("the pool would have %d of %s, its limit is %d", sum, l.Resource, l.Value),
		Remedy:  fmt.Sprintf("raise spec.limits.%s of node pool %s", l.Resource, pool.Name),
	}
}

// dollars prints micro-dollars.
func dollars(micro int64) string { return fmt.Sprintf("$%d.%06d", micro/1e6, micro%1e6) }

func offeringLabels(region string, o model.RankedOffering, zoneID string, pool cluster.Pool, shape Shape) map[string]string {
	has := map[string]string{}
	for _, l := range pool.Labels {
		has[l.Key] = l.Value
	}
	for _, l := range shape.Labels {
		has[l.Key] = l.Value
	}
	has[labels.Zone] = o.Zone
	has[labels.CapacityType] = o.CapacityType.String()
	has[labels.NodePool] = string(pool.Name)
	has[labels.NodeClass] = string(pool.NodeClass)
	if region != "" {
		has[labels.Region] = region
	}
	if zoneID != "" {
		has[labels.ZoneID] = zoneID
	}
	return has
}

func (v *verifier) newClaim(w model.NodeClaim, pool cluster.Pool, class Class, offerings []model.RankedOffering) model.Claim {
	shape := class.Shapes[offerings[0].InstanceType]
	c := model.Claim{
		ID: w.ID, NodePool: pool.Name, NodeClass: pool.NodeClass,
		State: model.ClaimPlanned, Reached: model.ClaimPlanned,
		Requirements: w.Requirements, Offerings: offerings, Requests: w.Requests, Pods: w.Pods,
		Labels: claimLabels(w, pool), Annotations: annotations(w, pool), Taints: pool.Taints, StartupTaints: pool.StartupTaints,
		PoolHash: pool.Hash, ClassHash: class.Hash,
		Capacity: instancetype.Attached(shape.Capacity, w.Requests), Allocatable: instancetype.Attached(shape.Allocatable, w.Requests),
		CreateTime: v.state.Now, StateTime: v.state.Now, TerminationGracePeriod: pool.TerminationGracePeriod,
		PlanID: v.plan.ID, Replaces: w.Disruption, Traceparent: v.plan.Traceparent,
	}
	if pool.ExpireAfter != nil {
		c.ExpireTime = v.state.Now.Add(*pool.ExpireAfter)
	}
	return c
}

// annotations are the pool's, and of the plan's those that tell how a claim came about.
func annotations(w model.NodeClaim, pool cluster.Pool) model.Labels {
	all := map[string]string{}
	for _, a := range w.Annotations {
		switch a.Key {
		case labels.MinValuesRelaxed, labels.PriceOverlay, labels.CapacityOverlay:
			all[a.Key] = a.Value
		}
	}
	if len(all) == 0 {
		return pool.Annotations
	}
	for _, a := range pool.Annotations {
		all[a.Key] = a.Value
	}
	return model.LabelsOf(all)
}

// claimLabels are the labels that the node gets whatever it is launched as: the pool's, and for each key of the user's
// own that the claim narrows to certain values, the first of them.
func claimLabels(w model.NodeClaim, pool cluster.Pool) model.Labels {
	out := map[string]string{}
	for _, r := range require.NewSet(w.Requirements...) {
		if value, ok := chosen(r); ok {
			out[r.Key] = value
		}
	}
	for _, l := range pool.Labels {
		out[l.Key] = l.Value
	}
	out[labels.NodePool] = string(pool.Name)
	out[labels.NodeClass] = string(pool.NodeClass)
	return model.LabelsOf(out)
}
