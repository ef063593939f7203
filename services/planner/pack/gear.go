package pack

import (
	"reflect"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// gear is the devices that nodes of some options will have. Options with equal gear share one.
type gear struct {
	list []model.NodeDevice
	// riders are the DaemonSets' classes that take some of them.
	riders []*view.Class
	// serves says, by class, where one pod finds what it claims on a node that has no other pods.
	serves bitset
}

// stock is the gear of one node, with what DaemonSets leave.
func (g *gear) stock() *devices.Stock {
	s := devices.NewStock(g.list, nil)
	fit.ReserveDevices(s, g.riders)
	return s
}

// equip gives all options their devices, where any class claims some.
func (m *Market) equip() {
	if m.w.Devices == nil {
		return
	}
	templates := devices.NewTemplates(m.w.Snapshot.Nodes, m.w.Now)
	var known []*gear
	for _, v := range m.variants {
		for _, o := range v.options {
			g := &gear{list: templates.Of(o.Pool.NodePool, o.Type.Name)}
			for _, d := range fit.Daemons(m.w, &o.place) {
				if devices.ClaimsDevices(d.PodClass) {
					g.riders = append(g.riders, d)
				}
			}
			i := slices.IndexFunc(known, g.same)
			if i < 0 {
				g.judge(m.w)
				known = append(known, g)
				i = len(known) - 1
			}
			o.gear = known[i]
			o.Free = m.w.WithDevices(o.Free, o.gear.stock())
		}
	}
}

func (g *gear) same(other *gear) bool {
	return len(g.list) == len(other.list) && slices.Equal(g.riders, other.riders) &&
		(len(g.list) == 0 || &g.list[0] == &other.list[0] || reflect.DeepEqual(g.list, other.list))
}

// judge finds the classes that the gear serves.
func (g *gear) judge(w *view.World) {
	g.serves = newBits(len(w.Classes))
	s := g.stock()
	for i, c := range w.Classes {
		g.serves.set(i, s.Capacity(toAllocate(c), 1) == 1)
	}
}

// toAllocate are a class's claims that have no devices yet.
func toAllocate(c *view.Class) []model.DeviceClaim {
	return slices.DeleteFunc(slices.Clone(c.DeviceClaims), func(d model.DeviceClaim) bool { return d.Allocated })
}

// serves says whether a new node of the option has the devices that a pod claims.
func (o *Option) serves(c *view.Class) bool { return o.gear == nil || o.gear.serves.has(c.Index) }

// replaces says that o has the devices of p wherever these are of use.
func (o *Option) replaces(p *Option) bool { return o.gear == p.gear || len(p.gear.list) == 0 }

// lacks says which devices a new node of the option lacks for a pod.
func (o *Option) lacks(c *view.Class) model.Reason {
	return o.gear.stock().Why(toAllocate(c), "a new "+string(o.Type.Name), "instancetype/"+string(o.Type.Name))
}

// nobody is the number of a place that is tried out, and that nothing is ever left on.
const nobody = -1

// fitting says whether a claim may become an option, as far as devices go: with one more pod of each of some classes. A
// nil claim is a new one. It must be asked before the state changes again.
func (d *Scheduler) fitting(b *NewClaim, more ...*view.Class) func(*Option) bool {
	matters := func(c *view.Class) bool { return devices.ClaimsDevices(c.PodClass) }
	if d.devices == nil || ((b == nil || b.number == 0) && !slices.ContainsFunc(more, matters)) {
		return func(*Option) bool { return true }
	}
	verdicts := make(map[*gear]bool)
	return func(o *Option) bool {
		ok, known := verdicts[o.gear]
		if !known {
			ok = d.couldBecome(b, o, more)
			verdicts[o.gear] = ok
		}
		return ok
	}
}

func (d *Scheduler) couldBecome(b *NewClaim, o *Option, more []*view.Class) bool {
	mark := d.devices.Fork()
	defer d.devices.Back(mark)
	number := nobody
	if b == nil || b.number == 0 {
		d.devices.Add(number, "", o.gear.stock())
	} else {
		number = b.number
		if !d.devices.Replace(number, o.gear.stock()) {
			return false
		}
	}
	return !slices.ContainsFunc(more, func(c *view.Class) bool { return !d.devices.Take(number, c.PodClass) })
}

// handOut gives one more pod on a claim its devices; false where the claim does not have them in all that it may become.
func (d *Scheduler) handOut(b *NewClaim, c *view.Class) bool {
	if d.devices == nil || !devices.ClaimsDevices(c.PodClass) {
		return true
	}
	if b.number == 0 {
		d.numbers++
		b.number = len(d.v.Hosts) + d.numbers
		d.devices.Add(b.number, "", b.stocks()...)
	}
	return d.devices.Take(b.number, c.PodClass)
}

// refit makes the devices of a claim those of what it may become now.
func (d *Scheduler) refit(b *NewClaim) {
	if b.number != 0 {
		d.devices.Replace(b.number, b.stocks()...)
	}
}

// stocks are the devices of all that a claim may become.
func (b *NewClaim) stocks() []*devices.Stock {
	options := b.Options
	if len(options) == 0 {
		options = []*Option{b.base}
	}
	var seen []*gear
	var out []*devices.Stock
	for _, o := range options {
		if !slices.Contains(seen, o.gear) {
			seen = append(seen, o.gear)
			out = append(out, o.gear.stock())
		}
	}
	return out
}

// shares says whether pods of a class have to be where others are that use the same resource claim.
func (d *Scheduler) shares(c *view.Class) bool {
	return d.devices != nil && devices.SharesClaims(c.PodClass)
}

// equippedFor are those of some hosts that hold all of a number of pods, with their devices; none where none does.
func (d *Scheduler) equippedFor(c *view.Class, hosts []int, pods int) []int {
	return slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return d.matcher.Capacity(c, h, pods) < pods })
}

// whyDevices is the rule about devices that keeps a pod off a new node of an option, or the zero Reason.
func (d *Scheduler) whyDevices(c *view.Class, o *Option) model.Reason {
	if d.devices == nil || !devices.ClaimsDevices(c.PodClass) {
		return model.Reason{}
	}
	d.devices.Add(nobody, "", o.gear.stock())
	return d.devices.Why(nobody, c.PodClass, "a new "+string(o.Type.Name))
}

// claimants are the classes of pods that claim devices, one for each pod, in the order of the pods.
func claimants(items []Item) []*view.Class {
	var out []*view.Class
	for _, it := range items {
		if !devices.ClaimsDevices(it.Class.PodClass) {
			continue
		}
		for range it.Pods {
			out = append(out, it.Class)
		}
	}
	return out
}
