package convert

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// region is how AWS names regions, closely enough that a slip is no region.
const region = `(?:af|ap|ca|cn|eu|eusc|il|me|mx|sa|us)(?:-gov|-isob?|-de)?-(?:central|(?:north|south)?(?:east|west)?)-[0-9]`

// zoneForm is the name of an availability zone or local zone, its region first.
var (
	zoneForm   = regexp.MustCompile(`^(` + region + `)(?:[a-z]|-[a-z]{3,4}-[0-9][a-z])$`)
	regionForm = regexp.MustCompile(`^` + region + `$`)
)

// Places are the regions and zones that objects name. The zero value names none.
type Places struct {
	regions map[string]int // how often
	zones   map[string]bool
	// volumes is where volumes lie, which tells where nothing else does.
	volumes []*clusterpb.Requirement
}

// Zone notes a zone by its name; one that has no zone's form is not noted.
func (p *Places) Zone(name string) {
	if m := zoneForm.FindStringSubmatch(name); m != nil {
		p.Region(m[1])
		p.zones[name] = true
	}
}

// Region notes a region by its name.
func (p *Places) Region(name string) {
	if p.regions == nil {
		p.regions, p.zones = map[string]int{}, map[string]bool{}
	}
	if regionForm.MatchString(name) {
		p.regions[name]++
	}
}

// Label notes the value of a label, if it is one of places.
func (p *Places) Label(key, value string) {
	switch labels.Normal(key) {
	case labels.Zone:
		p.Zone(value)
	case labels.Region:
		p.Region(value)
	}
}

// Classes notes where classes have subnets.
func (p *Places) Classes(list []*awsv1.EC2NodeClass) {
	for _, c := range list {
		for _, s := range c.Status.Subnets {
			p.Zone(s.Zone)
		}
	}
}

func (p *Places) requirements(list []*clusterpb.Requirement) {
	for _, r := range list {
		for _, v := range r.GetValues() {
			p.Label(r.GetKey(), v)
		}
	}
}

// Snapshot notes what the pools, pods and nodes of a snapshot name, and where the pods' volumes lie.
func (p *Places) Snapshot(s *clusterpb.Snapshot) {
	all := func(list []*clusterpb.Label) {
		for _, l := range list {
			p.Label(l.GetKey(), l.GetValue())
		}
	}
	for _, pool := range s.GetNodePools() {
		p.requirements(pool.GetRequirements())
		all(pool.GetLabels())
	}
	for _, c := range s.GetPodClasses() {
		all(c.GetNodeSelector())
		for _, t := range c.GetNodeAffinity() {
			p.requirements(t.GetRequirements())
		}
	}
	for _, n := range s.GetNodes() {
		all(n.GetLabels())
	}
	for _, c := range s.GetPodClasses() {
		for _, v := range c.GetVolumes() {
			for _, t := range v.GetTerms() {
				p.volumes = append(p.volumes, t.GetRequirements()...)
			}
		}
	}
}

// usual are the letters of the zones that a region has at least, nearly everywhere.
const usual = "abc"

// CheckZones finds a zone that there is not.
func (w World) CheckZones() error {
	var names []string
	for _, z := range w.Catalog.Zones {
		names = append(names, z.Name)
	}
	for _, z := range w.Zones {
		if !slices.Contains(names, z) {
			return fmt.Errorf("zone %s: the catalogue of %s has %s; %s", z, w.Catalog.Region, strings.Join(names, ", "), cmp.Or(near.Question(z, names), "take some of them"))
		}
	}
	return nil
}

// In is the world for objects that name these places. Objects of another region than the catalogue's are planned for with what is
// bundled of their region, or else with the catalogue's types and prices; assumed says so, "" where nothing had to be.
func (w World) In(p Places) (_ World, assumed string) {
	for _, z := range w.Zones {
		p.Zone(z)
	}
	if len(p.regions) == 0 {
		p.requirements(p.volumes)
	}
	home := ""
	for _, r := range slices.Sorted(maps.Keys(p.regions)) {
		if home == "" || p.regions[r] > p.regions[home] {
			home = r
		}
	}
	if home == "" || p.regions[w.Catalog.Region] > 0 {
		return w, ""
	}
	if c, err := catalog.BundledFor(home); w.Bundled && err == nil {
		return w.with(c, p)
	}
	zones := map[string]bool{}
	for _, letter := range usual {
		zones[home+string(letter)] = true
	}
	for z := range p.zones {
		if strings.HasPrefix(z, home) {
			zones[z] = true
		}
	}
	c := &catalog.Catalog{Region: home, Sources: w.Catalog.Sources, Types: slices.Clone(w.Catalog.Types)}
	names := slices.Sorted(maps.Keys(zones))
	for _, z := range names {
		c.Zones = append(c.Zones, catalog.Zone{Name: z})
	}
	for i := range c.Types {
		c.Types[i].Zones = names
	}
	return World{Catalog: c, Zones: w.Zones, ReservedENIs: w.ReservedENIs}, fmt.Sprintf("instance types and list prices of %s stand for those of %s, in each of %s: "+
		"what is sold there differs, and so do prices; --catalog FILE takes a catalogue of that region", w.Catalog.Region, home, strings.Join(names, ", "))
}

// with is the world of another catalogue. A zone of its region that objects name and the catalogue does not have, such as a local
// zone, is taken to sell all that the region does.
func (w World) with(c *catalog.Catalog, p Places) (_ World, assumed string) {
	var added []string
	for _, z := range slices.Sorted(maps.Keys(p.zones)) {
		there := slices.ContainsFunc(c.Zones, func(known catalog.Zone) bool { return known.Name == z })
		if !there && strings.HasPrefix(z, c.Region) {
			added = append(added, z)
			c.Zones = append(c.Zones, catalog.Zone{Name: z})
		}
	}
	slices.SortFunc(c.Zones, func(a, b catalog.Zone) int { return strings.Compare(a.Name, b.Name) })
	out := World{Catalog: c, Zones: w.Zones, Bundled: true, ReservedENIs: w.ReservedENIs}
	if len(added) == 0 {
		return out, ""
	}
	for i := range c.Types {
		c.Types[i].Zones = slices.Sorted(slices.Values(append(c.Types[i].Zones, added...)))
	}
	return out, fmt.Sprintf("what the catalogue of %s sells anywhere is taken to be sold in %s, which it does not have", c.Region, strings.Join(added, ", "))
}
