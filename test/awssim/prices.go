package awssim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// The two capacity types that the simulator sells.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
)

type spotKey struct{ instanceType, zone string }

// unpriced is the price of what has none: more expensive than anything.
const unpriced = math.MaxInt64

// OnDemandPrice is a type's list price in micro-dollars per hour; zero when there is none.
func (s *Sim) OnDemandPrice(instanceType string) int64 {
	if t := s.types[instanceType]; t != nil {
		return t.OnDemandMicroUSD
	}
	return 0
}

// SpotPrice is the current spot price in micro-dollars per hour; zero when the type is not sold as spot in the zone.
func (s *Sim) SpotPrice(instanceType, zone string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spotPrice(instanceType, zone)
}

// SetSpotPrice changes a spot price, in micro-dollars per hour.
func (s *Sim) SetSpotPrice(instanceType, zone string, microUSD int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if microUSD <= 0 {
		return fmt.Errorf("spot price of %s in %s: %d is not above zero", instanceType, zone, microUSD)
	}
	if s.spotPrice(instanceType, zone) == 0 {
		return fmt.Errorf("%s is not sold as spot in %s", instanceType, zone)
	}
	s.spotPrices[spotKey{instanceType, zone}] = microUSD
	return nil
}

// spotPrice is the price that was set, or 55 to 75 % off the list price, fixed by a hash of type and zone.
func (s *Sim) spotPrice(instanceType, zone string) int64 {
	if p, ok := s.spotPrices[spotKey{instanceType, zone}]; ok {
		return p
	}
	t := s.types[instanceType]
	if t == nil || !t.SupportsSpot || !s.offered(instanceType, zone) {
		return 0
	}
	h, err := strconv.ParseUint(digest("spot", instanceType, zone)[:8], 16, 64)
	if err != nil {
		return 0 // not possible: a digest is hexadecimal
	}
	basisPoints := int64(h%2001) + 5500
	return t.OnDemandMicroUSD * (10000 - basisPoints) / 10000
}

func (s *Sim) offered(instanceType, zone string) bool {
	return slices.Contains(s.types[instanceType].Zones, zone)
}

// price is what an hour costs, or unpriced.
func (s *Sim) price(p Pool) int64 {
	micro := int64(0)
	if p.CapacityType == Spot {
		micro = s.spotPrice(p.InstanceType, p.Zone)
	} else if t := s.types[p.InstanceType]; t != nil {
		micro = t.OnDemandMicroUSD
	}
	if micro == 0 {
		return unpriced
	}
	return micro
}

type spotHistoryAnswer struct {
	Prices    []spotRecord `xml:"spotPriceHistorySet>item"`
	NextToken string       `xml:"nextToken,omitempty"`
}

type spotRecord struct {
	InstanceType string `xml:"instanceType"`
	Product      string `xml:"productDescription"`
	Price        string `xml:"spotPrice"`
	Timestamp    string `xml:"timestamp"`
	Zone         string `xml:"availabilityZone"`
	ZoneID       string `xml:"availabilityZoneId,omitempty"`
}

// describeSpotPriceHistory knows only the current price of each (type, zone), which is what a start time of now asks
// for, and only Linux.
func (s *Sim) describeSpotPriceHistory(f *form) (any, error) {
	f.ignore("StartTime", "EndTime")
	attrs := spotAttributes()
	fs := filters(f, attrs)
	types, products := set(f.list("InstanceType")), set(f.list("ProductDescription"))
	zone, zoneID := f.str("AvailabilityZone"), f.str("AvailabilityZoneId")
	var all []spotRecord
	if len(products) == 0 || products["Linux/UNIX"] || products["Linux/UNIX (Amazon VPC)"] {
		all = s.spotRecords(func(r spotRecord) bool {
			return (len(types) == 0 || types[r.InstanceType]) && (zone == "" || zone == r.Zone) &&
				(zoneID == "" || zoneID == r.ZoneID) && attrs.passes(r, fs)
		})
	}
	key := func(r spotRecord) string { return r.InstanceType + "\x00" + r.Zone }
	sortBy(all, key)
	all, token := page(f, all, key, pageBounds{1, 2000, 1000})
	if err := f.checked(); err != nil {
		return nil, err
	}
	return spotHistoryAnswer{all, token}, nil
}

func (s *Sim) spotRecords(keep func(spotRecord) bool) []spotRecord {
	at := s.clock.Now().Truncate(time.Hour).Format(time.RFC3339)
	var out []spotRecord
	for _, t := range s.cfg.Catalog.Types {
		for _, z := range t.Zones {
			micro := s.spotPrice(t.Name, z)
			if micro == 0 {
				continue
			}
			r := spotRecord{t.Name, "Linux/UNIX", dollars(micro), at, z, s.zoneIDs[z]}
			if keep(r) {
				out = append(out, r)
			}
		}
	}
	return out
}

func spotAttributes() attributes[spotRecord] {
	return attributes[spotRecord]{by: map[string]func(spotRecord) []string{
		"availability-zone":    func(r spotRecord) []string { return one(r.Zone) },
		"availability-zone-id": func(r spotRecord) []string { return one(r.ZoneID) },
		"instance-type":        func(r spotRecord) []string { return one(r.InstanceType) },
		"product-description":  func(r spotRecord) []string { return one(r.Product) },
		"spot-price":           func(r spotRecord) []string { return one(r.Price) },
	}}
}

// dollars writes micro-dollars as EC2 does, with six decimals.
func dollars(micro int64) string { return fmt.Sprintf("%d.%06d", micro/1e6, micro%1e6) }
