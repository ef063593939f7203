package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// carriedOut is what there is to see when a plan was carried out, a while after it was made: claims have become nodes,
// nodes are gone, and pods are where the plan said. Claims that were in flight before stay as they are.
func carriedOut(in model.Input, p model.Plan, truth kinds, while time.Duration) model.Input {
	w := &aftermath{in: in, before: in.Now, truth: truth, nodeOf: map[model.ClaimID]model.NodeName{}}
	w.in.Now, w.in.ResumeAfter = in.Now.Add(while), ""
	if p.Summary != nil {
		w.in.ResumeAfter = p.Summary.ResumeAfter
	}
	s := &w.in.Snapshot
	s.Revision++
	s.Pods, s.Nodes, s.Claims = slices.Clone(s.Pods), slices.Clone(s.Nodes), slices.Clone(s.Claims)
	s.Disruptions = slices.Clone(s.Disruptions)
	for _, c := range p.NodeClaims {
		w.join(c)
	}
	for _, pl := range p.Placements {
		w.bind(pl)
	}
	for _, d := range p.Disruptions {
		w.disrupt(d)
	}
	slices.SortFunc(s.Nodes, func(a, b model.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Claims, func(a, b model.Claim) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Disruptions, func(a, b model.DisruptionRecord) int { return cmp.Compare(a.ID, b.ID) })
	return w.in
}

type aftermath struct {
	in     model.Input
	before time.Time
	truth  kinds
	nodeOf map[model.ClaimID]model.NodeName
}

// kinds are nodes that have the CSI drivers and features that new ones of a pool and type turn out to have, whatever plans
// expect of those: what one had in the beginning, or all that pods need where there was none.
type kinds map[kind]*model.Node

type kind struct{ pool, instanceType string }

func kindOf(n *model.Node) kind {
	ls := toMap(n.Labels)
	return kind{ls[labels.NodePool], ls[labels.InstanceType]}
}

func kindsOf(in *model.Input) kinds {
	all := &model.Node{}
	for _, c := range in.Snapshot.PodClasses {
		all.Drivers, all.Features = append(all.Drivers, c.NeededDrivers...), append(all.Features, c.NeededFeatures...)
	}
	out := kinds{{}: all}
	for i := range in.Snapshot.Nodes {
		out[kindOf(&in.Snapshot.Nodes[i])] = &in.Snapshot.Nodes[i]
	}
	return out
}

// refused are the pods that a disruption moves to save money, and that the nodes which it bought for them turn out not to
// take.
func refused(in *model.Input, d *model.Disruption) (out []model.PodID) {
	missing := func(needs, has []string) bool {
		return slices.ContainsFunc(needs, func(x string) bool { return !slices.Contains(has, x) })
	}
	for _, pl := range d.Destinations {
		i := slices.IndexFunc(in.Snapshot.Nodes, func(n model.Node) bool { return n.Claim == pl.Claim })
		at := slices.IndexFunc(in.Snapshot.Pods, func(p model.Pod) bool { return p.ID == pl.Pod })
		if d.Reason != model.ReasonUnderutilized || pl.Claim == "" || i < 0 || at < 0 {
			continue
		}
		n := &in.Snapshot.Nodes[i]
		for _, c := range in.Snapshot.PodClasses {
			if c.ID == in.Snapshot.Pods[at].Class && (missing(c.NeededDrivers, n.Drivers) || missing(c.NeededFeatures, n.Features)) {
				out = append(out, pl.Pod)
			}
		}
	}
	return out
}

// join makes a node of a claim, as its first offering.
func (w *aftermath) join(c model.NodeClaim) {
	s := &w.in.Snapshot
	pool := s.NodePools[slices.IndexFunc(s.NodePools, func(p model.NodePool) bool { return p.Name == c.NodePool })]
	class := s.NodeClasses[slices.IndexFunc(s.NodeClasses, func(k model.NodeClass) bool { return k.Name == c.NodeClass })]
	o := c.Offerings[0]
	var shape model.InstanceType
	for _, k := range s.Catalogs {
		for _, t := range k.InstanceTypes {
			if k.ID == class.Catalog && t.Name == o.InstanceType {
				shape = t
			}
		}
	}
	name := model.NodeName("node-of-" + string(c.ID))
	claim := model.Claim{
		ID: c.ID, NodePool: c.NodePool, NodeClass: c.NodeClass, State: model.ClaimInitialized, Reached: model.ClaimInitialized,
		Requirements: c.Requirements, Offerings: c.Offerings, Requests: c.Requests, Pods: c.Pods, Labels: pool.Labels, Taints: pool.Taints,
		PoolHash: pool.Hash, ClassHash: class.Hash, InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType,
		ReservationID: o.ReservationID, Price: o.Price, InstanceID: "i-" + string(c.ID), ProviderID: "aws:///" + o.Zone + "/i-" + string(c.ID),
		Node: name, Capacity: shape.Capacity, Allocatable: shape.Allocatable, CreateTime: w.before, LaunchTime: w.before, StateTime: w.in.Now,
		InitializeTime: w.in.Now, TerminationGracePeriod: pool.TerminationGracePeriod, PlanID: "p-before", Replaces: c.Disruption,
	}
	n := model.Node{
		Name: name, ProviderID: claim.ProviderID, Claim: c.ID, Taints: pool.Taints, Allocatable: shape.Allocatable, Capacity: shape.Capacity,
		Ready: true, CreateTime: w.before, LastPodEventTime: w.in.Now,
	}
	values := toMap(shape.Labels)
	for _, q := range c.Requirements {
		if q.Operator == model.In && len(q.Values) == 1 {
			values[q.Key] = q.Values[0]
		}
	}
	for _, l := range pool.Labels {
		values[l.Key] = l.Value
	}
	values[labels.Zone], values[labels.CapacityType], values[labels.Hostname], values[model.KeyNodeName] = o.Zone, o.CapacityType.String(), string(name), string(name)
	values[labels.Region], values[labels.NodePool] = region, string(c.NodePool)
	values[labels.NodeClass] = string(c.NodeClass)
	if id := model.ZoneIDs(s.Offerings)[o.Zone]; id != "" {
		values[labels.ZoneID] = id
	}
	maps.Copy(values, toMap(reservationLabels(s.Offerings, o.ReservationID)))
	for k, v := range values {
		n.Labels = append(n.Labels, model.Label{Key: k, Value: v})
	}
	sortLabels(n.Labels)
	like := cmp.Or(w.truth[kindOf(&n)], w.truth[kind{}], &n)
	n.Drivers, n.Features = like.Drivers, like.Features
	for _, t := range pool.Devices {
		if len(t.InstanceTypes) == 0 || slices.Contains(t.InstanceTypes, o.InstanceType) {
			n.Devices = append(n.Devices, t.Devices...)
		}
	}
	w.nodeOf[c.ID] = name
	s.Claims, s.Nodes = append(s.Claims, claim), append(s.Nodes, n)
}

// bind puts a pod where a plan says, unless that is a claim in flight.
func (w *aftermath) bind(pl model.Placement) {
	s := &w.in.Snapshot
	name := cmp.Or(pl.Node, w.nodeOf[pl.Claim])
	to := slices.IndexFunc(s.Nodes, func(n model.Node) bool { return n.Name == name })
	i := slices.IndexFunc(s.Pods, func(p model.Pod) bool { return p.ID == pl.Pod })
	if to < 0 || i < 0 {
		return // capacity of a buffer, for one
	}
	p := &s.Pods[i]
	if from := slices.IndexFunc(s.Nodes, func(n model.Node) bool { return n.Name == p.Node }); from >= 0 {
		s.Nodes[from].LastPodEventTime = w.in.Now
		p.CreateTime = w.in.Now // another one in its place
	}
	p.Node, p.Phase, p.NominatedNode, p.ExpectedNode = name, model.PodRunning, "", ""
	p.BindTime, p.UnschedulableTime = w.in.Now, time.Time{}
	s.Nodes[to].LastPodEventTime = w.in.Now
}

// disrupt moves pods, takes nodes away, and leaves a record.
func (w *aftermath) disrupt(d model.Disruption) {
	s := &w.in.Snapshot
	r := model.DisruptionRecord{
		ID: d.ID, Reason: d.Reason, Candidates: d.Candidates, Replacements: d.Replacements, AcceptTime: w.before, EndTime: w.in.Now,
		Saving: d.Saving, Workloads: d.Workloads,
	}
	for _, pl := range d.Destinations {
		w.bind(pl)
		r.Pods = append(r.Pods, pl.Pod)
		if i := slices.IndexFunc(s.Pods, func(p model.Pod) bool { return p.ID == pl.Pod }); i >= 0 && !d.Reason.ByChoice() {
			s.Pods[i].CreateTime = w.in.Now.Add(time.Second) // after those that rest: they are counted
		}
	}
	s.Disruptions = append(s.Disruptions, r)
	gone := map[model.NodeName]bool{}
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n model.Node) bool {
		gone[n.Name] = slices.Contains(d.Candidates, n.Claim)
		return gone[n.Name]
	})
	s.Claims = slices.DeleteFunc(s.Claims, func(c model.Claim) bool { return slices.Contains(d.Candidates, c.ID) })
	classes := map[model.ClassID]model.PodClass{}
	for _, c := range s.PodClasses {
		classes[c.ID] = c
	}
	s.Pods = slices.DeleteFunc(s.Pods, func(p model.Pod) bool {
		c := classes[p.Class]
		return gone[p.Node] && (c.Daemon || c.Mirror || p.Terminating || c.OwnerKind == "")
	})
	for i := range s.Pods {
		if p := &s.Pods[i]; gone[p.Node] {
			p.Node, p.Phase, p.BindTime, p.UnschedulableTime = "", model.PodUnschedulable, time.Time{}, w.in.Now
		}
	}
}

// byChoice says whether pods are evicted that could have stayed: from nodes that are neither unhealthy nor beyond their
// time.
func byChoice(in *model.Input, d *model.Disruption) bool {
	if d.Reason == model.ReasonUnderutilized || d.Reason == model.ReasonDrifted {
		return true
	}
	return d.Reason == model.ReasonExpired && !slices.ContainsFunc(in.Snapshot.Claims, func(c model.Claim) bool {
		return slices.Contains(d.Candidates, c.ID) && !c.ExpireTime.After(in.Now)
	})
}

// TestPlansComeToAnEnd carries out the plan of each file and plans again, a minute later, and so on, and then with half an
// hour between. No pod is moved twice in half an hour by choice, every move for money makes the cluster cheaper and is to
// where the pod can run, and in the end nothing is left to do: nothing goes round.
func TestPlansComeToAnEnd(t *testing.T) {
	loader := NewLoader()
	for _, file := range files(t) {
		t.Run(behaviour(file), func(t *testing.T) {
			s, err := loader.Load(read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range rounds(s.Input) {
				t.Error(problem)
			}
		})
	}
}

// rounds plans until there is nothing to do, and says what is wrong.
func rounds(in model.Input) []string {
	const rest = 30 * time.Minute
	most := 24 + 2*len(in.Snapshot.Nodes) // a budget may let them go one by one
	if in.Policy.PodRest != nil && *in.Policy.PodRest < rest || in.Policy.DisruptionTrials != nil {
		return nil // other rules; and a search that is cut short has a test of its own
	}
	in.Kinds = nil
	truth := kindsOf(&in)
	moved := map[model.PodID]time.Time{}
	var out []string
	for round := range most {
		p, err := decide(in)
		if err != nil {
			return append(out, fmt.Sprintf("round %d: %v", round, err))
		}
		if len(p.Disruptions) == 0 && p.Summary.ResumeAfter == "" && (round == 0 || round > 4) {
			return out
		}
		while := time.Minute
		if round > 3 {
			while = rest + time.Minute
		}
		for _, d := range p.Disruptions {
			if !byChoice(&in, &d) {
				continue
			}
			if d.Reason == model.ReasonUnderutilized && d.Saving <= 0 {
				out = append(out, fmt.Sprintf("round %d: %s of %v saves %s", round, d.Reason, d.Candidates, money(d.Saving)))
			}
			for _, pl := range d.Destinations {
				if pl.Pod.Virtual() {
					continue // a buffer's capacity
				}
				at := in.Now.Add(while)
				if last, again := moved[pl.Pod]; again && in.Now.Sub(last) < rest {
					out = append(out, fmt.Sprintf("round %d: %s is moved %s after it was moved before", round, pl.Pod, in.Now.Sub(last)))
				}
				moved[pl.Pod] = at
			}
		}
		in = carriedOut(in, p, truth, while)
		for i := range p.Disruptions {
			for _, id := range refused(&in, &p.Disruptions[i]) {
				out = append(out, fmt.Sprintf("round %d: %s is moved to a new node, which lacks what it needs", round, id))
			}
		}
	}
	return append(out, fmt.Sprintf("after %d rounds there is still something to do", most))
}

// TestASearchThatIsCutShortGoesOn plans with few trials each time, from where the plan before it ended. It gets as far as
// a plan that tries all.
func TestASearchThatIsCutShortGoesOn(t *testing.T) {
	s, err := NewLoader().Load(read(t, "testdata/a-search-that-ends-early-says-where.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	whole := s.Input
	whole.Policy.DisruptionTrials = nil
	want, err := decide(whole)
	if err != nil {
		t.Fatal(err)
	}
	for trials := int64(1); trials < 6; trials++ {
		in, cost := s.Input, int64(0)
		in.Policy.DisruptionTrials = &trials
		for range 20 {
			p, err := decide(in)
			if err != nil {
				t.Fatal(err)
			}
			in, cost = carriedOut(in, p, nil, time.Minute), p.CostAfter
		}
		if cost > want.CostAfter || want.CostAfter == want.CostBefore {
			t.Errorf("plans of %d trials each come to %s, one plan of all to %s (from %s)", trials, money(cost),
				money(want.CostAfter), money(want.CostBefore))
		}
	}
}

// accepted is what there is to see a moment after a plan was accepted: pods that fit on nodes that are there are bound,
// claims are launched and have no node yet, and nodes that go are marked, with their pods still on them.
func accepted(in model.Input, p model.Plan, while time.Duration) model.Input {
	done := &aftermath{in: in, before: in.Now, nodeOf: map[model.ClaimID]model.NodeName{}}
	done.in.Now = in.Now.Add(while)
	s := &done.in.Snapshot
	s.Revision++
	s.Nodes, s.Claims, s.Disruptions = slices.Clone(s.Nodes), slices.Clone(s.Claims), slices.Clone(s.Disruptions)
	s.Pods = slices.Clone(s.Pods)
	for _, pl := range p.Placements {
		done.bind(pl)
	}
	nodes := len(s.Nodes)
	for _, c := range p.NodeClaims {
		done.join(c)
		claim := &s.Claims[len(s.Claims)-1]
		claim.State, claim.Reached, claim.Node, claim.InitializeTime = model.ClaimLaunched, model.ClaimLaunched, "", time.Time{}
	}
	s.Nodes = s.Nodes[:nodes]
	for _, d := range p.Disruptions {
		for _, id := range d.Candidates {
			c := &s.Claims[slices.IndexFunc(s.Claims, func(c model.Claim) bool { return c.ID == id })]
			c.Disruption, c.DisruptionReason = d.ID, d.Reason
			if len(d.Replacements) == 0 {
				c.State, c.StateTime = model.ClaimDraining, done.in.Now
			}
		}
		s.Disruptions = append(s.Disruptions, model.DisruptionRecord{
			ID: d.ID, Reason: d.Reason, Candidates: d.Candidates, Replacements: d.Replacements, AcceptTime: in.Now, Saving: d.Saving,
			Workloads: d.Workloads,
		})
	}
	slices.SortFunc(s.Claims, func(a, b model.Claim) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Disruptions, func(a, b model.DisruptionRecord) int { return cmp.Compare(a.ID, b.ID) })
	return done.in
}

// TestPlansUnderWayAreNotMadeTwice plans again while the plan of each file is being carried out. Pods that
// have a place keep one, nothing is bought for them again, and all rules hold with what is under way.
func TestPlansUnderWayAreNotMadeTwice(t *testing.T) {
	loader := NewLoader()
	for _, file := range files(t) {
		t.Run(behaviour(file), func(t *testing.T) {
			s, err := loader.Load(read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range underWay(s.Input) {
				t.Error(problem)
			}
		})
	}
}

func underWay(in model.Input) []string {
	in.Kinds = nil
	first, err := decide(in)
	if err != nil || len(first.Disruptions) == 0 {
		return nil
	}
	placed := map[model.PodID]bool{}
	note := func(list []model.Placement) {
		for _, pl := range list {
			placed[pl.Pod] = true
		}
	}
	note(first.Placements)
	for _, d := range first.Disruptions {
		note(d.Destinations)
	}
	next := accepted(in, first, 10*time.Second)
	var out []string
	for _, v := range problems(next) {
		out = append(out, "under way: "+v)
	}
	second, err := decide(next)
	if err != nil {
		return append(out, err.Error())
	}
	for _, c := range second.NodeClaims {
		for _, id := range c.Pods {
			if placed[id] && c.Disruption == "" {
				out = append(out, fmt.Sprintf("%s had a place, and a %s is bought for it again", id, c.Offerings[0].InstanceType))
			}
		}
	}
	for _, q := range second.Pending {
		if placed[q.Pod] {
			out = append(out, fmt.Sprintf("%s had a place, and has none any more: %s", q.Pod, q.Reason.Message))
		}
	}
	return out
}
