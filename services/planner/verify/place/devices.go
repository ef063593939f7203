package place

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// mostOrders is of how many classes with devices one disruption may have pods for all orders to be tried.
const mostOrders = 5

// Devices checks that pods find the devices that they claim: placed pods in the plan's order, then those that disruptions
// displace, in some order.
func (c *Check) Devices() {
	if !slices.ContainsFunc(c.f.Cluster.Snapshot.PodClasses, func(class model.PodClass) bool { return devices.ClaimsDevices(&class) }) {
		return
	}
	d := &deviceCheck{
		c: c, given: devices.NewAllocator(c.freed()...), numbers: make(map[*Place]int),
		templates: devices.NewTemplates(c.f.Cluster.Snapshot, c.f.Input.Now),
	}
	for _, pl := range c.f.InTurn() {
		if pod := c.f.Cluster.Pods[pl.Pod]; pod != nil && !d.take(pl) {
			c.r.Fail("placement of pod "+string(pod.ID), "when it is its turn (%d), it does not find its devices: %s", pl.Order, d.why(pl))
		}
	}
	for i := range c.f.Plan.Disruptions {
		x := &c.f.Plan.Disruptions[i]
		c.r.Blame(x.ID, func() { d.displaced(x) })
	}
}

// freed are the nodes that go with all pods that hold a shared claim there: the claim can be allocated anew.
func (c *Check) freed() []model.NodeName {
	answered := make(map[model.PodID]bool)
	for _, pl := range c.f.Plan.Placements {
		answered[pl.Pod] = true
	}
	for _, p := range c.f.Plan.Pending {
		answered[p.Pod] = true
	}
	var out []model.NodeName
	for i := range c.f.Cluster.Snapshot.Nodes {
		name := c.f.Cluster.Snapshot.Nodes[i].Name
		stays := func(p *model.Pod) bool {
			return devices.SharesClaims(c.f.Cluster.Class(p)) && !p.Terminating && !answered[p.ID]
		}
		if c.f.Cluster.NodeGoes(name) && !slices.ContainsFunc(c.f.Cluster.PodsOn[name], stays) {
			out = append(out, name)
		}
	}
	return out
}

// deviceCheck has the devices of all places that the plan names.
type deviceCheck struct {
	c         *Check
	given     *devices.Allocator
	templates *devices.Templates
	// numbers are the places that given knows, nil being one that does not exist.
	numbers map[*Place]int
}

// displaced checks the pods that one disruption displaces.
func (d *deviceCheck) displaced(x *model.Disruption) {
	byClass := make(map[model.ClassID][]model.Placement)
	var classes []model.ClassID
	for _, pl := range x.Destinations {
		pod := d.c.f.Cluster.Pods[pl.Pod]
		if pod == nil || !devices.ClaimsDevices(d.c.f.Cluster.Class(pod)) {
			continue
		}
		if byClass[pod.Class] == nil {
			classes = append(classes, pod.Class)
		}
		byClass[pod.Class] = append(byClass[pod.Class], pl)
	}
	if len(classes) <= mostOrders && d.inSomeOrder(classes, byClass) {
		return
	}
	for _, class := range classes {
		mark := d.given.Fork()
		for _, pl := range byClass[class] {
			if !d.take(pl) {
				d.c.r.Fail("disruption "+string(x.ID)+" destination of pod "+string(pl.Pod), "it does not find its devices: %s", d.why(pl))
			}
		}
		if len(classes) > mostOrders {
			d.given.Back(mark) // too many orders: each class by itself
		}
	}
}

// inSomeOrder takes the devices of all pods, class by class in an order in which that works; if there is none, it takes
// none.
func (d *deviceCheck) inSomeOrder(classes []model.ClassID, pods map[model.ClassID][]model.Placement) bool {
	for i, class := range classes {
		mark := d.given.Fork()
		fails := func(pl model.Placement) bool { return !d.take(pl) }
		if !slices.ContainsFunc(pods[class], fails) && d.inSomeOrder(slices.Concat(classes[:i], classes[i+1:]), pods) {
			return true
		}
		d.given.Back(mark)
	}
	return len(classes) == 0
}

func (d *deviceCheck) take(pl model.Placement) bool {
	class := d.c.f.Cluster.Class(d.c.f.Cluster.Pods[pl.Pod])
	return !devices.ClaimsDevices(class) || d.given.Take(d.number(pl), class)
}

func (d *deviceCheck) why(pl model.Placement) string {
	r := d.given.Why(d.number(pl), d.c.f.Cluster.Class(d.c.f.Cluster.Pods[pl.Pod]), "the place")
	return cmp.Or(r.Message, "the place has them now")
}

// number is the place of a placement; it becomes known when it is first asked for.
func (d *deviceCheck) number(pl model.Placement) int {
	p := d.c.places.at(facts.TargetOf(&pl))
	n, known := d.numbers[p]
	if !known {
		n = len(d.numbers)
		d.numbers[p] = n
		d.add(n, p)
	}
	return n
}

// add tells given what a place has, as each of its variants, without what DaemonSets will have that are still to start.
func (d *deviceCheck) add(number int, p *Place) {
	if p == nil || (p.node == nil && p.pool == nil) {
		d.given.Add(number, "")
		return
	}
	var name model.NodeName
	var stocks []*devices.Stock
	for _, v := range p.kind.variants {
		var list []model.NodeDevice
		if p.node != nil {
			name, list = p.node.Name, d.templates.Node(p.node, p.pool)
		} else {
			list = d.templates.Of(p.pool, v.Offering.InstanceType)
		}
		s := devices.NewStock(list, devices.Held(p.bound...))
		for _, class := range d.c.places.Daemons(p, v) {
			s.Take(slices.DeleteFunc(slices.Clone(class.DeviceClaims), func(x model.DeviceClaim) bool { return x.Name != "" }))
		}
		stocks = append(stocks, s)
	}
	d.given.Add(number, name, stocks...)
}
