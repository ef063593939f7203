package lacks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// devices is what Nodes knows of devices. No driver says what it is going to publish: what nodes are expected to have
// is what the owner of their pool says, or what others of their pool and type have. Where one lacks that once its time
// is over, another one like it would lack it too. And where a driver has published nothing at all on any node of a
// pool, it is not tried out on other types there.
type devices struct {
	needs []need // those of any class, sorted
	pools map[model.PoolName]declaring
	// had are what nodes of a pool and type have been seen with, be it long ago.
	had map[shown]bool
}

// declaring is a pool, and which types it allows: of others its owner says nothing.
type declaring struct {
	*model.NodePool
	types require.Requirement
}

// need is so many devices that match a selector, as one alternative of a request takes them.
type need struct {
	selector string
	count    int
}

func needOf(o *model.DeviceOption) need { return need{o.Selector, max(int(o.Count), 1)} } // all is one at least

// label is that of nodes that lack it.
func (d need) label() string { return fmt.Sprintf("%s%d*%s", model.LacksDevices, d.count, d.selector) }

func (d need) of(pool model.PoolName, typ model.TypeName) shown { return shown{d.label(), pool, typ} }

// absent is that a driver has published nothing on nodes of a pool. No node has such a label.
func absent(driver string, pool model.PoolName) shown {
	return shown{what: model.LacksDevices + "of " + driver, pool: pool}
}

// ways are all alternatives of all requests of a class.
func ways(c *model.PodClass) (out []model.DeviceOption) {
	for i := range c.DeviceClaims {
		for _, q := range c.DeviceClaims[i].Requests {
			out = append(out, q.Options...)
		}
	}
	return out
}

func devicesOf(s *model.Snapshot) *devices {
	out := &devices{}
	for i := range s.PodClasses {
		for _, o := range ways(&s.PodClasses[i]) {
			out.needs = append(out.needs, needOf(&o))
		}
	}
	if len(out.needs) == 0 {
		return out
	}
	slices.SortFunc(out.needs, func(a, b need) int { return cmp.Or(cmp.Compare(a.selector, b.selector), a.count-b.count) })
	out.needs = slices.Compact(out.needs)
	out.pools, out.had = make(map[model.PoolName]declaring, len(s.NodePools)), make(map[shown]bool)
	for i := range s.NodePools {
		p := declaring{NodePool: &s.NodePools[i], types: require.New(model.Requirement{Key: labels.InstanceType, Operator: model.Exists})}
		if types, ok := require.NewSet(p.Requirements...).Get(labels.InstanceType); ok {
			p.types = types
		}
		out.pools[p.Name] = p
	}
	return out
}

// usable are the devices that match what is needed and that pods can be given, taken ones among them. own takes those as
// well that match by what makes them a node's own, as another node's will not.
func (d need) usable(list []model.NodeDevice, own bool) (out []*model.NodeDevice) {
	for i := range list {
		x := &list[i]
		if !x.Unavailable && x.Unsupported == "" && slices.Contains(x.Selectors, d.selector) && (own || !slices.Contains(x.OwnSelectors, d.selector)) {
			out = append(out, x)
		}
	}
	return out
}

// declared are the devices that a pool's owner says nodes of a type have of what is needed.
func (x *devices) declared(pool model.PoolName, typ model.TypeName, d need) (out []*model.NodeDevice) {
	p, there := x.pools[pool]
	if !there || len(p.Devices) == 0 || !p.types.Matches(string(typ), true) {
		return nil
	}
	for _, t := range p.Devices {
		if len(t.InstanceTypes) == 0 || slices.Contains(t.InstanceTypes, typ) {
			out = append(out, d.usable(t.Devices, false)...)
		}
	}
	return out
}

// due says whether a node was to have what is needed, by its pool's owner or by others of its pool and type.
func (x *devices) due(pool model.PoolName, typ model.TypeName, d need) bool {
	return x.had[d.of(pool, typ)] || len(x.declared(pool, typ, d)) >= d.count
}

// learnDevices notes what nodes show of devices that they were to have: of those of a type what the youngest shows that has
// them, or has had its time for them, as the next one will come with no older driver.
func (l *Nodes) learnDevices(s *model.Snapshot, drifted func(*model.Node) bool) {
	if len(l.devices.needs) == 0 {
		return
	}
	each := func(look func(n *model.Node, d need, k shown, has bool)) {
		for i := range s.Nodes {
			n := &s.Nodes[i]
			pool, typ := poolOf(n)
			for _, d := range l.devices.needs {
				if pool != "" {
					look(n, d, d.of(pool, typ), len(d.usable(n.Devices, false)) >= d.count)
				}
			}
		}
	}
	each(func(n *model.Node, _ need, k shown, has bool) {
		l.devices.had[k] = l.devices.had[k] || has && !drifted(n)
	})
	youngest, youngestOwn := make(tellers), make(tellers)
	each(func(n *model.Node, d need, k shown, has bool) {
		if !has && (!l.settled(n) || !l.devices.due(k.pool, k.typ, d)) {
			return
		}
		l.learnPublishers(n, d, drifted)
		if drifted(n) {
			return
		}
		if youngest.keep(k, n, has); n.Claim != "" {
			youngestOwn.keep(k, n, has)
		}
	})
	each(func(n *model.Node, _ need, k shown, has bool) {
		if youngest[k] == n {
			l.note(k, has, n, drifted)
		}
		if youngestOwn[k] == n {
			l.own[k] = has
		}
	})
}

// tellers are the nodes that tell of others what they have.
type tellers map[shown]*model.Node

// keep keeps a node that is younger than the one that there is, or as young and has it.
func (t tellers) keep(k shown, n *model.Node, has bool) {
	if y := t[k]; younger(n, y) || has && y.CreateTime.Equal(n.CreateTime) {
		t[k] = n
	}
}

// learnPublishers notes which drivers of what is needed have published anything on a node, and which have not though the
// pool's owner says so.
func (l *Nodes) learnPublishers(n *model.Node, d need, drifted func(*model.Node) bool) {
	pool, typ := poolOf(n)
	for _, x := range d.usable(n.Devices, true) {
		l.note(absent(x.Driver, pool), true, n, drifted)
	}
	for _, x := range l.devices.declared(pool, typ, d) {
		has := slices.ContainsFunc(n.Devices, func(y model.NodeDevice) bool { return y.Driver == x.Driver })
		if has || l.settled(n) {
			l.note(absent(x.Driver, pool), has, n, drifted)
		}
	}
}

// untried are the devices that a pool's owner says nodes of a type have, less those of drivers that are absent in the pool.
func (l *Nodes) untried(pool model.PoolName, typ model.TypeName, d need) []*model.NodeDevice {
	return slices.DeleteFunc(l.devices.declared(pool, typ, d), func(x *model.NodeDevice) bool {
		has, known := l.shown[absent(x.Driver, pool)]
		return known && !has
	})
}

// without is the node that shows that a new one of a pool and type will not have what is needed; nil where it is expected
// to, or nothing of that kind ever was.
func (l *Nodes) without(pool model.PoolName, typ model.TypeName, d need) *model.Node {
	has, known := l.shown[d.of(pool, typ)]
	switch {
	case known && has, !l.devices.due(pool, typ, d):
		return nil
	case known:
		return l.witness[d.of(pool, typ)]
	case len(l.untried(pool, typ, d)) >= d.count:
		return nil
	}
	for _, x := range l.devices.declared(pool, typ, d) {
		if w := l.witness[absent(x.Driver, pool)]; w != nil {
			return w
		}
	}
	return nil
}

// devicesOfNew are labels for what a new node of a pool and type will lack of what it was to have.
func (l *Nodes) devicesOfNew(pool model.PoolName, typ model.TypeName) (out model.Labels) {
	for _, d := range l.devices.needs {
		if w := l.without(pool, typ, d); w != nil {
			out = append(out, l.lacked(d, pool, typ, w))
		}
	}
	return out
}

// devicesOfNode are labels for what a node lacks of what it was to have, and is not expected to get any more.
func (l *Nodes) devicesOfNode(n *model.Node) (out model.Labels) {
	pool, typ := poolOf(n)
	for _, d := range l.devices.needs {
		if len(d.usable(n.Devices, true)) < d.count && l.devices.due(pool, typ, d) && (l.settled(n) || l.without(pool, typ, d) != nil) {
			out = append(out, l.lacked(d, pool, typ, n))
		}
	}
	return out
}

// awaitsDevices says whether a node still lacks devices that it is to have.
func (l *Nodes) awaitsDevices(n *model.Node) bool {
	pool, typ := poolOf(n)
	return slices.ContainsFunc(l.devices.needs, func(d need) bool {
		return len(d.usable(n.Devices, true)) < d.count && l.devices.due(pool, typ, d)
	})
}

// seenDevices says whether a node of a pool and type has been seen with a way to serve each request of a class.
func (l *Nodes) seenDevices(pool model.PoolName, typ model.TypeName, c *model.PodClass) bool {
	for i := range c.DeviceClaims {
		for _, q := range c.DeviceClaims[i].Requests {
			if !slices.ContainsFunc(q.Options, func(o model.DeviceOption) bool { return l.own[needOf(&o).of(pool, typ)] }) {
				return false
			}
		}
	}
	return true
}

// showsDevices says whether a node is the one that shows that nodes like it lack devices which pods of a class could have.
// Of a type it does so where its drivers are not shown to be absent in the pool anyway.
func (l *Nodes) showsDevices(n *model.Node, c *model.PodClass) bool {
	pool, typ := poolOf(n)
	return slices.ContainsFunc(ways(c), func(o model.DeviceOption) bool {
		d := needOf(&o)
		of := func(x *model.NodeDevice) bool { return l.isWitness(n, absent(x.Driver, pool)) }
		return slices.ContainsFunc(l.devices.declared(pool, typ, d), of) ||
			l.isWitness(n, d.of(pool, typ)) && (l.devices.had[d.of(pool, typ)] || len(l.untried(pool, typ, d)) >= d.count)
	})
}

// neededDevices are what pods of a class need of nodes so that each request of their claims finds its devices one way or
// the other. Claims that are allocated have theirs.
func neededDevices(c *model.PodClass) (out []model.VolumeTopology) {
	for i := range c.DeviceClaims {
		if c.DeviceClaims[i].Allocated {
			continue
		}
		for _, q := range c.DeviceClaims[i].Requests {
			var v model.VolumeTopology
			for _, o := range q.Options {
				r := model.Requirement{Key: needOf(&o).label(), Operator: model.DoesNotExist}
				v.Terms = append(v.Terms, model.NodeAffinityTerm{Requirements: []model.Requirement{r}})
			}
			out = append(out, v)
		}
	}
	return out
}

// Devices is what the label of a node says that lacks devices: whose, how many there are that match, and on which node that
// is seen.
type Devices struct {
	Drivers string
	Has     int
	Node    model.NodeName
}

// lacked is the label of nodes that lack what is needed, as is seen on one.
func (l *Nodes) lacked(d need, pool model.PoolName, typ model.TypeName, on *model.Node) model.Label {
	has := d.usable(on.Devices, true)
	var drivers []string
	for _, x := range slices.Concat(has, l.devices.declared(pool, typ, d)) {
		drivers = append(drivers, x.Driver)
	}
	slices.Sort(drivers)
	return model.Label{Key: d.label(), Value: fmt.Sprintf("%d/%s/%s", len(has), strings.Join(slices.Compact(drivers), ","), on.Name)}
}

// ReadDevices reads the value of a label that lacked has written.
func ReadDevices(value string) Devices {
	parts := append(strings.SplitN(value, "/", 3), "", "", "")
	n, _ := strconv.Atoi(parts[0]) // it is a number
	return Devices{Drivers: parts[1], Has: n, Node: model.NodeName(parts[2])}
}

// Concerns says whether a label is that of nodes which lack the devices of an alternative.
func Concerns(label string, o *model.DeviceOption) bool { return label == needOf(o).label() }
