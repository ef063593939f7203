package topology_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

func TestATallyAgreesWithCountingAnew(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw{rt}
		w, n, offers := d.cluster()
		v := view.NewView(w)
		tally := topology.NewTally(podrules.New(w), v, nil)
		for _, p := range offers {
			tally.Offer(p)
		}
		type place struct {
			site *topology.Site
			node int
		}
		var sites []place
		for i := range v.Hosts {
			sites = append(sites, place{tally.Host(i), i})
		}
		compare := func(step string) {
			for _, c := range w.Classes {
				for _, s := range sites {
					for _, built := range []bool{false, true} {
						got, want := tally.Allows(c, s.site), n.allows(c, s.node, built)
						if built {
							got = tally.AllowsReal(c, s.site, podrules.AnyKey)
						}
						if got != want {
							rt.Fatalf("after %s: class %s on %v (built %v): %v, the naive says %v; %s",
								step, c.ID, n.nodes[s.node].labels, built, got, want, tally.Why(c, s.site).Message)
						}
						if why := tally.Why(c, s.site); !built && why.OK() != got {
							rt.Fatalf("Why says something else than Allows: %+v", why)
						}
					}
				}
			}
		}
		compare("the start")
		type fork struct {
			mark  topology.Mark
			naive *naive
			sites int
		}
		var forks []fork
		for i := range d.n("steps", 0, 12) {
			step := d.of("step", "add", "add", "add", "remove", "claim", "fork", "revert", "narrow")
			switch {
			case step == "add" && len(sites) > 0:
				s, c, k := sites[d.n("site", 0, len(sites)-1)], w.Classes[d.n("class", 0, len(w.Classes)-1)], d.n("count", 1, 3)
				tally.Add(c, s.site, k)
				for range k {
					n.nodes[s.node].pods = append(n.nodes[s.node].pods, naivePod{class: c})
				}
			case step == "remove" && len(sites) > 0:
				s := sites[d.n("site", 0, len(sites)-1)]
				for j, p := range n.nodes[s.node].pods {
					if !p.ending && !p.daemon {
						tally.Add(p.class, s.site, -1)
						n.nodes[s.node].pods = slices.Delete(slices.Clone(n.nodes[s.node].pods), j, j+1)
						break
					}
				}
			case step == "claim":
				p := &fit.Place{Labels: d.labels(), Taints: d.taints()}
				probe := tally.Probe(nil, p)
				var want []bool
				for _, c := range w.Classes {
					want = append(want, tally.Allows(c, probe), tally.AllowsReal(c, probe, podrules.AnyKey))
				}
				sites = append(sites, place{tally.Claim(nil, p), len(n.nodes)})
				for k, c := range w.Classes {
					claim := sites[len(sites)-1].site
					if tally.Allows(c, claim) != want[2*k] || tally.AllowsReal(c, claim, podrules.AnyKey) != want[2*k+1] {
						rt.Fatalf("class %s: the probe says %v and %v, and the claim something else", c.ID, want[2*k], want[2*k+1])
					}
				}
				n.nodes = append(n.nodes, d.node(p.Labels, p.Taints, fmt.Sprintf("claim%d", i), true))
				n.startDaemons(len(n.nodes) - 1)
			case step == "narrow" && len(sites) > len(v.Hosts):
				s := sites[len(sites)-1]
				p := &fit.Place{Labels: d.labels(), Taints: d.taints()}
				tally.Narrow(s.site, nil, p)
				pods := slices.DeleteFunc(slices.Clone(n.nodes[s.node].pods), func(p naivePod) bool { return p.daemon })
				n.nodes[s.node] = d.node(p.Labels, p.Taints, n.nodes[s.node].labels[labels.Hostname], true)
				n.nodes[s.node].pods = pods
				n.startDaemons(s.node)
			case step == "fork":
				forks = append(forks, fork{tally.Mark(), n.clone(), len(sites)})
			case step == "revert" && len(forks) > 0:
				f := forks[len(forks)-1]
				forks = forks[:len(forks)-1]
				tally.Revert(f.mark)
				n, sites = f.naive, sites[:f.sites]
			}
			compare(step)
		}
	})
}

// What a tally allows while it is open what some nodes will be, holds whatever they become.
func TestWhatIsAllowedHoldsWhateverIsDecidedLater(t *testing.T) {
	allowed, open := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		d := draw{rt}
		w, n, offers := d.cluster()
		v := view.NewView(w)
		tally := topology.NewTally(podrules.New(w), v, nil)
		for _, p := range offers {
			tally.Offer(p)
		}
		var sites []*topology.Site
		var nodes []int
		for i := range v.Hosts {
			sites, nodes = append(sites, tally.Host(i)), append(nodes, i)
		}
		type claim struct {
			node   int
			places []*fit.Place
		}
		var claims []claim
		for i := range d.n("claims", 1, 2) {
			c := claim{node: len(n.nodes)}
			taints := d.taints()
			for range d.n("places", 1, 2) {
				p := &fit.Place{Labels: d.labels(), Taints: taints}
				if d.chance("open label") {
					p.Labels = slices.DeleteFunc(p.Labels, func(l model.Label) bool { return l.Key == "rack" })
					p.Open = require.NewSet(model.Requirement{Key: "rack", Operator: model.In, Values: []string{"1", "2"}})
				}
				c.places = append(c.places, p)
			}
			sites, nodes = append(sites, tally.Claim(nil, c.places...)), append(nodes, c.node)
			n.nodes = append(n.nodes, d.node(nil, taints, fmt.Sprintf("claim%d", i), true))
			claims = append(claims, c)
		}
		for range d.n("adds", 0, 6) {
			s, c := d.n("site", 0, len(sites)-1), w.Classes[d.n("class", 0, len(w.Classes)-1)]
			tally.Add(c, sites[s], 1)
			n.nodes[nodes[s]].pods = append(n.nodes[nodes[s]].pods, naivePod{class: c})
		}
		var decide func(i int, then func())
		decide = func(i int, then func()) {
			if i == len(claims) {
				then()
				return
			}
			for _, p := range claims[i].places {
				racks := []string{""}
				if len(p.Open) > 0 {
					racks = []string{"1", "2"}
				}
				for _, rack := range racks {
					own := n.nodes[claims[i].node].labels
					name := own[labels.Hostname]
					clear(own)
					own[labels.Hostname] = name
					for _, l := range p.Labels {
						own[l.Key] = l.Value
					}
					if rack != "" {
						own["rack"] = rack
					}
					at := claims[i].node
					n.nodes[at].pods = slices.DeleteFunc(slices.Clone(n.nodes[at].pods), func(p naivePod) bool { return p.daemon })
					n.startDaemons(at)
					decide(i+1, then)
				}
			}
		}
		for _, c := range w.Classes {
			for s, site := range sites {
				ok, built := tally.Allows(c, site), tally.AllowsReal(c, site, podrules.AnyKey)
				if ok && !built {
					rt.Fatalf("class %s: Allows holds and AllowsReal does not", c.ID)
				}
				switch {
				case built || tally.AllowsEither(c, site, podrules.AnyKey) || topology.AllowsInEach(tally, c, site, podrules.AnyKey, topology.Open(tally, c, sites[len(v.Hosts):])):
					allowed++
				default:
					open++
					continue
				}
				decide(0, func() {
					if !n.allows(c, nodes[s], true) {
						rt.Fatalf("class %s on site %d was allowed, and is not once all is decided: %v", c.ID, s, n.nodes)
					}
				})
			}
		}
	})
	if allowed == 0 || open == 0 {
		t.Errorf("%d were allowed, %d refused: the test says nothing", allowed, open)
	}
}

// A node that obeys the node rules can be filled in any order.
func TestANodeThatObeysTheNodeRulesFillsInAnyOrder(t *testing.T) {
	filled := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := draw{rt}
		w, _, _ := d.cluster()
		w.Daemons = nil // what they leave of a node is asked of its site
		for _, c := range w.Classes {
			c.PodAffinity = nil // needs partners, whatever the node rules say
			c.NodeSelector = nil
			for _, terms := range [][]model.PodAffinityTerm{c.PodAntiAffinity} {
				for i := range terms {
					terms[i].TopologyKey = labels.Hostname
				}
			}
			for i := range c.TopologySpread {
				c.TopologySpread[i].TopologyKey = labels.Hostname
			}
		}
		rules := podrules.New(w)
		bin := make([]int, len(w.Classes))
		for i := range bin {
			bin[i] = d.n("pods", 0, 2)
		}
		for _, r := range rules.NodeRules(w.Classes) {
			on, counted := 0, 0
			for _, i := range r.Trigger {
				on += bin[i]
			}
			for _, i := range r.Counted {
				counted += bin[i]
			}
			if on > 0 && counted > r.Most {
				return
			}
		}
		place := &fit.Place{Labels: model.Labels{{Key: labels.Zone, Value: "za"}}}
		tally := topology.NewTally(rules, view.NewView(w), nil)
		tally.Offer(place)
		site := tally.Claim(nil, place)
		var pods []int
		for i, k := range bin {
			for range k {
				pods = append(pods, i)
			}
		}
		if len(pods) > 0 {
			filled++
			pods = rapid.Permutation(pods).Draw(rt, "order")
		}
		for _, i := range pods {
			if why := tally.Why(w.Classes[i], site); !why.OK() {
				rt.Fatalf("class %d of %v: %s", i, pods, why.Message)
			}
			tally.Add(w.Classes[i], site, 1)
		}
	})
	if filled == 0 {
		t.Error("no node was filled: the test says nothing")
	}
}
