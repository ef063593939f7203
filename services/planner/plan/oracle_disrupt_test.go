package plan_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// drawUsed is a tiny cluster that could be had for less: up to three nodes with up to five pods on them, and four
// offerings. Only prices count: evictions cost nothing, budgets let all go at once, and moved pods need no rest.
func drawUsed(seed uint64) *tiny {
	d := &tiny{newWorld(), rand.New(rand.NewPCG(seed, 0x75736564))}
	d.Kinds = []model.DecisionKind{model.KindDisrupt}
	d.Policy.PodRest = new(time.Duration)
	s := &d.Snapshot
	s.Offerings = nil
	for _, name := range []string{"c5.large", "m5.xlarge"} {
		for _, zone := range s.NodeClasses[0].Zones {
			d.offer(name, zone, model.OnDemand, int64(50+d.IntN(200))*1000)
		}
	}
	if d.IntN(4) == 0 {
		d.pool().Limits = model.Amounts{{Resource: model.CPU, Value: int64(2+d.IntN(6)) * 2000}}
	}
	for i := range 1 + d.IntN(2) {
		d.drawClass(string(rune('a' + i)))
	}
	for i := range 1 + d.IntN(3) {
		d.join(fmt.Sprintf("n%d", i), d.Snapshot.Offerings[d.IntN(len(d.Snapshot.Offerings))])
	}
	for range 1 + d.IntN(5) {
		o := d.standing(func(model.NodeName) bool { return true })
		at, class := d.IntN(len(o.spots)), d.IntN(len(s.PodClasses))
		id := s.PodClasses[class].ID
		if o.spots[at].free >= s.PodClasses[class].Requests.Value(model.CPU) && o.allowed(class, at) {
			s.Pods = append(s.Pods, model.Pod{ID: d.podID(string(id)), Class: id, Node: s.Nodes[at].Name, Phase: model.PodRunning, Ready: true})
		}
	}
	return d
}

// join adds a node of an offering.
func (d *tiny) join(name string, o model.Offering) {
	n := d.node(name, string(o.InstanceType), "", 0)
	c := d.claim("c-" + name)
	c.Zone, c.Price = o.Zone, o.Price
	for i := range n.Labels {
		if n.Labels[i].Key == labels.Zone {
			n.Labels[i].Value = o.Zone
		}
	}
}

// standing is an oracle of the nodes that stay, with the pods on them; all others are left to be placed.
func (d *tiny) standing(stays func(model.NodeName) bool) *oracle {
	o := &oracle{tiny: d}
	for _, k := range d.kinds(0) {
		o.zones = append(o.zones, k.zone)
	}
	at := make(map[model.NodeName]int)
	for _, n := range d.Snapshot.Nodes {
		if stays(n.Name) {
			zone, _ := n.Labels.Get(labels.Zone)
			at[n.Name] = len(o.spots)
			o.spots = append(o.spots, spot{zone: zone, free: n.Allocatable.Value(model.CPU)})
		}
	}
	for _, p := range d.Snapshot.Pods {
		c := int(p.Class[0] - 'a')
		i, ok := at[p.Node]
		if !ok {
			o.left[c]++
			continue
		}
		o.spots[i].pods[c]++
		o.spots[i].free -= d.Snapshot.PodClasses[c].Requests.Value(model.CPU)
	}
	return o
}

// bill is what all nodes cost.
func (d *tiny) bill() (cost int64) {
	for _, c := range d.Snapshot.Claims {
		cost += c.Price
	}
	return cost
}

// least is the least that the cluster may cost once some of its nodes were removed or replaced, at once: any of them
// go, their pods run on those that stay or on any new ones. What is new stands within limits beside what is there or,
// where those that go make way first, beside what stays.
func (d *tiny) least(makeWay bool) int64 {
	best := d.bill()
	for keep := range 1 << len(d.Snapshot.Nodes) {
		var kept []model.Claim
		for i, c := range d.Snapshot.Claims {
			if keep&(1<<i) != 0 {
				kept = append(kept, c)
			}
		}
		o := d.standing(func(name model.NodeName) bool {
			return slices.ContainsFunc(kept, func(c model.Claim) bool { return c.Node == name })
		})
		o.open = true
		stays := &tiny{&world{d.Input}, nil}
		if stays.Snapshot.Claims = kept; makeWay {
			o.tiny = stays
		}
		gone := o.left[0] + o.left[1]
		o.buy(d.kinds(0), gone, func(spent int64) {
			cost := spent + stays.bill()
			if cost >= best {
				return
			}
			o.seen, o.most = make(map[string]bool), 0
			o.place(0)
			if o.most == gone {
				best = cost
			}
		})
	}
	return best
}

// removeEmpty takes away what has no pods. That comes before all else, also where limits let nothing else have its place.
func (d *tiny) removeEmpty() {
	w := *d.world
	empty := func(name model.NodeName) bool {
		return !slices.ContainsFunc(w.Snapshot.Pods, func(p model.Pod) bool { return p.Node == name })
	}
	w.Snapshot.Nodes = slices.DeleteFunc(slices.Clone(w.Snapshot.Nodes), func(n model.Node) bool { return empty(n.Name) })
	w.Snapshot.Claims = slices.DeleteFunc(slices.Clone(w.Snapshot.Claims), func(c model.Claim) bool { return empty(c.Node) })
	d.world = &w
}

// settle does what plans say, one after the other, until there is nothing more to do.
func (d *tiny) settle(t *testing.T, seed uint64, tell bool) {
	t.Helper()
	const most = 20
	for range most {
		p := d.decide(t)
		if tell {
			t.Logf("%s%+v", d, p.Disruptions)
		}
		before := d.bill()
		for i := range p.Disruptions {
			d.carryOut(&p, &p.Disruptions[i])
		}
		switch after := d.bill(); {
		case len(p.Disruptions) > 0 && after >= before:
			t.Fatalf("seed %d: %d is paid after a plan, and %d before", seed, after, before)
		case len(p.Disruptions) == 0 && p.Summary.ResumeAfter == "":
			return
		}
		d.ResumeAfter = p.Summary.ResumeAfter
		d.Now = d.Now.Add(time.Minute)
	}
	t.Fatalf("seed %d: nodes go round", seed)
}

// carryOut does at once what a disruption says.
func (d *tiny) carryOut(p *model.Plan, x *model.Disruption) {
	s := &d.Snapshot
	for _, c := range p.NodeClaims {
		if slices.Contains(x.Replacements, c.ID) {
			i := slices.IndexFunc(s.Offerings, func(o model.Offering) bool {
				return o.InstanceType == c.Offerings[0].InstanceType && o.Zone == c.Offerings[0].Zone
			})
			d.join(string(c.ID), s.Offerings[i])
		}
	}
	for _, to := range x.Destinations {
		i := slices.IndexFunc(s.Pods, func(p model.Pod) bool { return p.ID == to.Pod })
		if s.Pods[i].Node = to.Node; to.Node == "" {
			s.Pods[i].Node = model.NodeName(to.Claim)
		}
	}
	s.Claims = slices.DeleteFunc(s.Claims, func(c model.Claim) bool { return slices.Contains(x.Candidates, c.ID) })
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n model.Node) bool { return slices.Contains(x.Candidates, n.Claim) })
}

// TestTinyClustersBecomeAsCheapAsCanBe carries plans out until no more come, and holds what is left against all ways to
// remove and replace nodes of the first cluster, but for those that are empty: they go before all else. Each plan must
// make the cluster cheaper. KERF_CASES is how many clusters are drawn, KERF_SEED shows a single one.
func TestTinyClustersBecomeAsCheapAsCanBe(t *testing.T) {
	cases := 1000
	if n, err := strconv.Atoi(os.Getenv("KERF_CASES")); err == nil {
		cases = n
	}
	first, err := strconv.ParseUint(os.Getenv("KERF_SEED"), 10, 64)
	one := err == nil
	if one {
		cases = 1
	}
	cheaper, above := 0, 0
	for i := range uint64(cases) {
		seed := first + i
		d := drawUsed(seed)
		before, floor := d.bill(), d.least(true)
		used := *d
		used.removeEmpty()
		best := used.least(false)
		d.settle(t, seed, one)
		after := d.bill()
		if after < before {
			cheaper++
		}
		switch {
		case after < floor:
			t.Errorf("seed %d: %d is paid in the end, of %d, and %d is the least", seed, after, before, floor)
		case after > best:
			above++
			t.Logf("seed %d: %d is paid in the end, of %d, where %d would do", seed, after, before, best)
		}
	}
	t.Logf("of %d clusters %d become cheaper, and %d do not become as cheap as can be", cases, cheaper, above)
	// How many there were when this was written: of 20,000 clusters 16,208 and 29, of 1,000 3. Nearly all have pods
	// that are spread over zones, are all in one zone to begin with, and get a second new node in that zone where the
	// first one would hold both.
	if above > max(3, cases*2/1000) {
		t.Error("plans were better before")
	}
}
