package draft

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
)

// Move puts the pods of hosts elsewhere in the view, on hosts that usable allows: on those that are ready as long as
// pods fit there, as the others may never be. What it returns as left fits on none of them; waits says that a
// destination is not ready yet. Pods that nothing makes again, or that are not planned for, get no place: they end with
// their node. The caller reverts if it does not like the answer.
func (dr *Draft) Move(hosts []int, usable func(host int) bool) (d Decision, left []market.Item, waits model.Reason) {
	d = Decision{Hosts: hosts, Evicted: dr.Movable(hosts...)}
	leaves := make(map[int]bool, len(hosts))
	for _, h := range hosts {
		leaves[h] = true
	}
	var unplaced []int
	for _, p := range d.Evicted {
		if c := dr.View.Pods[p].Class; c.OwnerKind != "" && dr.Unsupported[c.Index].OK() {
			unplaced = append(unplaced, p)
		}
	}
	dr.Empty(hosts)
	stays := func(h int) bool { return !leaves[h] && usable(h) }
	items := market.Items(dr.View.World, unplaced)
	d.Destinations, left = dr.Scheduler.OnHosts(items, func(h int) bool { return stays(h) && dr.Ready(h) })
	if len(left) > 0 && dr.someStart(stays) {
		var later []pack.Assignment
		later, left = dr.Scheduler.OnHosts(left, func(h int) bool { return stays(h) && !dr.Ready(h) })
		if len(later) > 0 {
			waits = model.Reason{
				Code: model.CodeNoDestination, Subject: dr.View.Hosts[hosts[0]].Name(),
				Message: fmt.Sprintf("its pods will fit on %s once that is ready", dr.View.Hosts[later[0].Host].Name()), Remedy: "wait",
			}
		}
		d.Destinations = append(d.Destinations, later...)
	}
	if buffers := dr.BufferPodsOn(hosts); len(buffers) > 0 {
		dr.Scheduler.Judge(dr.uncapped) // as where their capacity is provisioned, or it would be moved there and back
		destinations, more := dr.Scheduler.OnHosts(market.Items(dr.View.World, buffers), stays)
		dr.Scheduler.Judge(dr.Matcher)
		d.Destinations = append(d.Destinations, destinations...)
		left = append(left, more...)
	}
	return d, left, waits
}

// MoveAtOnce is Move for hosts that go without waiting for a place for their pods: those that find none on hosts that
// stay are left to later plans. None of the pods relies on what another of the hosts has, or is.
func (dr *Draft) MoveAtOnce(hosts []int) Decision {
	for _, h := range hosts {
		topology.Occupy(dr.Scheduler.Tally(), h, -1)
	}
	d, _, _ := dr.Move(hosts, dr.Reliable)
	return d
}

// Empty takes off the counts of pod rules all that hosts have.
func (dr *Draft) Empty(hosts []int) {
	for _, h := range hosts {
		dr.Scheduler.CountHost(h, dr.Moving[h], -1)
	}
}

// someStart says whether some of the hosts that usable allows are not ready yet.
func (dr *Draft) someStart(usable func(host int) bool) bool {
	for h := range dr.View.Hosts {
		if !dr.Ready(h) && usable(h) {
			return true
		}
	}
	return false
}

// Ready says that a host is a node that is initialized and ready.
func (dr *Draft) Ready(host int) bool {
	h := dr.View.Hosts[host]
	return h.Initialized && h.Node != nil && h.Node.Ready
}

// Reliable says whether pods may be sent to a host at all: not where they would soon be displaced again.
func (dr *Draft) Reliable(host int) bool {
	h := dr.View.Hosts[host]
	if !dr.Drift[host].OK() || !dr.Unhealthy[host].OK() {
		return false
	}
	return h.Node == nil || h.Claim == nil || !dr.Expired(host) && !dr.Expiring(host)
}

// NoDestination says why the pods of an item, which run on a host, have nowhere to go.
func (dr *Draft) NoDestination(host int, it market.Item) model.Reason {
	why, _ := dr.Scheduler.Explain(it)
	return model.Reason{
		Code: model.CodeNoDestination, Subject: dr.View.Hosts[host].Name(),
		Message: fmt.Sprintf("pod %s fits nowhere else: %s", dr.View.Pods[it.Pods[0]].ID, why.Message), Remedy: why.Remedy,
	}
}
