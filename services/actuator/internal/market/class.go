package market

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/launchhold"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Class is a node class and what is known of it.
type Class struct {
	// Spec is the object's newest form; of an invalid one it holds the name alone.
	Spec       cloud.ClassSpec
	invalid    model.Reason
	invalidWhy string // the reason of its condition
	// Leaving says that its user deletes it. Released says that nothing of it is left in AWS, so that its object may go.
	Leaving, Released bool

	// resolved is what Spec, or where lags is set the form before it, selected at resolvedAt (zero: not yet). failure
	// is why AWS could not be asked the last time; zero when it could.
	resolved   cloud.Class
	resolvedAt time.Time
	lags       bool
	// recalled says that resolved is what was kept by who led before, or seen before leading: good to launch with until
	// AWS has answered, and no proof that a node has drifted, since AWS may have published an image meanwhile.
	recalled bool
	failure  model.Reason
	zones    map[string]string // ids by zone, of resolved
	// reservedSince is since when resolved has the reservations that it has.
	reservedSince time.Time
	// due says to resolve without waiting.
	due bool
	// catalogue is the shapes of all types under the class's settings; nil while the types are not known.
	catalogue *catalogue
	held      launchhold.Hold
	// told is why the class is not ready, as the log has it; "" for ready.
	told string
	// likely are types that pools allow, of the catalogue likelyOf.
	likely   []model.TypeName
	likelyOf *catalogue
	// reshape is when the catalogue is to be made anew for what was learned; zero: not at all.
	reshape time.Time
	// shown and shapes are what the inventory said of the class the last time; stale says that it may have changed since.
	shown  *model.NodeClass
	shapes *model.Catalog
	stale  bool
}

// catalogue is the shapes of all types under one set of settings. Classes with equal settings share it, and it never
// changes.
type catalogue struct {
	inventory *model.Catalog
	shapes    map[model.TypeName]apply.Shape
}

// Resolved is what the class selects.
func (c *Class) Resolved() cloud.Class { return c.resolved }

// ZoneID is the id of a zone that the class can launch in; "" when it is not known.
func (c *Class) ZoneID(zone string) string { return c.zones[zone] }

// Shapes are by instance type.
func (c *Class) Shapes() map[model.TypeName]apply.Shape {
	if c.catalogue == nil {
		return nil
	}
	return c.catalogue.shapes
}

// NotReady is why nothing can be launched with the class now; the zero Reason when something can.
func (c *Class) NotReady() model.Reason {
	reason := func(message string) model.Reason {
		return model.Reason{Code: model.CodeNodeClassNotReady, Message: message, Subject: "ec2nodeclass/" + string(c.Spec.Name)}
	}
	switch {
	case c.Leaving:
		why := reason("EC2NodeClass " + string(c.Spec.Name) + " is being deleted")
		why.Code = model.CodeBeingDeleted
		return why
	case !c.invalid.OK():
		return c.invalid
	case c.unresolved() && !c.failure.OK():
		return c.failure
	case c.unresolved():
		return reason("EC2NodeClass " + string(c.Spec.Name) + " is being resolved")
	case !c.resolved.NotReady.OK():
		return c.resolved.NotReady
	case !c.held.Why.OK():
		return c.held.Why
	case c.catalogue == nil:
		return reason("the instance types of the region are not known yet")
	default:
		return model.Reason{}
	}
}

// unresolved says that what Spec selects is not known. What another form of it selected does not stand in: user data of one
// would boot an image of the other.
func (c *Class) unresolved() bool { return c.resolvedAt.IsZero() || c.lags }

// current says that what the class selects is what AWS said last.
func (c *Class) current() bool { return !c.unresolved() && !c.recalled }

// Asked says that AWS was asked for the class once, as far as it can be.
func (c *Class) Asked() bool {
	return !c.invalid.OK() || !c.resolvedAt.IsZero() || !c.failure.OK()
}

// Status is what the object's status says.
func (c *Class) Status() cluster.ClassStatus {
	return cluster.ClassStatus{
		Name: c.Spec.Name, Generation: c.Spec.Generation, Hash: c.Spec.Hash, Class: c.resolved, Resolved: c.current(),
		Invalid: c.invalid, InvalidWhy: c.invalidWhy, NotReady: c.NotReady(),
	}
}

// Inventory is what the inventory says of the class, and its catalogue; nil when it has none. The class is
// another only where it differs: AWS is asked again and again, and says the same as a rule.
func (c *Class) Inventory() (*model.NodeClass, *model.Catalog) {
	if c.shown != nil && !c.stale {
		return c.shown, c.shapes
	}
	c.shapes, c.stale = nil, false
	if c.catalogue != nil {
		c.shapes = c.catalogue.inventory
	}
	out := &model.NodeClass{
		Name: c.Spec.Name, Hash: c.Spec.Hash, NotReady: c.NotReady(), Generation: c.Spec.Generation, Zones: c.resolved.Zones(),
		Reservations: c.reservations(),
	}
	if c.shapes != nil {
		out.Catalog = c.shapes.ID
	}
	for _, i := range c.resolved.Images {
		out.Images = append(out.Images, model.MachineImage{
			ID: i.ID, Name: i.Name, CreateTime: i.CreateTime,
			Requirements: slices.SortedFunc(slices.Values(i.Requirements), func(a, b model.Requirement) int { return cmp.Compare(a.Key, b.Key) }),
		})
	}
	if !reflect.DeepEqual(out, c.shown) {
		c.shown = out
	}
	return c.shown, c.shapes
}

// reservations are the ids of the capacity reservations that the class may launch into.
func (c *Class) reservations() []string {
	var out []string
	for _, r := range c.resolved.Reservations {
		out = append(out, r.ID)
	}
	return out
}

// ReservedSince is since when the class has selected the reservations that it selects now, as far as is known; zero
// while these may be old news.
func (c *Class) ReservedSince() time.Time {
	if !c.current() {
		return time.Time{}
	}
	return c.reservedSince
}

// Present is what the class asks for now. What it selects is left out while it is not whole, or may be old.
func (c *Class) Present() apply.Class {
	out := apply.Class{
		NodeClass: model.NodeClass{Name: c.Spec.Name, Hash: c.Spec.Hash, NotReady: c.NotReady(), Reservations: c.reservations()}, ZoneIDs: c.zones, Shapes: c.Shapes(),
	}
	if !c.current() || !c.resolved.NotReady.OK() {
		return out
	}
	for _, i := range c.resolved.Images {
		out.Images = append(out.Images, model.MachineImage{ID: i.ID, Requirements: i.Requirements})
	}
	for _, s := range c.resolved.Subnets {
		out.Subnets = append(out.Subnets, s.ID)
	}
	for _, g := range c.resolved.SecurityGroups {
		out.SecurityGroups = append(out.SecurityGroups, g.ID)
	}
	slices.Sort(out.Subnets)
	slices.Sort(out.SecurityGroups)
	return out
}
