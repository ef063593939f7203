package disrupt

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// move puts the pods of hosts elsewhere in the view, on hosts that usable allows. What it returns as left fits on none of
// them; waits says that a destination can't be relied on yet. The caller reverts if it does not like the answer.
func (s *search) move(hosts []int, usable func(host int) bool) (d Decision, left []market.Item, waits model.Reason) {
	d = Decision{Hosts: hosts, Evicted: s.movable(hosts...)}
	leaves := make(map[int]bool, len(hosts))
	for _, h := range hosts {
		leaves[h] = true
	}
	var unplaced []int
	for _, p := range d.Evicted {
		if s.v.Pods[p].Class.OwnerKind != "" {
			unplaced = append(unplaced, p)
		}
	}
	for _, h := range hosts {
		for _, p := range s.moving[h] {
			s.Scheduler.UncountBound(p, h)
		}
	}
	stays := func(h int) bool { return !leaves[h] && usable(h) }
	d.Destinations, left = s.Scheduler.OnHosts(market.Items(s.v.World, unplaced), stays)
	for _, a := range d.Destinations {
		if !s.ready(a.Host) {
			waits = model.Reason{
				Code: model.CodeNoDestination, Subject: s.v.Hosts[hosts[0]].Name(),
				Message: fmt.Sprintf("its pods will fit on %s once that is ready", s.v.Hosts[a.Host].Name()), Remedy: "wait",
			}
			break
		}
	}
	if buffers := s.bufferPodsOn(hosts); len(buffers) > 0 {
		destinations, more := s.Scheduler.OnHosts(market.Items(s.v.World, buffers), stays)
		d.Destinations = append(d.Destinations, destinations...)
		left = append(left, more...)
	}
	return d, left, waits
}

// ready says that a host is a node that can be relied on.
func (s *search) ready(host int) bool {
	h := s.v.Hosts[host]
	return h.Initialized && h.Node != nil && h.Node.Ready
}

// reliable says whether pods may be sent to a host at all: not where they would soon be displaced again.
func (s *search) reliable(host int) bool {
	h := s.v.Hosts[host]
	if !s.drift[host].OK() || !s.unhealthy[host].OK() {
		return false
	}
	return h.Node == nil || h.Claim == nil || !expired(s.v, host) && !expiring(s.v, host)
}

// mayReceive says whether a node may be given pods to save money: its own time to be left alone must be over. Pools that never
// consolidate have none.
func (s *search) mayReceive(host int) bool {
	h := s.v.Hosts[host]
	if h.Node == nil || h.Claim == nil || h.Pool == nil || h.Pool.ConsolidateAfter == nil {
		return true
	}
	return s.quiet(host).OK()
}

// relocate finds a home for all pods of a host, whatever it costs; a static pool gets another node in its place. It changes
// the view only if it succeeds.
func (x *replacer) relocate(host int) (Decision, model.Reason) {
	mark := x.s.Scheduler.Mark()
	d, left, why := x.s.move([]int{host}, x.s.reliable)
	if why.OK() {
		d.Replacements, why = x.replacements(host, left)
	}
	if why.OK() {
		why = x.s.about(host, x.s.dependentsStay(d.Evicted))
	}
	if !why.OK() {
		x.s.Scheduler.Revert(mark)
		return Decision{}, why
	}
	return d, model.Reason{}
}

func (x *replacer) replacements(host int, left []market.Item) ([]*purchase.NewClaim, model.Reason) {
	if pool := x.s.v.Hosts[host].Pool; pool.Replicas != nil {
		b, why := x.s.Fixed(pool, left, x.s.Limits.Clone())
		if !why.OK() {
			return nil, x.s.about(host, why)
		}
		return []*purchase.NewClaim{b}, model.Reason{}
	}
	bought, unplaced := x.buyLike(x.s.v.Hosts[host].Pool, left)
	if len(unplaced) > 0 {
		return nil, x.s.noDestination(host, unplaced[0])
	}
	return bought, model.Reason{}
}

// buyLike buys for pods of a pool's nodes: from the same pool where that is no more expensive, and as long as nothing proves what the
// pool launches now; else from any.
func (x *replacer) buyLike(pool *view.Pool, items []market.Item) (bought []*purchase.NewClaim, unplaced []market.Item) {
	mark := x.s.Scheduler.Mark()
	_, own, unplaced := x.s.Scheduler.BuyFrom(pool, items, x.s.Limits.Clone())
	if len(unplaced) == 0 && (len(own) == 0 || !x.proven(pool)) {
		return own, nil
	}
	x.s.Scheduler.Revert(mark)
	_, other, none := x.s.Scheduler.Buy(items, x.s.Limits.Clone())
	if len(unplaced) > 0 || len(none) == 0 && weighed(other) < weighed(own) {
		return other, none
	}
	x.s.Scheduler.Revert(mark)
	_, own, unplaced = x.s.Scheduler.BuyFrom(pool, items, x.s.Limits.Clone())
	return own, unplaced
}

// weighed is what claims are weighed at in sum.
func weighed(bought []*purchase.NewClaim) (sum int64) {
	for _, b := range bought {
		sum += b.Best().Price
	}
	return sum
}

func (s *search) noDestination(host int, it market.Item) model.Reason {
	why, _ := s.Scheduler.Explain(it.Class)
	return model.Reason{
		Code: model.CodeNoDestination, Subject: s.v.Hosts[host].Name(),
		Message: fmt.Sprintf("pod %s fits nowhere else: %s", s.v.Pods[it.Pods[0]].ID, why.Message), Remedy: why.Remedy,
	}
}

// countLeft says in words what found no place: pods, and those of buffers.
func (s *search) countLeft(left []market.Item) string {
	pods, buffers := 0, 0
	for _, it := range left {
		for _, p := range it.Pods {
			if _, virtual := offer.Virtual(s.v.Pods[p].ID); virtual {
				buffers++
			} else {
				pods++
			}
		}
	}
	if buffers == 0 {
		return fmt.Sprintf("%d of its pods", pods)
	}
	return fmt.Sprintf("%d of its pods and %d of capacity buffers", pods, buffers)
}
