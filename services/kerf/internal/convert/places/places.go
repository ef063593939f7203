// Package places finds the regions and zones that objects name.
//
// It goes by the form of names alone, and must never know a catalogue. Start reading at Places.
package places

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
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

// Currency is what AWS bills in where a snapshot's instances are sold, or run, as an ISO 4217 code; "" for US dollars.
func Currency(s *clusterpb.Snapshot) string {
	inChina := func(zone string) bool { return strings.HasPrefix(zone, "cn-") }
	if slices.ContainsFunc(s.GetOfferings(), func(o *clusterpb.Offering) bool { return inChina(o.GetZone()) }) ||
		slices.ContainsFunc(s.GetClaims(), func(c *clusterpb.Claim) bool { return inChina(c.GetZone()) }) {
		return "CNY"
	}
	return ""
}

// IsRegion says that a name has the form of a region's.
func IsRegion(name string) bool { return regionForm.MatchString(name) }

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

// Home is the region that is named most often, or else the one where volumes lie; "" where none is named.
func (p *Places) Home() (home string) {
	if len(p.regions) == 0 {
		p.requirements(p.volumes)
	}
	for _, r := range slices.Sorted(maps.Keys(p.regions)) {
		if home == "" || p.regions[r] > p.regions[home] {
			home = r
		}
	}
	return home
}

// Names says that a region is named, perhaps by one of its zones.
func (p *Places) Names(region string) bool { return p.regions[region] > 0 }

// Zones are the zones of a region that are named, in order.
func (p *Places) Zones(region string) (zones []string) {
	for _, z := range slices.Sorted(maps.Keys(p.zones)) {
		if strings.HasPrefix(z, region) {
			zones = append(zones, z)
		}
	}
	return zones
}
