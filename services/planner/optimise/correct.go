package optimise

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// Greedy packings lead the programme where there are fewer than correctPods pods of each row: with more, few fillings
// make up most of its solution, and it finds them soon. There are up to corrections of them, for 1 in correctShare of
// the work.
const correctPods, corrections, correctShare = 64, 8, 10

// correct packs greedily, again and again, and returns the fillings. What was paid for a row's pods counts for half of
// what they are worth the next time, so that those which ended up in bins that cost more than they are worth come
// earlier (sequential value correction, Belov and Scheithauer 2007).
func (s *solver) correct(worth []float64, limit int64) (all []compact.Filling) {
	if s.c.Source.Tried || s.c.Pods() >= correctPods*s.c.NumRows {
		return nil
	}
	worth, limit = slices.Clone(worth), limit+s.greedy.work
	pl, paid, pods := compact.NewPlan(s.c), make([]float64, s.c.NumRows), make([]float64, s.c.NumRows)
	for n := 0; n < corrections && s.greedy.work < limit && !s.enough(); n++ {
		pl.Set(s.base)
		s.greedy.run(pl, worth)
		s.offer(pl)
		clear(paid)
		clear(pods)
		for _, f := range pl.Fillings {
			if s.c.Bins[f.Bin].Existing() {
				continue
			}
			all = append(all, f)
			ratio := float64(f.Cost) / f.Worth(worth)
			for x, i := range f.Rows {
				q := float64(f.Counts[x]) * float64(f.Copies)
				paid[i], pods[i] = paid[i]+float64(q*worth[i]*ratio), pods[i]+q
			}
		}
		for i, q := range pods {
			if q > 0 {
				worth[i] = (worth[i] + paid[i]/q) / 2
			}
		}
	}
	return all
}
