// Package lacks says what nodes lack of what pods need of them, beyond what labels, taints and resources tell: CSI
// drivers, features of kubelets, and devices that were expected there. What nodes that are there lack, new ones like
// them will lack too, so that no node is bought for it again and again.
//
// It says so in labels and requirements, so that all code that asks where pods may run asks for it too, and knows nothing
// of plans: the planner and the verifier of its plans go by the same. Start reading at Nodes.
package lacks

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// DriverTimeout is how long a node may take, from its creation on, until all its CSI drivers have registered, and those of
// devices have published what it has. Until then it counts as having them, unless other nodes of its pool and type lack
// them.
const DriverTimeout = 10 * time.Minute

// Nodes is what nodes lack of what pods need of them: CSI drivers whose owner keeps pods off nodes without them,
// features that kubelets declare, and devices (devices.go). It says so as labels of nodes, and of pods as one more
// thing that must be within reach (Needed). Make it with Of; it is not changed afterwards.
type Nodes struct {
	drivers, features []string // those that any class needs, sorted
	devices           *devices
	now               time.Time
	// shown is whether nodes that are there show that new ones will have something; where they show that these will not,
	// witness is the node that does.
	shown   map[shown]bool
	witness map[shown]*model.Node
	// own is whether nodes that Kerf has made show that; how others were made, and whether they have drifted, is not known.
	own   map[shown]bool
	nodes map[model.NodeName]model.Labels
}

// shown is something that nodes have or lack: by its label, the pool, and for drivers and devices the type. Of a whole pool
// the type is "", of all that are in a pool the pool is too.
type shown struct {
	what string
	pool model.PoolName
	typ  model.TypeName
}

// Of finds what the nodes of a snapshot lack at a time.
func Of(s *model.Snapshot, now time.Time) *Nodes {
	l := &Nodes{now: now, devices: devicesOf(s)}
	for i := range s.PodClasses {
		l.drivers = append(l.drivers, s.PodClasses[i].NeededDrivers...)
		l.features = append(l.features, s.PodClasses[i].NeededFeatures...)
	}
	if len(l.drivers)+len(l.features)+len(l.devices.needs) == 0 {
		return l
	}
	slices.Sort(l.drivers)
	slices.Sort(l.features)
	l.drivers, l.features = slices.Compact(l.drivers), slices.Compact(l.features)
	l.shown, l.witness, l.own = make(map[shown]bool), make(map[shown]*model.Node), make(map[shown]bool)
	l.nodes = make(map[model.NodeName]model.Labels)
	l.learn(s)
	for i := range s.Nodes {
		if list := l.ofNode(&s.Nodes[i]); len(list) > 0 {
			l.nodes[s.Nodes[i].Name] = list
		}
	}
	return l
}

// Equal says whether another one says the same of all nodes.
func (l *Nodes) Equal(m *Nodes) bool {
	return slices.Equal(l.drivers, m.drivers) && slices.Equal(l.features, m.features) &&
		slices.Equal(l.devices.needs, m.devices.needs) && maps.Equal(l.shown, m.shown) && maps.Equal(l.own, m.own) &&
		maps.Equal(l.devices.had, m.devices.had) &&
		maps.EqualFunc(l.witness, m.witness, func(a, b *model.Node) bool { return a.Name == b.Name }) &&
		maps.EqualFunc(l.nodes, m.nodes, slices.Equal[model.Labels])
}

// Node is a node's labels, with what it lacks.
func (l *Nodes) Node(n *model.Node) model.Labels { return withLacks(n.Labels, l.nodes[n.Name]) }

// Joining is labels that a node will have once it is registered, with the features that its kubelet lacks: that it has said
// already.
func (l *Nodes) Joining(n *model.Node, will model.Labels) model.Labels {
	var more model.Labels
	for _, lack := range l.nodes[n.Name] {
		if _, has := will.Get(lack.Key); !has && strings.HasPrefix(lack.Key, model.LacksFeature) {
			more = append(more, lack)
		}
	}
	return withLacks(will, more)
}

// New is the labels of a node of a pool and type that is not there yet, with what it will lack: what those that are there
// lack. Where none is, it will have all drivers, as the pods that bring them come with it; of a kubelet's features those
// that any node of Kerf's has, or all where there is none: what no kubelet here can do, another one of the cluster will
// hardly, and to find out would cost a node again and again. Of devices it lacks those alone that were to be expected.
func (l *Nodes) New(pool model.PoolName, typ model.TypeName, has model.Labels) model.Labels {
	var out model.Labels
	for _, d := range l.drivers {
		if !l.expects(model.LacksDriver+d, shown{pool: pool, typ: typ}, shown{pool: pool}) {
			out = append(out, model.Label{Key: model.LacksDriver + d})
		}
	}
	for _, f := range l.features {
		if !l.expects(model.LacksFeature+f, shown{pool: pool}, shown{}) {
			out = append(out, model.Label{Key: model.LacksFeature + f})
		}
	}
	return withLacks(has, append(out, l.devicesOfNew(pool, typ)...))
}

// expects says what the first nodes show of which any is there; true where none is.
func (l *Nodes) expects(what string, by ...shown) bool {
	for _, k := range by {
		k.what = what
		if has, known := l.shown[k]; known {
			return has
		}
	}
	return true
}

// learn notes what nodes of pools show. A node need not be ready for it: one that will not be is as good a reason to
// buy none like it. Nodes that have drifted show what was.
func (l *Nodes) learn(s *model.Snapshot) {
	drifted := rules.DriftedNodes(s, l.now)
	l.learnDrivers(s, drifted)
	l.learnFeatures(s, drifted)
	l.learnDevices(s, drifted)
}

// learnDrivers notes that one of some nodes has a driver, as it may be late, or broken, on another; but what none of Kerf's
// has those of others do not outweigh, as the next one is Kerf's.
func (l *Nodes) learnDrivers(s *model.Snapshot, drifted func(*model.Node) bool) {
	if len(l.drivers) == 0 {
		return
	}
	for _, n := range ownFirst(s) {
		pool, typ := poolOf(n)
		for _, d := range l.drivers {
			has, k := slices.Contains(n.Drivers, d), shown{model.LacksDriver + d, pool, typ}
			if pool == "" || !has && !l.settled(n) {
				continue
			}
			for _, k := range []shown{k, {k.what, pool, ""}} {
				if w := l.witness[k]; n.Claim != "" || w == nil || w.Claim == "" {
					l.note(k, has, n, drifted)
				}
			}
			if has && n.Claim != "" && !drifted(n) {
				l.own[k] = true
			}
		}
	}
}

// learnFeatures notes what the youngest of a pool declares, as the next one will have no older kubelet.
func (l *Nodes) learnFeatures(s *model.Snapshot, drifted func(*model.Node) bool) {
	if len(l.features) == 0 {
		return
	}
	youngest, youngestOwn := make(map[model.PoolName]*model.Node), make(map[model.PoolName]*model.Node)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		pool, _ := poolOf(n)
		if pool == "" || drifted(n) {
			continue
		}
		if younger(n, youngest[pool]) {
			youngest[pool] = n
		}
		if n.Claim != "" && younger(n, youngestOwn[pool]) {
			youngestOwn[pool] = n
		}
	}
	for pool, n := range youngest {
		for _, f := range l.features {
			has := slices.Contains(n.Features, f)
			l.note(shown{what: model.LacksFeature + f, pool: pool}, has, n, drifted)
			l.note(shown{what: model.LacksFeature + f}, has, n, drifted)
		}
	}
	for pool, n := range youngestOwn {
		for _, f := range l.features {
			l.own[shown{what: model.LacksFeature + f, pool: pool}] = slices.Contains(n.Features, f)
		}
	}
}

// ownFirst is the nodes of a snapshot, with those of Kerf's before those that others have made.
func ownFirst(s *model.Snapshot) (out []*model.Node) {
	for i := range s.Nodes {
		out = append(out, &s.Nodes[i])
	}
	slices.SortStableFunc(out, func(a, b *model.Node) int { return cmp.Compare(len(b.Claim), 0) - cmp.Compare(len(a.Claim), 0) })
	return out
}

// note notes what a node shows, unless that is known, or the node has drifted.
func (l *Nodes) note(k shown, has bool, n *model.Node, drifted func(*model.Node) bool) {
	w := l.witness[k]
	switch {
	case l.shown[k], !has && w != nil && !w.CreateTime.Before(n.CreateTime), drifted(n):
	case has:
		l.shown[k] = true
		delete(l.witness, k)
	default:
		l.shown[k], l.witness[k] = false, n
	}
}

// Seen says whether a node of a pool, and for drivers and devices of a type there, has been seen with all that pods of
// a class need. That a new one is expected to have it is good enough for pods that wait, and not for those that run
// elsewhere: once the node that showed otherwise is gone, they would be moved to another one like it again and again.
// Nodes that others have made are no such sight.
func (l *Nodes) Seen(pool model.PoolName, typ model.TypeName, c *model.PodClass) bool {
	return !slices.ContainsFunc(c.NeededDrivers, func(d string) bool { return !l.own[shown{model.LacksDriver + d, pool, typ}] }) &&
		!slices.ContainsFunc(c.NeededFeatures, func(f string) bool { return !l.own[shown{what: model.LacksFeature + f, pool: pool}] }) &&
		l.seenDevices(pool, typ, c)
}

// Shows says whether a node is the one that shows of its pool, or of its type there, that pods of a class lack something on
// nodes like it. Without it another would be bought to find out, and that again and again.
func (l *Nodes) Shows(n *model.Node, c *model.PodClass) bool {
	pool, typ := poolOf(n)
	for _, d := range c.NeededDrivers {
		what := model.LacksDriver + d
		if l.isWitness(n, shown{what, pool, ""}) || l.shown[shown{what, pool, ""}] && l.isWitness(n, shown{what, pool, typ}) {
			return true
		}
	}
	return l.showsDevices(n, c) ||
		slices.ContainsFunc(c.NeededFeatures, func(f string) bool { return l.isWitness(n, shown{what: model.LacksFeature + f, pool: pool}) })
}

func (l *Nodes) isWitness(n *model.Node, k shown) bool {
	has, known := l.shown[k]
	return known && !has && l.witness[k].Name == n.Name
}

// ofNode is what a node lacks. Its kubelet says what it can do when it joins; its drivers come later.
func (l *Nodes) ofNode(n *model.Node) model.Labels {
	var out model.Labels
	pool, typ := poolOf(n)
	for _, d := range l.drivers {
		late := !l.settled(n) && l.expects(model.LacksDriver+d, shown{pool: pool, typ: typ}, shown{pool: pool})
		if !slices.Contains(n.Drivers, d) && !late {
			out = append(out, model.Label{Key: model.LacksDriver + d})
		}
	}
	for _, f := range l.features {
		if !slices.Contains(n.Features, f) {
			out = append(out, model.Label{Key: model.LacksFeature + f})
		}
	}
	return append(out, l.devicesOfNode(n)...)
}

// Settles is when the first node of a snapshot that still lacks a driver, or devices, will have had its time for it; zero
// where none is waited for.
func (l *Nodes) Settles(s *model.Snapshot, now time.Time) (first time.Time) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		lacks := func(d string) bool { return !slices.Contains(n.Drivers, d) }
		if at := n.CreateTime.Add(DriverTimeout); at.After(now) && (slices.ContainsFunc(l.drivers, lacks) || l.awaitsDevices(n)) {
			first = rules.Earliest(first, at)
		}
	}
	return first
}

func (l *Nodes) settled(n *model.Node) bool { return l.now.Sub(n.CreateTime) >= DriverTimeout }

// younger says whether a node is younger than another one, or the first.
func younger(n, than *model.Node) bool { return than == nil || than.CreateTime.Before(n.CreateTime) }

func poolOf(n *model.Node) (model.PoolName, model.TypeName) {
	pool, _ := n.Labels.Get(labels.NodePool)
	typ, _ := n.Labels.Get(labels.InstanceType)
	return model.PoolName(pool), model.TypeName(typ)
}

// withLacks keeps labels sorted.
func withLacks(has, lacks model.Labels) model.Labels {
	if len(lacks) == 0 {
		return has
	}
	out := slices.Concat(has, lacks)
	slices.SortFunc(out, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// Needs says whether pods of a class need anything of nodes that these may lack. Most do not.
func Needs(c *model.PodClass) bool {
	return len(c.NeededDrivers)+len(c.NeededFeatures)+len(c.DeviceClaims) > 0
}

// Needed is a class with what its pods need of nodes as one more thing that must be within reach. One that needs nothing is
// returned itself.
func Needed(c *model.PodClass) *model.PodClass {
	var all []model.Requirement
	for _, d := range c.NeededDrivers {
		all = append(all, model.Requirement{Key: model.LacksDriver + d, Operator: model.DoesNotExist})
	}
	for _, f := range c.NeededFeatures {
		all = append(all, model.Requirement{Key: model.LacksFeature + f, Operator: model.DoesNotExist})
	}
	var more []model.VolumeTopology
	if len(all) > 0 {
		more = []model.VolumeTopology{{Terms: []model.NodeAffinityTerm{{Requirements: all}}}}
	}
	if more = append(more, neededDevices(c)...); len(more) == 0 {
		return c
	}
	out := *c
	out.Volumes = slices.Concat(c.Volumes, more)
	return &out
}
