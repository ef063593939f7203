package disrupt

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// history is what happened lately to the pods of each owner.
type history struct {
	moves    *rules.Moves
	rollouts rules.Rollouts
}

func newHistory(v *view.View) *history {
	h := &history{moves: rules.NewMoves(v.Snapshot.Disruptions, v.Policy.PodRest)}
	first, mixed := make(map[rules.Owner]string), make(map[rules.Owner]bool)
	for _, c := range v.Classes { // most owners have one revision: that is seen without looking at pods
		if c.OwnerKind == "" || c.OwnerRevision == "" {
			continue
		}
		o := rules.OwnerOf(c.PodClass)
		if revision, known := first[o]; !known {
			first[o] = c.OwnerRevision
		} else if revision != c.OwnerRevision {
			mixed[o] = true
		}
	}
	if len(mixed) == 0 {
		return h
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if o := rules.OwnerOf(p.Class.PodClass); !p.Terminating && mixed[o] {
			h.rollouts.Add(o, p.Class.OwnerRevision, p.BindTime)
		}
	}
	return h
}

// rested says whether pods that were moved lately are on a node.
func rested(s *search, host int) model.Reason {
	var longest time.Time
	var last view.Pod
	for _, i := range s.moving[host] {
		p := s.v.Pods[i]
		if until := s.history.moves.Until(rules.OwnerOf(p.Class.PodClass), p.Pod, s.v.Now); until.After(longest) {
			longest, last = until, p
		}
	}
	if longest.IsZero() {
		return model.Reason{}
	}
	r, _ := s.history.moves.Resting(rules.OwnerOf(last.Class.PodClass), last.Pod, s.v.Now)
	return r
}

// rolledOut says whether a workload on a node is being rolled out.
func rolledOut(s *search, host int) model.Reason {
	for _, i := range s.moving[host] {
		p := s.v.Pods[i]
		if r, _ := s.history.rollouts.RollingOut(rules.OwnerOf(p.Class.PodClass), p.ID, s.v.Now); !r.OK() {
			return r
		}
	}
	return model.Reason{}
}
