package market

import (
	"reflect"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// DeviceSet is the devices that nodes of some options will have. Options with equal devices share one.
type DeviceSet struct {
	devices []model.NodeDevice
	// daemons are the DaemonSets' classes that take some of them.
	daemons []*view.Class
	// serves says, by class, where one pod finds what it claims on a node that has no other pods.
	serves bits.Set
}

// Stock is the devices of one node, less those that DaemonSets take.
func (g *DeviceSet) Stock() *devices.Stock {
	s := devices.NewStock(g.devices, nil)
	fit.ReserveDevices(s, g.daemons)
	return s
}

// addDevices gives all options their devices, where any class claims some.
func (m *Market) addDevices() {
	if m.World.Devices == nil {
		return
	}
	templates := devices.NewTemplates(m.World.Snapshot, m.World.Now)
	var known []*DeviceSet
	for _, v := range m.variants {
		for _, o := range v.Options {
			g := &DeviceSet{devices: templates.Of(o.Pool.NodePool, o.Type.Name)}
			for _, d := range fit.Daemons(m.World, &o.Place) {
				if devices.ClaimsDevices(d.PodClass) {
					g.daemons = append(g.daemons, d)
				}
			}
			i := slices.IndexFunc(known, g.same)
			if i < 0 {
				g.findServed(m.World)
				known = append(known, g)
				i = len(known) - 1
			}
			o.Devices = known[i]
			o.Free = m.World.WithDevices(o.Free, o.Devices.Stock())
		}
	}
}

func (g *DeviceSet) same(other *DeviceSet) bool {
	return len(g.devices) == len(other.devices) && slices.Equal(g.daemons, other.daemons) &&
		(len(g.devices) == 0 || &g.devices[0] == &other.devices[0] || reflect.DeepEqual(g.devices, other.devices))
}

// findServed finds the classes that the devices serve.
func (g *DeviceSet) findServed(w *view.World) {
	g.serves = bits.New(len(w.Classes))
	s := g.Stock()
	for i, c := range w.Classes {
		g.serves.Put(i, s.Capacity(toAllocate(c), 1) == 1)
	}
}

// toAllocate are a class's claims that have no devices yet.
func toAllocate(c *view.Class) []model.DeviceClaim {
	return slices.DeleteFunc(slices.Clone(c.DeviceClaims), func(d model.DeviceClaim) bool { return d.Allocated })
}

// serves says whether a new node of the option has the devices that a pod claims.
func (o *Option) serves(c *view.Class) bool { return o.Devices == nil || o.Devices.serves.Has(c.Index) }

// replaces says that o has the devices of p wherever these are of use.
func (o *Option) replaces(p *Option) bool {
	return o.Devices == p.Devices || len(p.Devices.devices) == 0
}

// lacks says which devices a new node of the option lacks for a pod.
func (o *Option) lacks(c *view.Class) model.Reason {
	return o.Devices.Stock().Why(toAllocate(c), "a new "+string(o.Type.Name), "instancetype/"+string(o.Type.Name))
}
