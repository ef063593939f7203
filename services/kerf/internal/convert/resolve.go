package convert

import (
	"fmt"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/nodeclass"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/offers"
)

// Resolved is what the actuator would make of a node class, as far as that is known without AWS.
type Resolved struct {
	Class *clusterpb.NodeClass
	// Catalog holds the shapes of instance types under the class's settings.
	Catalog *clusterpb.Catalog
	// Offerings are what the catalogue sells in the class's zones.
	Offerings []*clusterpb.Offering
	// Assumed says what no one knows without AWS, a sentence each.
	Assumed []string
}

// Resolve reads a class that has its defaults and is valid. before is the class of that name as the actuator has resolved
// it, nil where there is none: what the object leaves for AWS to say is taken from there. Errors name the field.
func Resolve(c *awsv1.EC2NodeClass, before *clusterpb.NodeClass, w World) (Resolved, error) {
	inv := inventory{snapshot: &clusterpb.Snapshot{}}
	hash, err := awsv1.HashEC2NodeClass(c)
	if err != nil {
		return Resolved{}, err
	}
	settings, notes, err := nodeclass.ForPlan(c, hash)
	if err != nil {
		return Resolved{}, err
	}
	id, err := inv.catalog(w, settings)
	if err != nil {
		return Resolved{}, err
	}
	out := Resolved{Catalog: inv.snapshot.GetCatalogs()[0], Class: &clusterpb.NodeClass{
		Name: c.Name, CatalogId: id, Hash: hash, Generation: max(c.Generation, before.GetGeneration()),
		Reservations: before.GetReservations(),
	}}
	if before == nil { // what is changed was not looked at yet
		out.Class.NotReady = readyClass(c)
	}
	for _, n := range notes {
		out.assume("%s", n)
	}
	if err := out.zones(&inv, c, before, w); err != nil {
		return Resolved{}, err
	}
	out.images(&inv, c, before)
	sold := map[string]bool{}
	for _, z := range out.Class.GetZones() {
		sold[z] = true
	}
	out.Offerings = offers.Of(w.Catalog, sold, zoneIDs(c))
	return out, nil
}

func (r *Resolved) assume(format string, args ...any) {
	r.Assumed = append(r.Assumed, "EC2NodeClass "+r.Class.GetName()+": "+fmt.Sprintf(format, args...))
}

// zones are those of the object's status, else those of the class as it was, else the world's.
func (r *Resolved) zones(inv *inventory, c *awsv1.EC2NodeClass, before *clusterpb.NodeClass, w World) error {
	if len(c.Status.Subnets) == 0 && len(before.GetZones()) > 0 {
		r.Class.Zones = before.GetZones()
		return nil
	}
	if before != nil { // zones of a live cluster need not be the catalogue's
		for _, s := range c.Status.Subnets {
			r.Class.Zones = append(r.Class.Zones, s.Zone)
		}
		slices.Sort(r.Class.Zones)
		r.Class.Zones = slices.Compact(r.Class.Zones)
		return nil
	}
	zones, err := inv.zones(c, w)
	r.Class.Zones = zones
	if inv.assumedZones {
		r.assume("a subnet in each zone of %s", w.Catalog.Region)
	}
	return err
}

// images are those of the object's status or of the class as it was, where its terms may still mean them; else others
// whose ids are known from the terms, or stand for ids that only AWS knows.
func (r *Resolved) images(inv *inventory, c *awsv1.EC2NodeClass, before *clusterpb.NodeClass) {
	known := before.GetImages()
	if len(c.Status.AMIs) > 0 {
		known = inv.images(c)
	}
	if len(known) == 0 {
		r.Class.Images = inv.images(c)
		r.Assumed = append(r.Assumed, inv.assumedImages...)
		return
	}
	alias, ok := c.Alias()
	ids := imageIDs(c)
	switch {
	case ok && alias.Version != awsv1.VersionLatest:
		r.pinned(alias, known)
	case len(ids) > 0:
		r.chosen(ids, known)
	default:
		r.Class.Images = known
		if len(c.Status.AMIs) == 0 {
			r.assume("its images stay what they are: only AWS knows what spec.amiSelectorTerms selects; to see others, write them into status.amis")
		}
	}
}

// pinned takes the images of one version. What AWS publishes for an alias has the version in its name.
func (r *Resolved) pinned(alias awsv1.Alias, known []*clusterpb.MachineImage) {
	for _, i := range known {
		if strings.Contains(i.GetName(), alias.Version) {
			r.Class.Images = append(r.Class.Images, i)
		}
	}
	if len(r.Class.GetImages()) > 0 {
		return
	}
	for n, i := range known {
		r.Class.Images = append(r.Class.Images, &clusterpb.MachineImage{
			Id: fmt.Sprintf("unresolved-%s-%d", alias, n), Name: alias.String(), Requirements: i.GetRequirements(),
		})
	}
	r.assume("%s is another image than those that nodes run now; only AWS knows its id", alias)
}

// imageIDs are the ids that all terms name; nil where a term selects otherwise.
func imageIDs(c *awsv1.EC2NodeClass) []string {
	var out []string
	for _, t := range c.Spec.AMISelectorTerms {
		if t.ID == "" {
			return nil
		}
		out = append(out, t.ID)
	}
	return out
}

// chosen takes images by id. Of one that is new no one here knows which types it fits: it is taken to come in the place
// of one that is not chosen any more.
func (r *Resolved) chosen(ids []string, known []*clusterpb.MachineImage) {
	gone := slices.DeleteFunc(slices.Clone(known), func(i *clusterpb.MachineImage) bool { return slices.Contains(ids, i.GetId()) })
	for _, id := range ids {
		if at := slices.IndexFunc(known, func(i *clusterpb.MachineImage) bool { return i.GetId() == id }); at >= 0 {
			r.Class.Images = append(r.Class.Images, known[at])
			continue
		}
		image := &clusterpb.MachineImage{Id: id}
		if len(gone) > 0 {
			image.Requirements, gone = gone[0].GetRequirements(), gone[1:]
			r.assume("%s is for the same instance types as the image in whose place it comes", id)
		} else {
			r.assume("%s is for all instance types", id)
		}
		r.Class.Images = append(r.Class.Images, image)
	}
}
