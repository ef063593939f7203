package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/places"
)

// Places are the regions and zones that objects name.
type Places = places.Places

// usual are the letters of the zones that a region has at least, nearly everywhere.
const usual = "abc"

// CheckZones finds a zone that there is not, or that no region is named that there is.
func (w World) CheckZones() error {
	if w.Amiss != nil {
		return w.Amiss
	}
	var names []string
	for _, z := range w.Catalog.Zones {
		names = append(names, z.Name)
	}
	for _, z := range w.Zones {
		if places.IsRegion(z) {
			return fmt.Errorf("zone %s: that is a region: --region %s means all of its zones", z, z)
		}
		if !slices.Contains(names, z) {
			return fmt.Errorf("zone %s: the catalogue of %s has %s; %s", z, w.Catalog.Region, strings.Join(names, ", "), cmp.Or(near.Question(z, names), "take some of them"))
		}
	}
	return nil
}

// In is the world for objects that name these places. Objects of another region than the catalogue's are planned for
// with what is bundled of their region, or else with the catalogue's types and prices; assumed says so, "" where
// nothing had to be.
func (w World) In(p Places) (_ World, assumed string) {
	for _, z := range w.Zones {
		p.Zone(z)
	}
	home, by := w.home(p)
	if by != "" && w.Bundled { // a catalogue of one's own is of its region, whatever names that too
		w.By, w.Amiss = by, nil
	}
	if home == "" || home == w.Catalog.Region {
		return w, ""
	}
	if c, err := catalog.BundledFor(home); w.Bundled && err == nil {
		return w.with(c, p)
	}
	zones := map[string]bool{}
	for _, letter := range usual {
		zones[home+string(letter)] = true
	}
	for _, z := range p.Zones(home) {
		zones[z] = true
	}
	c := &catalog.Catalog{Region: home, Currency: w.Catalog.Currency, Sources: w.Catalog.Sources, Types: slices.Clone(w.Catalog.Types)}
	names := slices.Sorted(maps.Keys(zones))
	for _, z := range names {
		c.Zones = append(c.Zones, catalog.Zone{Name: z})
	}
	for i := range c.Types {
		c.Types[i].Zones = names
	}
	return World{Catalog: c, By: w.By, Zones: w.Zones, ReservedENIs: w.ReservedENIs}, fmt.Sprintf("instance types and list prices of %s stand for those of %s, in each of %s: "+
		"what is sold there differs, and so do prices; --catalog FILE takes a catalogue of that region", w.Catalog.Region, home, strings.Join(names, ", "))
}

// home is the region to plan for, and what other than the world's own flags named it; "" for the catalogue's.
func (w World) home(p Places) (region, by string) {
	named := p.Home() // first: it notes where volumes lie
	switch {
	case w.Fixed:
		return w.Region, ""
	case len(w.Zones) > 0:
		by = "--zones"
	case named != "":
		by = "named by the files"
	}
	switch {
	case w.Region != "" && p.Names(w.Region):
		return w.Region, by
	case p.Names(w.Catalog.Region):
		return w.Catalog.Region, by
	case named != "":
		return named, by
	}
	return w.Region, ""
}

// with is the world of another catalogue. A zone of its region that objects name and the catalogue does not have, such
// as a local zone, is taken to sell all that the region does.
func (w World) with(c *catalog.Catalog, p Places) (_ World, assumed string) {
	var added []string
	for _, z := range p.Zones(c.Region) {
		if !slices.ContainsFunc(c.Zones, func(known catalog.Zone) bool { return known.Name == z }) {
			added = append(added, z)
			c.Zones = append(c.Zones, catalog.Zone{Name: z})
		}
	}
	slices.SortFunc(c.Zones, func(a, b catalog.Zone) int { return strings.Compare(a.Name, b.Name) })
	out := World{Catalog: c, By: w.By, Zones: w.Zones, Bundled: true, ReservedENIs: w.ReservedENIs}
	if len(added) == 0 {
		return out, ""
	}
	for i := range c.Types {
		c.Types[i].Zones = slices.Sorted(slices.Values(append(c.Types[i].Zones, added...)))
	}
	return out, fmt.Sprintf("what the catalogue of %s sells anywhere is taken to be sold in %s, which it does not have", c.Region, strings.Join(added, ", "))
}
