package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// result is a plan as expectations look at it: where every pod is once it was carried out.
type result struct {
	plan    *model.Plan
	explain string
	pods    map[model.PodID]*model.Pod
	classes map[model.ClassID]*model.PodClass
	// at is where pods are, those that run and stay included.
	at map[model.PodID]*place
	// placed are those that the plan finds a place for.
	placed map[model.PodID]*place
	turn   map[model.PodID]int32
	going  map[model.NodeName]model.DisruptionReason
	// decision is the disruption in which a node goes, claim the claim that it stands for.
	decision map[model.NodeName]model.DisruptionID
	claim    map[model.NodeName]model.ClaimID
	// bought are the claims to buy.
	bought []*place
}

// place is a node, or a claim with the labels that its node may have.
type place struct {
	name   string
	labels []map[string]string
	// zoneIDs are those of all zones, by name.
	zoneIDs map[string]string
	// offered is all that there is to buy.
	offered []model.Offering
}

func newResult(in *model.Input, p *model.Plan, r *renderer, explain string) *result {
	out := &result{
		plan: p, explain: explain, pods: map[model.PodID]*model.Pod{}, classes: map[model.ClassID]*model.PodClass{},
		at: map[model.PodID]*place{}, placed: map[model.PodID]*place{}, going: map[model.NodeName]model.DisruptionReason{},
		turn: map[model.PodID]int32{}, decision: map[model.NodeName]model.DisruptionID{}, claim: map[model.NodeName]model.ClaimID{},
	}
	for _, n := range in.Snapshot.Nodes {
		out.claim[n.Name] = n.Claim
	}
	for i := range in.Snapshot.PodClasses {
		out.classes[in.Snapshot.PodClasses[i].ID] = &in.Snapshot.PodClasses[i]
	}
	nodes, claims := places(in, p, r)
	for i := range in.Snapshot.Pods {
		pod := &in.Snapshot.Pods[i]
		out.pods[pod.ID] = pod
		if at := nodes[pod.Node]; at != nil {
			out.at[pod.ID] = at
		}
	}
	put := func(to map[model.PodID]*place, pl model.Placement) {
		at := nodes[pl.Node]
		if at == nil {
			at = claims[pl.Claim]
		}
		to[pl.Pod] = at
	}
	for _, pl := range p.Placements {
		put(out.placed, pl)
		out.turn[pl.Pod] = pl.Order
	}
	maps.Copy(out.at, out.placed)
	for _, c := range p.NodeClaims {
		out.bought = append(out.bought, claims[c.ID])
	}
	for _, d := range p.Disruptions {
		for _, id := range d.Candidates {
			name := model.NodeName(r.nodeOf(id))
			out.going[name], out.decision[name] = d.Reason, d.ID
		}
		for _, pl := range d.Destinations {
			put(out.at, pl)
		}
	}
	return out
}

func places(in *model.Input, p *model.Plan, r *renderer) (map[model.NodeName]*place, map[model.ClaimID]*place) {
	nodes, claims := map[model.NodeName]*place{}, map[model.ClaimID]*place{}
	for _, n := range in.Snapshot.Nodes {
		nodes[n.Name] = &place{name: string(n.Name), labels: []map[string]string{toMap(n.Labels)}}
	}
	shapes, pools := map[model.TypeName]model.Labels{}, map[model.PoolName]model.Labels{}
	for _, c := range in.Snapshot.Catalogs {
		for _, t := range c.InstanceTypes {
			shapes[t.Name] = t.Labels
		}
	}
	for _, pool := range in.Snapshot.NodePools {
		pools[pool.Name] = pool.Labels
	}
	ids := model.ZoneIDs(in.Snapshot.Offerings)
	for _, c := range in.Snapshot.Claims {
		at := &place{name: string(c.ID), zoneIDs: ids, offered: in.Snapshot.Offerings}
		offerings := c.Offerings
		if c.InstanceType != "" {
			offerings = []model.RankedOffering{{InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, ReservationID: c.ReservationID}}
		}
		at.add(offerings, shapes, c.Requirements, append(toPairs("pool", c.NodePool), c.Labels...))
		claims[c.ID] = at
	}
	for _, c := range p.NodeClaims {
		at := &place{name: r.names.Replace(string(c.ID)), zoneIDs: ids, offered: in.Snapshot.Offerings}
		at.add(c.Offerings, shapes, c.Requirements, append(toPairs("pool", c.NodePool), pools[c.NodePool]...))
		claims[c.ID] = at
	}
	return nodes, claims
}

func toPairs(key string, pool model.PoolName) model.Labels {
	return model.Labels{{Key: labelKey(key), Value: string(pool)}}
}

func toMap(labels model.Labels) map[string]string {
	out := make(map[string]string, len(labels))
	for _, l := range labels {
		out[l.Key] = l.Value
	}
	return out
}

// add notes the labels of each offering. What the claim requires to be one value, is it.
func (at *place) add(offerings []model.RankedOffering, shapes map[model.TypeName]model.Labels, must []model.Requirement, more model.Labels) {
	for _, o := range offerings {
		values := map[string]string{}
		for _, q := range must {
			if q.Operator == model.In && len(q.Values) == 1 {
				values[q.Key] = q.Values[0]
			}
		}
		maps.Copy(values, toMap(more))
		maps.Copy(values, toMap(shapes[o.InstanceType]))
		values[labels.Zone], values[labels.CapacityType], values[labels.Hostname] = o.Zone, o.CapacityType.String(), at.name
		if id := at.zoneIDs[o.Zone]; id != "" {
			values[labels.ZoneID] = id
		}
		maps.Copy(values, toMap(reservationLabels(at.offered, o.ReservationID)))
		at.labels = append(at.labels, values)
	}
}

// keeps is the code of what is said of a node that stays.
func (r *result) keeps(name model.NodeName) string {
	i := slices.IndexFunc(r.plan.Nodes, func(v model.NodeVerdict) bool { return v.Node == name })
	if i < 0 {
		return "no reason that is given"
	}
	return code(r.plan.Nodes[i].Reason.Code)
}

// all says whether a place is what requirements say, whatever it becomes.
func (at *place) all(requirements []model.Requirement) bool {
	for _, q := range requirements {
		for _, labels := range at.labels {
			if v, ok := labels[q.Key]; !require.New(q).Matches(v, ok) {
				return false
			}
		}
	}
	return true
}

// value is the label's value; of several that it may be all of them.
func (at *place) value(key string) string {
	var all []string
	for _, labels := range at.labels {
		all = append(all, strings.TrimPrefix(labels[key], region))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "|")
}

func (at *place) orNowhere() string {
	if at == nil {
		return "no node"
	}
	return at.name
}

// value is the domain in which a pod is, which must be decided.
func (r *result) value(id model.PodID, key string) (string, error) {
	at := r.at[id]
	if at == nil {
		return "", fmt.Errorf("%s is nowhere", short(id))
	}
	v := at.value(key)
	if strings.Contains(v, "|") {
		return "", fmt.Errorf("%s may be in %s", short(id), v)
	}
	return v, nil
}
