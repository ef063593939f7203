package place

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
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
		c: c, given: devices.NewAllocator(c.freed()...), numbers: make(map[model.Placement]int),
		templates: devices.NewTemplates(c.f.Cluster.Snapshot.Nodes, c.f.Input.Now),
	}
	for _, pl := range c.inOrder() {
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
	// numbers are the places that given knows, by the node or claim that they are.
	numbers map[model.Placement]int
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
	takeAll := func(order []model.ClassID) bool {
		for _, class := range order {
			if slices.ContainsFunc(byClass[class], func(pl model.Placement) bool { return !d.take(pl) }) {
				return false
			}
		}
		return true
	}
	if len(classes) <= mostOrders {
		for _, order := range permutations(classes) {
			mark := d.given.Fork()
			if takeAll(order) {
				return
			}
			d.given.Back(mark)
		}
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

func permutations[T any](list []T) [][]T {
	if len(list) == 0 {
		return [][]T{nil}
	}
	var out [][]T
	for i := range list {
		for _, rest := range permutations(slices.Concat(list[:i], list[i+1:])) {
			out = append(out, append([]T{list[i]}, rest...))
		}
	}
	return out
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
	key := model.Placement{Node: pl.Node, Claim: pl.Claim}
	n, known := d.numbers[key]
	if !known {
		n = len(d.numbers)
		d.numbers[key] = n
		node, stocks := d.stocks(pl)
		d.given.Add(n, node, stocks...)
	}
	return n
}

func (d *deviceCheck) stocks(pl model.Placement) (model.NodeName, []*devices.Stock) {
	c := d.c.f.Cluster
	node := c.Nodes[pl.Node]
	if node == nil {
		node = c.NodeOf[pl.Claim]
	}
	if node != nil {
		var pool *model.NodePool
		if claim := c.ClaimOn[node.Name]; claim != nil {
			pool = c.Pools[claim.NodePool]
		}
		p := d.c.places.node(node)
		s := devices.NewStock(d.templates.Node(node, pool), devices.Held(p.bound...))
		d.takeDaemons(s, p, p.Variants[0])
		return node.Name, []*devices.Stock{s}
	}
	var p *Place
	var pool *model.NodePool
	if fresh := d.c.f.Decisions.Claims[pl.Claim]; fresh != nil {
		p, pool = d.c.places.New(fresh), c.Pools[fresh.NodePool]
	} else if claim := c.Live[pl.Claim]; claim != nil {
		p, pool = d.c.places.claim(claim), c.Pools[claim.NodePool]
	}
	if pool == nil {
		return "", nil
	}
	var out []*devices.Stock
	for _, v := range p.Variants {
		s := devices.NewStock(d.templates.Of(pool, v.Offering.InstanceType), nil)
		d.takeDaemons(s, p, v)
		out = append(out, s)
	}
	return "", out
}

// takeDaemons takes what DaemonSets will have that are still to start there.
func (d *deviceCheck) takeDaemons(s *devices.Stock, p *Place, v *Variant) {
	for _, class := range d.c.places.Daemons(p, v) {
		s.Take(slices.DeleteFunc(slices.Clone(class.DeviceClaims), func(x model.DeviceClaim) bool { return x.Name != "" }))
	}
}
