package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
)

// equipment checks that pods find the devices that they claim: placed pods in the plan's order, then those that
// disruptions displace, in whatever order there is one in which they do.
func (c *checker) equipment() {
	claims := func(class model.PodClass) bool { return devices.Matters(&class) }
	if !slices.ContainsFunc(c.snap.PodClasses, claims) {
		return
	}
	b := c.newBench()
	placed := slices.Clone(c.plan.Placements)
	slices.SortStableFunc(placed, func(a, b model.Placement) int { return cmp.Compare(a.Order, b.Order) })
	for _, pl := range placed {
		if pod := c.pods[pl.Pod]; pod != nil && !b.take(pl) {
			c.fail("placement of pod "+string(pod.ID), "when it is its turn (%d), it does not find its devices: %s", pl.Order, b.why(pl))
		}
	}
	for _, d := range c.plan.Disruptions {
		c.comesBackEquipped(b, &d)
	}
}

// comesBackEquipped checks the pods that one disruption displaces.
func (c *checker) comesBackEquipped(b *bench, d *model.Disruption) {
	byClass := make(map[model.ClassID][]model.Placement)
	var order []model.ClassID
	for _, pl := range d.Destinations {
		pod := c.pods[pl.Pod]
		if pod == nil || !devices.Matters(c.class(pod)) {
			continue // podsOnce tells
		}
		if byClass[pod.Class] == nil {
			order = append(order, pod.Class)
		}
		byClass[pod.Class] = append(byClass[pod.Class], pl)
	}
	// More classes than this on one disruption have too many orders to try; all of them are tried one by one then.
	const most = 5
	if len(order) > most {
		for _, class := range order {
			mark := b.tally.Fork()
			c.comesInTurn(b, d, byClass[class])
			b.tally.Back(mark)
		}
		return
	}
	for _, some := range permutations(order) {
		mark := b.tally.Fork()
		all := true
		for _, class := range some {
			for _, pl := range byClass[class] {
				all = all && b.take(pl)
			}
		}
		if all {
			return
		}
		b.tally.Back(mark)
	}
	for _, class := range order {
		c.comesInTurn(b, d, byClass[class])
	}
}

func (c *checker) comesInTurn(b *bench, d *model.Disruption, list []model.Placement) {
	before := len(c.found)
	for _, pl := range list {
		if !b.take(pl) {
			c.fail("disruption "+string(d.ID)+" destination of pod "+string(pl.Pod), "it does not find its devices: %s", b.why(pl))
		}
	}
	c.ascribe(before, d.ID)
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

// bench has the devices of all places that the plan names.
type bench struct {
	*checker
	tally     *devices.Tally
	templates *devices.Templates
	numbers   map[string]int
}

func (c *checker) newBench() *bench {
	return &bench{
		checker: c, tally: devices.NewTally(c.freed()...), numbers: make(map[string]int),
		templates: devices.NewTemplates(c.snap.Nodes, c.in.Now),
	}
}

// freed are the nodes that go with all pods that hold a shared claim there: the claim can be allocated anew.
func (c *checker) freed() []model.NodeName {
	answered := make(map[model.PodID]bool)
	for _, pl := range c.plan.Placements {
		answered[pl.Pod] = true
	}
	for _, p := range c.plan.Pending {
		answered[p.Pod] = true
	}
	var out []model.NodeName
	for i := range c.snap.Nodes {
		name := c.snap.Nodes[i].Name
		stays := func(p *model.Pod) bool { return devices.Shares(c.class(p)) && !p.Terminating && !answered[p.ID] }
		if c.nodeGoes(name) && !slices.ContainsFunc(c.podsOn[name], stays) {
			out = append(out, name)
		}
	}
	return out
}

func (b *bench) take(pl model.Placement) bool {
	class := b.class(b.pods[pl.Pod])
	return !devices.Matters(class) || b.tally.Take(b.number(pl), class)
}

func (b *bench) why(pl model.Placement) string {
	r := b.tally.Why(b.number(pl), b.class(b.pods[pl.Pod]), "the place")
	return cmp.Or(r.Message, "the place has them now")
}

// number is the place of a placement; it becomes known when it is first asked for.
func (b *bench) number(pl model.Placement) int {
	name := fmt.Sprintf("%q %q", pl.Node, pl.Claim)
	n, known := b.numbers[name]
	if !known {
		n = len(b.numbers)
		b.numbers[name] = n
		node, stocks := b.stocks(pl)
		b.tally.Add(n, node, stocks...)
	}
	return n
}

func (b *bench) stocks(pl model.Placement) (model.NodeName, []*devices.Stock) {
	node := b.nodes[pl.Node]
	if node == nil {
		node = b.nodeOf[pl.Claim]
	}
	if node != nil {
		p := b.nodePlace(node)
		s := devices.NewStock(b.templates.Node(node, b.poolOf(node)), devices.Held(p.bound...))
		b.ride(s, p, p.shapes[0])
		return node.Name, []*devices.Stock{s}
	}
	var p place
	var pool *model.NodePool
	if fresh := b.fresh[pl.Claim]; fresh != nil {
		p, pool = b.freshPlace(fresh), b.pools[fresh.NodePool]
	} else if claim := b.live[pl.Claim]; claim != nil {
		p, pool = b.claimPlace(claim), b.pools[claim.NodePool]
	}
	if pool == nil {
		return "", nil
	}
	var out []*devices.Stock
	for _, s := range p.shapes {
		stock := devices.NewStock(b.templates.Of(pool, s.offering.InstanceType), nil)
		b.ride(stock, p, s)
		out = append(out, stock)
	}
	return "", out
}

// ride takes what DaemonSets will have that are still to start there.
func (b *bench) ride(stock *devices.Stock, p place, s *shape) {
	for _, class := range b.daemons(p, s) {
		shared := func(d model.DeviceClaim) bool { return d.Name != "" }
		stock.Take(slices.DeleteFunc(slices.Clone(class.DeviceClaims), shared))
	}
}

func (b *bench) poolOf(n *model.Node) *model.NodePool {
	if claim := b.claimOn[n.Name]; claim != nil {
		return b.pools[claim.NodePool]
	}
	return nil
}
