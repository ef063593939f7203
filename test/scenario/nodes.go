package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// node is a node, with its claim unless it is of somebody else. It has been there and quiet for an hour, and its claim is
// initialized, unless the line says otherwise.
func (b *builder) node(s *statement) {
	c := b.launched(s)
	age := s.duration("age", "1h")
	c.CreateTime, c.LaunchTime, c.StateTime = b.in.Now.Add(-age), b.in.Now.Add(-age), b.in.Now.Add(-age)
	c.Node = model.NodeName(s.name)
	n := model.Node{
		Name: c.Node, ProviderID: c.ProviderID, Claim: c.ID, Labels: b.nodeLabels(s, c), Taints: slices.Clone(c.Taints),
		Allocatable: c.Allocatable, Capacity: c.Capacity, Ready: !s.is("unready"), Unschedulable: s.is("cordoned"),
		Terminating: s.is("terminating"), DoNotDisrupt: s.is("do-not-disrupt"), DoNotRepair: s.is("do-not-repair"), CreateTime: c.CreateTime,
		LastPodEventTime: b.in.Now.Add(-s.duration("quiet", age.String())),
	}
	n.Taints = append(n.Taints, s.taints("taints")...)
	n.Allocatable = merge(n.Allocatable, s.amounts("has"))
	n.VolumeLimits, n.Drivers, n.Features = s.amounts("attach"), s.list("drivers"), s.list("features")
	n.Devices = s.nodeDevices(s.name)
	n.Conditions = b.conditions(s)
	if c.State >= model.ClaimInitialized {
		c.InitializeTime, c.Reached = c.CreateTime, model.ClaimInitialized
	}
	if p, ok := b.pools[string(c.NodePool)]; ok && p.ExpireAfter != nil {
		c.ExpireTime = c.CreateTime.Add(*p.ExpireAfter)
	}
	if s.has("expires") {
		c.ExpireTime = b.in.Now.Add(s.duration("expires", "0s"))
	}
	if why := s.text("drifted", ""); why != "" {
		c.Drifted = model.Reason{Code: model.CodeDrifted, Message: why, Subject: "node/" + s.name}
	}
	b.bind(s, n.Name)
	c.Pods = s.podsOf("bought")
	slices.Sort(c.Pods)
	if s.is("unowned") {
		n.Claim = ""
	} else {
		b.in.Snapshot.Claims = append(b.in.Snapshot.Claims, c)
	}
	b.in.Snapshot.Nodes = append(b.in.Snapshot.Nodes, n)
}

// merge is the amounts with some of them replaced.
func merge(all, instead model.Amounts) model.Amounts {
	out := slices.Clone(instead)
	for _, a := range all {
		if _, ok := instead.Get(a.Resource); !ok {
			out = append(out, a)
		}
	}
	return sortAmounts(out)
}

// claim is one whose node has not joined yet. With a type it was launched, with types it was not.
func (b *builder) claim(s *statement) {
	var c model.Claim
	if s.has("type") {
		c = b.launched(s)
	} else {
		c = b.planned(s)
	}
	c.Pods = s.pods()
	slices.Sort(c.Pods)
	age := s.duration("age", "30s")
	c.CreateTime, c.StateTime = b.in.Now.Add(-age), b.in.Now.Add(-age)
	b.in.Snapshot.Claims = append(b.in.Snapshot.Claims, c)
}

// common reads what all claims have.
func (b *builder) common(s *statement, state model.ClaimState) model.Claim {
	c := model.Claim{
		ID: model.ClaimID("c-" + s.name), NodePool: model.PoolName(s.text("pool", "default")), NodeClass: "default", State: state,
		Disruption: model.DisruptionID(s.text("disruption", "")), PlanID: "p-before",
	}
	if s.verb == "claim" {
		c.ID = model.ClaimID(s.name)
	}
	if name := s.text("state", ""); name != "" {
		c.State = 0
		for st := model.ClaimPlanned; st <= model.ClaimFailed; st++ {
			if st.String() == name {
				c.State = st
			}
		}
		if c.State == 0 {
			s.fail("%q is not a state of a claim", name)
		}
	}
	p, ok := b.pools[string(c.NodePool)]
	if !ok {
		s.fail("pool %s is not declared before", c.NodePool)
	}
	c.NodeClass, c.Taints, c.StartupTaints, c.Labels = p.NodeClass, p.Taints, p.StartupTaints, slices.Clone(p.Labels)
	c.PoolHash, c.ClassHash = s.text("pool-hash", p.Hash), s.text("class-hash", "h")
	c.ImageID, c.TerminationGracePeriod = s.text("image", ""), p.TerminationGracePeriod
	c.Replaces = model.DisruptionID(s.text("replaces", ""))
	for _, text := range s.list("arrivals") {
		owner, count, _ := strings.Cut(text, "=")
		n, err := atoi(count)
		if err != nil || n < 1 || owner == "" {
			s.fail("%q is not the uid of a controller and how many of its pods are to come: u1=3", text)
		}
		c.Arrivals = append(c.Arrivals, model.Arrivals{OwnerUID: owner, Pods: n})
	}
	if s.has("going") {
		c.DisruptionReason = s.reason("going", "")
	}
	return c
}

// launched reads what a claim became.
func (b *builder) launched(s *statement) model.Claim {
	state := model.ClaimInitialized
	if s.verb == "claim" {
		state = model.ClaimLaunched
	}
	c := b.common(s, state)
	name := s.text("type", "m5.large")
	shape, ok := b.market.shape(name)
	if !ok {
		s.fail("type %s is not in the catalog", name)
	}
	c.InstanceType, c.Zone = shape.Name, zone(s.text("zone", "a"))
	c.CapacityType = s.capacity(s.text("capacity", "on-demand"))
	c.Price = b.market.price(name, c.Zone, c.CapacityType)
	if v := s.text("price", ""); v != "" {
		c.Price = s.money("price", v)
	}
	c.ReservationID = s.text("reservation", "")
	c.InstanceID = "i-" + s.name
	c.ProviderID = "aws:///" + c.Zone + "/" + c.InstanceID
	c.Capacity, c.Allocatable = shape.Capacity, shape.Allocatable
	return c
}

// planned reads what a claim may become.
func (b *builder) planned(s *statement) model.Claim {
	c := b.common(s, model.ClaimPlanned)
	ct := s.capacity(s.text("capacity", "on-demand"))
	z := zone(s.text("zone", "a"))
	for _, text := range s.list("types") {
		name, rest, elsewhere := strings.Cut(text, "/")
		if _, ok := b.market.shape(name); !ok {
			s.fail("type %s is not in the catalog", name)
		}
		o := model.RankedOffering{InstanceType: model.TypeName(name), Zone: z, CapacityType: ct}
		if elsewhere {
			letter, capacity, ok := strings.Cut(rest, "/")
			if !ok {
				s.fail("want TYPE or TYPE/ZONE/CAPACITY, not %s", text)
			}
			o.Zone, o.CapacityType = zone(letter), s.capacity(capacity)
		}
		o.Price = b.market.price(name, o.Zone, o.CapacityType)
		c.Offerings = append(c.Offerings, o)
	}
	if len(c.Offerings) == 0 {
		s.fail("want either type= or types=")
	}
	return c
}

func (b *builder) nodeLabels(s *statement, c model.Claim) model.Labels {
	shape, _ := b.market.shape(string(c.InstanceType))
	out := slices.Clone(shape.Labels)
	add := func(key, value string) {
		if _, ok := sortLabels(out).Get(key); !ok {
			out = append(out, model.Label{Key: key, Value: value})
		}
	}
	for _, l := range append(s.labels("labels"), c.Labels...) {
		add(l.Key, l.Value)
	}
	add(labels.Zone, c.Zone)
	if id := b.market.zoneIDs[c.Zone]; id != "" {
		add(labels.ZoneID, id)
	}
	add(labels.CapacityType, c.CapacityType.String())
	for _, l := range reservationLabels(b.market.offerings, c.ReservationID) {
		add(l.Key, l.Value)
	}
	add(labels.Hostname, s.name)
	add(labels.Region, region)
	add(labels.NodePool, string(c.NodePool))
	add(labels.NodeClass, string(c.NodeClass))
	return sortLabels(out)
}

// bind puts pods that were declared before onto a node, where they run.
func (b *builder) bind(s *statement, node model.NodeName) {
	for _, id := range s.pods() {
		i, ok := b.pods[id]
		if !ok {
			s.fail("pod %s is not declared before", id)
			continue
		}
		p := &b.in.Snapshot.Pods[i]
		if p.Node != "" {
			s.fail("pod %s is on node %s already", id, p.Node)
		}
		p.Node, p.Phase = node, model.PodRunning
		for i := range p.Devices {
			p.Devices[i].Pool = string(node)
		}
		p.BindTime, p.UnschedulableTime = b.in.Now.Add(-time.Hour), time.Time{}
		if since, told := b.bound[id]; told {
			p.BindTime = b.in.Now.Add(-since)
			p.CreateTime = p.BindTime.Add(-time.Second)
		}
	}
}
