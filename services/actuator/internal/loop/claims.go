package loop

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/disruption"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/actuator/internal/nominating"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// claims gathers what is known of each claim, and lets the claim answer to it.
type claims struct {
	region                string
	initializationTimeout time.Duration
	drainRebalanced       bool

	begun     time.Time // when this leader did
	agenda    *agenda.Agenda
	registry  *registry.Registry
	cluster   *observed.Cluster
	instances *observed.Instances
	market    *market.Market
	classes   *market.Classes

	// nominations say for which pods a node is kept, and from which one is.
	nominations *nominating.Nominations

	// queue is what happened to each claim since the last pass. A pass empties it.
	queue map[model.ClaimID][]lifecycle.Event
	// waited is how long a claim's launch has waited for others.
	waited func(*model.Claim) time.Duration
	// refused are pods ("namespace/name") whose last eviction was refused, with the words, and held those of them that
	// a budget holds.
	refused map[string]string
	held    map[string]bool
	// empty are the nodes, by their uid, of which the API server has said that no pod is there that leaves. trouble is
	// what else came of asking it, or why a node that is drained can't be shut. Both are by the claim.
	empty, trouble map[model.ClaimID]string
	// tainted says when this leader first saw the taint of a node that goes, by the claim.
	tainted map[model.ClaimID]taint

	attention

	// present are the classes, and notices those that have a claim, by it: made for all claims, the latter once in a pass.
	present map[model.NodeClassName]*apply.Class
	notices map[model.ClaimID][]*model.Notice
	// places are those of all claims, made once in a pass if it is asked for them.
	places func() *lifecycle.Places
	// ready says that everything was asked for once: before, that a claim has not drifted proves nothing.
	ready bool
}

func newClaims(t *term) *claims {
	return &claims{
		region: t.cfg.Region, initializationTimeout: t.cfg.InitializationTimeout, drainRebalanced: t.cfg.DrainRebalanced, agenda: t.agenda, registry: t.registry,
		cluster: t.cluster, instances: t.instances, market: t.market, classes: t.classes,
		queue: map[model.ClaimID][]lifecycle.Event{}, refused: map[string]string{}, held: map[string]bool{}, attention: newAttention(),
		empty: map[model.ClaimID]string{}, trouble: map[model.ClaimID]string{}, tainted: map[model.ClaimID]taint{},
	}
}

// happened queues what happened to a claim, for the next pass or the present one if that has not come to the claim yet.
func (s *claims) happened(id model.ClaimID, e lifecycle.Event) { s.queue[id] = append(s.queue[id], e) }

// noteDeferred lets claims know which of them a plan means to remove later, where that has changed.
func (s *claims) noteDeferred(nodes []model.NodeVerdict) {
	for _, v := range nodes {
		if c := s.registry.Claims[v.Claim]; v.Deferred != nil && c != nil && c.RemovalDeferred != *v.Deferred {
			s.happened(c.ID, lifecycle.Event{Kind: lifecycle.EventDefer, Deferred: *v.Deferred})
			s.agenda.Change()
		}
	}
}

// begin begins a pass over the claims, and returns those to look at, by id; end ends it.
func (s *claims) begin(ready bool) []*model.Claim {
	s.ready = ready
	if s.present == nil || s.presentAt != s.classes.Version() {
		s.present, s.presentAt = presentClasses(s.classes), s.classes.Version()
	}
	s.notices = map[model.ClaimID][]*model.Notice{}
	for _, n := range s.registry.Notices {
		s.notices[n.Claim] = append(s.notices[n.Claim], n)
	}
	for _, list := range s.notices {
		slices.SortFunc(list, func(a, b *model.Notice) int { return cmp.Compare(a.ID, b.ID) })
	}
	s.places = sync.OnceValue(func() *lifecycle.Places { return lifecycle.NewPlaces(maps.Values(s.registry.Claims)) })
	return s.due()
}

func (s *claims) end() { clear(s.queue) }

// presentClasses are the node classes as plans and claims are checked against.
func presentClasses(classes *market.Classes) map[model.NodeClassName]*apply.Class {
	out := map[model.NodeClassName]*apply.Class{}
	for name, c := range classes.All() {
		p := c.Present()
		out[name] = &p
	}
	return out
}

// advance lets a claim answer to all that is known about it.
func (s *claims) advance(c model.Claim) lifecycle.Result {
	r, moved := lifecycle.Advance(c, s.queue[c.ID], s.seen(&c), s.agenda.Now())
	if !moved {
		r.Claim = s.compared(r.Claim)
		if n := s.cluster.Node(&r.Claim); n != nil && r.Claim.ReservationID == "" && slices.ContainsFunc(labels.Reservation(), func(key string) bool { return n.Labels[key] != "" }) {
			r.Effects = append(r.Effects, lifecycle.Effect{Kind: lifecycle.EffectSyncNode})
		}
	}
	return r
}

// seen is what is known of a claim.
func (s *claims) seen(c *model.Claim) lifecycle.Seen {
	seen := lifecycle.Seen{
		Listed: s.instances.AskedAt(c.ID), Instances: s.instances.Of(c.ID), Record: func(i cloud.Instance) lifecycle.Instance { return s.record(c, i) },
		Node: s.cluster.Node(c), Deleted: s.cluster.Deleted(c), Notices: s.notices[c.ID], Blocked: s.refused,
		Places: s.places, Begun: s.begun, DrainRebalanced: s.drainRebalanced,
	}
	seen.NodeMissing, seen.MustStay = s.cluster.Missing(c)
	seen.TaintTime, seen.Kept = s.taintTime(c.ID, seen.Node), s.nominations.Keeps(c.ID)
	if c.RemovalDeferred {
		seen.Firm = s.nominations.Firm(c.Node)
	}
	if c.State == model.ClaimDraining {
		seen.Later = s.nominations.Later(c)
		uid, asked := s.empty[c.ID]
		seen.Unasked, seen.Trouble = !asked || seen.Node != nil && seen.Node.UID != uid, s.trouble[c.ID]
	}
	if class := s.classes.Get(c.NodeClass); class != nil && c.ReservationID != "" {
		seen.ReservationDrains, seen.ReservationEnds = class.Ends(c.ReservationID)
	}
	if c.Disruption != "" {
		seen.Released = disruption.Released(s.registry.Disruptions[c.Disruption], c.ID)
	}
	switch c.State {
	case model.ClaimLaunching: // nothing was asked of EC2 before this leader began, nor while others had all slots
		seen.LaunchBy = lifecycle.LaunchDeadline(c, s.begun, s.waited(c), s.instances.SilentSince, s.agenda.Now())
	case model.ClaimLaunched:
		seen.RegisterBy = lifecycle.RegistrationDeadline(c, seen.Node, s.begun, s.cluster.SilentSince)
	case model.ClaimRegistered:
		seen.InitializeBy = lifecycle.InitializationDeadline(c, s.initializationTimeout, s.begun, s.cluster.SilentSince)
	case model.ClaimPlanned:
		seen.NotReady, seen.Offerings = s.notReady(c.NodeClass), s.available(c.NodeClass, c.Offerings)
	default:
	}
	return seen
}

// taint is when the taint of a node, by its uid, was first seen.
type taint struct {
	uid   string
	first time.Time
}

// taintTime is when this leader first saw a node's taint, which it may find there when it begins; zero where it has none.
// What the API server said before that of the pods there says nothing of those that have come until then.
func (s *claims) taintTime(id model.ClaimID, n *cluster.Node) time.Time {
	if n == nil || !n.Disrupted() {
		delete(s.tainted, id)
		return time.Time{}
	}
	if s.tainted[id].uid != n.UID {
		s.tainted[id] = taint{n.UID, s.agenda.Now()}
		delete(s.empty, id)
	}
	return s.tainted[id].first
}

// notReady is why nothing can be launched with the class now; the zero Reason when something can.
func (s *claims) notReady(name model.NodeClassName) model.Reason {
	if class := s.classes.Get(name); class != nil {
		return class.NotReady()
	}
	return model.Reason{
		Code: model.CodeNodeClassNotFound, Subject: "ec2nodeclass/" + string(name), Message: fmt.Sprintf("EC2NodeClass %q does not exist", name),
	}
}

// available drops offerings of a class's claim that EC2 had none of lately, and those in zones that the cluster is
// shifted away from.
func (s *claims) available(class model.NodeClassName, offerings []model.RankedOffering) []model.RankedOffering {
	var group map[shortage.Key]time.Time
	if c := s.classes.Get(class); c != nil {
		group = s.registry.Shortages.InGroup(c.Resolved().PlacementGroup.ID)
	}
	looked := s.registry.Shortages.Lookup()
	return slices.DeleteFunc(slices.Clone(offerings), func(o model.RankedOffering) bool {
		key := shortage.Key{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType}
		if s.agenda.Now().Before(group[key]) || s.market.Shifted(o.Zone) {
			return true
		}
		return !looked.Of(key, s.market.VCPU(o.InstanceType), s.agenda.Now()).Until.IsZero() || s.classes.Full(o.ReservationID)
	})
}

// record is what a claim remembers of an instance.
func (s *claims) record(c *model.Claim, i cloud.Instance) lifecycle.Instance {
	o := model.RankedOffering{InstanceType: i.InstanceType, Zone: i.Zone, CapacityType: i.CapacityType, ReservationID: i.ReservationID}
	key := apply.KeyOf(o)
	if now, ok := s.market.Offering(key); ok {
		o.Price, o.PriceEstimated = now.Price, now.Estimated
	}
	for _, planned := range c.Offerings {
		if apply.KeyOf(planned) == key {
			o = planned
		}
	}
	r := lifecycle.Instance{ID: i.ID, ProviderID: i.ProviderID, ImageID: i.ImageID, Offering: o, LaunchTime: i.LaunchTime}
	values := map[string]string{}
	for _, x := range c.Labels {
		values[x.Key] = x.Value
	}
	if class := s.classes.Get(c.NodeClass); class != nil {
		shape := class.Shapes()[i.InstanceType]
		r.Capacity, r.Allocatable = instancetype.Attached(shape.Capacity, c.Requests), instancetype.Attached(shape.Allocatable, c.Requests)
		for _, x := range shape.Labels {
			values[x.Key] = x.Value
		}
		if id := class.ZoneID(i.Zone); id != "" {
			values[labels.ZoneID] = id
		}
	}
	if r.Capacity == nil { // the class went away meanwhile: the plan's figures are near enough until the node tells
		r.Capacity, r.Allocatable = c.Capacity, c.Allocatable
	}
	values[labels.InstanceType], values[labels.Zone], values[labels.CapacityType] = string(i.InstanceType), i.Zone, i.CapacityType.String()
	for _, l := range rules.ReservationLabels(s.reservation(c.NodeClass, i.ReservationID)) {
		values[l.Key] = l.Value
	}
	if s.region != "" {
		values[labels.Region] = s.region
	}
	for k, v := range values {
		r.Labels = append(r.Labels, model.Label{Key: k, Value: v})
	}
	slices.SortFunc(r.Labels, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })
	return r
}

// reservation is one by its id, as its class knows it.
func (s *claims) reservation(class model.NodeClassName, id string) model.Reservation {
	out := model.Reservation{ID: id}
	if c := s.classes.Get(class); c != nil {
		r, _ := c.Resolved().Reservation(id)
		out.Block, out.Interruptible = r.Block, r.Interruptible
	}
	return out
}

// compared compares a claim that has an instance with what its pool and class ask for now, by the rules that a plan's
// word is checked by.
func (s *claims) compared(c model.Claim) model.Claim {
	if c.State < model.ClaimLaunched || c.State > model.ClaimInitialized {
		return c
	}
	p := apply.Present{
		Now: s.agenda.Now(), Node: s.cluster.Node(&c), Market: s.market, MarketKnown: s.market.Known(),
		Pool: s.cluster.Pool(c.NodePool), Class: s.present[c.NodeClass], Instance: shown(s.instances, &c, s.classes.Get(c.NodeClass)),
	}
	if p.Pool != nil {
		c.PoolHash = rules.Rehash(c.PoolHash, p.Pool.Hash)
	}
	if p.Class != nil {
		c.ClassHash = rules.Rehash(c.ClassHash, p.Class.Hash)
	}
	s.outlived(&c)
	if p.Instance != nil && c.ImageID == "" { // EC2 did not say so when it launched it
		c.ImageID = p.Instance.ImageID
	}
	// What is not known is no reason to believe that a drift is over: a new leader has not resolved any class yet.
	known := s.ready && p.Pool != nil && p.Pool.NotReady.OK() && p.Class != nil && len(p.Class.Images) > 0
	if drifted := apply.Drift(c, p); known || !drifted.OK() {
		c.Drifted = drifted
	}
	return c
}

// outlived makes a claim whose reservation has ended, and whose instance goes on, what EC2 bills it as: on-demand.
func (s *claims) outlived(c *model.Claim) {
	i := s.instances.Alive(c)
	if c.ReservationID == "" || i == nil || i.ReservationID != "" || i.State != cloud.Running {
		return
	}
	c.CapacityType, c.ReservationID = model.OnDemand, ""
	if now, ok := s.market.Offering(apply.OfferingKey{InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType}); ok {
		c.Price = now.Price
	}
	has := values(c.Labels)
	has[labels.CapacityType] = c.CapacityType.String()
	for _, key := range labels.Reservation() {
		delete(has, key)
	}
	c.Labels = model.LabelsOf(has)
}

// endSeen is how long EC2 may take to show instances without a reservation that has ended, which no class selects any more.
const endSeen = time.Minute

// shown is what EC2 shows of the claim's instance while it is alive; nil when nothing. The class is the claim's; nil
// when there is none.
func shown(instances *observed.Instances, c *model.Claim, class *market.Class) *rules.Placement {
	i := instances.Alive(c)
	if i == nil {
		return nil
	}
	out := &rules.Placement{ImageID: i.ImageID, SecurityGroups: i.SecurityGroups}
	if i.SubnetID != "" {
		out.Subnets = []string{i.SubnetID}
	}
	if class == nil {
		return out
	}
	if since := class.ReservedSince(); !since.IsZero() && instances.AskedAt(c.ID).After(since.Add(endSeen)) {
		out.Reservation = i.ReservationID
	}
	return out
}

// answered notes what the API server has said of a node of which no pod is seen.
func (s *claims) answered(id model.ClaimID, n *cluster.Node, pods []cluster.Pod, err error) {
	why := lifecycle.Unseen(n.Name, pods, s.agenda.Now())
	if err != nil {
		why = fmt.Sprintf("the API server does not say which pods are on node %s: %v", n.Name, err)
	}
	if why == "" {
		s.empty[id] = n.UID
	}
	s.troubled(id, why)
}

// shut notes what came of shutting a node that is drained.
func (s *claims) shut(id model.ClaimID, n model.NodeName, err error) {
	why := ""
	if err != nil {
		why = fmt.Sprintf("node %s can't be shut to new pods: %v", n, err)
	} else {
		delete(s.empty, id) // pods may have come until now
	}
	s.troubled(id, why)
}

func (s *claims) troubled(id model.ClaimID, why string) {
	if delete(s.trouble, id); why != "" {
		s.trouble[id] = why
	}
	s.look(id)
}

// forgetRefusals forgets refusals of pods that are no more.
func (s *claims) forgetRefusals() {
	there := map[string]bool{}
	for _, n := range s.cluster.Nodes {
		for _, p := range n.Pods {
			there[p.Namespace+"/"+p.Name] = true
		}
	}
	maps.DeleteFunc(s.refused, func(name, _ string) bool { return !there[name] })
	maps.DeleteFunc(s.held, func(name string, _ bool) bool { return !there[name] })
}
