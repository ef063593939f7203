// Package facts is what all checks of a plan look at: the input and the plan, indexed once and not changed after that, and
// the Report of what is wrong.
//
// It states what is there and who is leaving, and judges nothing. Start reading with Facts.
package facts

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
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
	c := newCluster(&in.Snapshot)
	return &Facts{Input: in, Plan: p, Cluster: c, Market: newMarket(in), Decisions: newDecisions(p, c)}
}

// Asked says whether a part of the plan was asked for.
func (f *Facts) Asked(kind model.DecisionKind) bool {
	return len(f.Input.Kinds) == 0 || slices.Contains(f.Input.Kinds, kind)
}

// Virtual says whether a pod is a capacity buffer's, which no controller ever creates.
func Virtual(id model.PodID) bool {
	_, ok := offer.Virtual(id)
	return ok
}

// Decisions is the plan, indexed. What it names need not exist.
type Decisions struct {
	// Claims are the new ones, Disruptions all.
	Claims      map[model.ClaimID]*model.NodeClaim
	Disruptions map[model.DisruptionID]*model.Disruption
	// TakenBy is the disruption that has a claim among its candidates; of several the last.
	TakenBy map[model.ClaimID]model.DisruptionID
	// ToNode and ToClaim are the pods that are sent there, by placements and as destinations, in the plan's order. Pods that
	// do not exist are left out.
	ToNode  map[model.NodeName][]*model.Pod
	ToClaim map[model.ClaimID][]*model.Pod
}

func newDecisions(p *model.Plan, c *Cluster) *Decisions {
	d := &Decisions{
		Claims:      index(p.NodeClaims, func(x *model.NodeClaim) model.ClaimID { return x.ID }),
		Disruptions: index(p.Disruptions, func(x *model.Disruption) model.DisruptionID { return x.ID }),
		TakenBy:     make(map[model.ClaimID]model.DisruptionID),
		ToNode:      make(map[model.NodeName][]*model.Pod),
		ToClaim:     make(map[model.ClaimID][]*model.Pod),
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
	for _, pl := range list {
		pod := c.Pods[pl.Pod]
		if pod == nil {
			continue
		}
		if pl.Node != "" {
			d.ToNode[pl.Node] = append(d.ToNode[pl.Node], pod)
		}
		if pl.Claim != "" {
			d.ToClaim[pl.Claim] = append(d.ToClaim[pl.Claim], pod)
		}
	}
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
