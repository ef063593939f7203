// Package market is all that could be bought for pods: each NodePool crossed with its instance types, zones and capacity
// types, with the capacity that DaemonSets leave on each, and what NodePool limits still allow.
//
// It ranks what a NodeClaim for given pods may become, and explains why a pod fits nothing. It knows nothing of hosts that
// exist, of rules about other pods, or of how many nodes are needed. Start reading with Market, then Option.
package market

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Market is what could be bought. It does not change after NewMarket, but it remembers what it was asked: it belongs to one
// goroutine.
type Market struct {
	World *view.World
	// variants are the pools that can be bought from, by the order of the pools.
	variants []*Variant
	// Tiers are the options worth weighing, by pool weight, highest first; within a tier by price.
	Tiers [][]*Option
	// problems say for each pool, by index, why nothing can be bought from it; the zero Reason where something can.
	problems []model.Reason
	// clashes say for each pool, by index, which requirements leave it no option; the zero Reason where it has some.
	clashes []model.Reason
	// softTaints says that some pool has a PreferNoSchedule taint.
	softTaints   bool
	maxOfferings int
	byType       map[model.TypeName][]*model.Offering
	// count is how many options there are.
	count int
	// byKeys are the options worth weighing, by the labels whose values matter; see TiersOf.
	byKeys map[string][][]*Option
}

// Option is an offering under a pool: something that can be bought.
type Option struct {
	Pool      *view.Pool
	Type      *view.Type
	Offering  *model.Offering
	Available bool
	// Price is what it is weighed at, micro-dollars per hour: the offering's, or what a node overlay says.
	Price int64
	// Capacity is all that the machine has, overlays included.
	Capacity view.Vector
	// PriceOverlay and CapacityOverlays name the overlays that have a say in it; "" where none has.
	PriceOverlay, CapacityOverlays string
	// Free is what DaemonSets leave for pods; Overhead is what they take.
	Free     view.Vector
	Overhead view.Vector
	// Ports are the host ports of DaemonSets.
	Ports []model.HostPort

	// allocatable is what pods can use, those of DaemonSets included; crowded says that it is not enough for
	// these, or that all of some resource is reserved: a kubelet does not start then.
	allocatable view.Vector
	crowded     bool
	// ID is the place among all options of the market.
	ID      int
	Variant *Variant
	Place   fit.Place
	// admits and prefers say which profiles may run there, and which do so without going against a preference.
	admits, prefers bits.Set
	// Devices is the devices that it will have; nil where no class claims any.
	Devices *DeviceSet
	// unmet is the weight of the preferences that it does not meet, for each profile that has preferred node affinity.
	unmet []int32
}

// PriceText is what it is weighed at, in words: an overlay's price is no estimate.
func (o *Option) PriceText() string { return fit.Price(o.Price, o.Estimated()) }

// Estimated says whether what it is weighed at is an estimate.
func (o *Option) Estimated() bool { return o.Offering.PriceEstimated && o.PriceOverlay == "" }

// Ranked is the option as claims list it.
func (o *Option) Ranked() model.RankedOffering {
	out := model.RankedOffering{
		InstanceType: o.Type.Name, Zone: o.Offering.Zone, CapacityType: o.Offering.CapacityType,
		Price: o.Offering.Price, PriceEstimated: o.Offering.PriceEstimated, ReservationID: o.Offering.ReservationID,
	}
	if o.PriceOverlay != "" {
		out.Overlaid, out.OverlaidPrice = true, o.Price
	}
	return out
}

// NewMarket lists what could be bought in a world. The rules tell which labels must be decided for pods with pod rules.
// It is given up as soon as stop says so; then it is nil.
func NewMarket(w *view.World, rules *podrules.Rules, stop func() bool) *Market {
	m := &Market{
		World: w, problems: make([]model.Reason, len(w.Pools)), clashes: make([]model.Reason, len(w.Pools)), byKeys: make(map[string][][]*Option),
		maxOfferings: model.Or(w.Policy.MaxOfferingsPerClaim, model.DefaultMaxOfferings),
	}
	byType := make(map[model.TypeName][]*model.Offering)
	m.byType = byType
	for i := range w.Snapshot.Offerings {
		o := &w.Snapshot.Offerings[i]
		byType[o.InstanceType] = append(byType[o.InstanceType], o)
	}
	keys := PodRuleKeys(w, rules)
	for i, p := range w.Pools {
		m.problems[i] = poolProblem(p)
		m.softTaints = m.softTaints || slices.ContainsFunc(p.Taints, func(t model.Taint) bool { return t.Effect == model.PreferNoSchedule })
		if !m.problems[i].OK() {
			continue
		}
		options := 0
		for _, v := range variants(w, p, keys) {
			v.build(w, byType, stop)
			if stop() {
				return nil
			}
			m.variants = append(m.variants, v)
			options += len(v.Options)
		}
		if options == 0 {
			m.clashes[i] = clashOf(w, p, byType)
		}
	}
	for _, v := range m.variants {
		for _, o := range v.Options {
			o.ID = m.count
			m.count++
		}
	}
	m.addDevices()
	m.Tiers = tiers(m.variants, nil)
	return m
}

// PodRuleKeys are the labels that matter to any pod with pod rules, sorted.
func PodRuleKeys(w *view.World, rules *podrules.Rules) []string {
	var out []string
	for _, c := range w.Classes {
		out = append(out, rules.Keys(c)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// EachOption calls visit with each option, whether it is available or not.
func (m *Market) EachOption(visit func(*Option)) {
	for _, v := range m.variants {
		for _, o := range v.Options {
			visit(o)
		}
	}
}

// EachOffer calls visit with what each available option's node would be.
func (m *Market) EachOffer(visit func(*fit.Place)) {
	for _, v := range m.variants {
		for _, o := range v.Options {
			if o.Available {
				visit(&o.Place)
			}
		}
	}
}

// poolProblem says why nothing can be bought from a pool for pods.
func poolProblem(p *view.Pool) model.Reason {
	if p.NotReady.OK() && p.Replicas != nil {
		return model.Reason{
			Code: model.CodeStaticPool, Subject: "nodepool/" + string(p.Name),
			Message: "the pool is static: its size does not follow pods",
		}
	}
	return unusable(p)
}

// unusable says why nothing at all can be bought from a pool.
func unusable(p *view.Pool) model.Reason {
	subject := "nodepool/" + string(p.Name)
	classSubject := "nodeclass/" + string(p.NodePool.NodeClass)
	switch {
	case !p.NotReady.OK():
		r := p.NotReady
		if r.Code == model.CodeNone {
			r.Code = model.CodeNodePoolInvalid
		}
		return r
	case p.Class == nil:
		return model.Reason{
			Code: model.CodeNodeClassNotFound, Subject: classSubject,
			Message: "the pool's node class " + string(p.NodePool.NodeClass) + " does not exist",
			Remedy:  "create the node class, or name another in spec.template.spec.nodeClassRef",
		}
	case !p.Class.NotReady.OK():
		r := p.Class.NotReady
		if r.Code == model.CodeNone {
			r.Code = model.CodeNodeClassNotReady
		}
		return r
	case len(p.Class.Images) == 0:
		return model.Reason{Code: model.CodeNodeClassNotReady, Subject: classSubject, Message: "the node class has no image to boot"}
	}
	if key, empty := p.Requirements.Empty(); empty {
		return model.Reason{
			Code: model.CodeNodePoolInvalid, Subject: subject,
			Message: "the pool's requirements and labels contradict each other on " + key,
			Remedy:  "change spec.template.spec.requirements or labels for " + key,
		}
	}
	return model.Reason{}
}

// NothingToBuy says that no pool can be bought from, whatever the pod.
func NothingToBuy(code model.Code) bool {
	switch code {
	case model.CodeNoNodePool, model.CodeNodePoolInvalid, model.CodeNodeClassNotFound, model.CodeNodeClassNotReady, model.CodeStaticPool, model.CodeBeingDeleted:
		return true
	default:
		return false
	}
}

// build lists the options of a variant, sorted by price, as far as it gets before it is stopped.
func (v *Variant) build(w *view.World, byType map[model.TypeName][]*model.Offering, stop func() bool) {
	var local []*view.Profile
	for _, p := range w.Profiles {
		if mentionsPlace(p) {
			local = append(local, p)
		}
	}
	for _, t := range v.Pool.Catalog.Types {
		if stop() {
			return
		}
		place, ok := v.typePlace(t)
		if !ok {
			continue
		}
		v.buildType(w, t, place, byType[t.Name], local)
	}
	slices.SortFunc(v.Options, CompareOptions)
	v.diverse = v.isDiverse()
}

// CompareOptions orders options by price, then by what they are, so that no two are equal.
func CompareOptions(a, b *Option) int {
	if a.Price != b.Price { // most differ in it, and names take long to compare
		return cmp.Compare(a.Price, b.Price)
	}
	return cmp.Or(
		cmp.Compare(a.Type.Name, b.Type.Name),
		cmp.Compare(a.Offering.Zone, b.Offering.Zone),
		cmp.Compare(a.Offering.CapacityType, b.Offering.CapacityType),
		cmp.Compare(model.Or(b.Offering.ReservationRemaining, 0), model.Or(a.Offering.ReservationRemaining, 0)), // the one with most left
		cmp.Compare(a.Offering.ReservationID, b.Offering.ReservationID),
		cmp.Compare(a.Pool.Index, b.Pool.Index),
		cmp.Compare(a.Variant.index, b.Variant.index),
	)
}

func mentionsPlace(p *view.Profile) bool { return slices.ContainsFunc(p.Keys, labels.OfPlace) }

// buildType adds the options of one type. What does not depend on the place is judged once.
func (v *Variant) buildType(w *view.World, t *view.Type, place fit.Place, offerings []*model.Offering, local []*view.Profile) {
	touch := w.Overlays.For(v.Pool.Name, t.Name)
	var first *Option
	localDaemons := slices.ContainsFunc(w.Daemons, func(d view.Daemon) bool { return mentionsPlace(d.Class.Profile) })
	for _, off := range offerings {
		if !w.Places.Sells(v.Pool.Class, v.Pool.Requirements, off) {
			continue
		}
		o := &Option{Pool: v.Pool, Type: t, Offering: off, Price: off.Price, Capacity: t.CapacityVector, Variant: v, Place: place}
		unavailable, _ := rules.Unavailable(off, w.Now)
		o.Place.Local = w.Places.Labels(off.Zone, off.CapacityType, off.ReservationID)
		if first == nil {
			first = o
			o.admits, o.prefers = bits.New(len(w.Profiles)), bits.New(len(w.Profiles))
			o.judge(w, w.Profiles)
		} else {
			o.admits, o.prefers = slices.Clone(first.admits), slices.Clone(first.prefers)
			o.judge(w, local)
		}
		o.overlay(w, touch)
		o.Available = !unavailable && (off.Price > 0 || o.PriceOverlay != "")
		if o == first || localDaemons || !touch.None() {
			o.charge(w)
		} else {
			o.Free, o.Overhead, o.Ports, o.crowded = first.Free, first.Overhead, first.Ports, first.crowded
		}
		v.Options = append(v.Options, o)
	}
}

// overlay makes the option what node overlays say.
func (o *Option) overlay(w *view.World, touch offer.Applied) {
	o.allocatable = w.Allocatable(o.Pool.NodePool.NodeClass, o.Type)
	if touch.None() {
		return
	}
	o.Price, o.PriceOverlay = touch.Price(o.Offering)
	var has model.Amounts
	has, o.CapacityOverlays = touch.Capacity(o.Offering.Zone, o.Offering.CapacityType, o.Offering.ReservationID)
	o.Capacity, o.allocatable = slices.Clone(o.Capacity), slices.Clone(o.allocatable)
	for _, a := range has {
		if i, ok := w.Index.Place(a.Resource); ok {
			o.Capacity[i], o.allocatable[i] = a.Value, a.Value
		}
	}
}

func (o *Option) judge(w *view.World, profiles []*view.Profile) {
	enforced := w.Policy.Preferences == model.PreferencesEnforced
	o.unmet = nil
	for _, p := range w.Profiles {
		if len(p.Preferred) > 0 && !p.Indifferent {
			o.unmet = append(o.unmet, fit.PreferencePenalty(p, &o.Place))
		}
	}
	for _, p := range profiles {
		ok := fit.Admits(p, &o.Place)
		o.admits.Put(p.Index, ok)
		o.prefers.Put(p.Index, ok && fit.Prefers(p, &o.Place) && (!enforced || fit.PreferencePenalty(p, &o.Place) == 0))
	}
}

// charge takes off what DaemonSets will use.
func (o *Option) charge(w *view.World) {
	o.Free = slices.Clone(o.allocatable)
	o.Overhead = make(view.Vector, len(o.Free))
	o.Ports = nil
	for _, d := range fit.Daemons(w, &o.Place) {
		o.Free.Add(d.Requested, -1)
		o.Overhead.Add(d.Requested, 1)
		o.Ports = append(o.Ports, d.HostPorts...)
	}
	o.crowded = false
	for i, free := range o.Free {
		o.crowded = o.crowded || free < 0 || o.allReserved(i)
	}
}

// allReserved says that what the node class reserves of a resource leaves nothing.
func (o *Option) allReserved(i int) bool { return o.allocatable[i] <= 0 && o.Capacity[i] > 0 }
