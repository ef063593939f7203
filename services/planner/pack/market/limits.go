package market

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Limits is what each pool may still buy. Claims count from the moment that they are planned until their instance is
// gone, so that no pool is above its limits at any time; nodes that are going away count as long as they are there.
type Limits struct {
	w *view.World
	// Left is by pool; where the pool has no limit the value means nothing.
	Left      []view.Vector
	NodesLeft []int64
	// Units are what is left of capacity reservations.
	Units *offer.ReservationUnits
}

// NewLimits is the pools' limits less what their live claims count.
func NewLimits(w *view.World) *Limits {
	l := &Limits{w: w, NodesLeft: make([]int64, len(w.Pools)), Units: offer.NewReservationUnits(w.Snapshot)}
	for i, p := range w.Pools {
		l.Left = append(l.Left, slices.Clone(p.LimitVector))
		l.NodesLeft[i] = p.NodeLimit
	}
	for i := range w.Snapshot.Claims {
		c := &w.Snapshot.Claims[i]
		if p := w.Pool(c.NodePool); p != nil && c.Live() {
			l.Count(p, w.ClaimCapacity(c), 1)
			l.NodesLeft[p.Index]--
		}
	}
	return l
}

// Clone is a copy to try things out on.
func (l *Limits) Clone() *Limits {
	out := &Limits{w: l.w, NodesLeft: slices.Clone(l.NodesLeft), Units: l.Units.Clone()}
	for _, v := range l.Left {
		out.Left = append(out.Left, slices.Clone(v))
	}
	return out
}

// Remaining is how many nodes of an option, up to most, its pool may still buy.
func (l *Limits) Remaining(o *Option, most int) int {
	p := o.Pool
	n := int64(most)
	if p.NodeLimit >= 0 {
		n = min(n, max(0, l.NodesLeft[p.Index]))
	}
	for i, limit := range p.LimitVector {
		if c := o.Capacity[i]; limit >= 0 && c > 0 {
			n = min(n, max(0, l.Left[p.Index][i])/c)
		}
	}
	if id := o.Offering.ReservationID; id != "" {
		n = min(n, l.Units.Left(id))
	}
	return int(n)
}

// Take counts n nodes of an option.
func (l *Limits) Take(o *Option, n int) {
	l.Count(o.Pool, o.Capacity, int64(n))
	l.NodesLeft[o.Pool.Index] -= int64(n)
	if id := o.Offering.ReservationID; id != "" {
		l.Units.Take(int64(n), id)
	}
}

// Count takes n nodes of a capacity off what a pool's limits leave.
func (l *Limits) Count(p *view.Pool, capacity view.Vector, n int64) {
	l.Left[p.Index].Add(capacity, -n)
}

// Return takes back one Take.
func (l *Limits) Return(o *Option) { l.Take(o, -1) }

// AllowInstead says whether an option may be bought in place of others of its pool that were taken already.
func (l *Limits) AllowInstead(o *Option, instead ...*Option) bool {
	same := func(x *Option) bool { return x.Offering.ReservationID == o.Offering.ReservationID }
	if id := o.Offering.ReservationID; id != "" && l.Units.Left(id) == 0 && !slices.ContainsFunc(instead, same) {
		return false
	}
	for i, limit := range o.Pool.LimitVector {
		if limit < 0 {
			continue
		}
		back := int64(0)
		for _, x := range instead {
			back += x.Capacity[i]
		}
		if o.Capacity[i] > l.Left[o.Pool.Index][i]+back {
			return false
		}
	}
	return true
}

// Share is the n-th part of what a pool has left: how much larger than its first offering each of n claims may become.
func (l *Limits) Share(p *view.Pool, n int) view.Vector {
	out := slices.Clone(l.Left[p.Index])
	for i := range out {
		out[i] = max(0, out[i]) / int64(n)
	}
	return out
}

// Within says whether an option stays in what a claim may become: base plus slack, on the resources with a limit.
func Within(o, base *Option, slack view.Vector) bool {
	for i, limit := range o.Pool.LimitVector {
		if limit >= 0 && o.Capacity[i] > base.Capacity[i]+slack[i] {
			return false
		}
	}
	return true
}

// reason says which limit keeps the pool from buying one more node of an option, and how far it must be raised for as many
// as all pods of an item need.
func (l *Limits) reason(o *Option, it Item) model.Reason {
	p := o.Pool
	subject := "nodepool/" + string(p.Name)
	if p.NodeLimit >= 0 && l.NodesLeft[p.Index] <= 0 {
		return model.Reason{
			Code: model.CodeLimit, Subject: subject,
			Message: fmt.Sprintf("the pool's limit of %d nodes is used up", p.NodeLimit),
			Remedy:  "raise spec.limits.nodes",
		}
	}
	if id := o.Offering.ReservationID; id != "" && l.Units.Left(id) == 0 {
		return model.Reason{
			Code: model.CodeNoOffering, Subject: "instancetype/" + string(o.Type.Name),
			Message: fmt.Sprintf("the capacity reservation %s has no instance left", id),
			Remedy:  "reserve more, or allow on-demand or spot in the pool",
		}
	}
	for i, limit := range p.LimitVector {
		c, left := o.Capacity[i], l.Left[p.Index][i]
		if limit >= 0 && c > 0 && left < c {
			name, by := l.w.Index.Name(i), ""
			nodes := int64((len(it.Pods)-1)/max(1, o.holds(it)) + 1)
			if nodes > 1 {
				by = "at least " // rules about other pods may take more nodes
			}
			return model.Reason{
				Code: model.CodeLimit, Subject: subject,
				Message: fmt.Sprintf("the pool may have %s of %s and has %s left; one %s counts %s", fit.Quantity(name, limit), name,
					fit.Quantity(name, max(0, left)), o.Type.Name, fit.Quantity(name, c)),
				Remedy: fmt.Sprintf("raise spec.limits.%s by %s%s", name, by, fit.Quantity(name, nodes*c-max(0, left))),
			}
		}
	}
	return model.Reason{}
}

// holds is how many pods of an item one node holds, as far as it is known without other pods.
func (o *Option) holds(it Item) int {
	if len(it.Class.HostPorts) > 0 {
		return 1
	}
	return view.Fits(o.Free, it.Class.Requested, len(it.Pods))
}
