package plan_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// tiny is a cluster that is small enough to try every assignment: one or two pools, two types in two zones, up to two
// nodes, one or two classes of pods that may be tied to one another.
type tiny struct {
	*world
	*rand.Rand
}

func drawTiny(seed uint64) *tiny {
	d := &tiny{newWorld(), rand.New(rand.NewPCG(seed, 0x74696e79))}
	s := &d.Snapshot
	s.Offerings = nil
	for _, name := range []string{"c5.large", "m5.xlarge"} {
		price := int64(50+d.IntN(200)) * 1000
		for _, zone := range s.NodeClasses[0].Zones {
			if d.IntN(4) > 0 || len(s.Offerings) == 0 {
				d.offer(name, zone, model.OnDemand, price)
			}
		}
	}
	if len(s.Offerings) < 2 || s.Offerings[len(s.Offerings)-1].InstanceType == "c5.large" {
		d.offer("m5.xlarge", "us-east-1b", model.OnDemand, 150_000)
	}
	s.NodePools = s.NodePools[:0]
	for i := range 1 + d.IntN(2) {
		d.drawPool(pool([]string{"default", "other"}[i]))
	}
	for i := range 1 + d.IntN(2) {
		d.drawClass(string(rune('a' + i)))
	}
	for i := range d.IntN(3) {
		d.drawNode(fmt.Sprintf("n%d", i))
	}
	return d
}

func (d *tiny) drawPool(p model.NodePool) {
	p.Weight = int32(d.IntN(2)) * 10
	switch d.IntN(6) {
	case 0:
		p.Limits = model.Amounts{{Resource: model.CPU, Value: int64(1+d.IntN(4)) * 2000}}
	case 1:
		p.Limits = model.Amounts{{Resource: model.Nodes, Value: int64(d.IntN(3))}}
	case 2:
		p.Requirements = append(p.Requirements, model.Requirement{
			Key: labels.InstanceType, Operator: model.In, Values: []string{[]string{"c5.large", "m5.xlarge"}[d.IntN(2)]},
		})
	}
	d.Snapshot.NodePools = append(d.Snapshot.NodePools, p)
}

func (d *tiny) drawClass(name string) {
	d.class(name, []int64{300, 900, 1500}[d.IntN(3)], 100*mib, func(c *model.PodClass) {
		own := &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{name}}}}
		key := []string{labels.Zone, labels.Hostname}[d.IntN(2)]
		switch d.IntN(5) {
		case 0, 1:
			c.TopologySpread = []model.TopologySpread{{TopologyKey: key, MaxSkew: 1, Required: true, Selector: own}}
		case 2:
			c.PodAntiAffinity = []model.PodAffinityTerm{{TopologyKey: key, Namespaces: []string{"shop"}, Selector: own}}
		}
	})
}

func (d *tiny) drawNode(name string) {
	o := d.Snapshot.Offerings[d.IntN(len(d.Snapshot.Offerings))]
	classes := d.Snapshot.PodClasses
	n := d.node(name, string(o.InstanceType), string(classes[d.IntN(len(classes))].ID), d.IntN(2))
	d.claim("c-" + name).Zone = o.Zone
	for i := range n.Labels {
		if n.Labels[i].Key == labels.Zone {
			n.Labels[i].Value = o.Zone
		}
	}
}

// spot is a node, there or new, with how many pods of each class it has.
type spot struct {
	pool, kind, zone string
	price            int64
	free             int64
	pods             [2]int
}

// oracle tries everything.
type oracle struct {
	*tiny
	spots []spot
	// open counts domains that could be there as well: zones in which pools buy and, of hosts, one more. The planner
	// keeps spread over these, the scheduler over what there is.
	open  bool
	zones []string
	// left are the pods of each class that are still to be placed.
	left [2]int
	seen map[string]bool
	most int
}

// best is the most pods that can be placed, in any order on any nodes, and the least that the new nodes for that cost. Only
// pools of a weight or more may buy.
func (d *tiny) best(weight int32, open bool) (placed int, cost int64) {
	o := &oracle{tiny: d, open: open}
	for _, k := range d.kinds(0) {
		o.zones = append(o.zones, k.zone)
	}
	total := 0
	at := make(map[model.NodeName]int)
	for _, n := range d.Snapshot.Nodes {
		zone, _ := n.Labels.Get(labels.Zone)
		at[n.Name] = len(o.spots)
		o.spots = append(o.spots, spot{zone: zone, free: n.Allocatable.Value(model.CPU)})
	}
	for _, p := range d.Snapshot.Pods {
		c := int(p.Class[0] - 'a')
		if p.Node == "" {
			o.left[c]++
			total++
			continue
		}
		o.spots[at[p.Node]].pods[c]++
		o.spots[at[p.Node]].free -= d.Snapshot.PodClasses[c].Requests.Value(model.CPU)
	}
	placed = -1
	o.buy(d.kinds(weight), total, func(spent int64) {
		if placed == total && spent >= cost {
			return
		}
		o.seen, o.most = make(map[string]bool), 0
		o.place(0)
		if o.most > placed || o.most == placed && spent < cost {
			placed, cost = o.most, spent
		}
	})
	return placed, cost
}

// kinds are the nodes that can be bought.
func (d *tiny) kinds(weight int32) []spot {
	var out []spot
	for _, p := range d.Snapshot.NodePools {
		for _, o := range d.Snapshot.Offerings {
			allowed := func(r model.Requirement) bool {
				return r.Key != labels.InstanceType || slices.Contains(r.Values, string(o.InstanceType))
			}
			if p.Weight < weight || slices.ContainsFunc(p.Requirements, func(r model.Requirement) bool { return !allowed(r) }) {
				continue
			}
			out = append(out, spot{
				pool: string(p.Name), kind: string(o.InstanceType), zone: o.Zone, price: o.Price, free: d.amount(string(o.InstanceType), false),
			})
		}
	}
	return out
}

// amount is a type's cpu, as the machine has it or as pods can use it.
func (d *tiny) amount(kind string, capacity bool) int64 {
	for _, t := range d.Snapshot.Catalogs[0].InstanceTypes {
		if string(t.Name) == kind && capacity {
			return t.Capacity.Value(model.CPU)
		}
		if string(t.Name) == kind {
			return t.Allocatable.Value(model.CPU)
		}
	}
	return 0
}

// buy tries all sets of up to so many new nodes that limits allow.
func (o *oracle) buy(kinds []spot, most int, try func(spent int64)) {
	var spent int64
	for _, s := range o.spots {
		spent += s.price
	}
	try(spent)
	if most == 0 {
		return
	}
	for i, k := range kinds {
		o.spots = append(o.spots, k)
		if o.within() {
			o.buy(kinds[i:], most-1, try)
		}
		o.spots = o.spots[:len(o.spots)-1]
	}
}

// within says that pools keep their limits.
func (o *oracle) within() bool {
	for _, p := range o.Snapshot.NodePools {
		nodes, cpu, buys := int64(0), int64(0), false
		for _, s := range o.spots {
			if s.pool == string(p.Name) {
				nodes, cpu, buys = nodes+1, cpu+o.amount(s.kind, true), true
			}
		}
		for _, c := range o.Snapshot.Claims {
			if c.NodePool == p.Name {
				nodes, cpu = nodes+1, cpu+c.Capacity.Value(model.CPU)
			}
		}
		for _, l := range p.Limits {
			if !buys {
				continue
			}
			if l.Resource == model.Nodes && nodes > l.Value || l.Resource == model.CPU && cpu > l.Value {
				return false
			}
		}
	}
	return true
}

// place tries all orders and all places for the pods that are left.
func (o *oracle) place(placed int) {
	o.most = max(o.most, placed)
	key := make([]byte, 0, 32)
	for i := range o.spots {
		key = append(key, byte(o.spots[i].pods[0]), byte(o.spots[i].pods[1]))
	}
	if o.seen[string(key)] {
		return
	}
	o.seen[string(key)] = true
	for c := range o.Snapshot.PodClasses {
		if o.left[c] == 0 {
			continue
		}
		need := o.Snapshot.PodClasses[c].Requests.Value(model.CPU)
		for i := range o.spots {
			if s := &o.spots[i]; s.free >= need && o.allowed(c, i) {
				s.free, s.pods[c] = s.free-need, s.pods[c]+1
				o.left[c]--
				o.place(placed + 1)
				o.left[c]++
				s.free, s.pods[c] = s.free+need, s.pods[c]-1
			}
		}
	}
}

// allowed is what the rules of a class say about one more of its pods at a place.
func (o *oracle) allowed(c, at int) bool {
	class := &o.Snapshot.PodClasses[c]
	for _, t := range class.TopologySpread {
		counts := o.counts(c, t.TopologyKey)
		least := counts[o.domain(at, t.TopologyKey)]
		for _, n := range counts {
			least = min(least, n)
		}
		if counts[o.domain(at, t.TopologyKey)]+1-least > int(t.MaxSkew) {
			return false
		}
	}
	for _, t := range class.PodAntiAffinity {
		if o.counts(c, t.TopologyKey)[o.domain(at, t.TopologyKey)] > 0 {
			return false
		}
	}
	return true
}

func (o *oracle) domain(at int, key string) string {
	if key == labels.Zone {
		return o.spots[at].zone
	}
	return strconv.Itoa(at)
}

// counts are the pods of a class in each domain.
func (o *oracle) counts(c int, key string) map[string]int {
	out := make(map[string]int)
	for i := range o.spots {
		out[o.domain(i, key)] += o.spots[i].pods[c]
	}
	switch {
	case !o.open:
	case key == labels.Zone:
		for _, zone := range o.zones {
			out[zone] += 0
		}
	default:
		out["one more"] = 0
	}
	return out
}

// TestTinyClustersArePlannedForAsWellAsCanBe holds plans against every assignment of every pod in every order, with
// every set of new nodes. KERF_CASES is how many clusters are drawn, KERF_SEED shows a single one.
func TestTinyClustersArePlannedForAsWellAsCanBe(t *testing.T) {
	cases := 1000
	if n, err := strconv.Atoi(os.Getenv("KERF_CASES")); err == nil {
		cases = n
	}
	left, expensive, weighted, high := 0, 0, 0, 0
	first, err := strconv.ParseUint(os.Getenv("KERF_SEED"), 10, 64)
	one := err == nil
	if one {
		cases = 1
	}
	for i := range uint64(cases) {
		seed := first + i
		d := drawTiny(seed)
		d.Kinds = []model.DecisionKind{model.KindProvision}
		for range 1 + d.IntN(4) {
			classes := d.Snapshot.PodClasses
			d.pending(string(classes[d.IntN(len(classes))].ID), 1)
		}
		p := d.decide(t)
		if one {
			t.Logf("%s%v %v", d, places(p), p.NodeClaims)
		}
		var cost int64
		for _, c := range p.NodeClaims {
			cost += c.Price
		}
		placed, least := d.best(0, true)
		most, free := d.best(0, false)
		heavy, bought := d.weights(&p)
		switch got := len(p.Placements); {
		case got > most, got == most && cost < free:
			t.Fatalf("seed %d: %d pods for %d is more than is possible: %d for %d", seed, got, cost, most, free)
		case got < placed:
			left++
			t.Logf("seed %d: %d of %d pods are placed that could be", seed, got, placed)
		case p.LowerBound != nil && len(p.Pending) == 0 && p.LowerBound.Price > cost:
			t.Errorf("seed %d: the bound %d is above the cost %d", seed, p.LowerBound.Price, cost)
		case heavy == 0 && got == placed && p.LowerBound != nil && len(p.Pending) == 0 && p.LowerBound.Price > least:
			high++
			t.Logf("seed %d: the bound %d is above what is possible, %d", seed, p.LowerBound.Price, least)
		case heavy == 0 && got == placed && cost > least:
			expensive++
			t.Logf("seed %d: %d is paid for what %d buys", seed, cost, least)
		case heavy > bought:
			if all, _ := d.best(heavy, true); all == placed {
				weighted++
				t.Logf("seed %d: a pool of weight %d buys, and one of weight %d could", seed, bought, heavy)
			}
		}
	}
	t.Logf("of %d clusters %d leave a pod that could be placed, %d cost more than they must, %d have a bound above what is possible, %d buy "+
		"from the lighter pool", cases, left, expensive, high, weighted)
	// How many there were when this was written: of 20,000 clusters 0, 1, and 0 and 0.
	if left > cases/10000 || weighted > max(1, cases/10000) || expensive+high > cases/10000 {
		t.Error("plans were better before")
	}
}

// String says what there is.
func (d *tiny) String() string {
	var b strings.Builder
	s := &d.Snapshot
	for _, o := range s.Offerings {
		fmt.Fprintf(&b, "offer %s/%s %d\n", o.InstanceType, o.Zone, o.Price)
	}
	for _, p := range s.NodePools {
		fmt.Fprintf(&b, "pool %s weight %d limits %v requires %v\n", p.Name, p.Weight, p.Limits, p.Requirements)
	}
	for _, c := range s.PodClasses {
		fmt.Fprintf(&b, "class %s %v spread %+v apart %+v\n", c.ID, c.Requests, c.TopologySpread, c.PodAntiAffinity)
	}
	for _, n := range s.Nodes {
		kind, _ := n.Labels.Get(labels.InstanceType)
		zone, _ := n.Labels.Get(labels.Zone)
		fmt.Fprintf(&b, "node %s %s/%s\n", n.Name, kind, zone)
	}
	for _, p := range s.Pods {
		fmt.Fprintf(&b, "pod %s %s\n", p.ID, p.Node)
	}
	return b.String()
}

// weights are that of the heaviest pool where not all weigh the same, else 0, and that of the lightest pool that the
// plan buys from, or of the heaviest where it buys nothing.
func (d *tiny) weights(p *model.Plan) (heavy, bought int32) {
	light := d.Snapshot.NodePools[0].Weight
	for _, x := range d.Snapshot.NodePools {
		heavy, light = max(heavy, x.Weight), min(light, x.Weight)
	}
	if heavy == light {
		return 0, 0
	}
	bought = heavy
	for _, c := range p.NodeClaims {
		for _, x := range d.Snapshot.NodePools {
			if x.Name == c.NodePool {
				bought = min(bought, x.Weight)
			}
		}
	}
	return heavy, bought
}
