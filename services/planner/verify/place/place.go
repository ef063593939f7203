package place

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// Place is one node, existing or to come, with what is on it.
type Place struct {
	kind    *kind
	subject string
	// host is its kubernetes.io/hostname where no label says it yet; "" for a node that has joined.
	host string
	// node is nil for one that is to come, pool where it is not known; disruption is what a new claim is a replacement in.
	node       *model.Node
	pool       *model.NodePool
	disruption model.DisruptionID
	// closed says why no pod may be sent there; "" when pods may. going says that it is closed because the plan takes it
	// away: until then it has what buffers keep there.
	closed string
	going  bool
	// fresh says that the plan buys it.
	fresh bool
	// bound are the pods that it has, staying those of them whose room no other may wait for. attachLimit is how many
	// volumes a CSI driver attaches; ok is false where no limit is known.
	bound       []*model.Pod
	staying     []*model.Pod
	attachLimit func(driver model.Resource) (limit int64, ok bool)
}

// Variants are all that the place may turn out to be.
func (p *Place) Variants() []*Variant { return p.kind.variants }

// Places makes each place once.
type Places struct {
	f      *facts.Facts
	nodes  map[model.NodeName]*Place
	claims map[model.ClaimID]*Place // in flight
	fresh  map[*model.NodeClaim]*Place
	kinds  map[string]*kind // of new claims, by their pool and their variants' numbers
	// variants are those of new claims: two claims have the same Variant exactly if nothing can tell their nodes apart.
	variants map[variantKey]*Variant
	// daemons are the DaemonSets whose pods will still start on a variant, rules what classes ask of nodes, as far as
	// either was asked for.
	daemons map[*Variant][]*model.PodClass
	rules   map[model.ClassID]*nodeRules
}

// variantKey is all that the node of a new claim depends on.
type variantKey struct {
	pool         model.PoolName
	class        model.NodeClassName
	requirements string
	offering     model.RankedOffering
}

// NewPlaces knows no place yet.
func NewPlaces(f *facts.Facts) *Places {
	return &Places{
		f: f, nodes: make(map[model.NodeName]*Place), claims: make(map[model.ClaimID]*Place), fresh: make(map[*model.NodeClaim]*Place),
		kinds: make(map[string]*kind), variants: make(map[variantKey]*Variant), daemons: make(map[*Variant][]*model.PodClass), rules: make(map[model.ClassID]*nodeRules),
	}
}

// at is where a placement sends its pod; nil where that does not exist.
func (ps *Places) at(to facts.Target) *Place {
	node, claim, fresh := ps.f.Cluster.Nodes[to.Node], ps.f.Cluster.Live[to.Claim], ps.f.Decisions.Claims[to.Claim]
	switch {
	case node != nil:
		return ps.node(node)
	case claim != nil:
		return ps.claim(claim)
	case fresh != nil:
		return ps.New(fresh)
	default:
		return nil
	}
}

// all lists everything that is there or comes: nodes, claims in flight, claims of the plan.
func (ps *Places) all() []*Place {
	var out []*Place
	for i := range ps.f.Cluster.Snapshot.Nodes {
		out = append(out, ps.node(&ps.f.Cluster.Snapshot.Nodes[i]))
	}
	for _, id := range slices.Sorted(maps.Keys(ps.f.Cluster.Live)) {
		if p := ps.claim(ps.f.Cluster.Live[id]); p.node == nil {
			out = append(out, p)
		}
	}
	for i := range ps.f.Plan.NodeClaims {
		if p := ps.New(&ps.f.Plan.NodeClaims[i]); p.pool != nil {
			out = append(out, p)
		}
	}
	return out
}

// New is the node of a new claim, which may be any of its offerings.
func (ps *Places) New(claim *model.NodeClaim) *Place {
	if p := ps.fresh[claim]; p != nil {
		return p
	}
	id, pool := string(claim.ID), ps.f.Cluster.Pools[claim.NodePool]
	p := &Place{
		fresh: true, kind: newKind(nil), subject: "claim " + id, host: "claim/" + id, pool: pool, disruption: claim.Disruption,
		attachLimit: ps.f.Market.AttachLimit(claim.NodeClass, claim.Offerings),
	}
	ps.fresh[claim] = p
	if pool == nil {
		return p
	}
	var variants []*Variant
	requirements := fmt.Sprint(claim.Requirements)
	numbers := []byte(claim.NodePool)
	for _, o := range claim.Offerings {
		key := variantKey{claim.NodePool, claim.NodeClass, requirements, o}
		v := ps.variants[key]
		if v == nil {
			v = ps.variant(owner{claim.NodePool, claim.NodeClass, pool.Labels, claim.Requirements}, o)
			ps.variants[key] = v
			v.number = len(ps.variants)
		}
		variants = append(variants, v)
		numbers = binary.AppendUvarint(append(numbers, ' '), uint64(v.number))
	}
	p.kind = ps.kinds[string(numbers)]
	if p.kind == nil {
		p.kind = newKind(pool.Taints, variants...)
		ps.kinds[string(numbers)] = p.kind
	}
	return p
}

// Daemons lists the DaemonSets whose pods are not on a place yet and may still start there.
func (ps *Places) Daemons(p *Place, v *Variant) []*model.PodClass {
	known, ok := ps.daemons[v]
	if ok {
		return known
	}
	c := ps.f.Cluster
	var out []*model.PodClass
	for _, d := range c.Snapshot.DaemonSets {
		class := c.Classes[d.Class]
		if class == nil || ps.nodeRules(class).start(p.kind.taints, v) == never {
			continue
		}
		runs := slices.ContainsFunc(p.bound, func(pod *model.Pod) bool {
			there := c.Class(pod)
			return there.Daemon && there.Namespace == class.Namespace && there.OwnerName == class.OwnerName
		})
		if !runs {
			out = append(out, class)
		}
	}
	ps.daemons[v] = out
	return out
}

func (ps *Places) nodeRules(class *model.PodClass) *nodeRules {
	r := ps.rules[class.ID]
	if r == nil {
		r = newNodeRules(class)
		ps.rules[class.ID] = r
	}
	return r
}

func (ps *Places) node(n *model.Node) *Place {
	if p := ps.nodes[n.Name]; p != nil {
		return p
	}
	c := ps.f.Cluster
	claim := c.ClaimOn[n.Name]
	p := &Place{
		subject: "node " + string(n.Name), node: n, bound: c.PodsOn[n.Name], staying: ps.f.Staying(n), attachLimit: n.VolumeLimits.Get,
		kind: newKind(rules.LastingTaints(n.Taints, claim, false), &Variant{Name: "as it is", labels: c.LabelsOn(n), allocatable: n.Allocatable}),
	}
	ps.nodes[n.Name] = p
	switch {
	case facts.NodeLeaving(n):
		p.closed = "the node is leaving"
	case n.Unschedulable:
		p.closed = "the node is cordoned"
	case c.Ended(n.Claim):
		p.closed = "its claim has ended"
	}
	if claim == nil {
		return p
	}
	p.pool = c.Pools[claim.NodePool]
	if d, ok := ps.f.Decisions.TakenBy[claim.ID]; ok {
		p.closed = "disruption " + string(d) + " of the same plan takes it away"
		p.going = !facts.NodeLeaving(n) && !n.Unschedulable && !c.Leaving(claim)
	} else if c.Leaving(claim) {
		p.closed = "claim " + string(claim.ID) + " is leaving"
	}
	if claim.State < model.ClaimInitialized {
		ps.complete(p, n, claim)
	}
	return p
}

// complete fills in what a node does not report yet, by what is known from its claim.
func (ps *Places) complete(p *Place, n *model.Node, claim *model.Claim) {
	p.kind.variants[0].allocatable = facts.Complete(n.Allocatable, ps.f.Market.Allocatable(claim))
	p.attachLimit = func(driver model.Resource) (int64, bool) {
		if limit, ok := n.VolumeLimits.Get(driver); ok {
			return limit, true
		}
		return ps.f.Market.AttachLimit(claim.NodeClass, facts.Becomes(claim))(driver)
	}
	if claim.State < model.ClaimRegistered {
		p.kind = newKind(claim.Taints, ps.inFlight(claim)...)
		label, _ := n.Labels.Get(labels.Hostname)
		p.host = cmp.Or(label, string(n.Name))
		for _, v := range p.kind.variants {
			v.allocatable = facts.Complete(n.Allocatable, v.allocatable)
			ps.f.Cluster.AddJoined(v.labels, n)
		}
	}
	p.kind.taints = rules.LastingTaints(p.kind.taints, claim, true)
}

// claim is a claim in flight; one whose node has joined is that node.
func (ps *Places) claim(claim *model.Claim) *Place {
	c := ps.f.Cluster
	if n := c.NodeOf[claim.ID]; n != nil {
		return ps.node(n)
	}
	if p := ps.claims[claim.ID]; p != nil {
		return p
	}
	p := &Place{
		subject: "claim " + string(claim.ID), host: "claim/" + string(claim.ID), pool: c.Pools[claim.NodePool],
		kind: newKind(claim.Taints, ps.inFlight(claim)...), attachLimit: ps.f.Market.AttachLimit(claim.NodeClass, facts.Becomes(claim)),
	}
	ps.claims[claim.ID] = p
	switch d := ps.f.Decisions.TakenBy[claim.ID]; {
	case d != "":
		p.closed = "disruption " + string(d) + " of the same plan takes it away"
	case c.Leaving(claim):
		p.closed = "it is leaving"
	case claim.State > model.ClaimRegistered:
		p.closed = "its node is gone"
	}
	return p
}

func (ps *Places) inFlight(claim *model.Claim) []*Variant {
	var out []*Variant
	for _, o := range facts.Becomes(claim) {
		v := ps.variant(owner{claim.NodePool, claim.NodeClass, claim.Labels, claim.Requirements}, o)
		switch {
		case len(claim.Allocatable) > 0:
			v.allocatable = ps.f.Market.With(claim.Allocatable, claim.NodePool, &o)
		case v.allocatable == nil: // the type is not known just now; the node holds what it was bought for
			v.allocatable = claim.Requests
		}
		out = append(out, v)
	}
	return out
}

// owner is what makes a node beside its offering.
type owner struct {
	pool         model.PoolName
	class        model.NodeClassName
	labels       model.Labels
	requirements []model.Requirement
}

// ownName stands for the hostname of a node that is not there yet: it will have one, and it is none that anything knows.
const ownName = "(its own)"

// variant is the node that an offering makes.
func (ps *Places) variant(by owner, o model.RankedOffering) *Variant {
	v := &Variant{
		Name: string(o.InstanceType) + "/" + o.Zone + "/" + o.CapacityType.String(), Offering: o, labels: ps.f.Cluster.LabelsOfNew(by.pool, o.InstanceType, by.labels),
	}
	if t := ps.f.Market.Type(by.class, o.InstanceType); t != nil {
		maps.Copy(v.labels, facts.LabelMap(t.Labels))
		v.allocatable = ps.f.Market.With(t.Allocatable, by.pool, &o)
	}
	maps.Copy(v.labels, map[string]string{
		labels.InstanceType: string(o.InstanceType),
		labels.Zone:         o.Zone,
		labels.Region:       labels.RegionOf(o.Zone),
		labels.CapacityType: o.CapacityType.String(),
		labels.NodePool:     string(by.pool),
		labels.NodeClass:    string(by.class),
		labels.Registered:   "true",
		labels.Initialized:  "true",
		labels.Hostname:     ownName,
	})
	if id := ps.f.Market.ZoneID(o.Zone); id != "" {
		v.labels[labels.ZoneID] = id
	}
	if o.ReservationID != "" {
		v.labels[labels.CapacityReservationID] = o.ReservationID
	}
	for _, l := range rules.ReservationLabels(ps.f.Market.Reservation(o.ReservationID)) {
		v.labels[l.Key] = l.Value
	}
	for _, r := range require.NewSet(by.requirements...) {
		// A label that may be absent is one that the node does not get. Nor does one that has outlived its reservation
		// have its labels.
		if _, decided := v.labels[r.Key]; !decided && !r.AllowsAbsent() && !labels.OfReservation(r.Key) {
			if v.open == nil {
				v.open = make(map[string]require.Requirement)
			}
			v.open[r.Key] = r
		}
	}
	return v
}
