package topology_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
)

func TestCellsCountForZonesAndNotForHosts(t *testing.T) {
	w := newWorld()
	w.s.Nodes = nil
	w.class("web", func(c *model.PodClass) {
		s := spread(zone, 1, app("web"))
		s.MinDomains = 2
		c.TopologySpread = []model.TopologySpread{s, spread(host, 1, app("web"))}
	})
	w.offer("a")
	w.offer("b")
	b := w.build(t)
	web := b.class("web")
	pin := func(z string) model.Labels { return model.Labels{{Key: zone, Value: z}} }
	segmentA, segmentB := b.tally.Segment(pin("a"), w.offers...), b.tally.Segment(pin("b"), w.offers...)
	either := b.tally.Segment(nil, w.offers...)
	ask := func() string {
		return fmt.Sprint(b.tally.Allows(web, segmentA), b.tally.Allows(web, segmentB), b.tally.Allows(web, either))
	}
	var got []string
	got = append(got, ask())
	b.tally.Add(web, segmentA, 1)
	got = append(got, ask())
	b.tally.Add(web, segmentB, 1)
	got = append(got, ask()) // both domains are opened, so minDomains holds
	mark := b.tally.Mark()
	b.tally.Add(web, segmentB, 1)
	got = append(got, ask())
	b.tally.Revert(mark)
	got = append(got, ask())
	want := []string{"true true false", "false true false", "true true false", "true false false", "true true false"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("a, b, and a segment whose zone is open, step by step (-want +got):\n%s", diff)
	}
}

func TestAClaimIsAHostOfItsOwn(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("web"))} })
	w.offer("a")
	b := w.build(t)
	web := b.class("web")
	one, two := b.tally.Claim(nil, w.offers[0]), b.tally.Claim(nil, w.offers[0])
	b.tally.Add(web, one, 1)
	if b.tally.Allows(web, one) || !b.tally.Allows(web, two) {
		t.Error("anti-affinity on the hostname goes by claims")
	}
	if n := b.tally.Capacity(web, two, 5); n != 1 {
		t.Errorf("capacity for %d, want 1", n)
	}
}

func TestANewNodeHasAHostnameWhateverIsLikeItOtherwise(t *testing.T) {
	tests := map[string]func(w *world, b built) *topology.Site{
		"a claim": func(w *world, b built) *topology.Site { return b.tally.Claim(nil, w.offers[0]) },
		"a claim after a segment of which nothing is sold": func(w *world, b built) *topology.Site {
			b.tally.Segment(w.offers[0].Labels)
			return b.tally.Claim(nil, w.offers[0])
		},
		"a segment of which nothing is sold": func(w *world, b built) *topology.Site { return b.tally.Segment(w.offers[0].Labels) },
	}
	for name, in := range tests {
		for _, likeNode := range []bool{false, true} {
			w := newWorld()
			w.s.Nodes = w.s.Nodes[2:3] // in zone b
			if likeNode {
				w.s.Nodes = append(w.s.Nodes, model.Node{Name: "nameless", Labels: model.Labels{{Key: zone, Value: "a"}}})
			}
			w.class("web", func(c *model.PodClass) {
				c.NodeAffinity = []model.NodeAffinityTerm{{Requirements: []model.Requirement{{Key: host, Operator: model.Exists}}}}
				c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("web"))}
			})
			b := w.build(t)
			w.offers = []*fit.Place{{Labels: model.Labels{{Key: zone, Value: "a"}}, Fresh: true}}
			web, site := b.class("web"), in(w, b)
			b.tally.Add(web, site, 1)
			if b.tally.Allows(web, site) {
				t.Errorf("%s, beside a node without a name: %v: a second pod may be in zone a, as if the first did not count there", name, likeNode)
			}
		}
	}
}

func TestANarrowedClaimTakesItsPodsAlong(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
	w.offer("a")
	w.offer("b")
	b := w.build(t)
	web := b.class("web")
	claim := b.tally.Claim(nil, w.offers...)
	b.tally.Add(web, claim, 1)
	before := b.open("web")
	mark := b.tally.Mark()
	b.tally.Narrow(claim, nil, w.offers[1])
	narrowed := b.open("web")
	b.tally.Revert(mark)
	if diff := gocmp.Diff([]string{"n4", "n1 n2 n4", "n4"}, []string{before, narrowed, b.open("web")}); diff != "" {
		t.Errorf("while zone a or b, once b, and back (-want +got):\n%s", diff)
	}
}

func TestAFrozenGroupIsOpenedByNoClaim(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("web"))} })
	w.bound("web", "n1", 1)
	w.bound("web", "n3", 1)
	w.offer("b")
	w.offer("c")
	b := w.build(t)
	web := b.class("web")
	if b.tally.Allows(web, b.tally.Host(0)) || !b.tally.AllowsReal(web, b.tally.Host(0), podrules.AnyKey) {
		t.Fatal("zone c, which could be bought, stands in the way of Allows, and not of AllowsReal")
	}
	mark := b.tally.Mark()
	b.tally.Add(web, b.tally.Host(0), 1)
	b.tally.Freeze(web, b.tally.Host(0), true)
	got := []bool{
		b.tally.Opens(b.tally.Claim(nil, w.offers[0])), b.tally.Opens(b.tally.Claim(nil, w.offers[1])), b.tally.Opens(b.tally.Claim(nil, w.offers...)),
	}
	b.tally.Revert(mark)
	got = append(got, b.tally.Opens(b.tally.Claim(nil, w.offers[1])))
	if diff := gocmp.Diff([]bool{false, true, false, false}, got); diff != "" {
		t.Errorf("b, c, b or c after c, and c once reverted open a frozen domain (-want +got):\n%s", diff)
	}
}

func TestWhatIsFrozenOfAnOpenSiteHoldsInEachOfItsDomains(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("web"))} })
	for _, zone := range []string{"x", "y", "z"} {
		w.offer(zone)
	}
	b := w.build(t)
	web := b.class("web")
	other, site := b.tally.Claim(nil, w.offers[0], w.offers[1]), b.tally.Claim(nil, w.offers[0], w.offers[2])
	b.tally.Add(web, other, 1)
	b.tally.Add(web, site, 1)
	b.tally.Freeze(web, site, true)
	got := make([]bool, len(w.offers))
	for i, at := range w.offers {
		got[i] = b.tally.Opens(b.tally.Probe(nil, at))
	}
	if diff := gocmp.Diff([]bool{false, true, true}, got); diff != "" {
		t.Errorf("in x, where both pods may be, in y, and in z a node opens a frozen domain (-want +got):\n%s", diff)
	}
}

func TestDaemonSetsAreOnNewNodesFirst(t *testing.T) {
	daemon := func(c *model.PodClass) {
		c.Daemon, c.OwnerKind = true, "DaemonSet"
		c.NodeSelector = model.Labels{{Key: zone, Value: "a"}}
	}
	tests := map[string]struct {
		build func(*world)
		// want is for a probe and a claim in zone a, in zone b, and in either.
		want string
	}{
		"a pod that keeps away from them gets no node where they may run": {func(w *world) {
			w.class("agent", daemon)
			w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("agent"))} })
		}, "false false, true true, false false"},
		"nor does a pod that they keep away": {func(w *world) {
			w.class("agent", func(c *model.PodClass) {
				daemon(c)
				c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("web"))}
			})
			w.class("web", nil)
		}, "false false, true true, false false"},
		"they count for spread": {func(w *world) {
			w.class("agent", daemon)
			w.class("web", func(c *model.PodClass) {
				c.TopologySpread = []model.TopologySpread{spread(host, 1, app("web", "agent"))}
			})
		}, "false false, true true, false false"},
		"they are partners where they surely run": {func(w *world) {
			w.class("agent", daemon)
			w.class("web", func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{near(host, app("agent"))} })
		}, "true true, false false, false false"},
		"where they may be a pod joins them or is the first": {func(w *world) {
			w.class("agent", daemon)
			w.class("web", func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{near(host, app("web", "agent"))} })
		}, "true true, true true, true true"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.s.Nodes = nil
			tt.build(w)
			w.s.DaemonSets = []model.DaemonSet{{ID: "ns/agent", Class: "agent"}}
			w.s.Pods = slices.DeleteFunc(w.s.Pods, func(p model.Pod) bool { return p.Class == "agent" })
			w.offer("a")
			w.offer("b")
			b := w.build(t)
			web := b.class("web")
			ask := func(places ...*fit.Place) string {
				mark := b.tally.Mark()
				defer b.tally.Revert(mark)
				return fmt.Sprint(b.tally.Allows(web, b.tally.Probe(nil, places...)), b.tally.Allows(web, b.tally.Claim(nil, places...)))
			}
			got := strings.Join([]string{ask(w.offers[0]), ask(w.offers[1]), ask(w.offers...)}, ", ")
			if got != tt.want {
				t.Errorf("in zone a, in b, and in either: %s, want %s", got, tt.want)
			}
			if keys := b.rules.Keys(web); !slices.Equal(keys, []string{zone}) {
				t.Errorf("%v matter, want the zone, which says where the DaemonSet runs", keys)
			}
		})
	}
}

// Zone c is there only if a claim turns out to be in it, and then has the DaemonSet's pod.
func TestADomainThatAClaimMayOpenHasItsDaemonSetsPods(t *testing.T) {
	w := newWorld()
	w.class("agent", func(c *model.PodClass) {
		c.Daemon, c.OwnerKind = true, "DaemonSet"
		c.NodeSelector = model.Labels{{Key: zone, Value: "c"}}
	})
	w.s.DaemonSets = []model.DaemonSet{{ID: "ns/agent", Class: "agent"}}
	w.s.Pods = nil
	w.class("web", func(c *model.PodClass) {
		c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("web", "agent"))}
	})
	w.bound("web", "n1", 1)
	w.bound("web", "n3", 1)
	w.offer("b")
	w.offer("c")
	b := w.build(t)
	for range 4 {
		b.tally.Claim(nil, w.offers...)
	}
	if got := b.open("web"); got != "n1 n2 n3" {
		t.Errorf("open are %q, want n1 n2 n3", got)
	}
	mark := b.tally.Mark()
	b.tally.Add(b.class("web"), b.tally.Host(0), 1)
	if got := b.open("web"); got != "n3" {
		t.Errorf("with two in zone a, open are %q, want n3", got)
	}
	b.tally.Revert(mark)
	b.tally.Narrow(b.tally.Claim(nil, w.offers...), nil, w.offers[1])
	if got := b.open("web"); got != "n1 n2 n3" {
		t.Errorf("once one claim is in zone c, open are %q, want n1 n2 n3", got)
	}
}

func TestHostsInFlightHaveAHostnameOfTheirOwn(t *testing.T) {
	w := newWorld()
	w.s.Nodes = nil
	for _, id := range []model.ClaimID{"c1", "c2"} {
		w.s.Claims = append(w.s.Claims, model.Claim{ID: id, State: model.ClaimPlanned, Offerings: []model.RankedOffering{
			{InstanceType: "x", Zone: "us-east-1a", CapacityType: model.Spot},
		}})
	}
	w.class("web", func(c *model.PodClass) {
		c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("web"))}
		c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("web"))}
	})
	b := w.build(t)
	before := b.open("web")
	b.Place(0, b.class("web"), 1)
	if diff := gocmp.Diff([]string{"claim/c1 claim/c2", "claim/c2"}, []string{before, b.open("web")}); diff != "" {
		t.Errorf("before and after a pod was placed on c1 (-want +got):\n%s", diff)
	}
}
