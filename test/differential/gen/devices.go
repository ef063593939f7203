package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// The devices of all cases: of one driver, some of them big, each at one of two roots.
const (
	DeviceDriver = "devices.example.com"
	AnyDevice    = "any"
	BigDevice    = "big"
	deviceRoot   = DeviceDriver + "/root"
)

// devices gives each instance type some devices, which all nodes of the type publish and pools say of new ones, and some
// classes claims on them.
func (b *builder) devices() {
	if !b.has(Devices) {
		return
	}
	s := &b.in.Snapshot
	ofType := make(map[string][]model.NodeDevice)
	var templates []model.DeviceTemplate
	for _, t := range s.Catalogs[0].InstanceTypes {
		list := b.someDevices()
		ofType[string(t.Name)] = list
		templates = append(templates, model.DeviceTemplate{InstanceTypes: []model.TypeName{t.Name}, Devices: list})
	}
	for i := range s.NodePools {
		s.NodePools[i].Devices = templates
	}
	s.PodClasses = append(s.PodClasses, model.PodClass{
		ID: "holder", Namespace: "shop", OwnerKind: "ReplicaSet", OwnerName: "holder", Requests: amounts(0, 0, 1, 0),
		SchedulerName: "default-scheduler", DeviceClaims: []model.DeviceClaim{{Requests: []model.DeviceRequest{{
			Name: "one", Options: []model.DeviceOption{{DeviceClass: AnyDevice, Selector: AnyDevice, Count: 1}},
		}}}},
	})
	for i := range s.Nodes {
		n := &s.Nodes[i]
		name, _ := n.Labels.Get(labels.InstanceType)
		n.Devices = slices.Clone(ofType[name])
		for j := range n.Devices {
			n.Devices[j].Pool = string(n.Name)
		}
		if len(n.Devices) > 0 && b.last(3) {
			p := b.newPod(b.lookup("holder"))
			p.Node, p.Phase, p.Ready, p.Devices = n.Name, model.PodRunning, true, []model.DeviceRef{n.Devices[0].DeviceRef}
			s.Pods = append(s.Pods, p)
		}
	}
	for _, id := range b.classes {
		running := func(p model.Pod) bool { return p.Class == id && p.Node != "" }
		if c := b.lookup(id); !b.last(3) && !slices.ContainsFunc(s.Pods, running) {
			c.DeviceClaims = []model.DeviceClaim{b.deviceClaim()}
		}
	}
}

// Backing is the extended resource that devices of a selector serve where a node does not have it.
func Backing(selector string) model.Resource { return DeviceDriver + "/" + model.Resource(selector) }

// backed has some classes ask for devices by a resource that no node has, in the place of their claim or beside it.
func (b *builder) backed() {
	if !b.has(Backed) {
		return
	}
	for _, id := range b.classes {
		c := b.lookup(id)
		if len(c.DeviceClaims) == 0 || b.backs.IntN(3) == 0 {
			continue
		}
		c.DeviceClaims = c.DeviceClaims[:min(1, b.backs.IntN(4))]
		for _, selector := range [][]string{{AnyDevice}, {BigDevice}, {AnyDevice, BigDevice}}[b.backs.IntN(3)] {
			n := 1 + b.backs.IntN(2)
			c.Requests = append(slices.Clone(c.Requests), model.Amount{Resource: Backing(selector), Value: int64(n)})
			c.ExtendedRequests = append(c.ExtendedRequests, model.ExtendedRequest{
				Resource: Backing(selector), Devices: model.DeviceOption{DeviceClass: selector, Selector: selector, Count: int32(n)},
			})
		}
		slices.SortFunc(c.Requests, func(a, b model.Amount) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	}
}

func (b *builder) someDevices() []model.NodeDevice {
	var out []model.NodeDevice
	for i := range b.latest.IntN(4) {
		d := model.NodeDevice{
			DeviceRef:  model.DeviceRef{Driver: DeviceDriver, Pool: "new", Name: fmt.Sprintf("device-%d", i)},
			Selectors:  []string{AnyDevice},
			Attributes: model.Labels{{Key: deviceRoot, Value: fmt.Sprintf("int:%d", b.latest.IntN(2))}},
		}
		if b.last(2) {
			d.Selectors = append(d.Selectors, BigDevice)
		}
		out = append(out, d)
	}
	return out
}

func (b *builder) deviceClaim() model.DeviceClaim {
	option := func(selector string, count int32) model.DeviceOption {
		return model.DeviceOption{DeviceClass: selector, Selector: selector, Count: count}
	}
	one := model.DeviceRequest{Name: "one", Options: []model.DeviceOption{option(AnyDevice, 1)}}
	switch b.latest.IntN(5) {
	case 0:
		one.Options = []model.DeviceOption{option(AnyDevice, 2)}
	case 1:
		one.Options = []model.DeviceOption{option(BigDevice, 1)}
	case 2:
		one.Options = []model.DeviceOption{option(AnyDevice, 0)}
	case 3:
		one.Options = []model.DeviceOption{option(BigDevice, 2), option(AnyDevice, 1)}
		one.Options[0].Name, one.Options[1].Name = "bigs", "any"
	}
	c := model.DeviceClaim{Requests: []model.DeviceRequest{one}}
	if b.last(3) {
		c.Requests = append(c.Requests, model.DeviceRequest{Name: "two", Options: []model.DeviceOption{option(BigDevice, 1)}})
	}
	// "All" of a node that can't be at one root is an error of the scheduler's filter, which ends the attempt for all
	// nodes.
	if one.Options[0].Count > 0 && b.last(2) {
		c.Constraints = []model.DeviceConstraint{{Attribute: deviceRoot}}
	}
	return c
}
