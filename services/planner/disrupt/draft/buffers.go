package draft

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
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
	if len(dr.buffersTied) == 0 {
		return model.Reason{}
	}
	goes := make(map[int]bool)
	for _, d := range decisions {
		for _, h := range d.Hosts {
			goes[h] = true
		}
	}
	stay := slices.DeleteFunc(slices.Clone(dr.buffersTied), func(a pack.Assignment) bool {
		return a.Claim == nil && (goes[a.Host] || dr.View.Removed(a.Host))
	})
	i := dr.Scheduler.FirstRefused(stay, false)
	if i < 0 {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeCapacityBuffer, Message: "where its pods fit, their rules or those of a capacity buffer keep them from what the buffer has there",
	}
}
