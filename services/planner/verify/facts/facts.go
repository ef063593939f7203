// Package facts is what all checks of a plan look at: the input and the plan, indexed once and not changed after that, and
// the Report of what is wrong.
//
// It states what is there and who is leaving, and judges nothing. Start reading with Facts.
package facts

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Facts is one input and one plan. Nothing in it changes after New.
type Facts struct {
	Input *model.Input
	Plan  *model.Plan
	// Cluster and Market index Input.Snapshot, Decisions indexes Plan.
	Cluster   *Cluster
	Market    *Market
	Decisions *Decisions
}

// New indexes an input, whose buffers have been expanded, and a plan.
func New(in *model.Input, p *model.Plan) *Facts {
	c := newCluster(&in.Snapshot, in.Now)
	return &Facts{Input: in, Plan: p, Cluster: c, Market: newMarket(in), Decisions: newDecisions(p, c)}
}

// Asked says whether a part of the plan was asked for.
func (f *Facts) Asked(kind model.DecisionKind) bool {
	return len(f.Input.Kinds) == 0 || slices.Contains(f.Input.Kinds, kind)
}

// Unsupported is why the pods of a class are not planned for; "" where they are.
func (f *Facts) Unsupported(c *model.PodClass) string { return rules.Unsupported(c, &f.Input.Policy) }

// InTurn are the placements in the order in which the plan binds the pods.
func (f *Facts) InTurn() []model.Placement {
	placed := slices.Clone(f.Plan.Placements)
	slices.SortStableFunc(placed, func(a, b model.Placement) int { return cmp.Compare(a.Order, b.Order) })
	return placed
}

// Decisions is the plan, indexed. What it names need not exist.
type Decisions struct {
	// Claims are the new ones, Disruptions all.
	Claims      map[model.ClaimID]*model.NodeClaim
	Disruptions map[model.DisruptionID]*model.Disruption
	// TakenBy is the disruption that has a claim among its candidates; of several the last.
	TakenBy map[model.ClaimID]model.DisruptionID
	// Sent are the pods that are sent somewhere, by placements and as destinations, in the plan's order. Pods that do not
	// exist are left out.
	Sent map[Target][]*model.Pod
}

// Target is where a placement sends its pod: a node or a claim.
type Target struct {
	Node  model.NodeName
	Claim model.ClaimID
}

func newDecisions(p *model.Plan, c *Cluster) *Decisions {
	d := &Decisions{
		Claims:      index(p.NodeClaims, func(x *model.NodeClaim) model.ClaimID { return x.ID }),
		Disruptions: index(p.Disruptions, func(x *model.Disruption) model.DisruptionID { return x.ID }),
		TakenBy:     make(map[model.ClaimID]model.DisruptionID),
		Sent:        make(map[Target][]*model.Pod),
	}
	d.send(p.Placements, c)
	for _, x := range p.Disruptions {
		for _, id := range x.Candidates {
			d.TakenBy[id] = x.ID
		}
		d.send(x.Destinations, c)
	}
	return d
}

func (d *Decisions) send(list []model.Placement, c *Cluster) {
	for i := range list {
		if pod, to := c.Pods[list[i].Pod], TargetOf(&list[i]); pod != nil {
			d.Sent[to] = append(d.Sent[to], pod)
		}
	}
}

// TargetOf is where a placement sends its pod.
func TargetOf(pl *model.Placement) Target { return Target{pl.Node, pl.Claim} }

// String is the target for messages, for example "node n-1".
func (t Target) String() string {
	if t.Claim == "" {
		return "node " + string(t.Node)
	}
	return "claim " + string(t.Claim)
}

// ReasonFor is why the plan takes a claim away; 0 when it does not.
func (d *Decisions) ReasonFor(id model.ClaimID) model.DisruptionReason {
	if x := d.Disruptions[d.TakenBy[id]]; x != nil {
		return x.Reason
	}
	return 0
}

func index[K comparable, V any](list []V, id func(*V) K) map[K]*V {
	m := make(map[K]*V, len(list))
	for i := range list {
		m[id(&list[i])] = &list[i]
	}
	return m
}

// Staying lists the pods of a node without those whose room others may wait for.
func (f *Facts) Staying(n *model.Node) []*model.Pod {
	return slices.DeleteFunc(slices.Clone(f.Cluster.PodsOn[n.Name]), f.Leaves)
}

// Leaves says whether others may wait for a pod's room.
func (f *Facts) Leaves(p *model.Pod) bool {
	soon, _ := f.leaves(p)
	return soon
}

// LastLeaves is until when others may wait for room at the latest; zero where no pod leaves.
func (f *Facts) LastLeaves() (last time.Time) {
	for i := range f.Cluster.Snapshot.Pods {
		if soon, until := f.leaves(&f.Cluster.Snapshot.Pods[i]); soon && until.After(last) {
			last = until
		}
	}
	return last
}

func (f *Facts) leaves(p *model.Pod) (soon bool, until time.Time) {
	n := f.Cluster.Nodes[p.Node]
	if n == nil {
		return false, until
	}
	return rules.Leaves(p, f.Cluster.Class(p), n, f.Input.Policy.RoomWait, f.Input.Now)
}
