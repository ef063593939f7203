package draft

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
)

// noteBufferPods notes where the pods of buffers are, and says how many are on each host. Those with pod rules do not
// move.
func (dr *Draft) noteBufferPods() (held []int) {
	dr.Buffered, dr.BuffersFixed, held = make([][]int, len(dr.View.Hosts)), make([]bool, len(dr.View.Hosts)), make([]int, len(dr.View.Hosts))
	for _, a := range dr.BufferPods {
		tied := dr.Scheduler.Tally().Rules().Constrained(dr.View.Pods[a.Pod].Class)
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

// BuffersKeep says that the rules of pods would let buffers have what they have on hosts that stay, after the moves of
// decisions that the view has, or what would be in the way: the buffer would get another node for it, and what was
// saved would be spent again.
func (dr *Draft) BuffersKeep(decisions ...Decision) model.Reason {
	if len(dr.buffersTied) == 0 {
		return model.Reason{}
	}
	stays := staying(decisions)
	stay := slices.DeleteFunc(slices.Clone(dr.buffersTied), func(a pack.Assignment) bool {
		return a.Claim == nil && (!stays(a.Host) || dr.View.Removed(a.Host))
	})
	i := dr.Scheduler.FirstRefused(stay, false)
	if i < 0 {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeCapacityBuffer, Message: "where its pods fit, their rules or those of a capacity buffer keep them from what the buffer has there",
	}
}

func staying(decisions []Decision) func(host int) bool {
	goes := make(map[int]bool)
	for _, d := range decisions {
		for _, h := range d.Hosts {
			goes[h] = true
		}
	}
	return func(h int) bool { return !goes[h] }
}

// BuffersLoss is what capacity buffers lose to decisions, as their pods can't be told where to go.
type BuffersLoss struct {
	// Price is what the new nodes cost that buffers would buy, micro-dollars an hour.
	Price int64
	// Without is how many of their pods would have no capacity, as there is no node to buy.
	Without int
}

// BuffersLose is what buffers lose to the decisions so far and some more: once the scheduler has put the pods that they
// move where it likes best, which need not be where the plan has them, but not on hosts that it avoids. The view has
// what the decisions move.
func BuffersLose(dr *Draft, avoids func(host int) bool, more ...Decision) (lost BuffersLoss) {
	if !slices.ContainsFunc(dr.BufferPods, func(a pack.Assignment) bool { return a.Claim == nil }) {
		return lost
	}
	defer dr.Scheduler.Revert(dr.Scheduler.Mark())
	all := slices.Concat(dr.Decisions, more)
	left := buffersLeft(dr, all, staying(more), avoids)
	if len(left) == 0 {
		return lost
	}
	limits := dr.Limits.Clone()
	for _, d := range all { // buffers buy once these are gone
		for _, h := range d.Hosts {
			if host := dr.View.Hosts[h]; host.Pool != nil && host.Claim != nil {
				limits.Count(host.Pool, dr.View.ClaimCapacity(host.Claim), -1)
				limits.NodesLeft[host.Pool.Index]++
			}
		}
	}
	for _, d := range more {
		for _, b := range d.Replacements {
			b.TakeFrom(limits)
		}
	}
	_, claims, unplaced := dr.Scheduler.Buy(left, limits)
	for _, b := range claims {
		lost.Price += b.Best().Price
	}
	for _, it := range unplaced {
		lost.Without += len(it.Pods)
	}
	return lost
}

// buffersLeft puts the pods that decisions move where the scheduler likes best, and buffers' pods where they are, or
// else wherever there is capacity for them then, on hosts that stay and on replacements. Those that it returns have
// none.
func buffersLeft(dr *Draft, decisions []Decision, stays, avoids func(host int) bool) []market.Item {
	e, tally := newEmptiest(dr, func(h int) bool { return stays(h) && !avoids(h) }), dr.Scheduler.Tally()
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
			switch {
			case staysPut(dr.View.Pods[a.Pod].Class):
				e.keep(a)
			case dr.View.Pods[a.Pod].ID.Virtual():
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
	for before := -1; before != len(pods); { // as some may have to wait for others
		before = len(pods)
		pods = slices.DeleteFunc(pods, func(p int) bool { return e.putBack(buffers[p]) })
	}
	_, left := dr.Scheduler.OnHosts(market.Items(dr.View.World, pods), stays)
	for i := range left {
		left[i].Pods = e.put(left[i].Class, left[i].Pods, e.claims)
	}
	return slices.DeleteFunc(left, func(it market.Item) bool { return len(it.Pods) == 0 })
}
