package disrupt

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
)

// noteBufferPods notes where the pods of buffers are, and says how many are on each host. Those with pod rules do not
// move, and are not counted for other pods' rules: they do not exist.
func (s *search) noteBufferPods() (held []int) {
	s.bufferPods, s.buffersFixed, held = make([][]int, len(s.v.Hosts)), make([]bool, len(s.v.Hosts)), make([]int, len(s.v.Hosts))
	for _, a := range s.BufferPods {
		if a.Claim != nil {
			continue
		}
		held[a.Host]++
		if s.Scheduler.HasPodRules(s.v.Pods[a.Pod].Class) {
			s.buffersFixed[a.Host] = true
			s.Scheduler.UncountBound(a.Pod, a.Host)
			continue
		}
		s.bufferPods[a.Host] = append(s.bufferPods[a.Host], a.Pod)
	}
	return held
}

// bufferPodsOn are the pods of buffers on some hosts that are to move along.
func (s *search) bufferPodsOn(hosts []int) []int {
	var out []int
	for _, h := range hosts {
		out = append(out, s.bufferPods[h]...)
	}
	return out
}

// buffersMove says whether what buffers have on a node can be moved along with its pods.
func buffersMove(s *search, host int) model.Reason {
	if !s.buffersFixed[host] {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeCapacityBuffer, Message: "a capacity buffer has capacity there for pods with pod rules, which does not move",
	}
}

// buffered tells of nodes on which nothing runs that they stay for a buffer's sake.
func (s *search) explainBuffers() {
	for _, h := range s.candidates {
		switch {
		case s.v.Removed(h), len(s.bufferPods[h]) == 0, len(s.moving[h]) > 0:
			continue
		}
		switch s.verdicts[h].Code {
		case model.CodeNoCheaper, model.CodeNoDestination, model.CodeConsolidationPolicy:
			s.verdicts[h] = model.Reason{
				Code: model.CodeCapacityBuffer, Subject: s.v.Hosts[h].Name(),
				Message: fmt.Sprintf("it keeps capacity for %s of capacity buffers", fit.Count(len(s.bufferPods[h]), "pod")),
			}
		default:
		}
	}
}

// removeSurplus removes what static pools have too many. Their users say so: no other rule is asked. Pods that find no place on
// nodes that there are get theirs once they have left.
func (s *search) removeSurplus() {
	for _, x := range s.Surplus {
		d, _, _ := s.move([]int{x.Host}, s.reliable)
		d.Reason, d.Explanation = model.ReasonSurplus, x.Reason
		s.keep(d)
	}
}
