package table_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise/table"
)

type row struct {
	step  [table.Resources]int
	worth float64
	most  int
}

// best is what the best filling of some room is worth, by trying all.
func best(rows []row, room [table.Resources]int) float64 {
	if len(rows) == 0 {
		return 0
	}
	most := 0.0
	for n := 0; n <= rows[0].most && min(room[0], room[1], room[2]) >= 0; n++ {
		most = max(most, float64(n)*rows[0].worth+best(rows[1:], room))
		for r, s := range rows[0].step {
			room[r] -= s
		}
	}
	return most
}

func TestATableIsWorthWhatItsBestFillingIs(t *testing.T) {
	var x table.Table
	read := 0
	const draws = 2000
	for seed := range uint64(draws) {
		r := rand.New(rand.NewPCG(seed, 9))
		room := [table.Resources]int{r.IntN(12), r.IntN(12), r.IntN(2) * r.IntN(5)}
		rows := make([]row, 1+r.IntN(6))
		x.Begin([table.Resources]int{room[0] + 1, room[1] + 1, room[2] + 1})
		for i := range rows {
			o := &rows[i]
			*o = row{step: [table.Resources]int{1 + r.IntN(5), r.IntN(5), r.IntN(2)}, worth: float64(1 + r.IntN(20)), most: r.IntN(6)}
			if r.IntN(8) == 0 {
				o.step[0], o.step[1] = 0, 1+r.IntN(4)
			}
			if i > 0 && r.IntN(2) == 0 {
				o.step = rows[i-1].step // of equal pods those that are worth most are enough
			}
			x.Add(int32(i), o.step, o.worth, o.most)
		}
		x.Steps(math.MaxInt64)
		got, ok := x.Solve(func() bool { return false })
		want := best(rows, room)
		if !ok || got < want || got > want+1e-4 {
			t.Fatalf("seed %d: the best filling of %v with %v is worth %g, the table says %g, %v", seed, room, rows, want, got, ok)
		}
		worth, pods := 0.0, make([]int, len(rows))
		x.Walk(func(i int32, n int) {
			worth += float64(n) * rows[i].worth
			pods[i] += n
			for k, s := range rows[i].step {
				room[k] -= n * s
			}
		})
		for i, n := range pods {
			if n > rows[i].most || min(room[0], room[1], room[2]) < 0 {
				t.Fatalf("seed %d: the filling has %v of %v, and leaves %v", seed, pods, rows, room)
			}
		}
		if math.Abs(worth-want) < 1e-9 {
			read++
		}
	}
	if read < draws*8/10 {
		t.Errorf("the best filling was read out of %d of %d tables", read, draws)
	}
}

func TestAStoppedTableProvesNothing(t *testing.T) {
	var x table.Table
	x.Begin([table.Resources]int{3, 1, 1})
	x.Add(0, [table.Resources]int{1, 0, 0}, 1, 2)
	x.Steps(math.MaxInt64)
	if worth, ok := x.Solve(func() bool { return true }); ok {
		t.Errorf("a table that was stopped says %g", worth)
	}
}
