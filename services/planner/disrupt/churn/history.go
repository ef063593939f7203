package churn

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// History is what happened lately to the pods of each owner.
type History struct {
	Moves    *rules.Moves
	Rollouts rules.Rollouts
}

// NewHistory reads the snapshot's disruptions, and the pods of owners that they name or of which several revisions run.
func NewHistory(v *view.View) *History {
	h := &History{Moves: rules.NewMoves(v.Snapshot, v.Policy.PodRest)}
	first, mixed := make(map[rules.Owner]string), make(map[rules.Owner]bool)
	moved := make(map[*view.Class]bool)
	for _, c := range v.Classes { // most owners have one revision, and were not moved: that is seen without looking at pods
		if h.Moves.Concerns(c.PodClass) {
			moved[c] = true
		}
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
	if len(mixed) == 0 && len(moved) == 0 {
		return h
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if moved[p.Class] {
			h.Moves.Add(p.Class.PodClass, p.Pod)
		}
		if o := rules.OwnerOf(p.Class.PodClass); !p.Terminating && mixed[o] {
			h.Rollouts.Add(o, p.Class.OwnerRevision, p.BindTime)
		}
	}
	return h
}

// Resting says why pods are left alone: one of them was moved a short time ago.
func (h *History) Resting(v *view.View, pods []int) model.Reason {
	var longest time.Time
	var last view.Pod
	for _, i := range pods {
		p := v.Pods[i]
		if until := h.Moves.Until(p.Class.PodClass, p.Pod, v.Now); until.After(longest) {
			longest, last = until, p
		}
	}
	if longest.IsZero() {
		return model.Reason{}
	}
	r, _ := h.Moves.Resting(last.Class.PodClass, last.Pod, v.Now)
	return r
}

// RollingOut says which of the pods belongs to a workload that is being rolled out.
func (h *History) RollingOut(v *view.View, pods []int) model.Reason {
	for _, i := range pods {
		p := v.Pods[i]
		if r, _ := h.Rollouts.RollingOut(rules.OwnerOf(p.Class.PodClass), p.ID, v.Now); !r.OK() {
			return r
		}
	}
	return model.Reason{}
}
