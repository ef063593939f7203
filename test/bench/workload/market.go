package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

// The built-in catalogues.
const (
	// Market is made of the catalogue that is bundled with the actuator, whose sources are in
	// services/actuator/catalog/SOURCES.md: sizes and on-demand list prices of us-east-1 are real. Three zones, of which a
	// hash leaves out a few per type; spot prices are made up by a hash, 25 to 45 % of the on-demand price.
	Market = "market"
	// Sizes400 is 400 made-up types, one for each number of cores, as other planners' own benchmarks have them.
	Sizes400 = "sizes-400"
)

// marketCatalog is the catalogue Market.
func marketCatalog() (*Catalog, error) {
	all, err := catalog.Bundled()
	if err != nil {
		return nil, err
	}
	out := &Catalog{Region: all.Region, Note: "sizes and on-demand prices of Kerf's bundled catalogue; " +
		"spot prices and which zone sells what are made up by a hash"}
	const zones = 3
	for _, z := range all.Zones[:zones] {
		out.Zones = append(out.Zones, z.Name)
	}
	for _, t := range all.Types {
		if !general(t) {
			continue
		}
		entry, err := marketType(t, out.Zones)
		if err != nil {
			return nil, err
		}
		if slices.Max(entry.OnDemand) > 0 {
			out.Types = append(out.Types, entry)
		}
	}
	return out, nil
}

// general says whether a type is of the kind that clusters are made of: not bare metal, not for training or a disk farm,
// and of a generation that is still bought.
func general(t catalog.Type) bool {
	category, generation := familyOf(t.Name)
	if t.BareMetal || !t.SupportsSpot || !t.SupportsOnDemand || t.Hypervisor != "nitro" {
		return false
	}
	switch category {
	case "c", "m", "r", "g":
		return generation >= 5
	case "t", "i":
		return generation >= 3
	}
	return false
}

// familyOf splits m5dn.large into m and 5; category is "" for a name of another form.
func familyOf(name string) (category string, generation int) {
	category = strings.TrimRight(name[:strings.IndexAny(name+"0", "0123456789")], "-")
	digits := name[len(category):]
	generation, err := strconv.Atoi(digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))])
	if err != nil {
		return "", 0
	}
	return category, generation
}

func marketType(t catalog.Type, zones []string) (Type, error) {
	shape, err := instancetype.Resolve(t, instancetype.Settings{})
	if err != nil {
		return Type{}, err
	}
	family, size, _ := strings.Cut(t.Name, ".")
	category, generation := familyOf(t.Name)
	out := Type{
		Name: t.Name, Arch: t.Arch, Category: category, Family: family, Generation: generation, Size: size,
		CPU: shape.Capacity.Value(model.CPU), Memory: shape.Capacity.Value(model.Memory) / MiB,
		Pods:       shape.Allocatable.Value(model.Pods),
		FreeCPU:    shape.Allocatable.Value(model.CPU),
		FreeMemory: shape.Allocatable.Value(model.Memory) / MiB,
	}
	for _, g := range t.GPUs {
		out.GPU += g.Count
	}
	for _, z := range zones {
		const rare, least, most = 0.04, 0.25, 0.45
		here := t.Name + " " + z
		if !slices.Contains(t.Zones, z) || hash01("sold "+here) < rare {
			out.OnDemand, out.Spot = append(out.OnDemand, 0), append(out.Spot, 0)
			continue
		}
		price := float64(t.OnDemandMicroUSD) / 1e6
		out.OnDemand = append(out.OnDemand, price)
		out.Spot = append(out.Spot, math.Round(price*(least+(most-least)*hash01("spot "+here))*1e4)/1e4)
	}
	return out, nil
}

// sizes400 is the catalogue Sizes400: the n-th type has n cores, 2n GiB and capacity for 10n pods, and costs what it has.
func sizes400() *Catalog {
	out := &Catalog{Region: "nowhere", Zones: []string{"zone-1", "zone-2", "zone-3"}, Note: "400 made-up types, from 1 to 400 cores"}
	for n := range 400 {
		cores := int64(n + 1)
		price := math.Round(float64(cores)*(0.025+0.002*1.074)*1e4) / 1e4
		t := Type{
			Name: fmt.Sprintf("size-%03d", cores), Arch: "amd64", Category: "s", Family: "s1", Generation: 1, Size: strconv.FormatInt(cores, 10),
			CPU: cores * 1000, Memory: cores * 2048, Pods: cores * 10, FreeCPU: cores*1000 - 100, FreeMemory: cores*2048 - 10,
		}
		for range out.Zones {
			t.OnDemand, t.Spot = append(t.OnDemand, price), append(t.Spot, math.Round(price*0.7*1e4)/1e4)
		}
		out.Types = append(out.Types, t)
	}
	return out
}

// Catalogs are the names of the built-in catalogues.
func Catalogs() []string { return []string{Market, Sizes400} }

// BuiltInCatalog makes a built-in catalogue.
func BuiltInCatalog(name string) (*Catalog, error) {
	switch name {
	case Market:
		return marketCatalog()
	case Sizes400:
		return sizes400(), nil
	}
	return nil, fmt.Errorf("there is no built-in catalogue %q; there are %s; a file is named with its path or .json", name, strings.Join(Catalogs(), ", "))
}

// Thin leaves n of the types, chosen by a hash of their names so that all families and sizes are among them; all of them
// where n is 0 or more than there are.
func (c *Catalog) Thin(n int) *Catalog {
	if n <= 0 || n >= len(c.Types) {
		return c
	}
	out := *c
	out.Types = slices.Clone(c.Types)
	slices.SortFunc(out.Types, func(a, b Type) int {
		return cmp.Compare(hash01("thin "+a.Name), hash01("thin "+b.Name))
	})
	out.Types = out.Types[:n]
	slices.SortFunc(out.Types, func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
	return &out
}
