package convert

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/nodeclass"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/offers"
)

// inventory is what the actuator would say.
type inventory struct {
	snapshot *clusterpb.Snapshot // node classes, catalogs and offerings only
	// assumedZones says that a class's zones are all of the catalogue's, for want of better.
	assumedZones  bool
	assumedImages []string
	// warnings are about what classes say and Kerf launches nothing with.
	warnings []string
}

func (b *Builder) inventory(w World) (inventory, error) {
	inv := inventory{snapshot: &clusterpb.Snapshot{}}
	sold := map[string]bool{} // zones
	for _, c := range b.classes {
		if err := inv.add(c, w); err != nil {
			return inventory{}, &ObjectError{Title(awsv1.KindEC2NodeClass, "", c.Name), err}
		}
	}
	for _, c := range inv.snapshot.GetNodeClasses() {
		for _, z := range c.GetZones() {
			sold[z] = true
		}
	}
	inv.snapshot.Offerings = offers.Of(w.Catalog, sold, zoneIDs(b.classes...))
	return inv, nil
}

// add resolves a node class as far as that is possible without AWS.
func (inv *inventory) add(c *awsv1.EC2NodeClass, w World) error {
	hash, err := awsv1.HashEC2NodeClass(c)
	if err != nil {
		return err
	}
	settings, notes, err := nodeclass.ForPlan(c, hash)
	if err != nil {
		return err
	}
	for _, n := range notes {
		inv.warnings = append(inv.warnings, Title(awsv1.KindEC2NodeClass, "", c.Name)+": "+n)
	}
	zones, err := inv.zones(c, w)
	if err != nil {
		return err
	}
	id, err := inv.catalog(w, settings)
	if err != nil {
		return err
	}
	notReady := readyClass(c)
	if notReady != nil {
		inv.warnings = append(inv.warnings, Title(awsv1.KindEC2NodeClass, "", c.Name)+": "+notReady.GetMessage()+"; nothing is bought with it")
	}
	inv.snapshot.NodeClasses = append(inv.snapshot.NodeClasses, &clusterpb.NodeClass{
		Name: c.Name, CatalogId: id, Zones: zones, Images: inv.images(c), Hash: hash, Generation: c.Generation, NotReady: notReady,
	})
	return nil
}

// zones are those that the object's status has found subnets in, as the manifest of a live class shows them, else those
// of the world.
func (inv *inventory) zones(c *awsv1.EC2NodeClass, w World) ([]string, error) {
	known := make([]string, 0, len(w.Catalog.Zones))
	for _, z := range w.Catalog.Zones {
		known = append(known, z.Name)
	}
	if len(w.Zones) > 0 {
		return slices.Sorted(slices.Values(w.Zones)), nil
	}
	var found []string
	for _, s := range c.Status.Subnets {
		if !slices.Contains(known, s.Zone) {
			return nil, fmt.Errorf("status.subnets: zone %s is not one of the catalogue's, which is of %s; "+
				"give a catalogue of that region, or zones of this one", s.Zone, w.Catalog.Region)
		}
		found = append(found, s.Zone)
	}
	if len(found) > 0 {
		slices.Sort(found)
		return slices.Compact(found), nil
	}
	inv.assumedZones = true
	return known, nil
}

// images are those that the object's status shows, else one for each architecture: an alias has both, and of images that
// are chosen otherwise only AWS knows what they are.
func (inv *inventory) images(c *awsv1.EC2NodeClass) []*clusterpb.MachineImage {
	var out []*clusterpb.MachineImage
	for _, ami := range c.Status.AMIs {
		out = append(out, &clusterpb.MachineImage{Id: ami.ID, Name: ami.Name, Requirements: requirements(ami.Requirements)})
	}
	if len(out) > 0 {
		return out
	}
	name := "image of " + c.Name
	if alias, ok := c.Alias(); ok {
		name = alias.String()
	} else {
		inv.assumedImages = append(inv.assumedImages, fmt.Sprintf("EC2NodeClass %s has images for amd64 and arm64", c.Name))
	}
	for _, arch := range []string{"amd64", "arm64"} {
		out = append(out, &clusterpb.MachineImage{
			Id: "unresolved-" + arch, Name: name + ", " + arch,
			Requirements: []*clusterpb.Requirement{{
				Key: labels.Arch, Operator: clusterpb.Operator_OPERATOR_IN, Values: []string{arch},
			}},
		})
	}
	return out
}

// requirements converts those of an image in a status.
func requirements(list []corev1.NodeSelectorRequirement) []*clusterpb.Requirement {
	operators := map[corev1.NodeSelectorOperator]clusterpb.Operator{
		corev1.NodeSelectorOpIn: clusterpb.Operator_OPERATOR_IN, corev1.NodeSelectorOpNotIn: clusterpb.Operator_OPERATOR_NOT_IN,
		corev1.NodeSelectorOpExists:       clusterpb.Operator_OPERATOR_EXISTS,
		corev1.NodeSelectorOpDoesNotExist: clusterpb.Operator_OPERATOR_DOES_NOT_EXIST,
		corev1.NodeSelectorOpGt:           clusterpb.Operator_OPERATOR_GT,
		corev1.NodeSelectorOpLt:           clusterpb.Operator_OPERATOR_LT,
	}
	var out []*clusterpb.Requirement
	for _, r := range list {
		out = append(out, &clusterpb.Requirement{
			Key: labels.Normal(r.Key), Operator: operators[r.Operator], Values: slices.Sorted(slices.Values(r.Values)),
		})
	}
	slices.SortFunc(out, func(a, b *clusterpb.Requirement) int { return strings.Compare(a.GetKey(), b.GetKey()) })
	return out
}

// catalog adds the shapes of all types under the settings of a class, if no class before it had the same, and returns
// their id. All of a catalogue's types are in its region. Types that the class's images can't run are left out.
func (inv *inventory) catalog(w World, s instancetype.Settings) (string, error) {
	s.ReservedENIs = w.ReservedENIs
	id, err := instancetype.CatalogID(s)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(inv.snapshot.GetCatalogs(), func(c *clusterpb.Catalog) bool { return c.GetId() == string(id) }) {
		return string(id), nil
	}
	out, err := instancetype.Catalog(w.Catalog.Types, s)
	if err != nil {
		return "", fmt.Errorf("spec: %w", err)
	}
	for i := range out.InstanceTypes {
		t := &out.InstanceTypes[i]
		t.Labels = append(t.Labels, model.Label{Key: labels.Region, Value: w.Catalog.Region})
		slices.SortFunc(t.Labels, func(a, b model.Label) int { return strings.Compare(a.Key, b.Key) })
	}
	inv.snapshot.Catalogs = append(inv.snapshot.Catalogs, convert.Catalog(*out))
	return string(id), nil
}

// zoneIDs are the ids of zones, by name, as far as the classes' objects show them in their status.
func zoneIDs(classes ...*awsv1.EC2NodeClass) map[string]string {
	ids := map[string]string{}
	for _, c := range classes {
		for _, s := range c.Status.Subnets {
			if s.ZoneID != "" {
				ids[s.Zone] = s.ZoneID
			}
		}
	}
	return ids
}
