package draft

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
)

// noteBufferPods notes where the pods of buffers are, and says how many are on each host. Those with pod rules do not
// move.
func (dr *Draft) noteBufferPods() (held []int) {
	dr.Buffered, dr.BuffersFixed, held = make([][]int, len(dr.View.Hosts)), make([]bool, len(dr.View.Hosts)), make([]int, len(dr.View.Hosts))
	for _, a := range dr.BufferPods {
		tied := dr.Scheduler.Rules().Constrained(dr.View.Pods[a.Pod].Class)
		if tied {
			dr.buffersTied = append(dr.buffersTied, a)
		}
		if a.Claim != nil {
			continue
		}
		held[a.Host]++
		if tied {
			dr.BuffersFixed[a.Host] = true
			continue
		}
		dr.Buffered[a.Host] = append(dr.Buffered[a.Host], a.Pod)
	}
	return held
}

// BufferPodsOn are the pods of buffers on some hosts that are to move along.
func (dr *Draft) BufferPodsOn(hosts []int) []int {
	var out []int
	for _, h := range hosts {
		out = append(out, dr.Buffered[h]...)
	}
	return out
}

// BuffersKeep says that what buffers have on hosts that stay could still be theirs, after the moves of decisions that the view has, or what
// would be in the way: the buffer would get another node for it, and what was saved would be spent again.
func (dr *Draft) BuffersKeep(decisions ...Decision) model.Reason {
	goes := make(map[int]bool)
	for _, d := range decisions {
		for _, h := range d.Hosts {
			goes[h] = true
		}
	}
	stay := slices.DeleteFunc(slices.Clone(dr.buffersTied), func(a pack.Assignment) bool {
		return a.Claim == nil && (goes[a.Host] || dr.View.Removed(a.Host))
	})
	if i := dr.Scheduler.FirstRefused(stay, false); i >= 0 {
		return model.Reason{
			Code: model.CodeCapacityBuffer, Message: "where its pods fit, their rules or those of a capacity buffer keep them from what the buffer has there",
		}
	}
	if !dr.buffersFit(slices.Concat(dr.Decisions, decisions), func(h int) bool { return !goes[h] }) {
		return model.Reason{
			Code: model.CodeCapacityBuffer, Message: "the scheduler is likely to put its pods where a capacity buffer has its capacity, and the buffer would get a new node",
		}
	}
	return model.Reason{}
}

// buffersFit says whether there is capacity for buffers' pods on hosts that stay and on replacements, wherever it is, once the scheduler
// has put the pods that decisions move where it likes best, rather than where the plan has them. The view has what the decisions move.
func (dr *Draft) buffersFit(decisions []Decision, stays func(host int) bool) bool {
	if !slices.ContainsFunc(dr.BufferPods, func(a pack.Assignment) bool { return a.Claim == nil }) {
		return true
	}
	defer dr.Scheduler.Revert(dr.Scheduler.Mark())
	e, tally := dr.emptiest(stays), dr.Scheduler.Tally()
	buffers := make(map[int]pack.Assignment)
	for _, a := range dr.BufferPods {
		if a.Claim == nil && stays(a.Host) && !dr.View.Removed(a.Host) && !staysPut(dr.View.Pods[a.Pod].Class) {
			buffers[a.Pod] = a
			tally.Add(dr.View.Pods[a.Pod].Class, tally.Host(a.Host), 1) // taking it back uncounts it, which it is already
		}
	}
	var moved []pack.Assignment
	for i := range decisions {
		for _, b := range decisions[i].Replacements {
			e.addClaim(b)
		}
		for _, a := range assignmentsOf(&decisions[i]) {
			switch _, virtual := offer.Virtual(dr.View.Pods[a.Pod].ID); {
			case staysPut(dr.View.Pods[a.Pod].Class):
				e.keep(a)
			case virtual:
				buffers[a.Pod] = a
			default:
				moved = append(moved, a)
			}
		}
	}
	pods := slices.Sorted(maps.Keys(buffers))
	for _, p := range pods {
		e.take(buffers[p])
	}
	e.spreadOut(moved)
	_, left := dr.Scheduler.OnHosts(market.Items(dr.View.World, pods), stays)
	for _, it := range left {
		for _, p := range it.Pods {
			if !e.put(p, e.claims) {
				return false
			}
		}
	}
	return true
}
