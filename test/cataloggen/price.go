package main

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// ningxia sells for yuan, and no source lists what: Beijing's prices stand in.
const ningxia, beijing = "cn-northwest-1", "cn-north-1"

// prices are the list prices of a region, and those of the region that others are estimated from.
type prices struct {
	listed map[string]int64 // as Karpenter's module lists them; nil where it does not know the region
	seen   map[string]seen  // as they were when the instances module was made
	// base are the prices of catalog.DefaultRegion, now and then.
	base     map[string]int64
	baseSeen map[string]seen
	// usual is how many millionths of the base price a type of a family costs here; "" is of any family.
	usual map[string]int64
}

func (s *sources) prices(region string) *prices {
	p := &prices{
		listed: s.karpenter.prices[region], seen: s.instances.regions[region],
		base: s.karpenter.prices[catalog.DefaultRegion], baseSeen: s.instances.regions[catalog.DefaultRegion],
		usual: map[string]int64{},
	}
	ratios := map[string][]int64{}
	for name, here := range p.seen {
		if there := p.baseSeen[name].listed; there > 0 && here.listed > 0 {
			ratio := here.listed * million / there
			ratios[""] = append(ratios[""], ratio)
			ratios[family(name)] = append(ratios[family(name)], ratio)
		}
	}
	for f, r := range ratios {
		slices.Sort(r)
		p.usual[f] = r[len(r)/2]
	}
	return p
}

const million = 1_000_000

// of is a type's price here, 0 where nothing is known of it. It is an estimate where the base price has changed since
// the price here was seen, which then is taken to have changed with it; and where none was seen, by what the family
// usually costs here.
func (p *prices) of(name string) (micro int64, estimated bool) {
	if p.listed != nil {
		return p.listed[name], false
	}
	base, here, there := p.base[name], p.seen[name].listed, p.baseSeen[name].listed
	switch {
	case here > 0 && (base == 0 || there == 0 || base == there):
		return here, false
	case here > 0:
		return here * (base * million / there) / million, true
	}
	usual := p.usual[family(name)]
	if usual == 0 {
		usual = p.usual[""]
	}
	return base * usual / million, true
}

func family(name string) string {
	f, _, _ := strings.Cut(name, ".")
	return f
}
