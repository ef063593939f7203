// Package view is the planner's working picture of one snapshot: interned and indexed once (World), and on top of it a
// copy of the nodes' free capacity that can be changed, forked and reverted (View).
//
// It knows what is where and how much is left. It does not judge whether a pod may run somewhere (fit), what to buy
// (pack) or what to disrupt (disrupt). Start reading with World, then View.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/extended"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/lacks"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/volumes"
)

// World is a snapshot with its references resolved and its constraints compiled. Who plans does not change it; who keeps
// it from one plan to the next may set Now, and fold in what became of pods (View.Fold).
type World struct {
	// Snapshot has everything but the pods, which are in Pods: Snapshot.Pods is not kept up to date.
	Snapshot *model.Snapshot
	Policy   model.Policy
	Now      time.Time
	Index    *Index

	// Classes and Pods are sorted by id, Pools by weight (highest first) and name.
	Classes  []*Class
	Profiles []*Profile
	Pods     []Pod
	// Unbound are the places of the pods that are bound to no node, in order.
	Unbound []int
	Pools   []*Pool
	Daemons []Daemon
	// ClaimIndex finds claims by id.
	ClaimIndex map[model.ClaimID]*model.Claim
	// Overlays are what users know better of some offerings than the catalogue.
	Overlays *offer.Overlays
	// Places are the labels that nodes have by where they are bought.
	Places offer.Places
	// ShiftedZones are the zones that the cluster is shifted away from.
	ShiftedZones map[string]bool
	// Devices counts devices as resources among those of Index; nil where no class claims any.
	Devices *devices.Dims

	catalogs map[model.CatalogID]*Catalog
	// offerings are sorted by what names them: a map of the thousands that there are would be most of what a World
	// allocates.
	offerings offerings
	// notices tell which instances AWS is about to take.
	notices rules.Interrupted
	// volumes are the attach limits of nodes that are not there yet.
	volumes *volumes.Limits
	// Lacks is what nodes lack of what pods need, disks are the nodes that volumes lie on.
	Lacks *lacks.Nodes
	disks rules.Disks
	// learned is what nodes turned out to have, where that is less than the catalogue says.
	learned map[learnedKey]Vector
}

// offering is what is remembered of an offering: of several reservations the lowest price.
type offering struct {
	offeringKey

	price     int64
	reclaimed model.ReclaimBand // 0 where it is not known
	estimated bool
}

type offeringKey struct {
	instanceType model.TypeName
	zone         string
	capacityType model.CapacityType
}

// offerings are sorted.
type offerings []offering

// of finds a claim's offering; nothing is like a price that is not known.
func (l offerings) of(c *model.Claim) offering {
	k := offeringKey{c.InstanceType, c.Zone, c.CapacityType}
	at, ok := slices.BinarySearchFunc(l, k, func(o offering, k offeringKey) int { return o.compare(k) })
	if !ok {
		return offering{}
	}
	return l[at]
}

func (k offeringKey) compare(l offeringKey) int {
	return cmp.Or(strings.Compare(string(k.instanceType), string(l.instanceType)), strings.Compare(k.zone, l.zone),
		cmp.Compare(k.capacityType, l.capacityType))
}

// Pod is a pod with its class.
type Pod struct {
	*model.Pod
	Class *Class
}

// Movable says that a plan can move the pod: it is not a DaemonSet's, not the kubelet's own, and not being deleted.
func (p *Pod) Movable() bool { return !p.Class.Daemon && !p.Class.Mirror && !p.Terminating }

// Daemon is a DaemonSet with the class of its pods.
type Daemon struct {
	*model.DaemonSet
	Class *Class
}

// Catalog is a catalog with compiled types, in the order of their names.
type Catalog struct {
	ID    model.CatalogID
	Types []*Type
	index map[model.TypeName]*Type
	keys  map[string]bool
}

// Type is an instance type with vectors.
type Type struct {
	*model.InstanceType
	CapacityVector    Vector
	AllocatableVector Vector
}

// Pool is a node pool with its node class.
type Pool struct {
	*model.NodePool
	Index int
	// Class is nil when the snapshot does not have it.
	Class *model.NodeClass
	// Catalog is nil when Class is.
	Catalog *Catalog
	// Requirements are the pool's own, its labels and its name included.
	Requirements require.Set
	// LimitVector has a value for each resource with a limit, and -1 for the others; NodeLimit is -1 without one.
	LimitVector Vector
	NodeLimit   int64
	lacks       *lacks.Nodes
}

// NewWorld compiles a snapshot. The snapshot must be sorted (plan sorts it). It returns an error that names the object
// and the field when a reference leads nowhere or an id is there twice.
func NewWorld(s *model.Snapshot, policy model.Policy, now time.Time) (*World, error) {
	pods := make([]Pod, len(s.Pods))
	for i := range s.Pods {
		pods[i].Pod = &s.Pods[i]
	}
	return Compile(s, pods, policy, now)
}

// Compile is NewWorld for pods that are not in the snapshot's own list. They are sorted by id; their classes need not be
// set. The World keeps the list.
func Compile(s *model.Snapshot, pods []Pod, policy model.Policy, now time.Time) (*World, error) {
	s = extended.Resolve(s)
	w := &World{Snapshot: s, Pods: pods, Policy: policy, Now: now, Devices: counted(s), volumes: volumes.New(s.Nodes)}
	cp := compiler{w}
	w.Index = NewIndex(slices.Concat(mentioned(s), attachLimits(s), cp.deviceNames()))
	for _, step := range []func() error{
		cp.addCatalogs, w.addOfferings, cp.addClasses, cp.addPods, cp.addDaemons, cp.addPools, cp.addClaims,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	cp.learn()
	return w, nil
}

// mentioned lists the resources that anything asks for or limits. What only nodes have does not matter.
func mentioned(s *model.Snapshot) []model.Resource {
	names := []model.Resource{model.CPU, model.Memory, model.Pods}
	for i := range s.PodClasses {
		for _, a := range s.PodClasses[i].Requests {
			if a.Value > 0 {
				names = append(names, a.Resource)
			}
		}
	}
	for i := range s.NodePools {
		for _, a := range s.NodePools[i].Limits {
			if a.Resource != model.Nodes {
				names = append(names, a.Resource)
			}
		}
	}
	return names
}

// compiler fills in a World from its snapshot, and resolves references.
type compiler struct{ w *World }

func (cp compiler) addCatalogs() error {
	cp.w.catalogs = make(map[model.CatalogID]*Catalog)
	for i := range cp.w.Snapshot.Catalogs {
		spec := &cp.w.Snapshot.Catalogs[i]
		if cp.w.catalogs[spec.ID] != nil {
			return fmt.Errorf("catalog %s is there twice", spec.ID)
		}
		c := &Catalog{ID: spec.ID, index: make(map[model.TypeName]*Type, len(spec.InstanceTypes)), keys: make(map[string]bool)}
		for j := range spec.InstanceTypes {
			t := &spec.InstanceTypes[j]
			if c.index[t.Name] != nil {
				return fmt.Errorf("catalog %s: instance_types: %s is there twice", spec.ID, t.Name)
			}
			compiled := &Type{InstanceType: t, CapacityVector: cp.w.Index.Vector(t.Capacity), AllocatableVector: cp.allocatable(t)}
			c.index[t.Name] = compiled
			for _, l := range t.Labels {
				c.keys[l.Key] = true
			}
			c.Types = append(c.Types, compiled)
		}
		cp.w.catalogs[spec.ID] = c
	}
	return nil
}

// Type finds an instance type by name; nil when the catalog does not have it.
func (c *Catalog) Type(name model.TypeName) *Type {
	if c == nil {
		return nil
	}
	return c.index[name]
}

// Defines says whether any type of the catalog has a label of its own.
func (c *Catalog) Defines(key string) bool { return c.keys[key] }

func (w *World) addOfferings() error {
	w.Overlays = offer.NewOverlays(w.Snapshot)
	w.Places, w.ShiftedZones = offer.NewPlaces(w.Snapshot.Offerings), model.ShiftedZones(w.Snapshot.Offerings)
	list := make([]offering, 0, len(w.Snapshot.Offerings))
	for i := range w.Snapshot.Offerings {
		o := &w.Snapshot.Offerings[i]
		if id := w.Places.ZoneID(o.Zone); o.ZoneID != "" && o.ZoneID != id {
			return fmt.Errorf("offering %s: zone_id: %s, and %s of another offering in the same zone", o.Key(), o.ZoneID, id)
		}
		list = append(list, offering{offeringKey{o.InstanceType, o.Zone, o.CapacityType}, o.Price, o.Reclaimed, o.PriceEstimated})
	}
	slices.SortStableFunc(list, func(a, b offering) int { return a.compare(b.offeringKey) })
	w.offerings = list[:0]
	for _, o := range list {
		last := len(w.offerings) - 1
		if last < 0 || w.offerings[last].offeringKey != o.offeringKey {
			w.offerings = append(w.offerings, o)
			continue
		}
		if o.capacityType != model.Reserved {
			return fmt.Errorf("offering %s/%s/%s is there twice", o.instanceType, o.zone, o.capacityType)
		}
		known := &w.offerings[last]
		if o.price < known.price {
			known.price, known.estimated = o.price, known.estimated || o.estimated
		}
		if o.reclaimed != 0 {
			known.reclaimed = o.reclaimed
		}
	}
	return nil
}

func (cp compiler) addPods() error {
	var class *Class
	for i := range cp.w.Pods {
		p := &cp.w.Pods[i]
		if i > 0 && p.ID == cp.w.Pods[i-1].ID {
			return fmt.Errorf("pod %s is there twice", p.ID)
		}
		if class == nil || class.ID != p.Pod.Class { // pods of a class mostly follow each other
			class = cp.w.class(p.Pod.Class)
		}
		if class == nil {
			return fmt.Errorf("pod %s: class_id: no pod class %s", p.ID, p.Pod.Class)
		}
		p.Class = class
		if p.Node == "" {
			cp.w.Unbound = append(cp.w.Unbound, i)
		}
	}
	return nil
}

func (cp compiler) addDaemons() error {
	for i := range cp.w.Snapshot.DaemonSets {
		d := &cp.w.Snapshot.DaemonSets[i]
		c := cp.w.class(d.Class)
		if c == nil {
			return fmt.Errorf("daemon set %s: class_id: no pod class %s", d.ID, d.Class)
		}
		cp.w.Daemons = append(cp.w.Daemons, Daemon{DaemonSet: d, Class: c})
	}
	return nil
}

func (cp compiler) addPools() error {
	classes := make(map[model.NodeClassName]*model.NodeClass)
	for i := range cp.w.Snapshot.NodeClasses {
		nc := &cp.w.Snapshot.NodeClasses[i]
		if nc.NotReady.OK() && cp.w.catalogs[nc.Catalog] == nil {
			return fmt.Errorf("node class %s: catalog_id: no catalog %q", nc.Name, nc.Catalog)
		}
		classes[nc.Name] = nc
	}
	seen := make(map[model.PoolName]bool)
	for i := range cp.w.Snapshot.NodePools {
		p := &cp.w.Snapshot.NodePools[i]
		if seen[p.Name] {
			return fmt.Errorf("node pool %s is there twice", p.Name)
		}
		seen[p.Name] = true
		cp.w.Pools = append(cp.w.Pools, cp.newPool(p, classes[p.NodeClass]))
	}
	slices.SortFunc(cp.w.Pools, func(a, b *Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Name, b.Name))
	})
	for i, p := range cp.w.Pools {
		p.Index = i
	}
	return nil
}

func (cp compiler) newPool(p *model.NodePool, class *model.NodeClass) *Pool {
	out := &Pool{NodePool: p, Class: class, NodeLimit: -1, lacks: cp.w.Lacks}
	out.Requirements = require.NewSet(p.Requirements...).
		Intersect(require.FromLabels(p.Labels)).
		With(require.Value(labels.NodePool, string(p.Name))).
		With(require.Value(labels.NodeClass, string(p.NodeClass)))
	if class != nil {
		out.Catalog = cp.w.catalogs[class.Catalog]
	}
	out.LimitVector = make(Vector, cp.w.Index.Len())
	for i := range out.LimitVector {
		out.LimitVector[i] = -1
	}
	for _, a := range p.Limits {
		if a.Resource == model.Nodes {
			out.NodeLimit = a.Value
			continue
		}
		if i, ok := cp.w.Index.Place(a.Resource); ok {
			out.LimitVector[i] = a.Value
		}
	}
	return out
}

func (cp compiler) addClaims() error {
	cp.w.ClaimIndex = make(map[model.ClaimID]*model.Claim, len(cp.w.Snapshot.Claims))
	for i := range cp.w.Snapshot.Claims {
		c := &cp.w.Snapshot.Claims[i]
		if cp.w.ClaimIndex[c.ID] != nil {
			return fmt.Errorf("claim %s is there twice", c.ID)
		}
		cp.w.ClaimIndex[c.ID] = c
	}
	cp.w.notices = rules.InterruptedBy(slices.Values(cp.w.Snapshot.Notices))
	return nil
}

// Pool finds a pool by name; nil when there is none.
func (w *World) Pool(name model.PoolName) *Pool {
	for _, p := range w.Pools {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Price is today's price of a claim, micro-dollars per hour: that of its offering, else that at launch, else that of the
// offering that it will most likely be launched as. 0 means that it is not known.
func (w *World) Price(c *model.Claim) int64 {
	if c.InstanceType == "" {
		if len(c.Offerings) > 0 {
			return c.Offerings[0].Price
		}
		return c.Price
	}
	if p := w.offerings.of(c).price; p > 0 {
		return p
	}
	return c.Price
}

// Estimated says whether Price is an estimate. A price at launch is taken for what was told.
func (w *World) Estimated(c *model.Claim) bool {
	if c.InstanceType == "" {
		return len(c.Offerings) > 0 && c.Offerings[0].PriceEstimated
	}
	return w.offerings.of(c).estimated
}

// Reclaimed is how often AWS takes back instances like that of a claim; 0 where it is not known.
func (w *World) Reclaimed(c *model.Claim) model.ReclaimBand {
	return w.offerings.of(c).reclaimed
}

// WeighedPrice is Price as node overlays have it, which is what decisions are made by: users pay what they say, AWS
// bills the list price.
func (w *World) WeighedPrice(c *model.Claim) int64 {
	if c.InstanceType == "" {
		if len(c.Offerings) > 0 {
			return c.Offerings[0].Weighed()
		}
		return c.Price
	}
	price, _ := w.Overlays.For(c.NodePool, c.InstanceType).Price(&model.Offering{
		InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, ReservationID: c.ReservationID, Price: w.Price(c),
	})
	return price
}
