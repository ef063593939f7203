package devices_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
)

// device is gpu-<n> of a driver, that matches selectors; "numa=x" among them is an attribute.
func device(n int, selectors ...string) model.NodeDevice {
	d := model.NodeDevice{DeviceRef: model.DeviceRef{Driver: "gpu", Pool: "n1", Name: fmt.Sprintf("gpu-%d", n)}}
	for _, s := range selectors {
		if v, ok := strings.CutPrefix(s, "numa="); ok {
			d.Attributes = model.Labels{{Key: "gpu/numa", Value: v}}
			continue
		}
		d.Selectors = append(d.Selectors, s)
	}
	return d
}

// option is "selector*count"; a count of 0 means all.
func option(name, selector string, count int32) model.DeviceOption {
	return model.DeviceOption{Name: name, DeviceClass: "class-" + selector, Selector: selector, Count: count}
}

func request(name string, options ...model.DeviceOption) model.DeviceRequest {
	return model.DeviceRequest{Name: name, Options: options}
}

func claim(requests ...model.DeviceRequest) model.DeviceClaim {
	return model.DeviceClaim{Requests: requests}
}

func one(selector string, count int32) []model.DeviceClaim {
	return []model.DeviceClaim{claim(request("r", option("", selector, count)))}
}

func TestCapacity(t *testing.T) {
	same := model.DeviceConstraint{Attribute: "gpu/numa"}
	four := []model.NodeDevice{device(0, "a", "numa=0"), device(1, "a", "numa=0"), device(2, "a", "numa=1"), device(3, "a", "numa=1")}
	failing := device(9)
	failing.FailingSelectors = []string{"a"}
	part := device(8, "a")
	part.Unsupported = "consumesCounters: not planned for"
	tainted := device(7, "a")
	tainted.Unavailable = true
	unclear := model.NodeDevice{DeviceRef: model.DeviceRef{Driver: "gpu", Pool: "n2"}, IncompletePool: true}
	tests := map[string]struct {
		devices []model.NodeDevice
		held    []model.DeviceRef
		claims  []model.DeviceClaim
		want    int
	}{
		"no claims find capacity everywhere":     {nil, nil, nil, 10},
		"no devices":                             {nil, nil, one("a", 1), 0},
		"one each":                               {four, nil, one("a", 1), 4},
		"two each, one is left":                  {append(four[:3:3], device(5, "b")), nil, one("a", 2), 1},
		"what others hold is not there":          {four, []model.DeviceRef{four[1].DeviceRef, four[2].DeviceRef}, one("a", 1), 2},
		"of another kind":                        {four, nil, one("b", 1), 0},
		"all of them, once":                      {four, nil, one("a", 0), 1},
		"all of them, and one is held":           {four, []model.DeviceRef{four[3].DeviceRef}, one("a", 0), 0},
		"all of none":                            {four, nil, one("b", 0), 0},
		"all of them, and one is tainted":        {append(four[:2:2], tainted), nil, one("a", 0), 0},
		"one each, and one is tainted":           {append(four[:2:2], tainted), nil, one("a", 1), 2},
		"a part of a device is not counted on":   {[]model.NodeDevice{part, device(1, "a")}, nil, one("a", 1), 1},
		"more than a claim may have":             {many(40, "a"), nil, one("a", 33), 0},
		"as many as a claim may have":            {many(40, "a"), nil, one("a", 32), 1},
		"a selector that can't be evaluated":     {append(four[:2:2], failing), nil, one("a", 1), 0},
		"all of them, and it is not known which": {append(four[:2:2], unclear), nil, one("a", 0), 0},
		"one each, of a pool that is whole":      {append(four[:2:2], unclear), nil, one("a", 1), 2},
		"pairs on one side": {
			four, nil, []model.DeviceClaim{{Requests: []model.DeviceRequest{request("r", option("", "a", 2))}, Constraints: []model.DeviceConstraint{same}}}, 2,
		},
		"three on one side": {
			four, nil, []model.DeviceClaim{{Requests: []model.DeviceRequest{request("r", option("", "a", 3))}, Constraints: []model.DeviceConstraint{same}}}, 0,
		},
		"pairs on one side, one of each is held": {
			four,
			[]model.DeviceRef{four[0].DeviceRef, four[2].DeviceRef},
			[]model.DeviceClaim{{Requests: []model.DeviceRequest{request("r", option("", "a", 2))}, Constraints: []model.DeviceConstraint{same}}},
			0,
		},
		"two requests on one side, of three": {
			append(four[:4:4], device(4, "b", "numa=1")), nil, []model.DeviceClaim{{
				Requests:    []model.DeviceRequest{request("x", option("", "a", 1)), request("y", option("", "b", 1)), request("z", option("", "a", 1))},
				Constraints: []model.DeviceConstraint{{Requests: []string{"x", "y"}, Attribute: "gpu/numa"}},
			}}, 1,
		},
		"no attribute, no device": {
			[]model.NodeDevice{device(0, "a")},
			nil,
			[]model.DeviceClaim{{Requests: []model.DeviceRequest{request("r", option("", "a", 1))}, Constraints: []model.DeviceConstraint{same}}},
			0,
		},
		"the first alternative, then the second": {
			[]model.NodeDevice{device(0, "big"), device(1, "small"), device(2, "small")},
			nil,
			[]model.DeviceClaim{claim(request("r", option("one", "big", 1), option("two", "small", 2)))},
			2,
		},
		"an alternative gives way to a later request": {
			[]model.NodeDevice{device(0, "a", "b"), device(1, "a")},
			nil,
			[]model.DeviceClaim{claim(request("r", option("", "a", 1)), request("s", option("", "b", 1)))},
			1,
		},
		"an alternative gives way to a later claim": {
			[]model.NodeDevice{device(0, "a"), device(1, "b")},
			nil,
			[]model.DeviceClaim{claim(request("r", option("x", "a", 1), option("y", "b", 1))), claim(request("s", option("", "a", 1)))},
			1,
		},
		"a constraint on one alternative only": {
			[]model.NodeDevice{device(0, "a", "numa=0"), device(1, "b", "numa=1"), device(2, "c", "numa=2")},
			nil,
			[]model.DeviceClaim{{
				Requests:    []model.DeviceRequest{request("x", option("", "c", 1)), request("y", option("p", "a", 1), option("q", "b", 1))},
				Constraints: []model.DeviceConstraint{{Requests: []string{"x", "y/p"}, Attribute: "gpu/numa"}},
			}},
			1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := devices.NewStock(tc.devices, tc.held)
			if got := s.Capacity(tc.claims, 10); got != tc.want {
				t.Errorf("capacity for %d, want %d", got, tc.want)
			}
			if got := s.Capacity(tc.claims, 10); got != tc.want {
				t.Errorf("capacity for %d when asked again, want %d: something was taken", got, tc.want)
			}
			if why := s.Why(tc.claims, "the node", "pod/p"); why.OK() != (tc.want > 0) {
				t.Errorf("why says %+v", why)
			}
		})
	}
}

func many(n int, selectors ...string) []model.NodeDevice {
	var out []model.NodeDevice
	for i := range n {
		out = append(out, device(i, selectors...))
	}
	return out
}

// TestAHopelessSearchEnds asks for a combination that is not there among very many.
func TestAHopelessSearchEnds(t *testing.T) {
	list := many(60, "a")
	for i := range list {
		list[i].Attributes = model.Labels{{Key: "gpu/numa", Value: fmt.Sprint(i % 8)}, {Key: "gpu/side", Value: fmt.Sprint(i % 7)}}
	}
	c := claim(request("r", option("", "a", 8)))
	c.Constraints = []model.DeviceConstraint{{Attribute: "gpu/numa"}, {Attribute: "gpu/side"}}
	if devices.NewStock(list, nil).Take([]model.DeviceClaim{c, c, c}) {
		t.Error("found what is not there")
	}
}

func TestWhyNamesWhatIsMissing(t *testing.T) {
	part := device(1, "a")
	part.Unsupported = "consumesCounters: devices that are parts of another are not planned for"
	tests := map[string]struct {
		devices []model.NodeDevice
		held    []model.DeviceRef
		claims  []model.DeviceClaim
		want    string
	}{
		"none there":  {many(2, "b"), nil, one("a", 1), "request r wants 1 device of class class-a, and node n1 has none that match"},
		"too few":     {many(4, "a"), []model.DeviceRef{device(0).DeviceRef, device(1).DeviceRef, device(2).DeviceRef}, one("a", 2), "request r wants 2 devices of class class-a, and 1 of the 4 that match are free on node n1"},
		"not for all": {many(2, "a"), []model.DeviceRef{device(0).DeviceRef}, one("a", 0), "request r wants all devices of class class-a, and 1 of the 2 that match are free on node n1"},
		"parts": {
			[]model.NodeDevice{part},
			nil, one("a", 1),
			"request r wants 1 device of class class-a, and of node n1 Kerf does not plan with a device that matches: gpu-1: consumesCounters: devices that are parts of another are not planned for",
		},
		"together": {
			[]model.NodeDevice{device(0, "a", "b")},
			nil,
			[]model.DeviceClaim{claim(request("r", option("", "a", 1)), request("s", option("", "b", 1)))},
			"node n1 has devices for each of the pod's requests, but not for all of them and their constraints together",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := devices.NewStock(tc.devices, tc.held).Why(tc.claims, "node n1", "pod/p")
			want := model.Reason{Code: model.CodeDevices, Subject: "pod/p", Message: tc.want, Remedy: got.Remedy}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
		})
	}
}

func class(id string, claims ...model.DeviceClaim) *model.PodClass {
	return &model.PodClass{ID: model.ClassID(id), DeviceClaims: claims}
}

func TestPodsThatShareAClaimAreTogether(t *testing.T) {
	shared := claim(request("r", option("", "a", 2)))
	shared.Name = "shop/pair"
	c, lone := class("c-1", shared), class("c-2", claim(request("r", option("", "a", 1))))
	tally := devices.NewAllocator()
	for i, n := range []model.NodeName{"n0", "n1"} {
		tally.Add(i, n, devices.NewStock(many(3, "a"), nil))
	}
	if got := tally.Capacity(0, c, 7); got != 7 {
		t.Errorf("capacity for %d pods of one claim, want all", got)
	}
	mark := tally.Fork()
	for range 2 {
		if !tally.Take(0, c) {
			t.Fatal("a pod does not find its claim's devices")
		}
	}
	if got := tally.Capacity(0, lone, 7); got != 1 {
		t.Errorf("%d devices left, want the third", got)
	}
	if why := tally.Why(1, c, "node n1"); tally.Take(1, c) || !strings.Contains(why.Message, "shop/pair") {
		t.Errorf("the claim is on two nodes: %q", why.Message)
	}
	tally.Back(mark)
	if got := tally.Capacity(0, lone, 7); got != 3 || !tally.Take(1, c) {
		t.Errorf("taken back, there is capacity for %d, want 3, and for the claim elsewhere", got)
	}
}

func TestAnAllocatedClaimStaysWhereItIsUnlessAllItsPodsGo(t *testing.T) {
	shared := claim(request("r", option("", "a", 1)))
	shared.Name, shared.Allocated, shared.Node = "shop/one", true, "n0"
	c := class("c-1", shared)
	places := func(freed ...model.NodeName) *devices.Allocator {
		tally := devices.NewAllocator(freed...)
		tally.Add(0, "n0", devices.NewStock(nil, nil))
		tally.Add(1, "", devices.NewStock(many(1, "a"), nil))
		return tally
	}
	if tally := places(); !tally.Take(0, c) || tally.Take(1, c) || tally.Why(1, c, "a new node").Message != "resource claim shop/one has its devices on node n0" {
		t.Errorf("the claim is on n0; a new node says %q", tally.Why(1, c, "a new node").Message)
	}
	if tally := places("n0"); tally.Take(0, c) || !tally.Take(1, c) {
		t.Error("when n0 goes, the claim is met on a new node, and on that only")
	}
	afar := shared
	afar.Node, afar.Terms = "", []model.NodeAffinityTerm{{Requirements: []model.Requirement{{Key: "zone", Operator: model.In, Values: []string{"a"}}}}}
	if tally := places(); !tally.Take(1, class("c-2", afar)) || len(devices.Terms(class("c-2", afar))) != 1 {
		t.Error("a claim that belongs to no single node binds by its terms alone")
	}
}

func TestAPlaceOfSeveralShapesHasWhatAllOfThemHave(t *testing.T) {
	tally := devices.NewAllocator()
	tally.Add(0, "", devices.NewStock(many(4, "a"), nil), devices.NewStock(many(1, "a"), nil))
	tally.Add(1, "")
	c := class("c-1", claim(request("r", option("", "a", 1))))
	if got := tally.Capacity(0, c, 9); got != 1 {
		t.Errorf("capacity for %d, want 1", got)
	}
	if !tally.Take(0, c) || tally.Take(0, c) || tally.Take(1, c) || tally.Take(2, c) {
		t.Error("one pod fits, a second does not, and nothing fits where there are no devices")
	}
	if tally.Back(0); !tally.Take(0, c) {
		t.Error("the devices did not come back")
	}
}

func TestTemplates(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	node := func(name string, age time.Duration, list ...model.NodeDevice) model.Node {
		return model.Node{
			Name: model.NodeName(name), Ready: true, CreateTime: now.Add(-age), Devices: list,
			Labels: model.Labels{{Key: labels.NodeClass, Value: "gpu"}, {Key: labels.InstanceType, Value: "g5.xlarge"}},
		}
	}
	own := device(0, "a", "mine")
	own.OwnSelectors = []string{"mine"}
	learned := device(0, "a")
	learned.Pool, learned.Name = "", "n1gpu-0"
	pool := &model.NodePool{NodeClass: "gpu", Devices: []model.DeviceTemplate{
		{InstanceTypes: []model.TypeName{"g5.xlarge"}, Devices: many(2, "declared")}, {Devices: many(1, "everywhere")},
	}}
	tests := map[string]struct {
		nodes []model.Node
		typ   model.TypeName
		want  []string
	}{
		"what the owner says":              {nil, "g5.xlarge", []string{"declared", "declared", "everywhere"}},
		"of all types":                     {nil, "g6.xlarge", []string{"everywhere"}},
		"what a node has":                  {[]model.Node{node("n", time.Hour, own)}, "g5.xlarge", []string{"a"}},
		"the youngest that is settled":     {[]model.Node{node("a", 2*time.Hour, many(2, "old")...), node("b", time.Hour, many(1, "new")...)}, "g5.xlarge", []string{"new"}},
		"one that never had what was said": {[]model.Node{node("a", time.Hour)}, "g5.xlarge", nil},
		"one that has yet to say":          {[]model.Node{node("a", time.Minute)}, "g5.xlarge", []string{"declared", "declared", "everywhere"}},
		"a new one that published":         {[]model.Node{node("a", time.Minute, many(1, "new")...)}, "g5.xlarge", []string{"new"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range devices.NewTemplates(&model.Snapshot{Nodes: tc.nodes}, now).Of(pool, tc.typ) {
				got = append(got, d.Selectors...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("selectors (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a node that is not settled has what drivers will add", func(t *testing.T) {
		young, old := node("a", time.Minute), node("b", time.Hour)
		nic := model.NodeDevice{DeviceRef: model.DeviceRef{Driver: "nic", Name: "eth"}}
		young.Devices, old.Devices = []model.NodeDevice{nic}, []model.NodeDevice{nic}
		templates := devices.NewTemplates(&model.Snapshot{}, now)
		if n := len(templates.Node(&young, pool)); n != 4 {
			t.Errorf("the young node has %d devices, want the driver's own one and three of the template", n)
		}
		if n := len(templates.Node(&old, pool)); n != 1 {
			t.Errorf("the old node has %d devices, want those that are there", n)
		}
	})
}

func TestDims(t *testing.T) {
	classes := []model.PodClass{*class("c-1", claim(request("r", option("", "a", 2)))), *class("c-2", claim(request("r", option("", "b", 1), option("", "a", 3))))}
	d := devices.NewDims(classes)
	want := model.Amounts{{Resource: "devices:a", Value: 2}, {Resource: "devices:a+b", Value: 2}}
	if diff := cmp.Diff(want, d.Requests(&classes[0])); diff != "" {
		t.Errorf("two of a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(model.Amounts{{Resource: "devices:a+b", Value: 1}}, d.Requests(&classes[1])); diff != "" {
		t.Errorf("one of b or three of a (-want +got):\n%s", diff)
	}
	stock := devices.NewStock([]model.NodeDevice{device(0, "a"), device(1, "a", "b"), device(2, "c")}, nil)
	want = model.Amounts{{Resource: "devices:a", Value: 2}, {Resource: "devices:a+b", Value: 2}, {Resource: "devices:b", Value: 1}}
	if diff := cmp.Diff(want, d.Free(stock)); diff != "" {
		t.Errorf("free (-want +got):\n%s", diff)
	}
}
