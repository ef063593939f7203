package judge

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// settling looks for an order in which moved pods may go where they are planned. Which of them are there already is all
// that matters, not how they came there, so that each such set is left for good once no order leads on from it.
type settling struct {
	w     *world
	moved []model.Placement
	// begin is the world before any of them came.
	begin world
	// dead are the sets that no order leads on from.
	dead map[string]bool
	// refused says of the first such set why no more may go.
	refused []Failure
}

// mostDead bounds the search.
const mostDead = 2000

// settle places moved pods in some order that works, if there is one.
func (w *world) settle(moved []model.Placement) error {
	moved = slices.DeleteFunc(moved, func(p model.Placement) bool {
		switch target := w.target(p); {
		case w.again(p.Pod) == nil:
			w.fail(Failure{Kind: Broken, Pod: p.Pod, Rule: "unknown pod", Detail: "the plan moves a pod that there is not"})
		case !w.has(target):
			w.fail(Failure{Kind: Misfit, Pod: p.Pod, Rule: "no such node", Detail: "moved to " + target + ", which is not there"})
		default:
			return false
		}
		return true
	})
	s := &settling{w: w, moved: moved, begin: *w, dead: make(map[string]bool)}
	if err := s.back(nil); err != nil {
		return err
	}
	if ok, err := s.goOn(nil); ok || err != nil {
		return err
	}
	for _, f := range s.refused {
		w.fail(f)
	}
	return nil
}

// back is the world once some have come, in this order.
func (s *settling) back(came []int) error {
	s.w.nodes, s.w.pods, s.w.objects = slices.Clone(s.begin.nodes), slices.Clone(s.begin.pods), s.begin.objects.Fork()
	if err := s.w.s.Reset(s.w.objects, s.w.nodes, s.w.pods); err != nil {
		return err
	}
	for _, i := range came {
		if err := s.w.bind(s.pod(i), s.w.target(s.moved[i])); err != nil {
			return err
		}
	}
	return nil
}

func (s *settling) pod(i int) *kube.Pod { return s.w.again(s.moved[i].Pod) }

// goOn says whether the others may come too, in some order, once some have come.
func (s *settling) goOn(came []int) (bool, error) {
	set := fmt.Sprint(slices.Sorted(slices.Values(came)))
	if len(came) == len(s.moved) || s.dead[set] {
		return len(came) == len(s.moved), nil
	}
	var refused []Failure
	for i, p := range s.moved {
		if slices.Contains(came, i) || len(s.dead) > mostDead {
			continue
		}
		target := s.w.target(p)
		v, err := s.w.s.Schedule(s.pod(i), target)
		if err != nil {
			return false, err
		}
		if len(v.Nodes) == 0 {
			r := v.Refusal(target)
			refused = append(refused, Failure{
				Kind: Misfit, Pod: p.Pod, Rule: r.Plugin, Detail: fmt.Sprintf("moved to %s: %s", s.w.describe(target), r.Message),
			})
			continue
		}
		if err := s.w.bind(s.pod(i), target); err != nil {
			return false, err
		}
		if ok, err := s.goOn(append(slices.Clone(came), i)); ok || err != nil {
			return ok, err
		}
		if err := s.back(came); err != nil {
			return false, err
		}
	}
	s.dead[set] = true
	if s.refused == nil {
		s.refused = refused
	}
	return false, nil
}
