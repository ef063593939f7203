package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

func device(name string, attributes model.Labels, selectors ...string) model.NodeDevice {
	slices.Sort(selectors)
	return model.NodeDevice{
		DeviceRef: model.DeviceRef{Driver: "gpu.example.com", Pool: "p", Name: name}, Selectors: selectors, Attributes: attributes,
	}
}

func gpus(n int) []model.NodeDevice {
	var out []model.NodeDevice
	for i := range n {
		out = append(out, device(fmt.Sprintf("gpu-%d", i), nil, "gpu"))
	}
	return out
}

// request asks for so many devices, in the order of some alternatives "2*gpu".
func request(name string, options ...string) model.DeviceRequest {
	out := model.DeviceRequest{Name: name}
	for _, text := range options {
		o := model.DeviceOption{Count: 1, Selector: text, DeviceClass: text}
		if n, selector, ok := strings.Cut(text, "*"); ok {
			o.Count, o.Selector, o.DeviceClass = int32(n[0]-'0'), selector, selector
		}
		if len(options) > 1 {
			o.Name = o.Selector
		}
		out.Options = append(out.Options, o)
	}
	return out
}

func claims(claims ...model.DeviceClaim) func(*model.PodClass) {
	return func(c *model.PodClass) { c.DeviceClaims = claims }
}

// own is a claim of the pod's own.
func own(requests ...model.DeviceRequest) model.DeviceClaim {
	return model.DeviceClaim{Requests: requests}
}

// newDeviceWorld has m5.large and m5.xlarge, of which new nodes have one and two GPUs.
func newDeviceWorld() *world {
	w := newWorld()
	w.pool().Devices = []model.DeviceTemplate{
		{InstanceTypes: []model.TypeName{"m5.large"}, Devices: gpus(1)},
		{InstanceTypes: []model.TypeName{"m5.xlarge"}, Devices: gpus(2)},
	}
	return w
}

// equipped adds a settled node with devices.
func (w *world) equipped(name, instance string, devices []model.NodeDevice) *model.Node {
	n := w.node(name, instance, "", 0)
	n.CreateTime = now().Add(-2 * time.Hour)
	n.Labels = append(n.Labels, model.Label{Key: "karpenter.k8s.aws/ec2nodeclass", Value: "default"})
	slices.SortFunc(n.Labels, func(a, b model.Label) int { return strings.Compare(a.Key, b.Key) })
	n.Devices = devices
	return n
}

// running adds a pod on a node that holds devices.
func (w *world) running(class, node string, held ...model.NodeDevice) {
	p := model.Pod{ID: w.podID(class), Class: model.ClassID(class), Node: model.NodeName(node), Phase: model.PodRunning, Ready: true}
	for _, d := range held {
		p.Devices = append(p.Devices, d.DeviceRef)
	}
	w.Snapshot.Pods = append(w.Snapshot.Pods, p)
}

func places(p model.Plan) []string {
	out := types(p)
	for _, pl := range p.Placements {
		if pl.Node != "" {
			out = append(out, fmt.Sprintf("%s on %s", pl.Pod, pl.Node))
		}
	}
	for _, x := range p.Pending {
		out = append(out, fmt.Sprintf("%s pending: %s", x.Pod, codeName(x.Reason.Code)))
	}
	return out
}

func TestPodsThatClaimDevicesArePlannedFor(t *testing.T) {
	same := []model.DeviceConstraint{{Attribute: "numa"}}
	numa := func(n string) model.Labels { return model.Labels{{Key: "numa", Value: n}} }
	shared := func(name string) model.DeviceClaim {
		return model.DeviceClaim{Name: "shop/" + name, Requests: []model.DeviceRequest{request("r", "gpu")}}
	}
	for name, test := range map[string]struct {
		build func(*world)
		want  []string
	}{
		"the type that has the device is bought, and none that is cheaper": {
			func(w *world) { w.class("a", 100, gib, claims(own(request("r", "gpu")))); w.pending("a", 1) },
			[]string{"m5.large×1"},
		},
		"two pods share a node of two devices, a third gets another node": {
			func(w *world) {
				w.pool().Devices = []model.DeviceTemplate{{InstanceTypes: []model.TypeName{"m5.xlarge"}, Devices: gpus(2)}}
				w.class("a", 100, gib, claims(own(request("r", "gpu"))))
				w.pending("a", 3)
			},
			[]string{"m5.xlarge×1", "m5.xlarge×2"},
		},
		"devices that are free on a node are used before any is bought": {
			func(w *world) {
				w.equipped("n1", "m5.large", gpus(2))
				w.class("a", 100, gib, claims(own(request("r", "gpu"))))
				w.running("a", "n1", gpus(1)...)
				w.pending("a", 2)
			},
			[]string{"m5.large×1", "shop/a-001 on n1"},
		},
		"a node that is new has what its template says until it has published": {
			func(w *world) {
				w.equipped("n1", "m5.large", nil).CreateTime = now().Add(-time.Minute)
				w.class("a", 100, gib, claims(own(request("r", "gpu"))))
				w.pending("a", 1)
			},
			[]string{"shop/a-000 on n1"},
		},
		"a node that is new and has published counts what it has once": {
			func(w *world) {
				w.equipped("n1", "m5.large", gpus(1)).CreateTime = now().Add(-time.Minute)
				w.class("a", 100, gib, claims(own(request("r", "gpu"))))
				w.running("a", "n1", gpus(1)...)
				w.pending("a", 1)
			},
			[]string{"m5.large×1"},
		},
		"new nodes have what nodes of their type have, whatever the pool says": {
			func(w *world) {
				w.equipped("n1", "m5.large", []model.NodeDevice{device("a", nil, "nic")})
				w.class("a", 100, gib, claims(own(request("r", "gpu"))))
				w.pending("a", 1)
			},
			[]string{"m5.xlarge×1"},
		},
		"a driver that has published nothing at all is not tried on another type": {
			func(w *world) {
				w.equipped("n1", "m5.large", nil)
				w.class("a", 100, gib, claims(own(request("r", "gpu"))))
				w.pending("a", 1)
			},
			[]string{"shop/a-000 pending: NODE_LACKS"},
		},
		"requests of one attribute get devices of one value": {
			func(w *world) {
				w.pool().Devices = []model.DeviceTemplate{
					{InstanceTypes: []model.TypeName{"m5.large"}, Devices: []model.NodeDevice{
						device("a", numa("0"), "gpu"), device("b", numa("1"), "nic"),
					}},
					{InstanceTypes: []model.TypeName{"m5.xlarge"}, Devices: []model.NodeDevice{
						device("a", numa("0"), "gpu"), device("b", numa("1"), "gpu"), device("c", numa("1"), "nic"),
					}},
				}
				claim := own(request("g", "gpu"), request("n", "nic"))
				claim.Constraints = same
				w.class("a", 100, gib, claims(claim))
				w.pending("a", 1)
			},
			[]string{"m5.xlarge×1"},
		},
		"where no devices have the attribute in common the pod is pending": {
			func(w *world) {
				w.pool().Devices = []model.DeviceTemplate{{Devices: []model.NodeDevice{
					device("a", numa("0"), "gpu"), device("b", numa("1"), "nic"),
				}}}
				claim := own(request("g", "gpu"), request("n", "nic"))
				claim.Constraints = same
				w.class("a", 100, gib, claims(claim))
				w.pending("a", 1)
			},
			[]string{"shop/a-000 pending: DEVICES"},
		},
		"the next alternative does where the first is not available": {
			func(w *world) { w.class("a", 100, gib, claims(own(request("r", "tpu", "2*gpu")))); w.pending("a", 1) },
			[]string{"m5.xlarge×1"},
		},
		"pods that share a claim go to one node, and take its devices once": {
			func(w *world) { w.class("a", 100, gib, claims(shared("c"))); w.pending("a", 3) },
			[]string{"m5.large×3"},
		},
		"pods that share a claim go where it is allocated": {
			func(w *world) {
				w.equipped("n1", "m5.large", gpus(1))
				w.equipped("n2", "m5.large", gpus(1))
				c := shared("c")
				c.Allocated, c.Node = true, "n2"
				w.class("a", 100, gib, claims(c))
				w.running("a", "n2", gpus(1)...)
				w.pending("a", 1)
			},
			[]string{"shop/a-001 on n2"},
		},
		"a claim that is allocated on a full node keeps its pod pending": {
			func(w *world) {
				w.equipped("n2", "m5.large", gpus(1))
				c := shared("c")
				c.Allocated, c.Node = true, "n2"
				w.class("a", 1500, gib, claims(c))
				w.running("a", "n2", gpus(1)...)
				w.pending("a", 1)
			},
			[]string{"shop/a-001 pending: DEVICES"},
		},
		"a claim on a node that goes with all its pods is allocated anew": {
			func(w *world) {
				w.equipped("n2", "m5.large", gpus(1)).Terminating = true
				c := shared("c")
				c.Allocated, c.Node = true, "n2"
				w.class("a", 1500, gib, claims(c))
				w.running("a", "n2", gpus(1)...)
			},
			[]string{"m5.large×1"},
		},
		"a claim whose devices can be reached from one zone binds the zone": {
			func(w *world) {
				w.offer("m5.large", "us-east-1b", model.OnDemand, 96000)
				c := shared("c")
				c.Allocated = true
				c.Terms = []model.NodeAffinityTerm{{Requirements: []model.Requirement{
					{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: []string{"us-east-1b"}},
				}}}
				w.class("a", 100, gib, claims(c))
				w.pending("a", 1)
			},
			[]string{"m5.large×1"},
		},
		"claims in two zones keep a pod pending": {
			func(w *world) {
				var both []model.DeviceClaim
				for _, zone := range []string{"us-east-1a", "us-east-1b"} {
					c := shared(zone)
					c.Allocated = true
					c.Terms = []model.NodeAffinityTerm{{Requirements: []model.Requirement{
						{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: []string{zone}},
					}}}
					both = append(both, c)
				}
				w.class("a", 100, gib, claims(both...))
				w.pending("a", 1)
			},
			[]string{"shop/a-000 pending: DEVICES"},
		},
		"no node is bought for devices that nothing has": {
			func(w *world) { w.class("a", 100, gib, claims(own(request("r", "tpu")))); w.pending("a", 1) },
			[]string{"shop/a-000 pending: DEVICES"},
		},
		"a device that is taken in the plan's order leaves the others": {
			func(w *world) {
				w.pool().Devices = []model.DeviceTemplate{{InstanceTypes: []model.TypeName{"m5.xlarge"}, Devices: []model.NodeDevice{
					device("small", nil, "any"), device("large", nil, "any", "large"),
				}}}
				w.class("a", 100, gib, claims(own(request("r", "any"))))
				w.class("b", 100, gib, claims(own(request("r", "large"))))
				w.pending("a", 1)
				w.pending("b", 1)
			},
			[]string{"m5.xlarge×2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newDeviceWorld()
			w.Kinds = []model.DecisionKind{model.KindProvision}
			test.build(w)
			p := w.decide(t)
			if got := places(p); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestARefusalNamesTheDevicesThatAreMissing(t *testing.T) {
	w := newDeviceWorld()
	w.class("a", 100, gib, claims(own(request("r", "3*gpu"))))
	w.pending("a", 1)
	p := w.decide(t)
	const want = "request r wants 3 devices of class gpu"
	if len(p.Pending) != 1 || !strings.Contains(p.Pending[0].Reason.Message, want) {
		t.Errorf("got %+v, want a reason with %q", p.Pending, want)
	}
}

func TestANodeStaysWhereItsDevicesAreNeeded(t *testing.T) {
	w := newDeviceWorld()
	w.equipped("n1", "m5.large", gpus(1))
	w.equipped("n2", "m5.large", gpus(1))
	w.class("a", 100, gib, claims(own(request("r", "gpu"))))
	w.running("a", "n1", gpus(1)...)
	w.running("a", "n2", gpus(1)...)
	p := w.decide(t)
	for _, d := range p.Disruptions {
		for _, pl := range d.Destinations {
			if pl.Node != "" {
				t.Errorf("pod %s is sent to %s, whose device is taken", pl.Pod, pl.Node)
			}
		}
	}
}

func TestPlansWithDevicesKeepTheRulesWhateverPodsClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newDeviceWorld()
		if rapid.Bool().Draw(t, "provision only") {
			w.Kinds = []model.DecisionKind{model.KindProvision}
		}
		var templates []model.DeviceTemplate
		for _, typ := range []model.TypeName{"m5.large", "m5.xlarge", "r5.large"} {
			templates = append(templates, model.DeviceTemplate{InstanceTypes: []model.TypeName{typ}, Devices: drawDevices(t)})
		}
		w.pool().Devices = templates
		for i := range rapid.IntRange(1, 4).Draw(t, "classes") {
			id := string(rune('a' + i))
			w.class(id, rapid.SampledFrom([]int64{100, 500, 1000}).Draw(t, "cpu"), gib/4, func(c *model.PodClass) {
				for range rapid.IntRange(0, 2).Draw(t, "claims") {
					claim := drawClaim(t)
					known := func(d model.DeviceClaim) bool { return d.Name != "" && d.Name == claim.Name }
					if !slices.ContainsFunc(c.DeviceClaims, known) {
						c.DeviceClaims = append(c.DeviceClaims, claim)
					}
				}
				if rapid.IntRange(0, 5).Draw(t, "apart") == 0 {
					c.PodAntiAffinity = []model.PodAffinityTerm{{
						TopologyKey: "kubernetes.io/hostname", Namespaces: []string{c.Namespace},
						Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{id}}}},
					}}
				}
			})
		}
		if rapid.IntRange(0, 3).Draw(t, "daemon") == 0 {
			w.class("daemon", 50, gib/16, func(c *model.PodClass) {
				c.Daemon, c.OwnerKind = true, "DaemonSet"
				c.DeviceClaims = []model.DeviceClaim{own(request("r", "nic"))}
			})
			w.Snapshot.DaemonSets = []model.DaemonSet{{ID: "shop/daemon", Class: "daemon"}}
		}
		if rapid.IntRange(0, 3).Draw(t, "flexible") == 0 {
			w.pool().Requirements = append(w.pool().Requirements, model.Requirement{
				Key: "node.kubernetes.io/instance-type", Operator: model.Exists, MinValues: 2,
			})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
			n := w.equipped(fmt.Sprintf("n%d", i), rapid.SampledFrom([]string{"m5.large", "m5.xlarge"}).Draw(t, "type"), drawDevices(t))
			if rapid.IntRange(0, 4).Draw(t, "goes") == 0 {
				n.Terminating = true
			}
			for _, d := range n.Devices {
				if rapid.Bool().Draw(t, "held") {
					w.running("a", string(n.Name), d)
				}
			}
		}
		for i := range w.Snapshot.PodClasses {
			if w.Snapshot.PodClasses[i].Daemon {
				continue
			}
			w.pending(string(w.Snapshot.PodClasses[i].ID), rapid.IntRange(0, 4).Draw(t, "pods"))
		}
		p := w.plan(t)
		before := len(p.NodeClaims)
		for i := range p.NodeClaims {
			w.Snapshot.Claims = append(w.Snapshot.Claims, inFlight(&p.NodeClaims[i]))
		}
		w.Kinds = []model.DecisionKind{model.KindProvision}
		again, err := plan.Decide(w.Input)
		if err != nil {
			t.Fatal(err)
		}
		if vs := verify.Plan(w.Input, again); len(vs) > 0 {
			t.Fatalf("the plan after %d claims breaks rules: %s", before, verify.Join(vs))
		}
		for _, c := range again.NodeClaims {
			if c.Disruption == "" && len(p.Disruptions) == 0 {
				for _, x := range w.Snapshot.PodClasses {
					t.Logf("class %s %+v", x.ID, x.DeviceClaims)
				}
				t.Logf("templates %+v", w.pool().Devices)
				for _, x := range p.NodeClaims {
					t.Logf("claim %v %v %v", x.ID, x.Pods, x.Offerings)
				}
				t.Logf("placements %+v", p.Placements)
				t.Fatalf("after an accepted plan %v is bought for %v", types(again), c.Pods)
			}
		}
	})
}

func inFlight(c *model.NodeClaim) model.Claim {
	return model.Claim{
		ID: c.ID, NodePool: c.NodePool, NodeClass: c.NodeClass, State: model.ClaimPlanned, Requirements: c.Requirements,
		Offerings: c.Offerings, Pods: c.Pods, Requests: c.Requests, Price: c.Price, CreateTime: now(),
		Labels: model.Labels{{Key: "type", Value: "karpenter"}},
	}
}

func drawDevices(t *rapid.T) []model.NodeDevice {
	var out []model.NodeDevice
	for i := range rapid.IntRange(0, 4).Draw(t, "devices") {
		var selectors []string
		for _, s := range []string{"gpu", "nic", "any"} {
			if rapid.Bool().Draw(t, s) {
				selectors = append(selectors, s)
			}
		}
		numa := model.Labels{{Key: "numa", Value: rapid.SampledFrom([]string{"0", "1"}).Draw(t, "numa")}}
		out = append(out, device(fmt.Sprintf("d-%d", i), numa, selectors...))
	}
	return out
}

func drawClaim(t *rapid.T) model.DeviceClaim {
	selector := rapid.SampledFrom([]string{"gpu", "nic", "any", "2*any", "2*gpu"})
	var out model.DeviceClaim
	for i := range rapid.IntRange(1, 2).Draw(t, "requests") {
		options := []string{selector.Draw(t, "selector")}
		if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
			options = append(options, selector.Draw(t, "alternative"))
		}
		out.Requests = append(out.Requests, request(fmt.Sprintf("r%d", i), options...))
		if rapid.IntRange(0, 6).Draw(t, "all") == 0 {
			out.Requests[i].Options[0].Count = 0
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "same") == 0 {
		out.Constraints = []model.DeviceConstraint{{Attribute: "numa"}}
	}
	if rapid.IntRange(0, 3).Draw(t, "shared") == 0 {
		out.Name = rapid.SampledFrom([]string{"shop/x", "shop/y"}).Draw(t, "name")
		out.Requests, out.Constraints = []model.DeviceRequest{request("r", "any")}, nil
	}
	return out
}

func codeName(c model.Code) string {
	if name, ok := map[model.Code]string{model.CodeDevices: "DEVICES", model.CodeNodeLacks: "NODE_LACKS"}[c]; ok {
		return name
	}
	return fmt.Sprint(int(c))
}
