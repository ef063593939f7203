package pack

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
	// left is by pool; where the pool has no limit the value means nothing.
	left  []view.Vector
	nodes []int64
	// units are what is left of capacity reservations.
	units *offer.ReservationUnits
}

// NewLimits is the pools' limits less what their live claims count.
func NewLimits(w *view.World) *Limits {
	l := &Limits{w: w, nodes: make([]int64, len(w.Pools)), units: offer.NewReservationUnits(w.Snapshot)}
	for i, p := range w.Pools {
		l.left = append(l.left, slices.Clone(p.LimitVector))
		l.nodes[i] = p.NodeLimit
	}
	for i := range w.Snapshot.Claims {
		c := &w.Snapshot.Claims[i]
		if p := w.Pool(c.NodePool); p != nil && c.Live() {
			l.take(p, w.ClaimCapacity(c), 1)
			l.nodes[p.Index]--
		}
	}
	return l
}

// Clone is a copy to try things out on.
func (l *Limits) Clone() *Limits {
	out := &Limits{w: l.w, nodes: slices.Clone(l.nodes), units: l.units.Clone()}
	for _, v := range l.left {
		out.left = append(out.left, slices.Clone(v))
	}
	return out
}

// Remaining is how many nodes of an option, up to most, its pool may still buy.
func (l *Limits) Remaining(o *Option, most int) int {
	p := o.Pool
	n := int64(most)
	if p.NodeLimit >= 0 {
		n = min(n, max(0, l.nodes[p.Index]))
	}
	for i, limit := range p.LimitVector {
		if c := o.Capacity[i]; limit >= 0 && c > 0 {
			n = min(n, max(0, l.left[p.Index][i])/c)
		}
	}
	if id := o.Offering.ReservationID; id != "" {
		n = min(n, l.units.Left(id))
	}
	return int(n)
}

// Take counts n nodes of an option.
func (l *Limits) Take(o *Option, n int) {
	l.take(o.Pool, o.Capacity, int64(n))
	l.nodes[o.Pool.Index] -= int64(n)
	if id := o.Offering.ReservationID; id != "" {
		l.units.Take(int64(n), id)
	}
}

func (l *Limits) take(p *view.Pool, capacity view.Vector, n int64) { l.left[p.Index].Add(capacity, -n) }

// give takes back one Take.
func (l *Limits) give(o *Option) { l.Take(o, -1) }

// roomInstead says whether an option may be bought in place of others of its pool that were taken already.
func (l *Limits) roomInstead(o *Option, instead ...*Option) bool {
	same := func(x *Option) bool { return x.Offering.ReservationID == o.Offering.ReservationID }
	if id := o.Offering.ReservationID; id != "" && l.units.Left(id) == 0 && !slices.ContainsFunc(instead, same) {
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
		if o.Capacity[i] > l.left[o.Pool.Index][i]+back {
			return false
		}
	}
	return true
}

// share is the n-th part of what a pool has left: how much larger than its first offering each of n claims may become.
func (l *Limits) share(p *view.Pool, n int) view.Vector {
	out := slices.Clone(l.left[p.Index])
	for i := range out {
		out[i] = max(0, out[i]) / int64(n)
	}
	return out
}

// within says whether an option stays in what a claim may become: base plus slack, on the resources with a limit.
func within(o, base *Option, slack view.Vector) bool {
	for i, limit := range o.Pool.LimitVector {
		if limit >= 0 && o.Capacity[i] > base.Capacity[i]+slack[i] {
			return false
		}
	}
	return true
}

// reason says which limit keeps the pool from buying one more node of an option.
func (l *Limits) reason(o *Option) model.Reason {
	p := o.Pool
	subject := "nodepool/" + string(p.Name)
	if p.NodeLimit >= 0 && l.nodes[p.Index] <= 0 {
		return model.Reason{
			Code: model.CodeLimit, Subject: subject,
			Message: fmt.Sprintf("the pool's limit of %d nodes is used up", p.NodeLimit),
			Remedy:  "raise spec.limits.nodes",
		}
	}
	if id := o.Offering.ReservationID; id != "" && l.units.Left(id) == 0 {
		return model.Reason{
			Code: model.CodeNoOffering, Subject: "instancetype/" + string(o.Type.Name),
			Message: fmt.Sprintf("the capacity reservation %s has no instance left", id),
			Remedy:  "reserve more, or allow on-demand or spot in the pool",
		}
	}
	for i, limit := range p.LimitVector {
		c, left := o.Capacity[i], l.left[p.Index][i]
		if limit >= 0 && c > 0 && left < c {
			name := l.w.Index.Name(i)
			return model.Reason{
				Code: model.CodeLimit, Subject: subject,
				Message: fmt.Sprintf("the pool may have %s of %s and has %s left; one %s counts %s", fit.Quantity(name, limit), name,
					fit.Quantity(name, max(0, left)), o.Type.Name, fit.Quantity(name, c)),
				Remedy: fmt.Sprintf("raise spec.limits.%s by %s", name, fit.Quantity(name, c-max(0, left))),
			}
		}
	}
	return model.Reason{}
}
