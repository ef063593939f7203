// Package market is what AWS sells, for how much, and what the node classes make of it: instance types, prices, offerings,
// and classes with their shapes. It asks AWS when something is due, and must never know which claims there are. Start
// reading at Market for what is sold, at Classes for the classes.
package market

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Config is what the market depends on.
type Config struct {
	Agenda  *agenda.Agenda
	Jobs    *jobs.Pool
	Log     *slog.Logger
	Market  cloud.Market
	Classes cloud.Classes
	Shifts  cloud.Shifts // nil: zonal shifts are not asked for
	// Region is whose market it is.
	Region string
	// Memory keeps what is known; nil for none.
	Memory Memory
	// Fallback gives list prices where the market has none; nil for none.
	Fallback *catalog.Catalog
	// Settings are how a class shapes instance types.
	Settings func(cloud.ClassSpec) instancetype.Settings
	// TypesEvery, SpotEvery and ClassesEvery are how often each is asked for again; TemplatesUnused is how long a launch
	// template must not have been used to be deleted.
	TypesEvery, SpotEvery, ClassesEvery, TemplatesUnused time.Duration
}

// Market is what EC2 sells in the region. It belongs to the owner of its Jobs.
type Market struct {
	cfg Config

	types   []catalog.Type
	typesAt time.Time // when types were got; zero: never
	// vcpu is of the types of vcpuAt.
	vcpu   map[model.TypeName]int64
	vcpuAt time.Time
	// onDemand are the list prices, those of the last answer that had any. unpriced says that types came without.
	onDemand map[model.TypeName]int64
	unpriced bool
	// spot has the last price that EC2 told of each type and zone. An answer may lack some, and what it lacks is not
	// sold for nothing: an old price counts for as long as there is no other.
	spot     map[cloud.TypeZone]int64
	spotAt   time.Time // when there was an answer; zero: never
	reserved map[string]cloud.Reservation
	// askedTypes and askedSpot say that each was asked for at least once, with or without success.
	askedTypes, askedSpot, askedShifts bool
	// shifted are the ids of the zones that the cluster is shifted away from.
	shifted  map[string]bool
	shiftsAt time.Time // when they were got; zero: never

	// recalled says that Memory was asked, and before is what classes selected when it was told. The others are what it
	// was told last: when types and spot prices were got, and the version of the classes.
	recalled            bool
	before              map[model.NodeClassName]keptClass
	memoryBefore        learned
	keptTypes, keptSpot time.Time
	keptClasses         int

	// offers are what each offering costs, sorted: made of the above and of the shortages. Tries are of those that were
	// short lately how many claims may try each.
	offers []model.Offering
	tries  map[apply.OfferingKey]int
	// zoneIDs are the ids of zones by name, as far as node classes have subnets there.
	zoneIDs map[string]string
	// repriced says that prices and offers are behind the above; version counts how often they were made.
	repriced bool
	version  int
}

// New makes a market that knows nothing yet.
func New(c Config) *Market { return &Market{cfg: c, repriced: true, zoneIDs: map[string]string{}} }

// Asked says that everything was asked for once, so that what is known is not a half of it.
func (m *Market) Asked() bool {
	return m.askedTypes && m.askedSpot && (m.askedShifts || m.cfg.Shifts == nil)
}

// Known says that all that EC2 sells is known, prices included: what has none is not offered.
func (m *Market) Known() bool { return !m.typesAt.IsZero() && !m.unpriced && !m.spotAt.IsZero() }

// Version counts the changes of what is known.
func (m *Market) Version() int { return m.version }

// Offering is what an offering costs now, and until when there is none of it.
func (m *Market) Offering(key apply.OfferingKey) (apply.Offering, bool) {
	named := model.Offering{InstanceType: key.InstanceType, Zone: key.Zone, CapacityType: key.CapacityType, ReservationID: key.ReservationID}
	i, ok := slices.BinarySearchFunc(m.offers, named, model.Offering.Compare)
	if !ok {
		return apply.Offering{}, false
	}
	o := &m.offers[i]
	return apply.Offering{
		Price: o.Price, Estimated: o.PriceEstimated, UnavailableUntil: o.UnavailableUntil,
		Reservation: o.Reservation(), Full: o.ReservationRemaining != nil && *o.ReservationRemaining == 0, Tries: m.tries[key],
	}, true
}

// Offerings are all that is sold, in order. It is another list whenever something in it is another.
func (m *Market) Offerings() []model.Offering { return m.offers }

// Refresh asks for types, list prices and spot prices when they are due.
func (m *Market) Refresh(ctx context.Context) {
	m.refreshShifts(ctx)
	if !m.recall(ctx) {
		return
	}
	if now := m.cfg.Agenda.Now(); m.typesAt.IsZero() || !now.Before(m.typesAt.Add(m.cfg.TypesEvery)) {
		m.refreshTypes(ctx)
	}
	if m.unpriced {
		m.refreshPrices(ctx)
	}
	if m.spotAt.IsZero() || m.cfg.Agenda.Due(m.spotAt.Add(m.cfg.SpotEvery)) {
		m.refreshSpot(ctx)
	}
}

// The keys of what is asked.
const (
	keyTypes  = "types"
	keyPrices = "prices"
	keySpot   = "spot"
	keyShifts = "shifts"
)

// failed tells of a failure of what has that key.
func (m *Market) failed(ctx context.Context, key, what string) func(error) {
	return m.cfg.Jobs.LogFailure(ctx, m.cfg.Log, key, what)
}

func (m *Market) refreshTypes(ctx context.Context) {
	var types []catalog.Type
	var prices map[model.TypeName]int64
	var priceErr error
	m.cfg.Jobs.Do(ctx, jobs.Job{
		Key: keyTypes, First: time.Second, Most: time.Minute,
		Run: func(ctx context.Context) (err error) {
			if types, err = m.cfg.Market.InstanceTypes(ctx); err != nil {
				return fmt.Errorf("instance types: %w", err)
			}
			prices, priceErr = m.cfg.Market.OnDemandPrices(ctx)
			return nil
		},
		Done: func(err error) {
			m.askedTypes = true
			m.failed(ctx, keyTypes, "ask what EC2 sells")(errors.Join(err, priceErr))
			if types == nil {
				return
			}
			m.types, m.typesAt, m.repriced = types, time.Now(), true
			if m.unpriced = prices == nil; !m.unpriced {
				m.onDemand = prices
			}
		},
	})
}

// refreshPrices asks again for list prices that did not come with the types: what stands in for them is an estimate.
func (m *Market) refreshPrices(ctx context.Context) {
	var prices map[model.TypeName]int64
	m.cfg.Jobs.Do(ctx, jobs.Job{
		Key: keyPrices, First: time.Minute, Most: 30 * time.Minute,
		Run: func(ctx context.Context) (err error) {
			prices, err = m.cfg.Market.OnDemandPrices(ctx)
			return err
		},
		Done: func(err error) {
			m.failed(ctx, keyPrices, "ask for list prices")(err)
			if err != nil {
				return
			}
			m.onDemand, m.unpriced, m.repriced = prices, false, true
		},
	})
}

// errNoSpotPrice is of an answer without any price, which says nothing: EC2 gives it where something is wrong.
var errNoSpotPrice = errors.New("EC2 tells no spot price at all")

func (m *Market) refreshSpot(ctx context.Context) {
	var prices map[cloud.TypeZone]int64
	sold := m.sellsSpot()
	m.cfg.Jobs.Do(ctx, jobs.Job{
		Key: keySpot, First: time.Second, Most: time.Minute,
		Run: func(ctx context.Context) (err error) {
			if prices, err = m.cfg.Market.SpotPrices(ctx); err == nil && len(prices) == 0 && sold {
				return errNoSpotPrice
			}
			return err
		},
		Done: func(err error) {
			m.askedSpot = true
			m.failed(ctx, keySpot, "ask for spot prices")(err)
			if err != nil {
				return
			}
			all := maps.Clone(m.spot) // a worker may read it
			if all == nil {
				all = map[cloud.TypeZone]int64{}
			}
			maps.Copy(all, prices)
			m.spot, m.spotAt, m.repriced = all, time.Now(), true
		},
	})
}

// sellsSpot says that the region may have spot: there are types of it, or it is not known which there are.
func (m *Market) sellsSpot() bool {
	return m.typesAt.IsZero() || slices.ContainsFunc(m.types, func(t catalog.Type) bool { return t.SupportsSpot })
}

// Reprice makes the list of offerings anew when prices were asked for, or shortages have changed, as the caller says.
// Where it is the same again it stays.
func (m *Market) Reprice(shortages bool, short shortage.Memory) {
	if !m.repriced && !shortages {
		return
	}
	m.repriced = false
	most := 0
	for _, t := range m.types {
		most += 2 * len(t.Zones) // on demand, and spot
	}
	offers := make([]model.Offering, 0, most+len(m.reserved))
	tries, looked := map[apply.OfferingKey]int{}, short.Lookup()
	for _, t := range m.types {
		for _, zone := range t.Zones {
			for _, o := range m.offeringsOf(t, zone) {
				state := looked.Of(shortage.Key{InstanceType: o.InstanceType, Zone: zone, CapacityType: o.CapacityType}, t.VCPU, m.cfg.Agenda.Now())
				o.UnavailableUntil, o.ZoneID = state.Until, m.zoneIDs[zone]
				offers = append(offers, o)
				if state.Tries > 0 {
					tries[apply.OfferingKey{InstanceType: o.InstanceType, Zone: zone, CapacityType: o.CapacityType}] = state.Tries
				}
			}
		}
	}
	offers = append(offers, m.reservations()...)
	for i := range offers {
		offers[i].ZoneShifted = m.Shifted(offers[i].Zone)
	}
	slices.SortFunc(offers, model.Offering.Compare)
	same := func(a, b model.Offering) bool { return reflect.DeepEqual(a, b) }
	if m.offers != nil && maps.Equal(tries, m.tries) && slices.EqualFunc(offers, m.offers, same) {
		return
	}
	m.version++
	m.cfg.Agenda.Change()
	m.offers, m.tries = offers, tries
}

// VCPU is how many vCPUs a type has; 0 where it is not known.
func (m *Market) VCPU(name model.TypeName) int64 {
	if m.vcpu == nil || m.vcpuAt != m.typesAt {
		m.vcpu, m.vcpuAt = map[model.TypeName]int64{}, m.typesAt
		for _, t := range m.types {
			m.vcpu[model.TypeName(t.Name)] = t.VCPU
		}
	}
	return m.vcpu[name]
}

// knowZone notes a zone's id, which offerings carry.
func (m *Market) knowZone(name, id string) {
	if m.zoneIDs[name] != id {
		m.zoneIDs[name], m.repriced = id, true
	}
}

// offeringsOf prices a type in a zone: by the market, or where that has no price by the bundled list, and then says so.
// Spot is estimated only until EC2 has told its prices once. What has no price has 0: only an overlay can give it one.
func (m *Market) offeringsOf(t catalog.Type, zone string) []model.Offering {
	name := model.TypeName(t.Name)
	bundled := m.bundled(t.Name)
	listed, estimated := m.onDemand[name], false
	if listed == 0 {
		listed, estimated = bundled.OnDemandMicroUSD, true
	}
	var out []model.Offering
	if t.SupportsOnDemand {
		out = append(out, model.Offering{
			InstanceType: name, Zone: zone, CapacityType: model.OnDemand, Price: listed, PriceEstimated: estimated && listed > 0,
		})
	}
	if !t.SupportsSpot {
		return out
	}
	spot, guessed := m.spot[cloud.TypeZone{InstanceType: name, Zone: zone}], false
	if spot == 0 && m.spotAt.IsZero() {
		spot, guessed = catalog.SpotEstimate(listed, bundled.SpotSavesPercent), true
	}
	return append(out, model.Offering{
		InstanceType: name, Zone: zone, CapacityType: model.Spot, Price: spot, PriceEstimated: guessed && spot > 0, Reclaimed: bundled.Reclaimed,
	})
}

// typeNamed is the type of that name, as EC2 describes it.
func (m *Market) typeNamed(name model.TypeName) (catalog.Type, bool) {
	return (&catalog.Catalog{Types: m.types}).Type(string(name))
}

// bundled is what the bundled catalogue says of a type; the zero Type where it has none.
func (m *Market) bundled(name string) catalog.Type {
	if m.cfg.Fallback == nil {
		return catalog.Type{}
	}
	t, _ := m.cfg.Fallback.Type(name)
	return t
}
