package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// defaultTypes are those of the catalogue when a file does not speak of one.
const defaultTypes = "bundled types=c5.large,m5.large,r5.large,m5.xlarge"

// market is what the catalog section says: shapes and offerings.
type market struct {
	loader    *Loader
	types     []model.InstanceType
	offerings []model.Offering
	zoneIDs   map[string]string
}

func (m *market) statement(s *statement) error {
	switch s.verb {
	case "bundled":
		m.bundled(s)
	case "type":
		m.typ(s)
	case "unavailable":
		m.unavailable(s)
	case "reserve":
		m.reserve(s)
	case "shifted":
		m.shifted(s)
	case "zone-ids":
		m.named(s)
	default:
		return fmt.Errorf("%s: %q is not known; want bundled, type, reserve, unavailable, shifted, zone-ids", s.where, s.verb)
	}
	return s.done()
}

// bundled takes types from the catalogue that ships with Kerf, with its prices; spot prices are estimates.
func (m *market) bundled(s *statement) {
	want := s.list("types")
	bundled, err := m.loader.bundled()
	if err != nil {
		s.fail("%w", err)
		return
	}
	for _, name := range want {
		if _, ok := bundled.Type(name); !ok {
			s.fail("the bundled catalogue has no type %s", name)
		}
	}
	for _, t := range bundled.Types {
		if len(want) > 0 && !slices.Contains(want, t.Name) {
			continue
		}
		shape, err := instancetype.Resolve(t, instancetype.Settings{})
		if errors.Is(err, instancetype.ErrIncompatible) {
			continue
		}
		if err != nil {
			s.fail("%w", err)
			return
		}
		m.types = append(m.types, shapeOf(shape))
		for _, z := range t.Zones { // what spot saves of each type is left out: scenarios outlive it
			m.offer(t.Name, z, prices{onDemand: t.OnDemandMicroUSD, spot: catalog.SpotEstimate(t.OnDemandMicroUSD, 0), spotEstimated: true})
		}
	}
}

func shapeOf(s instancetype.Shape) model.InstanceType {
	return model.InstanceType{Name: model.TypeName(s.Name), Labels: s.Labels, Capacity: s.Capacity, Allocatable: s.Allocatable}
}

// prices are micro-dollars per hour; 0 is not sold.
type prices struct {
	onDemand, spot int64
	spotEstimated  bool
	reclaimed      model.ReclaimBand
	unknown        bool // what it costs on demand is not known
}

func (m *market) offer(name, z string, p prices) {
	if p.onDemand > 0 || p.unknown {
		m.offerings = append(m.offerings, model.Offering{InstanceType: model.TypeName(name), Zone: z, CapacityType: model.OnDemand, Price: p.onDemand})
	}
	if p.spot > 0 {
		m.offerings = append(m.offerings, model.Offering{
			InstanceType: model.TypeName(name), Zone: z, CapacityType: model.Spot, Price: p.spot, PriceEstimated: p.spotEstimated,
			Reclaimed: p.reclaimed,
		})
	}
}

// typ makes a type of round figures: all that it has can be used.
func (m *market) typ(s *statement) {
	has := s.resources()
	has = sortAmounts(append(has, model.Amount{Resource: model.Pods, Value: int64(s.number("pods", 110))}))
	arch := s.text("arch", "amd64")
	labels := sortLabels(append(s.labels("labels"),
		model.Label{Key: labels.InstanceType, Value: s.name}, model.Label{Key: labels.Arch, Value: arch}, model.Label{Key: labels.OS, Value: "linux"}))
	m.types = append(m.types, model.InstanceType{Name: model.TypeName(s.name), Labels: labels, Capacity: has, Allocatable: has})
	var p prices
	switch v := s.text("price", ""); v {
	case "":
	case "unknown":
		p.unknown = true
	default:
		p.onDemand = s.money("price", v)
	}
	if v := s.text("spot", ""); v != "" {
		p.spot = s.money("spot", v)
	}
	if v := s.text("reclaimed", ""); v != "" {
		band, err := model.ParseReclaimBand(v)
		if err != nil {
			s.fail("%w", err)
		}
		p.reclaimed = band
	}
	where := s.list("zones")
	if where == nil {
		where = []string{"a", "b", "c"}
	}
	for _, z := range zones(where) {
		m.offer(s.name, z, p)
	}
}

// unavailable notes a shortage: type/zone/capacity-type, each of which may be a star.
func (m *market) unavailable(s *statement) {
	parts := strings.Split(s.name, "/")
	if len(parts) != 3 {
		s.fail("want type/zone/capacity-type, each of which may be *")
		return
	}
	until := defaultNow().Add(s.duration("for", "3m"))
	found := false
	for i := range m.offerings {
		o := &m.offerings[i]
		is := func(pattern, value string) bool { return pattern == "*" || pattern == value }
		if is(parts[0], string(o.InstanceType)) && (parts[1] == "*" || zone(parts[1]) == o.Zone) && is(parts[2], o.CapacityType.String()) {
			o.UnavailableUntil, found = until, true
		}
	}
	if !found {
		s.fail("there is no such offering")
	}
}

// shifted notes that the cluster is shifted away from a zone.
func (m *market) shifted(s *statement) {
	found := false
	for i := range m.offerings {
		if o := &m.offerings[i]; o.Zone == zone(s.name) {
			o.ZoneShifted, found = true, true
		}
	}
	if !found {
		s.fail("nothing is sold in zone %s", s.name)
	}
}

// named gives zones their ids: a=use1-az1.
func (m *market) named(s *statement) {
	m.zoneIDs = make(map[string]string)
	for i := range s.args {
		a := &s.args[i]
		a.used = true
		if a.flag {
			s.fail("%s is not of the form a=use1-az1", a.key)
		}
		m.zoneIDs[zone(a.key)] = a.value
	}
}

// shape finds a type, and offering a price.
func (m *market) shape(name string) (model.InstanceType, bool) {
	i := slices.IndexFunc(m.types, func(t model.InstanceType) bool { return string(t.Name) == name })
	if i < 0 {
		return model.InstanceType{}, false
	}
	return m.types[i], true
}

func (m *market) price(name, z string, ct model.CapacityType) int64 {
	for _, o := range m.offerings {
		if string(o.InstanceType) == name && o.Zone == z && o.CapacityType == ct {
			return o.Price
		}
	}
	return 0
}
