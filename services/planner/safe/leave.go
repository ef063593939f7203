package safe

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// mostTries is how many plans are made to find what the planner fails on. Of n classes and pools one is found by about
// twice the binary logarithm of n.
const mostTries = 40

// remedy is what can be done about a defect.
const remedy = "(a defect: please report it)"

// part is what a plan can be made without: a node pool, or the pods of a class.
type part struct {
	pool  model.PoolName
	class model.ClassID
}

// leaveOut finds the pools and the classes of pods that the planner fails on, by halves, and plans for the others. The
// answer stays broken where even a plan without any is.
func (a *Answer) leaveOut(anew func(model.Input) (model.Plan, error)) error {
	why := verify.Join(a.Broken)
	whole := a.Input
	without := func(out []part) (Answer, error) {
		try := Answer{Input: whole, Failed: a.Failed}
		try.leave(out, why)
		err := try.try(func(in *model.Input) (model.Plan, error) { return anew(*in) })
		return try, err
	}
	left := parts(&whole.Snapshot)
	best, err := without(left)
	if err != nil || len(best.Broken) > 0 {
		return err
	}
	// Pools come back first: where it takes both a pool and a class, it is the class's pods that wait.
	pools := len(whole.Snapshot.NodePools)
	groups := [][]part{left[:pools], left[pools:]}
	for tries := 0; len(groups) > 0 && tries < mostTries; tries++ {
		group := groups[0]
		groups = groups[1:]
		less := slices.DeleteFunc(slices.Clone(left), func(p part) bool { return slices.Contains(group, p) })
		try, err := without(less)
		switch {
		case err != nil:
			return err
		case len(try.Broken) == 0:
			best, left = try, less
		default:
			groups = append(groups, halves(group)...)
		}
	}
	best.Thrown = append(a.Thrown, Thrown{Broken: a.Broken})
	*a = best
	return nil
}

// leave takes parts out of the question, and says so in the answer.
func (a *Answer) leave(out []part, why string) {
	s := &a.Input.Snapshot
	s.NodePools, s.PodClasses = slices.Clone(s.NodePools), slices.Clone(s.PodClasses)
	for i := range s.NodePools {
		if p := &s.NodePools[i]; slices.Contains(out, part{pool: p.Name}) {
			a.LeftPools = append(a.LeftPools, p.Name)
			if p.NotReady.OK() {
				p.NotReady = model.Reason{
					Code: model.CodeNodePoolInvalid, Subject: "nodepool/" + string(p.Name), Message: "the planner fails on it " + remedy + ": " + why,
				}
			}
		}
	}
	for i := range s.PodClasses {
		if c := &s.PodClasses[i]; slices.Contains(out, part{class: c.ID}) {
			a.LeftOut = append(a.LeftOut, c.ID)
			if c.Unsupported == "" {
				c.Unsupported = "the planner fails on pods like it " + remedy + ": " + why
			}
		}
	}
}

// parts are all pools, and then the classes of all pods but DaemonSets'; both sorted.
func parts(s *model.Snapshot) []part {
	var pools, classes []part
	for i := range s.NodePools {
		pools = append(pools, part{pool: s.NodePools[i].Name})
	}
	for i := range s.PodClasses {
		if !s.PodClasses[i].Daemon {
			classes = append(classes, part{class: s.PodClasses[i].ID})
		}
	}
	slices.SortFunc(pools, func(a, b part) int { return cmp.Compare(a.pool, b.pool) })
	slices.SortFunc(classes, func(a, b part) int { return cmp.Compare(a.class, b.class) })
	return append(pools, classes...)
}

func halves(group []part) [][]part {
	if len(group) < 2 {
		return nil
	}
	return [][]part{group[:len(group)/2], group[len(group)/2:]}
}
