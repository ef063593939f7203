package safe

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// mostTries is how many plans are made to find the pods that the planner fails on. Of n classes one is found by about twice the
// binary logarithm of n.
const mostTries = 40

// leaveOut finds the classes whose pods the planner fails on, by halves, and plans for the others. The answer stays broken where
// even a plan for no pods is.
func (a *Answer) leaveOut(anew func(model.Input) (model.Plan, error)) error {
	why := verify.Join(a.Broken)
	whole := a.Input
	a.Failed = &whole
	without := func(out []model.ClassID) (Answer, error) {
		try := Answer{Input: whole, LeftOut: out, Failed: a.Failed}
		try.Input.Snapshot.PodClasses = slices.Clone(whole.Snapshot.PodClasses)
		for i := range try.Input.Snapshot.PodClasses {
			if c := &try.Input.Snapshot.PodClasses[i]; c.Unsupported == "" && slices.Contains(out, c.ID) {
				c.Unsupported = "the planner fails on pods like it (a defect: please report it): " + why
			}
		}
		err := try.try(func(in *model.Input) (model.Plan, error) { return anew(*in) })
		return try, err
	}
	all := classes(&whole.Snapshot)
	best, err := without(all)
	if err != nil || len(best.Broken) > 0 {
		return err
	}
	groups := halves(all)
	for tries := 0; len(groups) > 0 && tries < mostTries; tries++ {
		group := groups[0]
		groups = groups[1:]
		try, err := without(slices.DeleteFunc(slices.Clone(best.LeftOut), func(id model.ClassID) bool { return slices.Contains(group, id) }))
		switch {
		case err != nil:
			return err
		case len(try.Broken) == 0:
			best = try
		case len(group) > 1:
			groups = append(groups, halves(group)...)
		}
	}
	best.Thrown = append(a.Thrown, Thrown{Broken: a.Broken})
	*a = best
	return nil
}

// classes are those of all pods but DaemonSets', sorted.
func classes(s *model.Snapshot) []model.ClassID {
	var out []model.ClassID
	for i := range s.PodClasses {
		if !s.PodClasses[i].Daemon {
			out = append(out, s.PodClasses[i].ID)
		}
	}
	slices.Sort(out)
	return out
}

func halves(group []model.ClassID) [][]model.ClassID {
	if len(group) < 2 {
		return nil
	}
	return [][]model.ClassID{group[:len(group)/2], group[len(group)/2:]}
}
