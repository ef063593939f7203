package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// refused hands the plan to the actuator's check, which sees what the planner saw: a decision that it refuses would be made
// again and again, and nothing would come of it.
func (t *trial) refused() {
	for _, v := range apply.Verify(t.Plan, actual(&t.c.Input)).Verdicts {
		if !v.Accepted {
			t.fail(Failure{Kind: Refused, Rule: fmt.Sprintf("code %d", v.Reason.Code), Detail: v.Decision + ": " + v.Reason.Message})
		}
	}
}

// actual is what the actuator knows where nothing has changed since the snapshot.
func actual(in *model.Input) apply.State {
	x := &in.Snapshot
	s := apply.State{
		Now: in.Now, Revision: x.InventoryRevision, Market: market{x}, MarketKnown: true, Repair: in.Policy.Repair,
		Claims: map[model.ClaimID]model.Claim{}, Disruptions: map[model.DisruptionID]model.DisruptionRecord{},
		Pools: map[model.PoolName]cluster.Pool{}, Classes: map[model.NodeClassName]apply.Class{},
		Nodes: map[model.ClaimID]cluster.Node{}, Instances: map[model.ClaimID]rules.Placement{}, ShiftedZones: map[string]bool{},
	}
	for _, c := range x.Claims {
		s.Claims[c.ID] = underWay(x, c)
	}
	for _, d := range x.Disruptions {
		s.Disruptions[d.ID] = d
	}
	for _, p := range x.NodePools {
		s.Pools[p.Name] = cluster.Pool{NodePool: p}
	}
	ids := map[string]string{}
	for _, o := range x.Offerings {
		ids[o.Zone] = o.ZoneID
		if o.ZoneShifted {
			s.ShiftedZones[o.Zone] = true
		}
	}
	for _, c := range x.NodeClasses {
		class := apply.Class{NodeClass: c, ZoneIDs: map[string]string{}, Shapes: map[model.TypeName]apply.Shape{}}
		for _, zone := range c.Zones {
			class.ZoneIDs[zone] = ids[zone]
		}
		for _, list := range x.Catalogs {
			for _, i := range list.InstanceTypes {
				if list.ID == c.Catalog {
					class.Shapes[i.Name] = apply.Shape{Labels: i.Labels, Capacity: i.Capacity, Allocatable: i.Allocatable}
				}
			}
		}
		s.Classes[c.Name] = class
	}
	for i := range x.Nodes {
		n := node(in, &x.Nodes[i])
		if id := x.Nodes[i].Claim; id != "" {
			s.Nodes[id] = n
		}
		s.AllNodes = append(s.AllNodes, &n)
	}
	s.Interrupted = rules.InterruptedBy(slices.Values(x.Notices))
	s.Unbound = func(id model.PodID) (cluster.UnboundPod, bool) {
		return cluster.UnboundPod{ID: id}, slices.ContainsFunc(x.Pods, func(p model.Pod) bool { return p.ID == id && p.Node == "" })
	}
	return s
}

// disrupted is on nodes that are drained.
var disrupted = model.Taint{Key: labels.TaintDisrupted, Effect: model.NoSchedule}

// underWay is a claim as the actuator has it by the time that a plan comes: what AWS is about to take, and what a user
// has deleted, it drains by itself.
func underWay(x *model.Snapshot, c model.Claim) model.Claim {
	if c.State >= model.ClaimLaunched && c.InstanceID == "" {
		c.InstanceID = "i-" + string(c.ID)
	}
	ends := slices.ContainsFunc(x.Notices, func(n model.Notice) bool {
		return of(n, c) && lifecycle.Interrupts(n)
	})
	deleted := slices.ContainsFunc(x.Nodes, func(n model.Node) bool { return n.Claim == c.ID && n.Terminating })
	if (ends || deleted || !c.DrainDeadline.IsZero()) && c.State < model.ClaimDraining {
		c.Reached, c.State = c.State, model.ClaimDraining
	}
	return c
}

// of says whether a notice is of the claim's instance.
func of(n model.Notice, c model.Claim) bool { return n.Claim == c.ID || n.InstanceID == c.InstanceID }

func node(in *model.Input, n *model.Node) cluster.Node {
	x := &in.Snapshot
	out := cluster.Node{
		Name: n.Name, ProviderID: n.ProviderID, Labels: map[string]string{}, Annotations: map[string]string{}, Taints: n.Taints,
		Capacity: n.Capacity, Allocatable: n.Allocatable, Ready: n.Ready, Conditions: n.Conditions, Cordoned: n.Unschedulable,
		Terminating: n.Terminating, CreateTime: n.CreateTime,
	}
	for _, l := range n.Labels {
		out.Labels[l.Key] = l.Value
	}
	if n.DoNotDisrupt {
		out.Annotations[labels.DoNotDisrupt] = "true"
	}
	for _, p := range x.Pods {
		if p.Node != n.Name {
			continue
		}
		pod := cluster.Pod{
			UID: p.UID, Ready: p.Ready, StartTime: p.BindTime,
			DoNotDisrupt: p.DoNotDisrupt, DoNotDisruptUntil: p.DoNotDisruptUntil,
		}
		pod.Namespace, pod.Name, _ = strings.Cut(string(p.ID), "/")
		if p.Terminating {
			pod.DeletionTime = in.Now
		}
		for _, c := range x.PodClasses {
			if c.ID == p.Class {
				pod.Daemon, pod.Mirror, pod.Owner = c.Daemon, c.Mirror, c.OwnerUID
				pod.ToleratesDisrupted = slices.ContainsFunc(c.Tolerations, func(x model.Toleration) bool { return x.Tolerates(disrupted) })
			}
		}
		out.Pods = append(out.Pods, pod)
	}
	return out
}

// market is what EC2 sells, as a snapshot has it.
type market struct{ x *model.Snapshot }

func (m market) Offering(key apply.OfferingKey) (apply.Offering, bool) {
	for _, o := range m.x.Offerings {
		if o.InstanceType == key.InstanceType && o.Zone == key.Zone && o.CapacityType == key.CapacityType && o.ReservationID == key.ReservationID {
			return apply.Offering{
				Price: o.Price, Estimated: o.PriceEstimated, UnavailableUntil: o.UnavailableUntil, Reservation: o.Reservation(),
				Full: o.ReservationRemaining != nil && *o.ReservationRemaining == 0,
			}, true
		}
	}
	return apply.Offering{}, false
}
