package device

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Key names a device of a cluster.
type Key struct{ Driver, Pool, Name string }

// SlicePool is the pool that a slice is a part of, as "driver/pool".
func SlicePool(s *resourcev1.ResourceSlice) string { return s.Spec.Driver + "/" + s.Spec.Pool.Name }

// SliceNodes lists the nodes that a slice has devices of; none for devices that belong to no single node.
func SliceNodes(s *resourcev1.ResourceSlice) []string {
	if n := s.Spec.NodeName; n != nil && *n != "" {
		return []string{*n}
	}
	var out []string
	if s.Spec.PerDeviceNodeSelection != nil && *s.Spec.PerDeviceNodeSelection {
		for _, d := range s.Spec.Devices {
			if d.NodeName != nil && *d.NodeName != "" {
				out = append(out, *d.NodeName)
			}
		}
	}
	return reader.SortedSet(out)
}

// OfNode lists a node's devices in the order in which the scheduler looks at them. slices are all of the pools that
// have something for the node, and held says which devices are taken by something that is no pod. Of a pool
// that is not completely published, or contradicts itself, there is one entry that says so.
func OfNode(node string, list []*resourcev1.ResourceSlice, rules *Rules, held func(Key) bool) []*clusterpb.NodeDevice {
	pools := map[string][]*resourcev1.ResourceSlice{}
	for _, s := range list {
		id := SlicePool(s)
		have := pools[id]
		switch {
		case len(have) == 0 || s.Spec.Pool.Generation > have[0].Spec.Pool.Generation:
			pools[id] = []*resourcev1.ResourceSlice{s}
		case s.Spec.Pool.Generation == have[0].Spec.Pool.Generation:
			pools[id] = append(have, s)
		}
	}
	var first, last []listed
	for _, id := range slices.Sorted(maps.Keys(pools)) {
		devices, waits := poolDevices(node, pools[id])
		if waits { // the scheduler prefers pools whose devices need no further consent
			last = append(last, devices...)
		} else {
			first = append(first, devices...)
		}
	}
	all := slices.Concat(first, last)
	identity := identities(all)
	out := make([]*clusterpb.NodeDevice, 0, len(all))
	for _, l := range all {
		if l.device == nil {
			out = append(out, &clusterpb.NodeDevice{Driver: l.driver, Pool: l.pool, IncompletePool: true})
			continue
		}
		d := &clusterpb.NodeDevice{Driver: l.driver, Pool: l.pool, Name: l.device.Name, Unsupported: unsupportedDevice(l.device)}
		d.Unavailable = rules.tainted(l) || (held != nil && held(Key{l.driver, l.pool, l.device.Name}))
		rules.judge(d, l.device, identity[l.driver])
		out = append(out, d)
	}
	return out
}

// listed is a device and where it is listed; without a device, a pool that is not whole.
type listed struct {
	driver, pool string
	device       *resourcev1.Device
}

// poolDevices lists a pool's devices of a node. waits says that some of the pool's devices
// need a controller's consent before a pod is bound.
func poolDevices(node string, pool []*resourcev1.ResourceSlice) (out []listed, waits bool) {
	broken := []listed{{pool[0].Spec.Driver, pool[0].Spec.Pool.Name, nil}}
	concerns := func(s *resourcev1.ResourceSlice) bool { return slices.Contains(SliceNodes(s), node) }
	switch {
	case !slices.ContainsFunc(pool, concerns):
		return nil, false // what it had for the node is outdated
	case int64(len(pool)) != pool[0].Spec.Pool.ResourceSliceCount:
		return broken, false
	}
	slices.SortFunc(pool, func(a, b *resourcev1.ResourceSlice) int { return strings.Compare(a.Name, b.Name) })
	seen := map[string]bool{}
	for _, s := range pool {
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			if seen[d.Name] {
				return broken, false
			}
			seen[d.Name] = true
			waits = waits || len(d.BindingConditions) > 0
			if s.Spec.NodeName != nil && *s.Spec.NodeName == node || d.NodeName != nil && *d.NodeName == node {
				out = append(out, listed{s.Spec.Driver, s.Spec.Pool.Name, d})
			}
		}
	}
	return out, waits
}

// unsupportedDevice names the field that makes a device one that Kerf can't count.
func unsupportedDevice(d *resourcev1.Device) string {
	switch {
	case len(d.ConsumesCounters) > 0:
		return "consumesCounters: devices that are parts of another are not planned for"
	case d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations:
		return "allowMultipleAllocations: devices that are shared out by capacity are not planned for"
	case len(d.NodeAllocatableResources) > 0:
		return "nodeAllocatableResources: devices that take the node's own resources are not planned for"
	default:
		return ""
	}
}

// identities are, by driver, the names of attributes that tell one device from others of its make: those that are called
// so, and texts of which each of the node's devices has another.
func identities(all []listed) map[string][]string {
	type attribute struct{ driver, id string }
	values := map[attribute][]string{}
	found := map[attribute]bool{}
	for _, l := range all {
		if l.device == nil {
			continue
		}
		for name, v := range l.device.Attributes {
			_, id, ok := strings.Cut(string(name), "/")
			if !ok {
				id = string(name)
			}
			a := attribute{l.driver, id}
			if v.StringValue != nil {
				values[a] = append(values[a], *v.StringValue)
			}
			low := strings.ToLower(id)
			found[a] = found[a] || strings.HasSuffix(low, "uuid") || strings.HasSuffix(low, "guid") || strings.Contains(low, "serial")
		}
	}
	out := map[string][]string{}
	for a, named := range found {
		if v := values[a]; named || (len(v) > 1 && len(reader.SortedSet(v)) == len(v)) {
			out[a.driver] = append(out[a.driver], a.id)
		}
	}
	return out
}

// template is one entry of the annotation labels.Devices: the devices of a ResourceSlice, for some types.
type template struct {
	InstanceTypes []string            `json:"instanceTypes"`
	Driver        string              `json:"driver"`
	Devices       []resourcev1.Device `json:"devices"`
}

// Templates reads what a NodePool's owner says of its new nodes' devices: a list of entries with a driver, devices
// in a ResourceSlice's own form, and the instance types that have them (none means all). Entries for the same types add
// up, in the order of their drivers.
func Templates(text string, rules *Rules) ([]*clusterpb.DeviceTemplate, error) {
	if strings.TrimSpace(text) == "" || rules == nil {
		return nil, nil
	}
	var list []template
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("want a list of {instanceTypes, driver, devices}, devices as in a ResourceSlice: %w", err)
	}
	byTypes := map[string]*clusterpb.DeviceTemplate{}
	slices.SortStableFunc(list, func(a, b template) int { return strings.Compare(a.Driver, b.Driver) })
	for i, t := range list {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("entry for driver %q: %w", t.Driver, err)
		}
		types := reader.SortedSet(t.InstanceTypes)
		key := strings.Join(types, ",")
		if byTypes[key] == nil {
			byTypes[key] = &clusterpb.DeviceTemplate{InstanceTypes: types}
		}
		all := make([]listed, 0, len(t.Devices))
		for j := range t.Devices {
			all = append(all, listed{driver: t.Driver, device: &list[i].Devices[j]})
		}
		identity := identities(all)
		for _, l := range all {
			d := &clusterpb.NodeDevice{Driver: l.driver, Name: l.device.Name, Unsupported: unsupportedDevice(l.device), Unavailable: rules.tainted(l)}
			rules.judge(d, l.device, identity[l.driver])
			if slices.ContainsFunc(byTypes[key].GetDevices(), func(x *clusterpb.NodeDevice) bool {
				return x.GetDriver() == d.GetDriver() && x.GetName() == d.GetName()
			}) {
				return nil, fmt.Errorf("device %s of driver %s is there twice", d.GetName(), d.GetDriver())
			}
			byTypes[key].Devices = append(byTypes[key].Devices, d)
		}
	}
	var out []*clusterpb.DeviceTemplate
	for _, key := range slices.Sorted(maps.Keys(byTypes)) {
		out = append(out, byTypes[key])
	}
	return out, nil
}

func (t template) check() error {
	switch {
	case t.Driver == "":
		return errors.New("driver: is missing")
	case len(t.Devices) == 0:
		return errors.New("devices: there are none")
	}
	for i, d := range t.Devices {
		if d.Name == "" {
			return fmt.Errorf("devices[%d].name: is missing", i)
		}
	}
	return nil
}
