// Package verify is the second opinion on a plan: does it keep the rules on the input that it was made from?
//
// It is written to be obviously right and not to be fast or clever: plain loops over the model, every rule from its
// definition. It shares no code with the packages that make plans (view, fit, pack, disrupt), so that a mistake in them
// is not repeated here; what overlays and buffers say is data to it, as it is to them (offer), and who gets which devices is
// decided in one place, which a test holds against the scheduler (devices). It never repairs a plan and never says whether a plan is good, only whether it is allowed. A
// plan with a Violation is a defect of the planner and must not leave it.
//
// Start reading at Plan, which lists the rules in order, then room.go: whether pods may run together on one node is
// decided there alone, for nodes that exist as for claims; place.go says what those are. What pods ask of pods on other
// nodes (spread, affinity, anti-affinity) is decided in moment.go, as kube-scheduler's filters have it, for one pod after
// the other; turns.go says in which order and who is there.
//
// A claim may become any of its offerings. A rule that looks at one node must hold on each of them. A rule that counts
// pods by a label counts a pod where the label is not decided as being in every domain that it may be in where fewer pods
// are better, and in none where more are; so it holds whatever the claims become, and a pod may go to a claim that leaves
// such a label open only where it would be right in each of the outcomes. A domain that may exist is one to spread over.
package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

// Decider makes a plan from an input: plan.Decide, or what a test puts in its place.
type Decider func(model.Input) (model.Plan, error)

// Violation is one broken rule.
type Violation struct {
	// Subject is the part of the plan that breaks it, for example "claim c-1" or "placement of pod shop/web-0".
	Subject string
	// Problem says how.
	Problem string
	// Disruption is the decision that breaks the rule, where it is one; without it the rest of the plan might stand.
	Disruption model.DisruptionID
}

// String is the violation on one line.
func (v Violation) String() string { return v.Subject + ": " + v.Problem }

// Join puts violations on one line, the first few of them.
func Join(vs []Violation) string {
	const most = 5
	texts := make([]string, 0, most+1)
	for i, v := range vs {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(vs)-most))
			break
		}
		texts = append(texts, v.String())
	}
	return strings.Join(texts, "; ")
}

// Plan checks a plan against the input that it was made from. It returns nothing for a plan that keeps all rules.
func Plan(in model.Input, p model.Plan) []Violation {
	in.Snapshot, _ = offer.Expand(in.Snapshot, in.Now) // buffers' pods have places like any others
	c := newChecker(&in, &p)
	for _, rule := range []func(){
		c.header,      // the plan is about this input
		c.order,       // every list is sorted and names nothing twice
		c.kinds,       // nothing that was not asked for
		c.podsOnce,    // each pod has one answer, and none that needs one is left out
		c.claims,      // new claims can be launched, as anything that they list
		c.limits,      // pools stay within their limits
		c.units,       // and reservations within what is left of them
		c.replicas,    // and static pools at their size
		c.rooms,       // all pods may run, and fit, where they are sent
		c.turns,       // bound in the plan's order, each pod may be among those that are there
		c.equipment,   // and finds the devices that it claims
		c.disruptions, // what is given back may be given back
		c.returns,     // displaced pods may be together where they go
		c.budgets,     // not too much at once: pools' budgets and pod disruption budgets
		c.canaries,    // drifted nodes go one by one until that is known to work
		c.repairs,     // sick nodes go where few are sick
		c.costs,       // the money adds up
		c.verdicts,    // what is said of nodes agrees with the rest
		c.summary,     // as does what is said of the search
	} {
		rule()
	}
	return c.found
}

// checker is one check: the input and the plan, indexed.
type checker struct {
	in   *model.Input
	snap *model.Snapshot
	// overlays are what users say that some offerings cost and have.
	overlays *offer.Overlays
	plan     *model.Plan
	found    []Violation

	classes     map[model.ClassID]*model.PodClass
	pods        map[model.PodID]*model.Pod
	podsOn      map[model.NodeName][]*model.Pod
	nodes       map[model.NodeName]*model.Node
	nodeOf      map[model.ClaimID]*model.Node
	live        map[model.ClaimID]*model.Claim
	ended       map[model.ClaimID]bool
	pools       map[model.PoolName]*model.NodePool
	nodeClasses map[model.NodeClassName]*model.NodeClass
	types       map[typeKey]*model.InstanceType
	offerings   map[offeringKey]model.Offering
	namespaces  map[string]model.Labels
	claimOn     map[model.NodeName]*model.Claim
	// peopled are the classes that have pods, or will have.
	peopled    map[model.ClassID]bool
	everyClass []*model.PodClass
	labelled   map[model.Label][]*model.PodClass

	// noticed are the instances, and claims, that AWS is about to take.
	noticed map[string]bool
	// pdbs are the disruption budgets that pick a class's pods, as far as asked for.
	pdbs map[model.ClassID][]*model.PodDisruptionBudget

	// Whose pods were moved by choice, by which disruptions; and who is being rolled out, and when its last pod was bound.
	moved    map[workload][]*model.DisruptionRecord
	rollouts map[workload]time.Time

	// Of the plan.
	fresh     map[model.ClaimID]*model.NodeClaim
	decision  map[model.DisruptionID]*model.Disruption
	candidate map[model.ClaimID]model.DisruptionID
	toNode    map[model.NodeName][]*model.Pod
	toClaim   map[model.ClaimID][]*model.Pod

	// What many claims have in common is worked out once.
	shapes map[shapeKey]*shape
	places map[*model.NodeClaim]place
	riders map[*shape][]*model.PodClass
	judged map[shapeKey][]string

	// Where pods lie for each other: see turns.
	sites      []*site
	nodeSites  map[model.NodeName]*site
	claimSites map[model.ClaimID]*site
}

// shapeKey is all that the node of a new claim depends on.
type shapeKey struct {
	pool         model.PoolName
	class        model.NodeClassName
	requirements string
	offering     model.RankedOffering
}

type typeKey struct {
	catalog model.CatalogID
	name    model.TypeName
}

type offeringKey struct {
	instanceType model.TypeName
	zone         string
	capacityType model.CapacityType
}

func newChecker(in *model.Input, p *model.Plan) *checker {
	s := &in.Snapshot
	c := &checker{in: in, snap: s, plan: p, overlays: offer.NewOverlays(s)}
	c.classes = index(s.PodClasses, func(x *model.PodClass) model.ClassID { return x.ID })
	c.pods = index(s.Pods, func(x *model.Pod) model.PodID { return x.ID })
	c.nodes = index(s.Nodes, func(x *model.Node) model.NodeName { return x.Name })
	c.pools = index(s.NodePools, func(x *model.NodePool) model.PoolName { return x.Name })
	c.nodeClasses = index(s.NodeClasses, func(x *model.NodeClass) model.NodeClassName { return x.Name })
	c.pdbs = make(map[model.ClassID][]*model.PodDisruptionBudget)
	c.fresh = index(p.NodeClaims, func(x *model.NodeClaim) model.ClaimID { return x.ID })
	c.decision = index(p.Disruptions, func(x *model.Disruption) model.DisruptionID { return x.ID })
	c.shapes, c.judged = make(map[shapeKey]*shape), make(map[shapeKey][]string)
	c.riders, c.places = make(map[*shape][]*model.PodClass), make(map[*model.NodeClaim]place)
	c.podsOn = make(map[model.NodeName][]*model.Pod)
	c.peopled = make(map[model.ClassID]bool)
	for i := range s.Pods {
		c.peopled[s.Pods[i].Class] = true
		if n := s.Pods[i].Node; n != "" {
			c.podsOn[n] = append(c.podsOn[n], &s.Pods[i])
		}
	}
	for _, d := range s.DaemonSets {
		c.peopled[d.Class] = true
	}
	c.namespaces = make(map[string]model.Labels)
	for _, ns := range s.Namespaces {
		c.namespaces[ns.Name] = ns.Labels
	}
	c.noticed = make(map[string]bool)
	for _, n := range s.Notices {
		if n.Kind != model.NoticeSpotInterruption && n.Kind != model.NoticeStateChange {
			continue
		}
		c.noticed["claim/"+string(n.Claim)] = true
		c.noticed[n.InstanceID] = true
	}
	c.addLabels()
	c.indexClaims()
	c.indexShapes()
	c.indexTargets()
	c.addHistory()
	return c
}

func (c *checker) indexClaims() {
	c.live, c.ended = make(map[model.ClaimID]*model.Claim), make(map[model.ClaimID]bool)
	c.claimOn = make(map[model.NodeName]*model.Claim)
	c.nodeOf = make(map[model.ClaimID]*model.Node)
	for i := range c.snap.Claims {
		claim := &c.snap.Claims[i]
		if !claim.Live() {
			c.ended[claim.ID] = true
			continue
		}
		c.live[claim.ID] = claim
		if n := c.nodes[claim.Node]; n != nil {
			c.nodeOf[claim.ID] = n
			c.claimOn[n.Name] = claim
		}
	}
	for i := range c.snap.Nodes {
		n := &c.snap.Nodes[i]
		if n.Claim != "" {
			c.nodeOf[n.Claim] = n
		}
		if claim := c.live[n.Claim]; claim != nil {
			c.claimOn[n.Name] = claim
		}
	}
}

func (c *checker) indexShapes() {
	c.types = make(map[typeKey]*model.InstanceType)
	for i := range c.snap.Catalogs {
		cat := &c.snap.Catalogs[i]
		for j := range cat.InstanceTypes {
			c.types[typeKey{cat.ID, cat.InstanceTypes[j].Name}] = &cat.InstanceTypes[j]
		}
	}
	c.offerings = make(map[offeringKey]model.Offering)
	for _, o := range c.snap.Offerings {
		key := offeringKey{o.InstanceType, o.Zone, o.CapacityType}
		// Of several reservations of one kind the cheapest that can be used counts.
		if old, ok := c.offerings[key]; !ok || !c.available(old) || (c.available(o) && o.Price < old.Price) {
			c.offerings[key] = o
		}
	}
}

func (c *checker) indexTargets() {
	c.candidate = make(map[model.ClaimID]model.DisruptionID)
	c.toNode = make(map[model.NodeName][]*model.Pod)
	c.toClaim = make(map[model.ClaimID][]*model.Pod)
	send := func(pl model.Placement) {
		pod := c.pods[pl.Pod]
		if pod == nil {
			return // podsOnce tells
		}
		if pl.Node != "" {
			c.toNode[pl.Node] = append(c.toNode[pl.Node], pod)
		}
		if pl.Claim != "" {
			c.toClaim[pl.Claim] = append(c.toClaim[pl.Claim], pod)
		}
	}
	for _, pl := range c.plan.Placements {
		send(pl)
	}
	for _, d := range c.plan.Disruptions {
		for _, id := range d.Candidates {
			c.candidate[id] = d.ID
		}
		for _, pl := range d.Destinations {
			send(pl)
		}
	}
}

func index[K comparable, V any](list []V, id func(*V) K) map[K]*V {
	m := make(map[K]*V, len(list))
	for i := range list {
		m[id(&list[i])] = &list[i]
	}
	return m
}

// fail notes a violation.
func (c *checker) fail(subject, format string, args ...any) {
	c.found = append(c.found, Violation{Subject: subject, Problem: fmt.Sprintf(format, args...)})
}

// ascribe says of all violations but so many of the first that a disruption breaks those rules.
func (c *checker) ascribe(first int, id model.DisruptionID) {
	for i := first; i < len(c.found); i++ {
		c.found[i].Disruption = id
	}
}

func (c *checker) class(p *model.Pod) *model.PodClass {
	if class := c.classes[p.Class]; class != nil {
		return class
	}
	return &model.PodClass{}
}

// movable says whether a pod that is bound to a node needs another home when the node goes: the kubelet's own pods and
// those of DaemonSets end with it, and those being deleted end anyway.
func (c *checker) movable(p *model.Pod) bool {
	class := c.class(p)
	return !class.Daemon && !class.Mirror && !p.Terminating
}

// leaving says whether a claim is being taken away already.
func (c *checker) leaving(claim *model.Claim) bool {
	if claim.State >= model.ClaimDraining || claim.Disruption != "" || !claim.DrainDeadline.IsZero() {
		return true
	}
	if n := c.nodeOf[claim.ID]; n != nil && nodeLeaving(n) {
		return true
	}
	return c.interrupted(claim)
}

func (c *checker) interrupted(claim *model.Claim) bool {
	return c.noticed["claim/"+string(claim.ID)] || (claim.InstanceID != "" && c.noticed[claim.InstanceID])
}

func nodeLeaving(n *model.Node) bool {
	if n.Terminating {
		return true
	}
	for _, t := range n.Taints {
		if t.Key == "karpenter.sh/disrupted" {
			return true
		}
	}
	return false
}

// asked says whether a part of the plan was asked for.
func (c *checker) asked(kind model.DecisionKind) bool {
	if len(c.in.Kinds) == 0 {
		return true
	}
	return slices.Contains(c.in.Kinds, kind)
}
